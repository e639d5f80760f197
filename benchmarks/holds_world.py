"""An invented world: its conversations, what was current in it when, and the questions and lists made by hand.

Nothing here knows how the memory works. `benchmarks/README.md` describes the files.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = tuple(ROOT / "data" / "samples" / name for name in ("claude_code", "chat", "notes"))
"""The sessions of the world that has none of its own."""

Listed = Sequence[dict[str, Any]]

AFTER_THE_LAST = timedelta(days=1)
"""From the last message of a world to its questions."""


@dataclass(frozen=True)
class Message:
    """A message of a conversation."""

    message_id: str
    session_id: str
    role: str
    at: datetime
    text: str


@dataclass(frozen=True)
class Value:
    """A value of a property: every literal form that names it, and the first day on which it was stated."""

    forms: tuple[str, ...]
    known_from: date


@dataclass(frozen=True)
class Property:
    """A property that changed: values in order of time; of an undecided one the last two are both current."""

    name: str
    about: tuple[str, ...]
    """Its subject and attribute."""
    values: tuple[Value, ...]
    evidence: frozenset[str]
    """Messages that state one of its values."""
    is_undecided: bool

    @property
    def current(self) -> tuple[Value, ...]:
        """The value that is current; both sides of an undecided property."""
        return self.values[-2:] if self.is_undecided else self.values[-1:]

    @property
    def former(self) -> tuple[Value, ...]:
        """The values before."""
        return self.values[: -len(self.current)]


@dataclass(frozen=True)
class World:
    """A world as it is read from its folder. The lists keep the form of their files."""

    name: str
    sources: tuple[Path, ...]
    now: datetime
    """The moment of the questions."""
    messages: Mapping[str, Message] = field(default_factory=dict)
    properties: Mapping[str, Property] = field(default_factory=dict)
    questions: Listed = ()
    unanswerable: Listed = ()
    errors: Listed = ()
    files: Listed = ()
    core: Listed = ()
    whose: Listed = ()


def read_world(folder: Path) -> World:
    """The world in `folder`; a list that is missing is empty, sessions that are missing are those of the sample."""
    own = folder / "sessions"
    sources = (own,) if own.is_dir() else SAMPLES
    messages = {message.message_id: message for source in sources for message in read_messages(source)}
    days = {name: message.at.date() for name, message in messages.items()}
    properties = [_property(entry, days) for entry in _listed(folder, "properties")]
    names = ("questions", "unanswerable", "errors", "files", "core", "whose")
    return World(
        name=folder.name,
        sources=sources,
        messages=messages,
        properties={one.name: one for one in properties},
        **{name: _listed(folder, name) for name in names},
        now=max(message.at for message in messages.values()) + AFTER_THE_LAST,
    )


def read_messages(folder: Path) -> Iterator[Message]:
    """Messages of chat JSONL and of Claude Code's transcripts, in the order of the files."""
    for path in sorted(folder.glob("*.jsonl")):
        for record in _records(path):
            session = record.get("session_id") or record.get("sessionId")
            name, said_at = record.get("id") or record.get("uuid"), record.get("timestamp")
            if session and name and said_at:
                at = datetime.fromisoformat(said_at).astimezone(UTC)
                yield Message(name, session, record.get("role") or record["type"], at, _text(record))


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Objects of a file, without the broken lines that the sample has on purpose."""
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _text(record: dict[str, Any]) -> str:
    content = record.get("content") or record.get("message", {}).get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if isinstance(block, dict) and "text" in block)


def _listed(folder: Path, name: str) -> list[dict[str, Any]]:
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def _property(entry: dict[str, Any], days: Mapping[str, date]) -> Property:
    return Property(
        name=entry["property"],
        about=(entry["subject"], entry["attribute"]),
        values=tuple(_value(value, days) for value in entry["values"]),
        evidence=frozenset(name for value in entry["values"] for name in value["evidence"]),
        is_undecided=entry.get("undecided", False),
    )


def _value(entry: dict[str, Any], days: Mapping[str, date]) -> Value:
    stated = [days[name] for name in entry["evidence"] if name in days]
    return Value(tuple(entry["forms"]), min([date.fromisoformat(entry["since"]), *stated]))


def unpack_journal(kept: Path, journal: Path) -> None:
    """Copy a kept journal, whose segments may be compressed, to where a home has its own."""
    for path in sorted(path for path in kept.rglob("*.jsonl*") if path.is_file()):
        target = journal / path.relative_to(kept).parent / path.name.removesuffix(".gz").removesuffix(".zst")
        target.parent.mkdir(parents=True, exist_ok=True)
        with pa.input_stream(path, compression="detect") as segment:
            target.write_bytes(segment.read())
