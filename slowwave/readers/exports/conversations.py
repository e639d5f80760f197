"""The conversations of a chat's export, whose array may be longer than memory: one of them at a time."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from slowwave.readers.bounds import Counts
from slowwave.readers.exports.archive import blocks_of
from slowwave.readers.exports.objects import elements_of, fields_of
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import clean_text
from slowwave.settings.readers import ReaderSettings

LONG = "conversation over its bound"
BROKEN = "unreadable conversation"
GARBLED = "conversation that is not UTF-8"
CUT = "half-written last conversation"


class Conversation(NamedTuple):
    """A conversation: its number in the export from 1, and its fields."""

    number: int
    fields: dict[str, object]


def conversations_of(path: Path, counts: Counts, bounds: ReaderSettings) -> Iterator[Conversation]:
    """The conversations of an export that can be read; the others are counted, an entry each.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or holds no conversations.
    """
    number = 0
    for _, blocks in groupby(blocks_of(path, bounds=bounds), key=itemgetter(0)):
        for element in elements_of((block for _, block in blocks), most=bounds.conversation_bytes):
            number += 1
            if element.data is None:
                leave_out(LONG, counts)
                counts.exceed(
                    LONG,
                    f"conversation {number} has {element.size:,} bytes and is left out: "
                    f"readers.conversation_bytes allows {bounds.conversation_bytes:,}",
                    most=bounds.shown_places,
                )
            elif (fields := fields_of(element.data)) is not None:
                if not _is_utf8(element.data):
                    counts.parts[GARBLED] += 1
                    told = f"conversation {number} is not UTF-8, and letters of it are lost: save the file as UTF-8"
                    counts.exceed(GARBLED, told, most=bounds.shown_places)
                yield Conversation(number, fields)
            else:
                leave_out(BROKEN if element.is_ended else CUT, counts)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def id_by_content(*parts: str) -> str:
    """An id for a conversation that its export gave none, from what stays as it grows.

    Its file and place have no part in it: the same conversation stands in an archive, unpacked, and in a later export.
    """
    return stable_id("conversation", *map(clean_text, parts))


def leave_out(reason: str, counts: Counts) -> None:
    """Counts a conversation that is left out as one entry."""
    counts.entry_count += 1
    counts.skip(reason)
