"""The conversations of a chat's export, one of them in memory at a time, and ids for those that have none."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from slowwave.ingest.counts import Counts
from slowwave.ingest.files import Input
from slowwave.ingest.formats.archive import elements_of
from slowwave.ingest.lines import json_value
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import clean_text

LONG: Final = "conversation over its bound"
BROKEN: Final = "unreadable conversation"
GARBLED: Final = "conversation that is not UTF-8"
CUT: Final = "half-written last conversation"


class Conversation(NamedTuple):
    """A conversation: its number in the export from 1, and its fields."""

    number: int
    fields: dict[str, object]


def conversations_of(file: Input) -> Iterator[Conversation]:
    """The conversations of an export that can be read; the others are counted, an entry each.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or holds no conversations.
    """
    most = file.bounds.conversation_bytes
    for element in elements_of(file.path, bounds=file.bounds, most=most):
        number = element.number
        if element.data is None:
            allowed = f"readers.conversation_bytes allows {most:,}"
            excess = f"conversation {number} has {element.size:,} bytes and is left out: {allowed}"
            leave_out(LONG, file.counts, excess=excess)
            continue
        text = element.data.decode("utf-8", "replace")
        fields = json_value(text)
        if not isinstance(fields, dict):
            leave_out(BROKEN if element.is_ended else CUT, file.counts)
            continue
        if "\ufffd" in text and b"\xef\xbf\xbd" not in element.data:
            file.counts.parts[GARBLED] += 1
            lost = f"conversation {number} is not UTF-8, and letters of it are lost: save the file as UTF-8"
            file.counts.exceed(GARBLED, lost)
        yield Conversation(number, fields)


def id_by_content(*parts: str) -> str:
    """An id for a conversation that its export gave none, from what stays as it grows.

    Its file and place have no part in it: the same conversation comes in an archive, unpacked, and in a later export.
    """
    return stable_id("conversation", *map(clean_text, parts))


def leave_out(reason: str, counts: Counts, *, excess: str = "") -> None:
    """Count a conversation that is left out as one entry."""
    counts.entry_count += 1
    counts.skip(reason, excess=excess)
