"""The result of all readers, and the one way from raw messages to turns.

Nothing leaves this module unredacted. It knows no transcript format and writes nothing.
"""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import polars as pl

from slowwave.readers.fences import strip_injected
from slowwave.redaction.redaction import redact
from slowwave.schemas.choices import Origin, SourceType
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.refusals import clean_text
from slowwave.schemas.tables import frame_schema

Role = Literal["user", "assistant", "document"]

_FROM_CALLER = {"user_id", "project_id", "scope", "recorded_at"}

READ_SCHEMA = pl.Schema(
    {name: kind for name, kind in frame_schema("turns").items() if name not in _FROM_CALLER}
)
"""Columns of `turns` that a reader knows; the owner and the time of recording come from the caller."""

ORIGIN_OF_ROLE: dict[Role, Origin] = {"user": "user", "assistant": "agent", "document": "untrusted"}


@dataclass(frozen=True)
class Reading:
    """The turns of one file, and counts of what was left out.

    `turns` has the columns of `READ_SCHEMA`, in file order, with unique turn ids. `skipped` counts what was
    left out by reason, `redacted` the secrets by kind. `kind` is `claude_code`, `chat`,
    `document` or `empty`.
    """

    turns: pl.DataFrame
    skipped: dict[str, int]
    redacted: dict[str, int]
    kind: str


@dataclass(frozen=True)
class RawMessage:
    """One message as it stands in the file.

    `parts` are texts that were written apart (lines of one message id); each is cleaned alone, so that a
    message that grows only ever gets longer. `identity` is what the turn id is made from; null means that the
    format gave no id and the position in the session has to do. Neither holds lone surrogates (`clean_text`).
    """

    session_id: str
    role: Role
    parts: tuple[str, ...]
    event_time: datetime
    identity: tuple[str, ...] | None = None
    speaker: str | None = None
    cwd: str | None = None
    git_branch: str | None = None


@dataclass(frozen=True)
class Source:
    """The file that messages come from."""

    source_type: SourceType
    source_id: str
    source_name: str


def source_of(path: Path, source_type: SourceType) -> Source:
    """The source of a file: its id is the absolute path, in POSIX form."""
    return Source(source_type, source_id_of(path), clean_text(path.name))


def source_id_of(path: Path) -> str:
    """Absolute path in POSIX form, without following symbolic links."""
    return clean_text(Path(os.path.abspath(path)).as_posix())  # noqa: PTH100 - resolve() would follow links


def to_reading(
    messages: Iterable[RawMessage],
    *,
    source: Source,
    kind: str,
    skipped: Counter[str],
    redacted: Counter[str] | None = None,
) -> Reading:
    """Turns of the messages, in order, without injected memory and without secrets.

    `messages` are in file order and hold all their parts; `skipped` and `redacted` are the reader's own counts.
    Messages that end up empty and repetitions of a turn are dropped and counted. An id that a format used twice for
    different texts of one file goes to the first; the others get an id by position, so that no text is lost.
    """
    skipped, redacted = Counter(skipped), Counter(redacted or {})
    rows: list[dict[str, object]] = []
    digests: dict[str, str] = {}
    message_count: Counter[str] = Counter()
    turn_count: Counter[str] = Counter()
    for message in messages:
        position = message_count[message.session_id]
        message_count[message.session_id] += 1
        content = _clean_parts(message.parts, skipped=skipped, redacted=redacted)
        digest = content_hash(content)
        turn_id, by_position = _turn_ids(message, digest=digest, position=position)
        if not content:
            skipped["empty message"] += 1
        elif digests.get(turn_id) == digest:
            skipped["repeated message"] += 1
        else:
            turn_id = by_position if turn_id in digests else turn_id
            digests[turn_id] = digest
            rows.append(
                {
                    "turn_id": turn_id,
                    "session_id": message.session_id,
                    "turn_index": turn_count[message.session_id],
                    "role": message.role,
                    "speaker": _label(message.speaker, redacted),
                    "content": content,
                    "origin": ORIGIN_OF_ROLE[message.role],
                    "event_time": message.event_time,
                    **vars(source),
                    "cwd": _label(message.cwd, redacted),
                    "git_branch": _label(message.git_branch, redacted),
                    "content_hash": digest,
                }
            )
            turn_count[message.session_id] += 1
    return Reading(pl.DataFrame(rows, schema=READ_SCHEMA), dict(skipped), dict(redacted), kind)


def _turn_ids(message: RawMessage, *, digest: str, position: int) -> tuple[str, str]:
    """The id of the message, and the one by its position among the session's messages in this file."""
    by_position = stable_id("turn", message.session_id, message.role, str(position))
    if message.role == "document":
        return stable_id("turn", message.session_id, digest), by_position
    if message.identity is None:
        return by_position, by_position
    return stable_id("turn", *message.identity), by_position


def empty_reading() -> Reading:
    """The reading of a file without content."""
    return Reading(pl.DataFrame(schema=READ_SCHEMA), {"empty file": 1}, {}, "empty")


def _clean_parts(parts: tuple[str, ...], *, skipped: Counter[str], redacted: Counter[str]) -> str:
    kept = []
    for part in parts:
        text, fence_count = strip_injected(clean_text(part))
        if fence_count:
            skipped["injected memory"] += fence_count
        text, found = redact(text.strip())
        redacted.update(found)
        if text:
            kept.append(text)
    return "\n\n".join(kept)


def _label(text: str | None, redacted: Counter[str]) -> str | None:
    if text is None or not (cleaned := clean_text(text).strip()):
        return None
    cleaned, found = redact(cleaned)
    redacted.update(found)
    return cleaned
