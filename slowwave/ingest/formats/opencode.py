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

_TABLES: Final = ("session", "message", "part", "session_v2", "session_message")
_MOST_LABEL: Final = 10_000
"""Characters that are read of a session's id or folder; its other columns are not read, whatever they hold."""
LONG_PART: Final = "part of a message over its bound"
_SHORT_DATA: Final = "CASE WHEN length(data) <= ? THEN data END"
"""What is over its bound is never read."""
_MAGIC: Final = b"SQLite format 3\x00"
_JOURNAL_MODE: Final = slice(18, 20)
_WAL: Final = b"\x02\x02"


class _Session(NamedTuple):
    """A session: its id, its folder, and whether a sub-agent had it."""

    session_id: str
    folder: str | None
    is_subagent: bool


class _Message(NamedTuple):
    """A message: its session, its own id and role, when it was made, and its parts."""

    session: _Session
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
        key = hash(message.native_id)
        if key in seen:
            counts.skip("repeated message")
            continue
        seen.add(key)
        if message.session.is_subagent:
            counts.skip("sub-agent")
        elif (role := SPOKEN.get(message.role)) is None:
            counts.skip("harness message")
        elif texts := _said_texts(message.parts, counts.parts):
            yield RawMessage(
                session_id=message.session.session_id,
                role=role,
                parts=tuple(texts),
                event_time=time,
                identity=opencode_identity(role, message.native_id, made),
                cwd=message.session.folder,
                place=f"message {counts.entry_count}",
            )
            if role == "assistant":
                yield from _answers(message, time, place=f"message {counts.entry_count}")
        else:
            counts.skip(UNSPOKEN)


def _answers(message: _Message, time: datetime, *, place: str) -> Iterator[RawMessage]:
    """The person's answers to the questions in a message, each set as a message of its own."""
    for state, call in _answered(message.parts):
        at = parse_time(object_of(state.get("time")).get("end"))
        told = [
            ", ".join(map(str, list_of(answer)))
            for answer in list_of(object_of(state["metadata"]).get("answers"))
        ]
        yield RawMessage(
            session_id=message.session.session_id,
            role="user",
            parts=("\n".join(told),),
            event_time=at or time,
            identity=opencode_identity("user", call, at),
            cwd=message.session.folder,
            place=place,
            entry_count=0,
        )


def opencode_identity(role: str, native_id: str, made: datetime | None) -> tuple[str, ...]:
    """The parts of which a message's id is made: the time of its making, which the copies of a fork keep."""
    return ("opencode", role, native_id if made is None else made.isoformat())


def _of_export(file: Input) -> Iterator[_Message]:
    found = json_object(file)
    session = _session(object_of(found.get("info")), file.path)
    for given in map(object_of, list_of(found.get("messages"))):
        info = object_of(given.get("info"))
        kind, made = text_of(info, "role", "type") or "", object_of(info.get("time")).get("created")
        yield _Message(
            session,
            id_of(info, "id") or str(file.counts.entry_count),
            kind,
            made,
            list_of(given.get("parts")),
        )


def _session(info: Fields, path: Path) -> _Session:
    folder = text_of(info, "directory") or text_of(object_of(info.get("path")), "cwd")
    parent = text_of(info, "parentID", "parent_id")
    return _Session(id_of(info, "id", "sessionID") or path.stem, folder, parent is not None)


def _of_database(file: Input) -> Iterator[_Message]:
    bounds = file.bounds
    with _opened(file.path, bounds) as database:
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        tables = {name for (name,) in database.execute(query)} & {*_TABLES}
        if not tables & {"message", "session_message"}:
            raise InputError(
                f"{shown_path(file.path)} is no database of OpenCode: it has no table of messages."
            )
        sessions = _sessions(database, tables, file.path)
        for number, row in enumerate(_rows(database, tables, bounds), start=1):
            if number > bounds.file_lines:
                allowed = f"a transcript may have {bounds.file_lines:,}"
                file.counts.leave_out(LATE_LINE, f"the messages from {number:,} on are left out: {allowed}")
                return
            if (fields := _parsed(row.data)) is None:
                is_long, allowed = (
                    row.size > bounds.line_bytes,
                    f"readers.line_bytes allows {bounds.line_bytes:,}",
                )
                excess = f"message {number} has {row.size:,} characters: {allowed}" if is_long else ""
                file.counts.leave_out(LONG_LINE if is_long else "unreadable message", excess)
                continue
            parts, left_out = _parts(database, row.native_id, fields, tables, bounds)
            if left_out:
                file.counts.parts[LONG_PART] += left_out
                allowed = f"readers.line_bytes allows together: {bounds.line_bytes:,}"
                file.counts.exceed(LONG_PART, f"message {number} has more parts than {allowed}")
            yield _Message(
                session=sessions.get(row.session_id) or _session({"id": row.session_id}, file.path),
                native_id=row.native_id,
                role=row.kind or text_of(fields, "role") or "",
                created=object_of(fields.get("time")).get("created") or row.made,
                parts=parts,
            )


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
            database.text_factory = lambda raw: raw.decode("utf-8", "replace")
            database.execute("PRAGMA query_only = ON")
            database.execute("PRAGMA trusted_schema = OFF")
            yield database
    except sqlite3.Error as error:
        raise InputError(
            f"{shown_path(path)} cannot be read as a database of OpenCode ({type(error).__name__}): "
            "try again, or name what `opencode export` writes."
        ) from error


def _sessions(database: sqlite3.Connection, tables: set[str], path: Path) -> dict[str, _Session]:
    found = {}
    for table in ("session", "session_v2"):
        if table in tables:
            known = {column for _, column, *_ in database.execute(f"PRAGMA table_info({table})")}
            names = [name for name in ("id", "directory", "parent_id") if name in known] or ["rowid"]
            columns = ", ".join(f"substr({name}, 1, {_MOST_LABEL})" for name in names)
            for row in database.execute(f"SELECT {columns} FROM {table}"):  # noqa: S608 - names of our own
                session = _session(dict(zip(names, row, strict=True)), path)
                found[session.session_id] = session
    return found


class _Row(NamedTuple):
    """A message's row: its data, null where it is too long, and the size of that in characters."""

    native_id: str
    session_id: str
    kind: str | None
    made: object
    data: object
    size: int


def _rows(database: sqlite3.Connection, tables: set[str], bounds: Bounds) -> Iterator[_Row]:
    """Messages of all sessions in their order, the newer form first."""
    for table, kind in (("session_message", "type"), ("message", "NULL")):
        if table not in tables:
            continue
        query = (
            f"SELECT id, session_id, {kind}, time_created, {_SHORT_DATA}, length(data) FROM {table} "  # noqa: S608
            "ORDER BY session_id, time_created, id"
        )
        for native_id, session_id, name, made, data, size in database.execute(query, (bounds.line_bytes,)):
            yield _Row(str(native_id), str(session_id), name and str(name), made, data, int(size or 0))


def _parts(
    database: sqlite3.Connection, native_id: str, fields: Fields, tables: set[str], bounds: Bounds
) -> tuple[list[object], int]:
    """The parts of a message, and how many are over its bound: its own text or content, else its rows of `part`."""
    if isinstance(text := fields.get("text"), str):
        return [{"type": "text", "text": text}], 0
    if isinstance(content := fields.get("content"), list):
        return content, 0
    parts: list[object] = []
    left, left_out = bounds.line_bytes, 0
    query = f"SELECT {_SHORT_DATA}, length(data) FROM part WHERE message_id = ? ORDER BY id"  # noqa: S608
    for data, size in database.execute(query, (left, native_id)) if "part" in tables else ():
        left -= size or 0
        if left < 0:
            left_out += 1
        else:
            parts.append(_parsed(data))
    return parts, left_out


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
