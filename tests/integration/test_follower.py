"""The follower: what grows on disk is taken in once, and what has ended is learned from once."""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from math import inf
from pathlib import Path

import pyarrow as pa
import pytest

from slowwave.errors import BusyError, NotFoundError, TransientError
from slowwave.home.lock import rewriting
from slowwave.home.paths import open_home
from slowwave.interfaces.hooks import follower as module
from slowwave.interfaces.hooks.connect import connect, disconnect
from slowwave.interfaces.hooks.follower import Follower, follow, read_kept
from slowwave.memory import Memory
from slowwave.schemas.report import UNREADABLE, StageReport
from slowwave.store import open_store
from tests.serving import serving
from tests.transcripts import Transcript
from tests.unit.test_readers_codex import FORK, KILN, LEGACY, SPOKEN, at, event, meta, written

STORED = "what is stored"
TEXTS = [text for _, text in SPOKEN]


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "none")
    for name in ("SETTLE_SECONDS", "RETRY_SECONDS", "FOLLOW_SECONDS"):
        monkeypatch.setattr(module, name, 0.0)
    monkeypatch.setattr(module, "BUSY_SHARE", 1.0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    return folder


def texts_of(home: Path) -> list[str]:
    turns = open_store(open_home(home).store_root).rows("turns", ["event_time", "turn_index", "content"])
    return turns.sort("event_time", "turn_index")["content"].to_list()


class Steps(threading.Event):
    """What happens between two steps of a follower; after the last one it ends."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        super().__init__()
        self._steps: Iterator[Callable[[], object]] = iter(steps)

    def wait(self, timeout: float | None = None) -> bool:
        step = next(self._steps, None)
        if step is not None:
            step()
        return step is None


def followed(home: Path, folder: Path, *steps: Callable[[], object]) -> list[StageReport]:
    reports = list[StageReport]()
    with Memory(home) as memory:
        follow(memory, [folder], stop=Steps(*steps), told=reports.append)
    return reports


def test_each_turn_is_taken_in_once_whatever_happens_to_the_files(home, sessions):
    path = sessions / "a.jsonl"
    fork = [
        meta(FORK, forked_from_id=KILN),
        *at(LEGACY, "2026-05-15T10:00:00Z"),
        event("user_message", "Open it."),
    ]

    def half_written() -> None:
        with path.open("a") as file:
            file.write(json.dumps(LEGACY[10])[:40])

    def compressed() -> None:
        path.with_name("a.jsonl.zst").write_bytes(pa.Codec("zstd").compress(path.read_bytes()).to_pybytes())
        path.unlink()

    reports = followed(
        home,
        sessions,
        lambda: written(sessions, *LEGACY[:8], name="a.jsonl"),
        half_written,
        lambda: written(sessions, *LEGACY, name="a.jsonl"),
        lambda: None,
        lambda: written(sessions, *fork, name="b.jsonl"),
        lambda: written(sessions, *LEGACY[:8], name="a.jsonl"),
        compressed,
        (sessions / "b.jsonl").unlink,
    )
    assert sorted(texts_of(home)) == sorted([*TEXTS, "Open it."])
    assert [report.counts.get("turn.recorded", 0) for report in reports] == [1, 0, 3, 1, 0, 0]
    assert [report.counts.get("turn.recorded", 0) for report in followed(home, sessions)] == [0]


def test_a_database_in_use_is_followed(home, sessions):
    data = json.dumps({"text": "Which glaze blistered?", "time": {"created": 1_780_000_000_000}})
    with closing(sqlite3.connect(sessions / "opencode.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE session_message (id, session_id, type, time_created, data)")
        row = "INSERT INTO session_message VALUES ('m1', 's1', 'user', 1780000000000, ?)"
        followed(home, sessions, lambda: database.execute(row, (data,)))
    assert texts_of(home) == ["Which glaze blistered?"]


def test_a_file_that_keeps_changing_waits_until_it_has_settled_or_waited_for_long(
    home, sessions, monkeypatch
):
    monkeypatch.setattr(module, "SETTLE_SECONDS", 3_600.0)
    written(sessions, *LEGACY[:8], name="a.jsonl")
    assert followed(home, sessions, lambda: written(sessions, *LEGACY, name="a.jsonl"), lambda: None) == []
    monkeypatch.setattr(module, "LONGEST_SECONDS", 0.0)
    reports = followed(home, sessions, lambda: written(sessions, *LEGACY[:2], name="b.jsonl"))
    assert [report.counts.get("turn.recorded", 0) for report in reports] == [4, 0]


def test_what_changes_while_somebody_writes_the_store_waits_and_is_taken_in_then(home, sessions):
    written(sessions, *LEGACY, name="a.jsonl")
    begun, ended = threading.Event(), threading.Event()

    def night() -> None:
        with rewriting(open_home(home)):
            begun.set()
            ended.wait(60)

    thread = threading.Thread(target=night)
    thread.start()
    begun.wait(60)

    def end() -> None:
        ended.set()
        thread.join()

    assert [report.counts["turn.recorded"] for report in followed(home, sessions, end)] == [4]


def test_a_file_that_cannot_be_read_is_named_once_and_stops_no_other(home, sessions):
    (sessions / "a.jsonl").write_text("no json\n")
    written(sessions, *LEGACY, name="b.jsonl")
    (report,) = followed(home, sessions, lambda: None, lambda: None)
    assert (report.counts["turn.recorded"], report.rejected[UNREADABLE]) == (4, 1)
    assert [note for note in report.notes if "a.jsonl" in note]


def test_a_missing_path_is_told_and_ctrl_c_ends_it(home, sessions):
    def interrupted() -> None:
        raise KeyboardInterrupt

    written(sessions, *LEGACY, name="a.jsonl")
    assert len(followed(home, sessions, interrupted)) == 1
    with pytest.raises(NotFoundError):
        followed(home, sessions / "nothing")


# what hooks tell


def heard(home: Path, memory: Memory, **given: object) -> Follower:
    home.mkdir(exist_ok=True)
    return Follower(memory, list, kept=home / "hooks" / "follower.json", **given)  # type: ignore[arg-type]


def counted(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object] = lambda: None) -> list[list[str]]:
    """The files of each ingest, which does something else than taking them in."""
    taken = list[list[str]]()

    def ingest(memory: Memory, sources: list[str], **given: object) -> StageReport:
        taken.append([Path(source).stem for source in sources])
        act()
        return StageReport(stage="ingest", run_id="r", dry_run=False)

    monkeypatch.setattr(Memory, "ingest", ingest)
    return taken


def said(folder: Path, *names: str) -> list[str]:
    found = []
    for name in names:
        transcript = Transcript(folder, name)
        transcript.user(f"The {name} one is number 3.")
        found.append(str(transcript.path))
    return found


def test_many_events_of_a_conversation_are_one_piece_of_work_and_survive_a_kill(home, tmp_path, monkeypatch):
    taken, (path,) = counted(monkeypatch), said(tmp_path, "many")
    with Memory(home) as memory:
        killed = heard(home, memory)
        for is_over in (False, True, False):
            killed.hear("many", path, is_over=is_over)
        assert read_kept(home / "hooks" / "follower.json").waiting == {path: {"many": True}}
        next_one = heard(home, memory)
        next_one.start()
        deadline = time.monotonic() + 60
        while next_one.is_pending() and time.monotonic() < deadline:
            time.sleep(0.01)
        next_one.close()
    assert taken == [["many"]]
    assert read_kept(home / "hooks" / "follower.json").waiting == {}


def test_a_transcript_that_took_long_rests_until_its_conversation_ends(home, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BUSY_SHARE", 1e-6)
    path, *_ = said(tmp_path, "long")
    taken = counted(monkeypatch, act=lambda: said(tmp_path, "long"))  # it grows meanwhile
    with Memory(home) as memory:
        follower = heard(home, memory)
        for is_over, count in ((False, 1), (False, 1), (True, 2)):
            follower.hear("long", path, is_over=is_over)
            follower.step()
            assert len(taken) == count


def test_a_mistake_in_taking_in_one_transcript_costs_no_other_anything(home, tmp_path, monkeypatch, caplog):
    ingest = Memory.ingest

    def broken(memory: Memory, sources: list[str], **given: object) -> StageReport:
        if any("broken" in source for source in sources):
            raise ZeroDivisionError(STORED)
        return ingest(memory, sources, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(Memory, "ingest", broken)
    with Memory(home) as memory:
        follower = heard(home, memory)
        for name, path in zip(("broken", "whole"), said(tmp_path, "broken", "whole"), strict=True):
            follower.hear(name, path, is_over=False)
        follower.step()
        assert not follower.is_pending()
    assert texts_of(home) == ["The whole one is number 3."]
    assert "ZeroDivisionError" in caplog.text
    assert STORED not in caplog.text


def test_what_cannot_be_kept_is_refused_and_a_home_that_went_is_not_made_anew(home, tmp_path):
    (path,) = said(tmp_path, "gone")
    with Memory(home) as memory:
        follower = heard(home, memory)
        home.rename(tmp_path / "elsewhere")
        with pytest.raises(TransientError):
            follower.hear("gone", path, is_over=True)
        follower.step()
        assert not follower.is_pending()
    assert not home.exists()


# learning


def learning(
    home: Path, memory: Memory, *, quiet: float = inf, busy: int = 0
) -> tuple[Follower, list[float]]:
    begun, refusals = list[float](), iter(range(busy))

    def learn() -> None:
        if next(refusals, None) is not None:
            raise BusyError("a night is at work")
        begun.append(time.monotonic())

    return heard(home, memory, learn=learn, quiet_seconds=quiet), begun


@pytest.mark.parametrize("start", [0.0, 3_600.0])
def test_a_server_that_begins_learns_what_an_earlier_one_left(home, monkeypatch, start):
    monkeypatch.setattr(module, "START_SECONDS", start)
    with Memory(home) as memory:
        follower, begun = learning(home, memory)
        follower.step()
    assert len(begun) == (start == 0.0)


def test_the_end_of_a_conversation_is_learned_from_once_also_where_a_run_is_at_work(home, monkeypatch):
    monkeypatch.setattr(module, "START_SECONDS", 3_600.0)
    with Memory(home) as memory:
        follower, begun = learning(home, memory, busy=2)
        follower.hear("over", None, is_over=True)
        for _ in range(5):
            follower.step()
        assert not follower.is_pending()
    assert len(begun) == 1


def test_silence_or_another_conversation_ends_one_whose_end_nobody_told(home, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "START_SECONDS", 3_600.0)
    counted(monkeypatch)
    (path,) = said(tmp_path, "open")
    with Memory(home) as memory:
        for quiet, begins, count in ((3_600.0, False, 0), (0.0, False, 1), (3_600.0, True, 1)):
            follower, begun = learning(home, memory, quiet=quiet)
            follower.hear("open", path, is_over=False)
            follower.step()
            assert follower.is_pending() == (not count or begins), "a server on demand stays for it"
            if begins:
                follower.hear_begin()
            follower.step()
            assert len(begun) == count


# what a server follows


def test_a_server_takes_in_what_connected_agents_wrote_since_and_nothing_else(home, tmp_path, monkeypatch):
    user = tmp_path / "user"
    monkeypatch.setenv("HOME", str(user))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    (before,) = said(user / ".claude" / "projects" / "-kiln", "before")
    os.utime(before, (1_700_000_000, 1_700_000_000))
    connect("claude-code", home=str(home))
    said(user / ".claude" / "projects" / "-kiln", "after")
    (user / ".codex" / "sessions").mkdir(parents=True)
    written(user / ".codex" / "sessions", *LEGACY, name="rollout-a.jsonl")
    with serving(home) as client:
        deadline = time.monotonic() + 60
        while not (home / "store" / "CURRENT").exists() or texts_of(home) == []:
            assert time.monotonic() < deadline, "it never came"
            time.sleep(0.05)
        while "1 message taken in" not in str(client.get("/health/ready").json()["does"]):
            assert time.monotonic() < deadline, "it was never counted"
            time.sleep(0.05)
    assert texts_of(home) == ["The after one is number 3."]
    said(user / ".claude" / "projects" / "-kiln", "unheard")
    disconnect("claude-code", home=str(home))
    with serving(home):
        time.sleep(0.5)
    assert texts_of(home) == ["The after one is number 3."]
