"""The one way from raw messages to turns: nothing leaves this module unredacted.

It knows no format of files and writes nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from slowwave.ingest.bounds import Bounds
from slowwave.ingest.counts import CUT_MESSAGE, QUIET, Counts
from slowwave.ingest.fences import strip_injected
from slowwave.ingest.fields import LONGEST_LABEL
from slowwave.ingest.files import absolute, named
from slowwave.ingest.redact import redact
from slowwave.ingest.redact.known import Known
from slowwave.ingest.redact.names import safe_id
from slowwave.schemas.choices import Origin, SourceType
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.moments import are_impossible, unknown_until
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


@dataclass(frozen=True)
class Reading:
    """The turns of one file, or of a part of it, and counts of what was left out.

    `turns` has the columns of `READ_SCHEMA`, in file order, with unique turn ids. The lines of a transcript, and the
    sections of a document, are its entries: `counts.entry_count` = `counts.taken_count` + the sum of `counts.skipped`.
    """

    turns: pl.DataFrame
    counts: Counts

    @property
    def skipped(self) -> dict[str, int]:
        """Entries that were left out, and things within entries, by reason."""
        shown = Counter({reason: n for reason, n in self.counts.skipped.items() if reason not in QUIET})
        return dict(shown + self.counts.parts)


@dataclass(frozen=True)
class Source:
    """The file that messages come from."""

    source_type: SourceType
    source_id: str
    source_name: str


def source_of(path: Path, source_type: SourceType) -> Source:
    """The source of a file."""
    return Source(source_type, source_id_of(path), named(path.name))


def source_id_of(path: Path) -> str:
    """Absolute path in POSIX form without secrets, without following symbolic links."""
    return named(absolute(path))


def to_parts(
    messages: Iterable[RawMessage],
    *,
    source: Source,
    counts: Counts,
    bounds: Bounds,
    secrets: Mapping[str, Known] | None = None,
) -> Iterator[Reading]:
    """Turns of the messages, in order, without injected memory and without secrets, in parts of a bounded size.

    `messages` are in file order and hold all their parts; `counts` are what their reader counted so far, and each
    part takes over what was counted since the one before. There is one part at least. Messages that end up empty and
    repetitions of a turn are dropped and counted. An id that a format used twice for different texts of one file goes
    to the first; the others get an id by position, so that no text is lost.

    A secret is masked in the whole part in which it was shown, and in all that comes after it: in the file, or in the
    session where `secrets` has those that each session showed before.
    """
    turns = _Turns(source, counts, bounds)
    for message in messages:
        turns.add(message, turns.secrets if secrets is None else secrets[message.session_id])
        if turns.is_full:
            yield turns.part()
    yield turns.part()


class _Turns:
    """The turns of a file, part by part."""

    def __init__(self, source: Source, counts: Counts, bounds: Bounds) -> None:
        self._source, self._counts, self._bounds = source, counts, bounds
        self.secrets = Known()
        """The secrets that the file showed so far."""
        self._masked_count = 0
        """How many of them are masked in the whole part already."""
        self._digests: dict[int, int] = {}
        """Hashes of the file's turns by their ids; numbers, since there may be millions."""
        self._positions, self._turn_count = Counter[str](), Counter[str]()
        self._rows: list[dict[str, Any]] = []
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Return whether the part is as large as one may be."""
        return len(self._rows) >= self._bounds.part_turns or self._size >= self._bounds.part_characters

    def part(self) -> Reading:
        """The turns and counts since the last part."""
        if self.secrets.count > self._masked_count:
            self._mask_earlier()
        turns = pl.DataFrame(self._rows, schema=READ_SCHEMA)
        self._rows, self._size = [], 0
        return Reading(turns, self._counts.taken_over())

    def _mask_earlier(self) -> None:
        """Mask in the messages of the part what only a later one showed to be a secret."""
        self._masked_count = self.secrets.count
        for row in self._rows:
            if row["role"] == "document":  # its id is made from its text, which was redacted whole
                continue
            safe, found = self.secrets.mask(row["content"])
            if found:
                self._counts.redacted.update(found)
                row |= {"content": safe, "content_hash": content_hash(safe)}
                self._digests[int(row["turn_id"], 16)] = int(row["content_hash"], 16)

    def add(self, message: RawMessage, secrets: Known) -> None:
        """Add the turn of a message; it is only counted where there is nothing new in it."""
        position = self._positions[message.session_id]
        self._positions[message.session_id] += 1
        content = self._answering(message, self._content(message, secrets), secrets)
        digest = content_hash(content)
        turn_id, by_position = _turn_ids(message, digest=digest, position=position)
        known = self._digests.get(int(turn_id, 16))
        if not content or known == int(digest, 16):
            self._counts.skip("repeated message" if content else "empty message", message.entry_count)
            return
        turn_id = turn_id if known is None else by_position
        self._digests[int(turn_id, 16)] = int(digest, 16)
        row = {
            "turn_id": turn_id,
            "session_id": safe_id(message.session_id),
            "turn_index": self._turn_count[message.session_id],
            "role": message.role,
            "speaker": self._speaker(message.speaker),
            "content": content,
            "origin": ORIGIN_OF_ROLE[message.role],
            "event_time": message.event_time,
            **vars(self._source),
            "cwd": self._label(message.cwd),
            "git_branch": self._label(message.git_branch),
            "content_hash": digest,
        }
        self._rows.append(row)
        self._size += len(content)
        self._turn_count[message.session_id] += 1
        self._counts.taken_count += message.entry_count

    def _content(self, message: RawMessage, secrets: Known) -> str:
        """The text of a message without injected memory and secrets, at most as long as the bound allows."""
        counts, room = self._counts, self._bounds.message_characters
        kept: list[str] = []
        left_out, is_redacted = 0, False
        for part in message.parts:
            if room < LEAST_PART:
                left_out += len(part)
                continue
            text = without_injected(clean_text(part), counts).strip()
            text, found, over = bounded_text(text, room, secrets.redact)
            counts.redacted.update(found)
            is_redacted |= bool(found or over)
            left_out += over
            room -= len(text) + len(_BETWEEN_PARTS)
            kept += [text] if text else []
        if left_out:
            counts.parts[CUT_MESSAGE] += 1
            allowed = f"readers.message_characters allows {self._bounds.message_characters:,}"
            excess = f"{message.place}: {left_out:,} characters of a message are left out: {allowed}"
            counts.exceed(CUT_MESSAGE, excess)
        if len(kept) == 1 and not is_redacted:  # most messages: nothing was found in this very text
            return kept[0]
        whole, found = secrets.redact(_BETWEEN_PARTS.join(kept))  # a name in one part, its value in the next
        counts.redacted.update(found)
        return whole

    def _answering(self, message: RawMessage, content: str, secrets: Known) -> str:
        """A message without the secret that the message before it in its session asked for."""
        session_id, before = secrets.last_said
        if session_id == message.session_id:
            content, found = secrets.redact_reply(content, before)
            self._counts.redacted.update(found)
        secrets.last_said = (message.session_id, content)
        return content

    def _speaker(self, text: str | None) -> str | None:
        """A speaker's name; null for a label too long for one, which would pass for whatever it says."""
        name = self._label(text)
        if name is None or len(name.split()) <= NAME_WORDS:
            return name
        self._counts.parts["speaker's name too long"] += 1
        return None

    def _label(self, text: str | None) -> str | None:
        if text is None or not (cleaned := clean_text(text).strip()):
            return None
        if len(cleaned) > LONGEST_LABEL:
            self._counts.parts[f"name of more than {LONGEST_LABEL} characters"] += 1
            return None
        cleaned, found = redact(cleaned)
        self._counts.redacted.update(found)
        return cleaned


def _turn_ids(message: RawMessage, *, digest: str, position: int) -> tuple[str, str]:
    """The id of the message, and the one by its position among the session's messages in this file."""
    by_position = stable_id("turn", message.session_id, message.role, str(position))
    if message.role == "document":
        return stable_id("turn", message.session_id, digest), by_position
    if message.identity is None:
        return by_position, by_position
    return stable_id("turn", *message.identity), by_position


def without_injected(text: str, counts: Counts) -> str:
    """A text without memory that Slowwave put into a prompt; how often that was cut out is counted."""
    text, fence_count = strip_injected(text)
    if fence_count:
        counts.parts["injected memory"] += fence_count
    return text


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
    is_late = rows.select(are_impossible(pl.col("event_time"), last=last)).to_series()
    undated = pl.lit(unknown_until(now))
    moved = [
        pl.when(is_late & (pl.col(name) == pl.col("event_time"))).then(undated).otherwise(name).alias(name)
        for name in ("valid_from", "event_time")
        if name in rows.columns
    ]
    return rows.with_columns(moved), is_late
