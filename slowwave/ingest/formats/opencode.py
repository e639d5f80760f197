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
from slowwave.ingest.fields import Fields, id_of, list_of, object_of, parse_time, questions_in, text_of
from slowwave.ingest.files import DATABASE_SUFFIX, Input, file_time, open_bytes, shown_path, wal_of
from slowwave.ingest.formats.row import Format, Place
from slowwave.ingest.lines import json_object, json_value
from slowwave.ingest.turns import SPOKEN, RawMessage

_TABLES: Final = ("session", "message", "part", "session_v2", "session_message")
_MOST_LABEL: Final = 10_000
"""Characters that are read of a session's id or folder; its other columns are not read, whatever they hold."""
LONG_PART: Final = "part of a message over its bound"
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


def messages_of_database(file: Input) -> Iterator[RawMessage]:
    """The messages of all sessions in a database."""
    return _raw(_of_database(file), file)


def messages_of_export(file: Input) -> Iterator[RawMessage]:
    """The messages of an exported session."""
    return _raw(_of_export(file), file)


_NAME: Final = r"opencode(?:-[\w-]+)?\.db"

DATABASE: Final = Format(
    name="opencode",
    title="OpenCode",
    messages=messages_of_database,
    is_path=lambda path: path.suffix.lower() == DATABASE_SUFFIX,
    in_folders=f".*/{_NAME}",
    places=(
        Place(
            "OpenCode",
            ("$XDG_DATA_HOME/opencode", ".local/share/opencode", "Library/Application Support/opencode"),
            re.compile(_NAME),
            depth=0,  # below are snapshots of whole projects
        ),
    ),
)
EXPORT: Final = Format(
    name="opencode",
    title="",
    messages=messages_of_export,
    start=re.compile(rb'\{\s*"info"\s*:\s*\{'),
    suffix=".json",
)


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
        sessions, parts_query = _sessions(database, tables, file.path), _parts_query(database, tables)
        for number, row in enumerate(_rows(database, tables), start=1):
            if number > bounds.file_lines:
                allowed = f"a transcript may have {bounds.file_lines:,}"
                _skip(file, LATE_LINE, f"the messages from {number:,} on are left out: {allowed}")
                return
            data, size = _data_of(database, row, bounds)
            if (fields := _parsed(data)) is None:
                is_long = size > bounds.line_bytes
                excess = f"message {number} has {size:,} characters: {_allowed(bounds)}" if is_long else ""
                _skip(file, LONG_LINE if is_long else "unreadable message", excess)
                continue
            session = sessions.get(row.session_id) or _session({"id": row.session_id}, file.path)
            role = row.kind or text_of(fields, "role") or ""
            created = object_of(fields.get("time")).get("created") or row.made
            parts, left_out = _parts(database, row.native_id, fields, parts_query, bounds)
            if left_out:
                file.counts.parts[LONG_PART] += left_out
                allowed = f"readers.line_bytes allows together: {bounds.line_bytes:,}"
                excess = f"message {number} has more parts than {allowed}"
                file.counts.exceed(LONG_PART, excess)
            yield _Message(session, row.native_id, role, created, parts)


def _allowed(bounds: Bounds) -> str:
    return f"readers.line_bytes allows {bounds.line_bytes:,}"


def _skip(file: Input, reason: str, excess: str) -> None:
    file.counts.entry_count += 1
    file.counts.skip(reason, excess=excess)


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
    """A message's row without its data, which is read when its turn comes."""

    table: str
    number: int
    native_id: str
    session_id: str
    kind: str | None
    made: object


def _rows(database: sqlite3.Connection, tables: set[str]) -> Iterator[_Row]:
    """Messages of all sessions in their order, the newer form first."""
    order = "ORDER BY session_id, time_created, id"
    queries = {
        "session_message": f"SELECT rowid, id, session_id, type, time_created FROM session_message {order}",  # noqa: S608
        "message": f"SELECT rowid, id, session_id, NULL, time_created FROM message {order}",  # noqa: S608
    }
    for table in [name for name in queries if name in tables]:
        for number, native_id, session_id, kind, made in database.execute(queries[table]):
            named = None if kind is None else str(kind)
            yield _Row(table, number, str(native_id), str(session_id), named, made)


def _data_of(database: sqlite3.Connection, row: _Row, bounds: Bounds) -> tuple[object, int]:
    """The data of a message, null where it is too long, and its size in characters."""
    query = f"SELECT CASE WHEN length(data) <= ? THEN data END, length(data) FROM {row.table} WHERE rowid = ?"  # noqa: S608
    data, size = database.execute(query, (bounds.line_bytes, row.number)).fetchone() or (None, 0)
    return data, int(size or 0)


def _parts(
    database: sqlite3.Connection, native_id: str, fields: Fields, query: str, bounds: Bounds
) -> tuple[list[object], int]:
    """The parts of a message, and how many are over its bound: its own text or content, else its rows of `part`."""
    if isinstance(text := fields.get("text"), str):
        return [{"type": "text", "text": text}], 0
    if isinstance(content := fields.get("content"), list):
        return content, 0
    parts: list[object] = []
    left, left_out = bounds.line_bytes, 0
    for place, size in database.execute(query, (native_id,)) if query else ():
        left -= size or 0
        if left < 0:
            left_out += 1
            continue
        (data,) = database.execute("SELECT data FROM part WHERE rowid = ?", (place,)).fetchone() or (None,)
        parts.append(_parsed(data))
    return parts, left_out


def _parts_query(database: sqlite3.Connection, tables: set[str]) -> str:
    """The query for the places and sizes of a message's parts; empty where no parts are kept.

    Without an index each message would read them all, and one is made in a temporary database.
    """
    query = "SELECT rowid, length(data) FROM part WHERE message_id = ? ORDER BY id"
    if "part" not in tables:
        return ""
    plan = database.execute(f"EXPLAIN QUERY PLAN {query}", ("",)).fetchall()
    if not any("SCAN" in str(step[-1]) for step in plan):
        return query
    database.execute("PRAGMA query_only = OFF")  # the database itself is open for reading alone
    database.execute(
        "CREATE TEMP TABLE places AS SELECT message_id, id, rowid AS place, length(data) AS size FROM main.part"
    )
    database.execute("CREATE INDEX temp.places_of ON places (message_id, id)")
    database.execute("PRAGMA query_only = ON")
    return "SELECT place, size FROM temp.places WHERE message_id = ? ORDER BY id"


def _parsed(data: object) -> dict[str, object] | None:
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    found = json_value(text) if isinstance(text, str) else None
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
