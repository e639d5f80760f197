"""What coding agents keep on disk, taken in as it grows, is forked, cut, compressed and moved: each turn once."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from flows.ingest import ingest
from slowwave.home.paths import open_home
from slowwave.ingest.sources import known_places
from slowwave.interfaces.cli.program import program
from slowwave.memory import Memory
from slowwave.schemas.report import StageReport
from slowwave.store import open_store
from tests.unit.test_readers_codex import FORK, KILN, LEGACY, SPOKEN, at, event, meta, written

TEXTS = [text for _, text in SPOKEN]


@pytest.fixture(autouse=True)
def without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "none")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def run(home: Path, *sources: Path) -> StageReport:
    return ingest.fn(sources=[str(source) for source in sources], home=str(home))


def texts_of(home: Path) -> list[str]:
    turns = open_store(open_home(home).store_root).rows("turns", ["event_time", "turn_index", "content"])
    return turns.sort("event_time", "turn_index")["content"].to_list()


def packed(path: Path) -> Path:
    """The file compressed, as Codex leaves it: the plain one goes."""
    found = path.with_name(f"{path.name}.zst")
    found.write_bytes(pa.Codec("zstd").compress(path.read_bytes()).to_pybytes())
    path.unlink()
    return found


def test_a_session_that_grows_is_forked_compressed_and_archived_is_taken_in_once(tmp_path):
    home, sessions, archived = tmp_path / "home", tmp_path / "sessions", tmp_path / "archived_sessions"
    sessions.mkdir()
    archived.mkdir()
    path = written(sessions, *LEGACY[:8], name="a.jsonl")
    with path.open("a") as file:
        file.write(json.dumps(LEGACY[10])[:60])
    run(home, sessions)
    assert texts_of(home) == TEXTS[:1]
    written(sessions, *LEGACY, name="a.jsonl")
    run(home, sessions)
    assert texts_of(home) == TEXTS
    fork = [meta(FORK, forked_from_id=KILN), *at(LEGACY, "2026-05-15T10:00:00Z")]
    written(sessions, *fork, event("user_message", "Open it."), name="b.jsonl")
    run(home, sessions)
    assert sorted(texts_of(home)) == sorted([*TEXTS, "Open it."])
    packed(path)
    (sessions / "b.jsonl").rename(archived / "b.jsonl")
    report = run(home, sessions, archived)
    assert report.counts.get("turn.recorded", 0) == 0
    assert report.counts["source.recorded"] == 2
    written(sessions, *LEGACY[:8], name="a.jsonl")
    run(home, sessions)
    assert sorted(texts_of(home)) == sorted([*TEXTS, "Open it."])


def test_what_was_erased_does_not_come_back_from_a_fork_or_a_compressed_copy(tmp_path):
    home, sessions = tmp_path / "home", tmp_path / "sessions"
    sessions.mkdir()
    path = written(sessions, *LEGACY, name="a.jsonl")
    run(home, sessions)
    Memory(home).erase(text="Fire it slower.")
    packed(path)
    fork = [meta(FORK, forked_from_id=KILN), *at(LEGACY, "2026-05-15T10:00:00Z")]
    written(sessions, *fork, name="b.jsonl")
    report = run(home, sessions)
    assert report.rejected["erased by a person"] == 2
    assert sorted(texts_of(home)) == sorted(text for text in TEXTS if text != "Fire it slower.")


def test_an_answer_that_is_written_again_is_one_turn_and_what_was_rewound_later_stays(home, tmp_path):
    asked = {
        "id": "m1",
        "timestamp": "2026-05-06T10:00:01Z",
        "type": "user",
        "content": "Which glaze blistered?",
    }
    begun = {"id": "m2", "timestamp": "2026-05-06T10:00:02Z", "type": "gemini", "content": "The"}
    head = {"sessionId": "kiln", "projectHash": "abc", "startTime": "2026-05-06T10:00:00Z"}
    run(home, written(tmp_path, head, asked, begun, name="session-a.jsonl"))
    assert texts_of(home) == ["Which glaze blistered?", "The"]
    whole = [head, asked, begun, {**begun, "content": "The blue one."}]
    run(home, written(tmp_path, *whole, name="session-a.jsonl"))
    assert texts_of(home) == ["Which glaze blistered?", "The blue one."]
    report = run(home, written(tmp_path, *whole, {"$rewindTo": "m2"}, name="session-a.jsonl"))
    assert report.rejected["not a turn: rewound message"] == 2  # both versions
    assert texts_of(home) == ["Which glaze blistered?", "The blue one."]


# discover


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with something of every agent, and the environment that points there alone."""
    user = tmp_path / "user"
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(user))
    for name in (
        ".claude/projects/-kiln/s1.jsonl",
        ".claude/projects/-kiln/s1/tool-results/log.txt",
        ".claude/projects/-kiln/s1/subagents/agent-1.jsonl",
        ".claude/projects/-kiln/memory/MEMORY.md",
        ".claude/projects/-kiln/memory/glazes.md",
        ".codex/sessions/2026/05/06/rollout-a.jsonl",
        ".codex/sessions/2026/05/06/rollout-a.jsonl.zst",
        ".codex/sessions/2026/05/06/rollout-b.jsonl.zst",
        ".codex/archived_sessions/rollout-c.jsonl",
        ".codex/history.jsonl",
        ".gemini/tmp/kiln/chats/session-a.json",
        ".gemini/tmp/kiln/chats/session-b.jsonl",
        ".gemini/tmp/kiln/logs.json",
        ".cursor/projects/kiln/agent-transcripts/0a1b/0a1b.jsonl",
        ".cursor/projects/kiln/agent-transcripts/0a1b/subagents/2c3d.jsonl",
        ".cursor/projects/kiln/worker.log",
        ".local/share/opencode/opencode.db",
        ".local/share/opencode/auth.json",
    ):
        (user / name).parent.mkdir(parents=True, exist_ok=True)
        (user / name).write_text("x")
    return user


def test_the_files_of_every_agent_are_found_and_nothing_else(home, user):
    (user / ".codex/sessions/rollout-link.jsonl").symlink_to(user / ".codex/history.jsonl")
    found = Memory(home).discover()
    assert [(source.source, [path.name for path in source.paths]) for source in found] == [
        ("Claude Code", ["s1.jsonl"]),
        ("Claude Code's notes", ["MEMORY.md", "glazes.md"]),
        ("Codex", ["rollout-a.jsonl", "rollout-b.jsonl.zst"]),
        ("Codex", ["rollout-c.jsonl"]),
        ("Gemini CLI", ["session-a.json", "session-b.jsonl"]),
        ("Cursor", ["0a1b.jsonl"]),
        ("OpenCode", ["opencode.db"]),
    ]
    assert (
        [source.byte_count for source in found]
        == [source.file_count for source in found]
        == [1, 2, 2, 1, 2, 1, 1]
    )


def test_the_places_follow_the_variables_of_each_agent_and_each_folder_counts_once(tmp_path):
    given = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "c"),
        "CODEX_HOME": str(tmp_path / "user/.codex"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "GEMINI_CLI_HOME": str(tmp_path / "g"),
    }
    folders = [folder for _, folder in known_places(given, tmp_path / "user")]
    assert folders.count(tmp_path / "c/projects") == 2
    assert folders.count(tmp_path / "user/.codex/sessions") == 1
    assert {tmp_path / "g/.gemini/tmp", tmp_path / "data/opencode"} <= {*folders}
    assert tmp_path / "user/Library/Application Support/opencode" in folders


def test_discovered_files_are_shown_and_taken_in_only_if_the_user_agrees(home, user):
    written(user / ".codex/archived_sessions", *LEGACY, name="rollout-c.jsonl")
    run_command = CliRunner().invoke
    shown = run_command(program, ["ingest", "--discover", "--home", str(home)])
    assert shown.exit_code == 0
    assert "OpenCode" in shown.output
    assert "Nothing was read: add --yes" in shown.output
    assert not (home / "journal").exists() or not Memory(home).status().rows.get("turns")
    taken = run_command(program, ["ingest", "--discover", "--yes", "--home", str(home)])
    assert taken.exit_code == 65  # one of the files is no database
    assert set(TEXTS) <= set(texts_of(home))
    listed = run_command(program, ["ingest", "--discover", "--json", "--home", str(home)])
    assert [place["source"] for place in json.loads(listed.stdout)][-1] == "OpenCode"
    assert run_command(program, ["ingest", "--home", str(home)]).exit_code == 2
    assert run_command(program, ["ingest", "x", "--discover", "--home", str(home)]).exit_code == 2
