"""The one way from raw messages to turns: nothing leaves this module unredacted.

It knows no format of files and writes nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal, cast

import polars as pl

from slowwave.ingest.bounds import Bounds
from slowwave.ingest.counts import CUT_MESSAGE, QUIET, Counts
from slowwave.ingest.fences import strip_injected
from slowwave.ingest.fields import LONGEST_LABEL
from slowwave.ingest.files import absolute, named
from slowwave.ingest.redact import redact, redact_reply
from slowwave.ingest.redact.known import Known
from slowwave.ingest.redact.marks import taken
from slowwave.ingest.redact.names import safe_id
from slowwave.schemas.choices import Origin, SourceType
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.moments import FIRST_KNOWN, are_impossible, unknown_until
from slowwave.schemas.refusals import clean_text
from slowwave.schemas.tables import frame_schema
from slowwave.trust.own_words import NAME_WORDS

Role = Literal["user", "assistant", "document"]

SPOKEN: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant"}
"""Roles of messages that a person or an assistant wrote, by the names that most formats give them."""

ROLES: Final[dict[str, Role]] = {**SPOKEN, "human": "user", "ai": "assistant"}
"""The same with the names of formats that many programs write."""

NOBODYS: Final = {
    **dict.fromkeys(("system", "developer"), "system message"),
    **dict.fromkeys(("tool", "function"), "tool message"),
}
"""Why a message is no turn, by the role of whoever wrote it."""

_FROM_CALLER: Final = {"user_id", "project_id", "scope", "recorded_at"}

READ_SCHEMA: Final = pl.Schema(
    {name: kind for name, kind in frame_schema("turns").items() if name not in _FROM_CALLER}
)
"""Columns of `turns` that a reader knows; the owner and the time of recording come from the caller."""

LEAST_PART: Final = 100
"""Characters of room under which nothing more of a message is taken."""

MARGIN: Final = 20_000
"""Characters beyond a cut that the search for secrets sees too, so that none is cut in two and stays: a private key."""

ORIGIN_OF_ROLE: Final[dict[Role, Origin]] = {"user": "user", "assistant": "agent", "document": "untrusted"}

_BETWEEN_PARTS: Final = "\n\n"
_BLANKS: Final = re.compile(r"\s")
_BORDER_SHARE: Final = 10
"""A cut moves to white space within this part of the length, where there is any."""


@dataclass(frozen=True)
class RawMessage:
    """One message as the file has it.

    `parts` are texts that were written apart (lines of one message id); each is cleaned alone, so that a
    message that grows only ever gets longer. `identity` is what the turn id is made from; null means that the
    format gave no id, and the position in the session has to do. Neither holds lone surrogates (`clean_text`).
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
class Reading:
    """The turns of one file, or of a part of it, and counts of what was left out.

    `turns` has the columns of `READ_SCHEMA`, in file order, with unique turn ids. `kind` is the name of the format.
    The lines of a transcript, and the sections of a document, are its entries: `counts.entry_count` =
    `counts.taken_count` + the sum of `counts.skipped`.
    """

    turns: pl.DataFrame
    counts: Counts
    kind: str

    @property
    def skipped(self) -> dict[str, int]:
        """Entries that were left out, and things within entries, by reason."""
        shown = Counter({reason: n for reason, n in self.counts.skipped.items() if reason not in QUIET})
        return dict(shown + self.counts.parts)

    @property
    def redacted(self) -> dict[str, int]:
        """Secrets that were taken out, by kind."""
        return dict(self.counts.redacted)


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


@dataclass
class _Seen:
    """The ids and texts of a file's turns so far; numbers, since there may be millions."""

    digests: dict[int, int] = field(default_factory=dict)
    message_count: Counter[str] = field(default_factory=Counter)
    turn_count: Counter[str] = field(default_factory=Counter)
    secrets: Known = field(default_factory=Known)
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
    bounds: Bounds,
    told: Mapping[str, Known] | None = None,
) -> Iterator[Reading]:
    """Turns of the messages, in order, without injected memory and without secrets, in parts of a bounded size.

    `messages` are in file order and hold all their parts; `counts` are what their reader counted so far, and each
    part takes over what was counted since the one before. There is one part at least. Messages that end up empty and
    repetitions of a turn are dropped and counted. An id that a format used twice for different texts of one file goes
    to the first; the others get an id by position, so that no text is lost.

    A secret is masked in the whole part in which it was shown, and in all that comes after it: in the file, or in the
    session where `told` has the secrets that were shown there before.
    """
    seen = _Seen()
    rows: list[dict[str, object]] = []
    size = 0
    known = seen.secrets.count
    for message in messages:
        secrets = seen.secrets if told is None else told[message.session_id]
        row = _row(message, source=source, seen=seen, secrets=secrets, counts=counts, bounds=bounds)
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
    if seen.secrets.count == known:
        return known
    for row in rows:
        safe, found = seen.secrets.mask(str(row["content"]))
        if (
            found and row["role"] != "document"
        ):  # a document's id is made from its text, which was redacted whole
            counts.redacted.update(found)
            row["content"], row["content_hash"] = safe, content_hash(safe)
            seen.digests[_number(str(row["turn_id"]))] = _number(str(row["content_hash"]))
    return seen.secrets.count


def _row(
    message: RawMessage,
    *,
    source: Source,
    seen: _Seen,
    secrets: Known,
    counts: Counts,
    bounds: Bounds,
) -> dict[str, object] | None:
    """The turn of a message as a row; null, and counted, where there is nothing new in it."""
    position = seen.place_of(message.session_id)
    content = _answering(message, _clean_parts(message, secrets, counts, bounds), secrets, counts)
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


def _answering(message: RawMessage, content: str, secrets: Known, counts: Counts) -> str:
    """A message without the secret that the message before it in its session asked for."""
    session_id, before = secrets.last_said
    if session_id == message.session_id:
        safe, found = redact_reply(content, before)
        for value, kind in taken(content, safe).items() if found else ():
            secrets.learn(value, kind)
        content = safe
        counts.redacted.update(found)
    secrets.last_said = (message.session_id, content)
    return content


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


def _clean_parts(message: RawMessage, secrets: Known, counts: Counts, bounds: Bounds) -> str:
    kept: list[str] = []
    room, left_out, is_as_read = bounds.message_characters, message.left_out, True
    for part in message.parts:
        if room < LEAST_PART:
            left_out += len(part)
            continue
        text, fence_count = strip_injected(clean_text(part))
        if fence_count:
            counts.parts["injected memory"] += fence_count
        text, found, over = bounded_text(text.strip(), room, secrets.redact)
        counts.redacted.update(found)
        is_as_read = is_as_read and not found and not over
        left_out += over
        room -= len(text) + len(_BETWEEN_PARTS)
        if text:
            kept.append(text)
    if left_out:
        counts.parts[CUT_MESSAGE] += 1
        allowed = f"readers.message_characters allows {bounds.message_characters:,}"
        excess = f"{message.place}: {left_out:,} characters of a message are left out: {allowed}"
        counts.exceed(CUT_MESSAGE, excess)
    if len(kept) == 1 and is_as_read:  # most messages: this very text was redacted above
        return kept[0]
    whole, found = secrets.redact(_BETWEEN_PARTS.join(kept))  # a name in one part, its value in the next
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


Redact = Callable[[str], tuple[str, dict[str, int]]]
"""A way to take secrets out of a text, with how many of each kind there were."""


def bounded_text(text: str, most: int, redact: Redact = redact) -> tuple[str, dict[str, int], int]:
    """A text without secrets and of about `most` characters, the secrets found, and the characters left out.

    A longer text keeps its beginning and its end: a question often follows what was pasted.
    """
    if len(text) <= most:
        safe, found = redact(text)
        return safe, found, 0
    before, after = most - most // 4, most // 4
    head, of_head = redact(text[: before + MARGIN])
    tail, of_tail = redact(text[max(len(text) - after - MARGIN, before) :])
    head = head[: border_before(head, before)].rstrip()
    tail = tail[_border_after(tail, max(len(tail) - after, 0)) :].lstrip()
    left_out = len(text) - len(head) - len(tail)
    mark = f"\n[{left_out} characters left out]\n"
    return f"{head}{mark}{tail}", dict(Counter(of_head) + Counter(of_tail)), left_out


def border_before(text: str, most: int) -> int:
    """The last place before `most` with white space, if there is any nearby."""
    if len(text) <= most:
        return len(text)
    for mark in ("\n\n", "\n", " "):
        if (place := text.rfind(mark, most - most // _BORDER_SHARE, most)) > 0:
            return place
    return most


def _border_after(text: str, least: int) -> int:
    """The first place from `least` on with white space, if there is any nearby."""
    found = _BLANKS.search(text, least, least + max((len(text) - least) // _BORDER_SHARE, 1))
    return found.end() if found and least else least


def with_possible_times(
    rows: pl.DataFrame, *, now: datetime, ahead_hours: float
) -> tuple[pl.DataFrame, pl.Series]:
    """Rows with `event_time`, and which of them were dated after `now`: their day becomes unknown, up to `now`.

    Clocks differ, so `ahead_hours` more are possible. `valid_from` moves with the time that it was taken from.
    """
    last = now + timedelta(hours=ahead_hours)
    times = rows["event_time"]
    first_time, last_time = cast("datetime", times.min()), cast("datetime", times.max())
    if rows.is_empty() or (first_time >= FIRST_KNOWN and last_time <= last):  # nearly always, and quicker
        return rows, pl.repeat(value=False, n=rows.height, eager=True)
    is_late = rows.select(are_impossible(pl.col("event_time"), last=last)).to_series()
    said, undated = pl.col("event_time"), pl.lit(unknown_until(now))
    dates = [name for name in ("valid_from", "event_time") if name in rows.columns]
    changed = {
        name: pl.when(is_late & (pl.col(name) == said)).then(undated).otherwise(name) for name in dates
    }
    return rows.with_columns(**changed), is_late
