"""A night that is killed at any moment and started again ends with the memory of an undisturbed one.

Real processes, SIGKILL, a scripted model over HTTP. Each child imports everything first and waits for a word,
so that the next one can get ready while the present one works; it tells on its standard output which stage
begins and which segment was acknowledged, and the parent kills it some random time after such a line.
"""

import queue
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from slowwave.errors import BusyError
from slowwave.journal import Journal
from tests.scripted_model import (
    ScriptedModel,
    assert_no_row_twice,
    assert_same_memory,
    memory,
    segments,
    write_chat,
    write_settings,
)
from tests.servers import Body, OpenAIServer

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("ingest", "extract", "cluster", "reconcile", "consolidate", "promote")
SEED = 20261120
LEAST_KILLS = 30

PLANS = (
    "ingest ingest extract extract cluster reconcile reconcile reconcile consolidate promote promote",
    "ingest extract extract extract cluster cluster reconcile reconcile consolidate consolidate promote",
    "extract extract cluster cluster reconcile reconcile reconcile consolidate consolidate promote promote",
)
"""For each home the stages in which its nights are killed, one after the other."""

CHILD = """
import os, signal, sys
from pathlib import Path
from flows.nightly import nightly
from slowwave import home as homes
from slowwave.errors import SlowwaveError
from slowwave.journal import Journal
from slowwave.store import Store
from tasks.stage import Stage
import wordllama

stage_now = ""

def say(*words):
    print(*words, flush=True)

def before(owner, name, told):
    work = getattr(owner, name)
    def wrapped(*args, **named):
        told(*args)
        return work(*args, **named)
    setattr(owner, name, wrapped)

def after(owner, name, told):
    work = getattr(owner, name)
    def wrapped(*args, **named):
        result = work(*args, **named)
        told(result)
        return result
    setattr(owner, name, wrapped)

def begins(run, name, *rest):
    global stage_now
    stage_now = name
    say("stage", name)

def die_in(stage):
    def told(*args):
        if stage_now == stage and not (args and isinstance(args[0], Path) and ".draft" not in args[0].name):
            say("dying", stage)
            os.kill(os.getpid(), signal.SIGKILL)
    return told

before(Stage, "__init__", begins)
after(Journal, "commit", lambda segment: segment and say("acknowledged", segment.segment_id))
home, sources, crash = sys.argv[1:4]
exec(crash)
say("ready")
sys.stdin.readline()
try:
    report = nightly.fn(home=home, sources=[sources], force=True)
except SlowwaveError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
say("done", report.change_count)
"""


CHILDREN: list["Child"] = []
"""Every child of this module, so that none outlives it."""


class Child:
    """A process that gets ready to spend a night, and what it says."""

    def __init__(self, home: Path, sources: Path, crash: str = "") -> None:
        self.said: list[tuple[float, str]] = []
        self._lines: queue.Queue[tuple[float, str] | None] = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(home), str(sources), crash],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        CHILDREN.append(self)
        self._told: list[str] = []
        self._is_over = False
        self._threads = [
            threading.Thread(target=target, daemon=True) for target in (self._listen, self._hear)
        ]
        for thread in self._threads:
            thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put((time.monotonic(), line.strip()))
        self._lines.put(None)

    def _hear(self) -> None:
        assert self.process.stderr is not None
        self._told += self.process.stderr.readlines()

    def until(self, wanted: str) -> bool:
        """Waits for a line that begins so; false when the process ended without it."""
        while not self._is_over:
            line = self._lines.get(timeout=300)
            if line is None:
                self._is_over = True
                break
            self.said.append(line)
            if line[1].startswith(wanted):
                return True
        return False

    def go(self) -> "Child":
        assert self.until("ready"), self.errors()
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self

    def end(self) -> int:
        """Waits for the end; returns the exit code, negative for a signal."""
        self.until("there is no such line")
        code = self.process.wait(timeout=120)
        for thread in self._threads:
            thread.join(timeout=10)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        return code

    def errors(self) -> str:
        return "".join(self._told)

    def words(self, first: str) -> list[str]:
        """What followed this word on each line that began with it."""
        return [line.split()[1] for _, line in self.said if line.split()[0] == first]


@dataclass
class World:
    """Conversations, a home after its first night, what an undisturbed second night makes of it, and its pace."""

    folder: Path
    server: OpenAIServer
    sources: Path
    base: Path
    wanted: dict
    seconds: dict[str, float]

    def home(self, name: str) -> Path:
        home = self.folder / name
        shutil.copytree(self.base, home)
        return home


THINGS = {
    "the comet rocket": "launch window",
    "the family mortgage": "interest",
    "the night ferry": "departure minute",
    "the bakery oven": "temperature",
    "the booking service": "rate limit",
    "the staging database": "port",
    "the orchid greenhouse": "humidity",
    "the violin lesson": "price",
    "the mountain hut": "number of beds",
    "the print magazine": "circulation",
    "the chess club": "membership fee",
    "the library card": "lending period",
}
"""Subjects and attributes in words of their own: what is said of one thing is judged on one page, so that a night
cut off between two pages leaves whole things settled and whole things waiting."""


def write_conversations(folder: Path, *, first: int, count: int) -> Path:
    """Sessions in which a few things change their values again and again, with repetitions and chatter."""
    chance = random.Random(SEED + first)
    for number in range(first, first + count):
        day = f"2026-{1 + number // 2:02}-{1 + 13 * (number % 2):02}"
        turns = [(f"{day}T09:00:00Z", "Mara", "good morning all")]
        for minute, thing in enumerate(chance.sample(sorted(THINGS), 5), start=1):
            lead = chance.choice(["The", "The", "Correction: the", "Note, the", "According to Priya the"])
            text = f"{lead} {THINGS[thing]} of {thing} is now {chance.randint(1, 4)}."
            if chance.random() < 0.4:
                text += f" We moved crate {100 * number + minute} to hall {minute}."
            turns.append((f"{day}T09:{minute:02}:00Z", chance.choice(["Mara", "Jonas"]), text))
        turns += [(f"{day}T09:{minute:02}:00Z", "assistant", "ok") for minute in range(10, 13)]
        write_chat(folder, f"session-{number:02}", turns)
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("kills")
    model = ScriptedModel()

    def slowly(body: Body) -> str:
        time.sleep(0.015)
        return str(model(body))

    with OpenAIServer(slowly) as server:
        base = folder / "base"
        write_settings(
            base,
            llm={"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"},
            embedding={"provider": "wordllama"},
            chunks={"window_tokens": 60, "overlap_tokens": 20},
            night={"extract_batch": 8},
            summaries={"min_unsummarized": 2},
        )
        early = write_conversations(folder / "early", first=0, count=4)
        sources = write_conversations(folder / "late", first=4, count=6)
        # an old conversation that turns up late
        shutil.move(early / "session-01.jsonl", sources / "session-01.jsonl")
        undisturbed = folder / "undisturbed"
        begun = [Child(base, early), Child(undisturbed, sources)]
        assert begun[0].go().end() == 0, begun[0].errors()
        shutil.copytree(base, undisturbed)
        assert begun[1].go().end() == 0, begun[1].errors()
        starts = [
            (moment, line.split()[1]) for moment, line in begun[1].said if line.startswith(("stage", "done"))
        ]
        seconds = {stage: later - moment for (moment, stage), (later, _) in pairwise(starts)}
        yield World(folder, server, sources, base, memory(undisturbed), seconds)
    for child in CHILDREN:
        child.process.kill()
        child.end()


def test_the_conversations_hold_everything_that_a_kill_could_spoil(world):
    statuses = world.wanted["cells"]["status"].value_counts()
    assert dict(statuses.iter_rows())["superseded"] > 10
    assert world.wanted["contradictions"].height > 1
    assert world.wanted["vitals"]["confirmations"].sum() > 0
    assert set(world.wanted["chunks"]["status"]) == {"extracted", "gated_out"}
    assert world.wanted["topics"]["summary"].drop_nulls().len() > 1
    assert world.wanted["core"].height > 0


@dataclass
class Kill:
    """Where a kill fell, and what had been acknowledged by then."""

    stage: str
    acknowledged: list[str]


def kill_in(child: Child, stage: str, delay: float) -> Kill | None:
    """Kills the night some time after a stage began; null when the night was over before."""
    child.go()
    if child.until(f"stage {stage}"):
        time.sleep(delay)
        child.process.kill()
    code = child.end()
    assert code in (0, -9), child.errors()
    return Kill(child.words("stage")[-1], child.words("acknowledged")) if code == -9 else None


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_night_killed_at_random_moments_of_every_stage_loses_nothing_and_ends_like_an_undisturbed_one(
    world, capsys
):
    chance = random.Random(SEED)
    begun = time.monotonic()
    homes = [world.home(f"killed-{number}") for number in range(len(PLANS))]
    todo = [(home, stage) for home, plan in zip(homes, PLANS, strict=True) for stage in (*plan.split(), None)]
    children = [Child(todo[0][0], world.sources)]
    kills: list[Kill] = []
    seen: dict[Path, dict[str, str]] = {home: {} for home in homes}
    for number, (home, stage) in enumerate(todo):
        if number + 1 < len(todo):
            children.append(Child(todo[number + 1][0], world.sources))
        child = children[number]
        if stage is None:
            assert child.go().end() == 0, child.errors()
        else:
            kill = kill_in(child, stage, chance.uniform(0, 0.8) * world.seconds[stage])
            kills += [kill] if kill else []
        now = segments(home)
        assert set(child.words("acknowledged")) <= set(now), "an acknowledged segment is not there"
        assert seen[home].items() <= now.items(), "a segment of before the kill is gone or changed"
        seen[home] = now
    fell = Counter(kill.stage for kill in kills)
    with capsys.disabled():
        told = ", ".join(f"{stage} {fell[stage]}" for stage in fell)
        sys.stdout.write(f"\n{len(kills)} kills fell into: {told}; {time.monotonic() - begun:.0f} s\n")
    for home in homes:
        assert_no_row_twice(home)
        assert_same_memory(memory(home), world.wanted)
    assert len(kills) >= LEAST_KILLS
    assert set(STAGES) <= set(fell)


CRASHES = (
    ("ingest", 'before(Path, "rename", die_in("ingest"))'),
    ("ingest", 'before(Store, "apply", die_in("ingest"))'),
    ("extract", 'before(Store, "_upsert", die_in("extract"))'),
    ("cluster", 'after(Store, "_apply_table", die_in("cluster"))'),
    ("reconcile", 'before(Store, "mark_applied", die_in("reconcile"))'),
    ("consolidate", 'after(Store, "_apply_table", die_in("consolidate"))'),
    ("promote", 'before(homes.Home, "write_core", die_in("promote"))'),
)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_night_cut_off_between_commit_and_apply_ends_like_an_undisturbed_one(world):
    home = world.home("cut-off")
    children = [Child(home, world.sources, CRASHES[0][1])]
    for number, (stage, _) in enumerate(CRASHES):
        crash = CRASHES[number + 1][1] if number + 1 < len(CRASHES) else ""
        children.append(Child(home, world.sources, crash))
        child = children[number]
        assert child.go().end() == -9, (stage, child.errors())
        assert child.said[-1][1] == f"dying {stage}"
        assert set(child.words("acknowledged")) <= set(segments(home))
    drafts = [problem.reason for problem in Journal(home / "journal").foreign_files()]
    assert drafts == ["left by a write that did not finish"]
    assert children[-1].go().end() == 0, children[-1].errors()
    assert_no_row_twice(home)
    assert_same_memory(memory(home), world.wanted)
    assert (home / "MEMORY.md").read_text() == (world.folder / "undisturbed" / "MEMORY.md").read_text()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_of_two_nights_started_at_once_one_works_and_the_other_says_so_and_leaves(world):
    home = world.home("twice")
    children = [Child(home, world.sources) for _ in range(2)]
    for child in children:
        assert child.until("ready"), child.errors()
    for child in children:
        child.process.stdin.write("go\n")
        child.process.stdin.flush()
    codes = sorted(child.end() for child in children)
    assert codes == [0, BusyError.exit_code], [child.errors() for child in children]
    told = next(child for child in children if child.process.returncode).errors()
    assert "another run is writing to" in told
    assert "left everything as it was" in told
    assert_no_row_twice(home)
    assert_same_memory(memory(home), world.wanted)
