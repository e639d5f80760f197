"""Sessions of OpenCode: its database in both forms, and exports."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.errors import InputError
from slowwave.ingest.bounds import DEFAULTS, Bounds
from slowwave.ingest.counts import Counts
from slowwave.ingest.files import source_hash
from slowwave.ingest.sources import find_sources
from slowwave.ingest.turns import source_of, to_parts
from slowwave.interfaces.http.routes.hooks import _moment
from slowwave.recording.record import _messages
from slowwave.schemas.requests import RecordRequest, RecordTurn
from tests.reading import read_path

TEXT = "id TEXT PRIMARY KEY, {}, time_created INTEGER, time_updated INTEGER, data TEXT"
TABLES = {
    "session": "id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, time_created INTEGER",
    "session_v2": "id TEXT PRIMARY KEY, parent_id TEXT, fork_session_id TEXT, directory TEXT, time_created INTEGER",
    "message": TEXT.format("session_id TEXT"),
    "part": TEXT.format("message_id TEXT, session_id TEXT"),
    "session_message": TEXT.format("session_id TEXT, type TEXT, seq INTEGER"),
}
BEGUN = 1_780_000_000_000
OLD, NEW = ("session", "message", "part"), ("session_v2", "session_message")


def opened(path: Path, *tables: str) -> sqlite3.Connection:
    """A database as OpenCode has it open: in WAL mode, so that what it writes waits beside it."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA journal_mode = WAL")
    for table in tables:
        database.execute(f"CREATE TABLE {table} ({TABLES[table]})")
    return database


def insert(database, table, **row):
    names = ", ".join(row)
    marks = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*row.values()])


def session(database, name="s1", table="session", parent=None):
    insert(database, table, id=name, parent_id=parent, directory="/kiln", time_created=BEGUN)


def say(database, name, role, *parts, session="s1", minute=0, made=None):
    created = BEGUN + minute * 60_000
    data = {"role": role, "time": {"created": made or created}}
    insert(database, "message", id=name, session_id=session, time_created=created, data=json.dumps(data))
    for number, given in enumerate(parts):
        part = {"type": "text", "text": given} if isinstance(given, str) else given
        insert(
            database,
            "part",
            id=f"{name}-{number}",
            message_id=name,
            session_id=session,
            data=json.dumps(part),
        )


def say_new(database, name, kind, data, session="s1", minute=0):
    created = BEGUN + minute * 60_000
    data = json.dumps({"time": {"created": created}, **data})
    insert(
        database, "session_message", id=name, session_id=session, type=kind, time_created=created, data=data
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "opencode.db"
    with closing(opened(path, *OLD)) as database:
        session(database)
        say(
            database,
            "m1",
            "user",
            "Which glaze blistered?",
            {"type": "text", "text": "Read it.", "synthetic": True},
        )
        tool = {"type": "tool", "tool": "read"}
        say(
            database, "m2", "assistant", {"type": "reasoning", "text": "Hm."}, tool, "The blue one.", minute=1
        )
        session(database, "s2", parent="s1")
        say(database, "m3", "user", "Look into the kiln.", session="s2", minute=2)
    return path


def test_the_old_form_gives_what_was_said_and_counts_the_rest(path):
    reading = read_path(path)
    assert reading.turns.select("role", "content").rows() == [
        ("user", "Which glaze blistered?"),
        ("assistant", "The blue one."),
    ]
    assert reading.turns["cwd"].unique().to_list() == ["/kiln"]
    assert reading.kind == "opencode"
    assert reading.skipped == {"sub-agent": 1, "thinking": 1, "block without text": 1, "injected context": 1}
    assert find_sources([path.parent]).paths == [path]


def test_a_database_at_rest_is_read_and_nothing_is_left_beside_it(path):
    before = sorted(path.parent.iterdir())
    assert before == [path]
    read_path(path)
    assert sorted(path.parent.iterdir()) == before


def test_a_database_in_use_is_read_with_what_waits_beside_it_and_its_hash_changes(path):
    known = source_hash(path)
    with closing(opened(path)) as database:
        say(database, "m4", "user", "Fire it slower.", minute=3)
        assert path.with_name("opencode.db-wal").stat().st_size
        assert read_path(path).turns["content"].to_list()[-1] == "Fire it slower."
        assert source_hash(path) != known


def test_the_new_form_is_read_and_a_message_that_moved_there_is_one(path):
    with closing(opened(path, *NEW)) as database:
        session(database, table="session_v2")
        say_new(database, "m1", "user", {"text": "Which glaze blistered?"})
        content = [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Cone six."}]
        say_new(database, "m7", "assistant", {"content": content}, minute=7)
        say_new(database, "m8", "synthetic", {"text": "Go on."}, minute=8)
    reading = read_path(path)
    assert sorted(reading.turns["content"]) == ["Cone six.", "The blue one.", "Which glaze blistered?"]
    assert reading.skipped["repeated message"] == 1
    assert reading.skipped["harness message"] == 1


def test_a_fork_repeats_no_turn(path):
    with closing(opened(path)) as database:
        session(database, "s3")
        say(database, "m5", "user", "Which glaze blistered?", session="s3", minute=9, made=BEGUN)
        say(database, "m6", "user", "Try the white one.", session="s3", minute=10)
    contents = read_path(path).turns["content"].to_list()
    assert contents == ["Which glaze blistered?", "The blue one.", "Try the white one."]


def test_an_export_gives_the_same_turns(path, tmp_path):
    def part(text):
        return {"type": "text", "text": text}

    messages = [
        {
            "info": {"id": "m1", "role": "user", "time": {"created": BEGUN}},
            "parts": [part("Which glaze blistered?")],
        },
        {
            "info": {"id": "m2", "role": "assistant", "time": {"created": BEGUN + 60_000}},
            "parts": [part("The blue one.")],
        },
    ]
    export = tmp_path / "kiln.json"
    export.write_text(
        json.dumps({"info": {"id": "s1", "directory": "/kiln"}, "messages": messages}, indent=2)
    )
    assert read_path(export).turns["turn_id"].to_list() == read_path(path).turns["turn_id"].to_list()
    assert read_path(export).turns["cwd"].to_list() == ["/kiln"] * 2
    child = {"info": {"id": "s1", "parentID": "s0"}, "messages": messages}
    export.write_text(json.dumps(child))
    assert read_path(export).skipped == {"sub-agent": 2}


def test_the_answers_to_the_assistants_questions_are_a_persons_words(tmp_path):
    glaze = {"question": "Which glaze?", "options": [{"label": "Celadon"}, {"label": "Ash"}]}
    answered = {
        "status": "completed",
        "input": {"questions": [glaze, {"question": "Why?"}]},
        "metadata": {"answers": [["Ash"], ["It is calm.", "It is cheap."]]},
        "time": {"end": BEGUN + 5},
    }
    asking = {"type": "tool", "tool": "question", "callID": "call_1", "state": answered}
    path = tmp_path / "opencode.db"
    with closing(opened(path, *OLD)) as database:
        session(database)
        say(database, "m1", "assistant", "Let me ask.", asking, {**asking, "tool": "pots_question"})
        say(database, "m2", "assistant", {**asking, "state": {**answered, "status": "error"}}, minute=1)
        reading = read_path(path)
    assert reading.turns.select("role", "content").rows() == [
        ("assistant", "Let me ask.\n\nWhich glaze? (Celadon, Ash)\nWhy?"),
        ("user", "Ash\nIt is calm., It is cheap."),
    ]
    assert reading.counts.entry_count == reading.counts.taken_count + reading.counts.skipped.total()


def test_what_the_plugin_records_is_the_same_turns_as_the_database(path):
    read = read_path(path).turns
    told = [
        RecordTurn(
            session_id=row["session_id"], role=row["role"], text=row["content"], id=f"m{number}",
            time=_moment(round(row["event_time"].timestamp() * 1_000)),
        )
        for number, row in enumerate(read.iter_rows(named=True))
    ]  # fmt: skip
    messages = _messages(RecordRequest(turns=tuple(told), client="opencode"), Counts(), datetime.now(UTC))
    source = source_of(path, "conversation")
    (again,) = to_parts(messages, source=source, counts=Counts(), bounds=DEFAULTS)
    for column in ("turn_id", "content_hash"):
        assert again.turns[column].to_list() == read[column].to_list()


def test_what_is_no_database_of_opencode_is_refused_in_one_line(tmp_path):
    path = tmp_path / "opencode.db"
    path.write_bytes(b"no database")
    with pytest.raises(InputError, match="is no SQLite database"):
        read_path(path)
    path.unlink()
    opened(path, "session").close()
    with pytest.raises(InputError, match="has no table of messages"):
        read_path(path)
    path.write_bytes(path.read_bytes()[:100] + b"x" * 8_000)
    with pytest.raises(InputError, match="cannot be read as a database"):
        read_path(path)


def test_messages_over_a_bound_are_left_out_and_named(path):
    with closing(opened(path)) as database:
        created = BEGUN + 60_000 * 20
        insert(database, "message", id="m9", session_id="s1", time_created=created, data="x" * 20_000)
        insert(database, "message", id="n1", session_id="s1", time_created=created, data="{")
    reading = read_path(path, bounds=Bounds(line_bytes=10_000))
    assert reading.skipped["line over its bound"] == 1
    assert reading.skipped["unreadable message"] == 1
    assert [told for _, told in reading.counts.excesses] == [
        "message 3 has 20,000 characters: readers.line_bytes allows 10,000"
    ]


def test_a_part_of_a_message_over_its_bound_is_left_out_and_named(path):
    with closing(opened(path)) as database:
        say(database, "m8", "user", "How hot?", "kiln " * 2_200, minute=30)
    reading = read_path(path, bounds=Bounds(line_bytes=10_000))
    assert "How hot?" in reading.turns["content"].to_list()
    assert reading.skipped["part of a message over its bound"] == 1
    assert [told.partition(":")[0] for _, told in reading.counts.excesses] == [
        "message 3 has a part of 11,028 characters"
    ]
