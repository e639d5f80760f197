"""What coding agents keep on disk, taken in as it grows, is forked, cut, compressed and moved: each turn once."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from flows.ingest import ingest
from slowwave.home.paths import open_home
from slowwave.memory import Memory
from slowwave.schemas.report import StageReport
from slowwave.store import open_store
from tests.unit.test_readers_codex import FORK, KILN, LEGACY, SPOKEN, at, event, meta, written

TEXTS = [text for _, text in SPOKEN]


@pytest.fixture(autouse=True)
def without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "none")


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
