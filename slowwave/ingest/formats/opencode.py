"""Sessions of OpenCode: its SQLite database, read while it is in use, and what `opencode export` writes.

Until 2.0 a message stands in `message` and its texts in `part`; since then `session_message` holds both, next to the
old tables. A message that is in both is one, and so is a copy that a fork made: it keeps the time of its making.
Texts that OpenCode puts into a prompt (`synthetic`), tools, reasoning, compaction and sessions of sub-agents are left
out; of the tool `question` the questions are the assistant's words, and the answers a message of the person's. Each
message is an entry. Nothing is ever written, and no file is made next to the database.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from slowwave.errors import InputError
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.counts import LATE_LINE, LONG_LINE, UNSPOKEN
from slowwave.ingest.fields import (
    Fields,
    id_of,
    json_value,
    list_of,
    object_of,
    parse_time,
    questions_in,
    text_of,
)
from slowwave.ingest.files import DATABASE_SUFFIX, Input, file_time, open_bytes, shown_path, wal_of
from slowwave.ingest.formats.row import Format, Place
from slowwave.ingest.lines import json_object
from slowwave.ingest.turns import SPOKEN, RawMessage

LONG_PART: Final = "part of a message over its bound"
_MESSAGE_TABLES: Final = {"session_message": "type", "message": "NULL"}
"""Tables of messages, the newer form first, and what the speaker is in their rows, where it is not in the data."""
_SHORT_DATA: Final = "CASE WHEN length(data) <= ? THEN data END AS data, length(data) AS size"
"""What is over its bound is never read."""
_MAGIC: Final = b"SQLite format 3\x00"
_JOURNAL_MODE: Final = slice(18, 20)
_WAL: Final = b"\x02\x02"


class _Message(NamedTuple):
    """A message: the fields of its session, its own id and role, when it was made, and its parts."""

    session: Fields
    native_id: str
    role: str
    created: object
    parts: list[object]


def _raw(messages: Iterator[_Message], file: Input) -> Iterator[RawMessage]:
    counts, time = file.counts, file_time(file.path)
    seen: set[int] = set()
    for message in messages:
        counts.entry_count += 1
        made = parse_time(message.created)
        time = made or time
        key, role, session = hash(message.native_id), SPOKEN.get(message.role), message.session
        if key in seen:
            counts.skip("repeated message")
        elif text_of(session, "parentID", "parent_id") is not None:
            counts.skip("sub-agent")
        elif role is None:
            counts.skip("harness message")
        elif texts := _said_texts(message.parts, counts.parts):
            said = RawMessage(
                session_id=id_of(session, "id", "sessionID") or file.path.stem,
                role=role,
                parts=tuple(texts),
                event_time=time,
                identity=opencode_identity(role, message.native_id, made),
                cwd=text_of(session, "directory") or text_of(object_of(session.get("path")), "cwd"),
                place=f"message {counts.entry_count}",
            )
            yield said
            if role == "assistant":
                yield from _answers(message, said)
        else:
            counts.skip(UNSPOKEN)
        seen.add(key)


def _answers(message: _Message, asked: RawMessage) -> Iterator[RawMessage]:
    """The person's answers to the questions in a message, each set as a message of its own."""
    for state, call in _answered(message.parts):
        at = parse_time(object_of(state.get("time")).get("end"))
        answers = list_of(object_of(state["metadata"]).get("answers"))
        text = "\n".join(", ".join(map(str, list_of(answer))) for answer in answers)
        yield replace(
            asked,
            role="user",
            parts=(text,),
            event_time=at or asked.event_time,
            identity=opencode_identity("user", call, at),
            entry_count=0,
        )


def opencode_identity(role: str, native_id: str, made: datetime | None) -> tuple[str, ...]:
    """The parts of which a message's id is made: the time of its making, which the copies of a fork keep."""
    return ("opencode", role, native_id if made is None else made.isoformat())


def _of_export(file: Input) -> Iterator[_Message]:
    found = json_object(file)
    session = object_of(found.get("info"))
    for given in map(object_of, list_of(found.get("messages"))):
        info = object_of(given.get("info"))
        role, made = text_of(info, "role", "type") or "", object_of(info.get("time")).get("created")
        native_id = id_of(info, "id") or str(file.counts.entry_count)
        yield _Message(session, native_id, role, made, list_of(given.get("parts")))


def _of_database(file: Input) -> Iterator[_Message]:
    with _opened(file.path, file.bounds) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables.isdisjoint(_MESSAGE_TABLES):
            raise InputError(
                f"{shown_path(file.path)} is no database of OpenCode: it has no table of messages."
            )
        sessions = {
            id_of(session, "id"): session
            for table in ("session", "session_v2")
            if table in tables
            for session in map(dict, database.execute(f"SELECT * FROM {table}"))  # noqa: S608 - names of our own
        }
        for number, row in enumerate(_rows(database, tables, file.bounds), start=1):
            if number > file.bounds.file_lines:
                allowed = f"a transcript may have {file.bounds.file_lines:,}"
                file.counts.leave_out(LATE_LINE, f"the messages from {number:,} on are left out: {allowed}")
                return
            fields = _parsed(row["data"])
            if fields is None:
                is_long = (row["size"] or 0) > file.bounds.line_bytes
                excess = _excess(file.bounds, number, row["size"]) if is_long else ""
                file.counts.leave_out(LONG_LINE if is_long else "unreadable message", excess)
                continue
            yield _Message(
                session=sessions.get(str(row["session_id"])) or {"id": row["session_id"]},
                native_id=str(row["id"]),
                role=row["kind"] or text_of(fields, "role") or "",
                created=object_of(fields.get("time")).get("created") or row["time_created"],
                parts=_parts(database, row["id"], fields, file, number)
                if "part" in tables
                else _own_parts(fields),
            )


def _excess(bounds: Bounds, number: int, size: int, what: str = "") -> str:
    return f"message {number} has {what}{size:,} characters: readers.line_bytes allows {bounds.line_bytes:,}"


@contextmanager
def _opened(path: Path, bounds: Bounds) -> Iterator[sqlite3.Connection]:
    """The database, read-only. Without a write-ahead log it is opened as one that nobody changes."""
    with open_bytes(path, bounds) as (file, _):
        head = file.read(100)
    if not head.startswith(_MAGIC):
        raise InputError(f"{shown_path(path)} is no SQLite database: name OpenCode's opencode.db.")
    wal = wal_of(path)
    is_at_rest = head[_JOURNAL_MODE] == _WAL and not (wal.exists() and wal.stat().st_size)
    address = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if is_at_rest else ''}"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as database:
            database.row_factory = sqlite3.Row
            database.text_factory = lambda raw: raw.decode("utf-8", "replace")
            database.execute("PRAGMA query_only = ON")
            database.execute("PRAGMA trusted_schema = OFF")
            yield database
    except sqlite3.Error as error:
        raise InputError(
            f"{shown_path(path)} cannot be read as a database of OpenCode ({type(error).__name__}): "
            "try again, or name what `opencode export` writes."
        ) from error


def _rows(database: sqlite3.Connection, tables: set[str], bounds: Bounds) -> Iterator[sqlite3.Row]:
    """Messages of all sessions in their order."""
    for table, kind in _MESSAGE_TABLES.items():
        if table in tables:
            yield from database.execute(
                f"SELECT id, session_id, {kind} AS kind, time_created, {_SHORT_DATA} FROM {table} "  # noqa: S608
                "ORDER BY session_id, time_created, id",
                (bounds.line_bytes,),
            )


def _own_parts(fields: Fields) -> list[object]:
    """The parts in a message's own data: its text or its content."""
    text = fields.get("text")
    return [{"type": "text", "text": text}] if isinstance(text, str) else list_of(fields.get("content"))


def _parts(
    database: sqlite3.Connection, native_id: object, fields: Fields, file: Input, number: int
) -> list[object]:
    """The parts of a message: its own, else its rows of `part`; those over the bound of a line are left out."""
    if own := _own_parts(fields):
        return own
    parts: list[object] = []
    query = f"SELECT {_SHORT_DATA} FROM part WHERE message_id = ? ORDER BY id"  # noqa: S608
    for row in database.execute(query, (file.bounds.line_bytes, native_id)):
        if (row["size"] or 0) > file.bounds.line_bytes:
            file.counts.parts[LONG_PART] += 1
            file.counts.exceed(LONG_PART, _excess(file.bounds, number, row["size"], "a part of "))
        else:
            parts.append(_parsed(row["data"]))
    return parts


def _parsed(data: object) -> dict[str, object] | None:
    found = json_value(data.decode("utf-8", "replace") if isinstance(data, bytes) else data)
    return found if isinstance(found, dict) else None


def _said_texts(parts: list[object], skipped: Counter[str]) -> list[str]:
    """The texts of a message, and the questions in it that the person answered."""
    texts = []
    for part in map(object_of, parts):
        kind, text = part.get("type"), part.get("text")
        if asked := [state for state, _ in _answered([part])]:
            texts.append("\n".join(questions_in(object_of(asked[0].get("input")))))
        elif kind != "text" or not isinstance(text, str):
            skipped["thinking" if kind == "reasoning" else "block without text"] += 1
        elif part.get("synthetic") or part.get("ignored"):
            skipped["injected context"] += 1
        elif text.strip():
            texts.append(text)
    return texts


def _answered(parts: list[object]) -> Iterator[tuple[Fields, str]]:
    """The state and the id of each call by which the assistant asked the person and got answers."""
    for part in map(object_of, parts):
        state = object_of(part.get("state"))
        is_asked = part.get("type") == "tool" and part.get("tool") == "question"
        if (
            is_asked
            and state.get("status") == "completed"
            and object_of(state.get("metadata")).get("answers")
        ):
            yield state, str(part.get("callID"))


DATABASE: Final = Format(
    name="opencode",
    title="OpenCode",
    messages=lambda file: _raw(_of_database(file), file),
    is_path=lambda path: path.suffix.lower() == DATABASE_SUFFIX,
    in_folders=r".*/opencode(?:-[\w-]+)?\.db",
    places=(
        Place(
            "OpenCode",
            ("$XDG_DATA_HOME/opencode", ".local/share/opencode", "Library/Application Support/opencode"),
            ("opencode*.db",),  # in folders below are snapshots of whole projects
        ),
    ),
)
EXPORT: Final = Format(
    name="opencode",
    title="",
    messages=lambda file: _raw(_of_export(file), file),
    start=re.compile(rb'\{\s*"info"\s*:\s*\{'),
    suffix=".json",
)
