"""The result of all readers, and the one way from raw messages to turns.

Nothing leaves this module unredacted. It knows no transcript format and writes nothing.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

import polars as pl

from slowwave.ingest.redact import redact, redact_reply
from slowwave.ingest.redact.known import Known
from slowwave.ingest.redact.marks import taken
from slowwave.ingest.redact.names import safe_id
from slowwave.readers.bounds import CUT_MESSAGE, QUIET, Counts, bounded_text
from slowwave.readers.fences import strip_injected
from slowwave.readers.files import LONGEST_LABEL, named
from slowwave.schemas.choices import Origin, SourceType
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.refusals import clean_text
from slowwave.schemas.tables import frame_schema
from slowwave.settings.readers import ReaderSettings
from slowwave.trust.own_words import NAME_WORDS

Role = Literal["user", "assistant", "document"]

_FROM_CALLER = {"user_id", "project_id", "scope", "recorded_at"}

READ_SCHEMA = pl.Schema(
    {name: kind for name, kind in frame_schema("turns").items() if name not in _FROM_CALLER}
)
"""Columns of `turns` that a reader knows; the owner and the time of recording come from the caller."""

LEAST_PART = 100
"""Characters of room under which nothing more of a message is taken."""

_BETWEEN_PARTS = "\n\n"

ORIGIN_OF_ROLE: dict[Role, Origin] = {"user": "user", "assistant": "agent", "document": "untrusted"}


@dataclass(frozen=True)
class Reading:
    """The turns of one file, or of a part of it, and counts of what was left out.

    `turns` has the columns of `READ_SCHEMA`, in file order, with unique turn ids. `kind` names the form, such as
    `claude_code`, `chat` or `document`, or is `empty`. The lines of a transcript, and the sections of a document, are
    its entries: `counts.entry_count` = `counts.taken_count` + the sum of `counts.skipped`.
    """

    turns: pl.DataFrame
    counts: Counts
    kind: str

    @property
    def skipped(self) -> dict[str, int]:
        """Entries that were left out, and things within entries, by reason."""
        told = Counter(
            {reason: number for reason, number in self.counts.skipped.items() if reason not in QUIET}
        )
        return dict(told + self.counts.parts)

    @property
    def redacted(self) -> dict[str, int]:
        """Secrets that were taken out, by kind."""
        return dict(self.counts.redacted)


@dataclass(frozen=True)
class RawMessage:
    """One message as it stands in the file.

    `parts` are texts that were written apart (lines of one message id); each is cleaned alone, so that a
    message that grows only ever gets longer. `identity` is what the turn id is made from; null means that the
    format gave no id and the position in the session has to do. Neither holds lone surrogates (`clean_text`).
    `entry_count` entries of the file made it, the first of them at `place`.
    """

    session_id: str
    role: Role
    parts: tuple[str, ...]
    event_time: datetime
    identity: tuple[str, ...] | None = None
    speaker: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    place: str = ""
    entry_count: int = 1
    left_out: int = 0
    """Characters that its reader left out, since the message is over its bound."""


@dataclass(frozen=True)
class Source:
    """The file that messages come from."""

    source_type: SourceType
    source_id: str
    source_name: str


def source_of(path: Path, source_type: SourceType) -> Source:
    """The source of a file: its id is the absolute path, in POSIX form."""
    return Source(source_type, source_id_of(path), named(path.name))


def source_id_of(path: Path) -> str:
    """Absolute path in POSIX form without secrets, without following symbolic links."""
    return named(absolute(path))


def absolute(path: Path) -> str:
    """The place of a file, in POSIX form, without following symbolic links."""
    return Path(os.path.abspath(path)).as_posix()  # noqa: PTH100 - resolve() would follow links


@dataclass
class _Seen:
    """The ids and texts of a file's turns so far; numbers, since there may be millions."""

    digests: dict[int, int] = field(default_factory=dict)
    message_count: Counter[str] = field(default_factory=Counter)
    turn_count: Counter[str] = field(default_factory=Counter)
    told: Known = field(default_factory=Known)
    """The secrets that the file showed so far."""

    def place_of(self, session_id: str) -> int:
        """The place of a session's next message in the file."""
        self.message_count[session_id] += 1
        return self.message_count[session_id] - 1


def to_parts(
    messages: Iterable[RawMessage],
    *,
    source: Source,
    kind: str,
    counts: Counts,
    bounds: ReaderSettings,
    told: Mapping[str, Known] | None = None,
) -> Iterator[Reading]:
    """Turns of the messages, in order, without injected memory and without secrets, in parts of a bounded size.

    `messages` are in file order and hold all their parts; `counts` are what their reader counted so far, and each
    part takes over what was counted since the one before. There is one part at least. Messages that end up empty and
    repetitions of a turn are dropped and counted. An id that a format used twice for different texts of one file goes
    to the first; the others get an id by position, so that no text is lost.

    A secret is masked in the whole part in which it was told, and in all that comes after it: in the file, or in the
    session where `told` has what was told there before.
    """
    seen = _Seen()
    rows: list[dict[str, object]] = []
    size = 0
    known = seen.told.count
    for message in messages:
        told_there = seen.told if told is None else told[message.session_id]
        row = _row(message, source=source, seen=seen, told=told_there, counts=counts, bounds=bounds)
        if row is None:
            continue
        rows.append(row)
        size += len(str(row["content"]))
        if len(rows) >= bounds.part_turns or size >= bounds.part_characters:
            known = _mask_earlier(rows, seen, counts, known=known)
            yield Reading(pl.DataFrame(rows, schema=READ_SCHEMA), counts.taken_over(), kind)
            rows, size = [], 0
    _mask_earlier(rows, seen, counts, known=known)
    yield Reading(pl.DataFrame(rows, schema=READ_SCHEMA), counts.taken_over(), kind)


def _mask_earlier(rows: list[dict[str, object]], seen: _Seen, counts: Counts, *, known: int) -> int:
    """Mask in the messages of a part what only a later one shows to be a secret; return how many are known now."""
    if seen.told.count > known:
        for row in rows:
            safe, found = seen.told.mask(str(row["content"]))
            if (
                found and row["role"] != "document"
            ):  # whose id is made from its text, and which was looked at whole
                counts.redacted.update(found)
                row["content"], row["content_hash"] = safe, content_hash(safe)
                seen.digests[_number(str(row["turn_id"]))] = _number(str(row["content_hash"]))
    return seen.told.count


def _row(
    message: RawMessage, *, source: Source, seen: _Seen, told: Known, counts: Counts, bounds: ReaderSettings
) -> dict[str, object] | None:
    """The turn of a message as a row; null, and counted, where there is nothing new in it."""
    position = seen.place_of(message.session_id)
    content = _clean_parts(message, told, counts, bounds)
    session_id, said = told.last_said
    if session_id == message.session_id:
        safe, found = redact_reply(content, said)
        for value, kind in taken(content, safe).items() if found else ():
            told.learn(value, kind)
        content = safe
        counts.redacted.update(found)
    told.last_said = (message.session_id, content)
    digest = content_hash(content)
    turn_id, by_position = _turn_ids(message, digest=digest, position=position)
    known = seen.digests.get(_number(turn_id))
    if not content or known == _number(digest):
        counts.skip("repeated message" if content else "empty message", message.entry_count)
        return None
    turn_id = turn_id if known is None else by_position
    seen.digests[_number(turn_id)] = _number(digest)
    seen.turn_count[message.session_id] += 1
    counts.taken_count += message.entry_count
    return {
        "turn_id": turn_id,
        "session_id": safe_id(message.session_id),
        "turn_index": seen.turn_count[message.session_id] - 1,
        "role": message.role,
        "speaker": _name(message.speaker, counts),
        "content": content,
        "origin": ORIGIN_OF_ROLE[message.role],
        "event_time": message.event_time,
        **vars(source),
        "cwd": _label(message.cwd, counts),
        "git_branch": _label(message.git_branch, counts),
        "content_hash": digest,
    }


def _number(digest: str) -> int:
    """An id of hex digits in a third of its memory."""
    return int(digest, 16)


def whole(parts: Iterable[Reading]) -> Reading:
    """The parts of one file as one."""
    read = list(parts)
    counts = Counts()
    for part in read:
        counts.add(part.counts)
    return Reading(pl.concat([part.turns for part in read]), counts, read[-1].kind)


def _turn_ids(message: RawMessage, *, digest: str, position: int) -> tuple[str, str]:
    """The id of the message, and the one by its position among the session's messages in this file."""
    by_position = stable_id("turn", message.session_id, message.role, str(position))
    if message.role == "document":
        return stable_id("turn", message.session_id, digest), by_position
    if message.identity is None:
        return by_position, by_position
    return stable_id("turn", *message.identity), by_position


def empty_reading(counts: Counts | None = None) -> Reading:
    """The reading of a file without content, or without an entry that could be read."""
    found = counts or Counts(parts=Counter({"empty file": 1}))
    return Reading(pl.DataFrame(schema=READ_SCHEMA), found, "empty")


def _clean_parts(message: RawMessage, told: Known, counts: Counts, bounds: ReaderSettings) -> str:
    kept: list[str] = []
    room, left_out, is_as_read = bounds.message_characters, message.left_out, True
    for part in message.parts:
        if room < LEAST_PART:
            left_out += len(part)
            continue
        text, fence_count = strip_injected(clean_text(part))
        if fence_count:
            counts.parts["injected memory"] += fence_count
        text, found, over = bounded_text(text.strip(), room, told.redact)
        counts.redacted.update(found)
        is_as_read = is_as_read and not found and not over
        left_out += over
        room -= len(text) + len(_BETWEEN_PARTS)
        if text:
            kept.append(text)
    if left_out:
        over_bound = (
            f"{message.place}: {left_out:,} characters of a message are left out: "
            f"readers.message_characters allows {bounds.message_characters:,}"
        )
        counts.parts[CUT_MESSAGE] += 1
        counts.exceed(CUT_MESSAGE, over_bound, most=bounds.shown_places)
    if len(kept) == 1 and is_as_read:  # most messages: this very text was looked at
        return kept[0]
    whole, found = told.redact(_BETWEEN_PARTS.join(kept))  # a name in one part, its value in the next
    counts.redacted.update(found)
    return whole


def _name(text: str | None, counts: Counts) -> str | None:
    """A speaker's name; null for a label too long for one, which would pass for whatever it says."""
    name = _label(text, counts)
    if name is None or len(name.split()) <= NAME_WORDS:
        return name
    counts.parts["speaker's name too long"] += 1
    return None


def _label(text: str | None, counts: Counts) -> str | None:
    if text is None or not (cleaned := clean_text(text).strip()):
        return None
    if len(cleaned) > LONGEST_LABEL:
        counts.parts[f"name of more than {LONGEST_LABEL} characters"] += 1
        return None
    cleaned, found = redact(cleaned)
    counts.redacted.update(found)
    return cleaned
