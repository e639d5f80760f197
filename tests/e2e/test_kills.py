"""A night that is killed at any moment and started again ends with the memory of an undisturbed one.

Real processes, SIGKILL, a scripted model over HTTP. Each child (`killed_night.py`) gets ready first and waits for
a word, so that the next one can do so while the present one works; it tells which stage begins and which segment
was acknowledged, and the parent kills it some random time after such a line.
"""

import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from slowwave.errors import BusyError
from slowwave.journal.segments import Journal
from tests.e2e.killed_night import Crash, spend_night
from tests.forked import start
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

pytestmark = pytest.mark.processes

STAGES = ("ingest", "extract", "cluster", "reconcile", "consolidate", "promote")
SEED = 20261120

PLANS: tuple[str, ...] = ("ingest extract cluster reconcile reconcile consolidate promote",)
"""For each home the stages in which its nights are killed, one after the other."""

if os.environ.get("MANY_KILLS"):
    PLANS = (
        "ingest ingest extract extract cluster reconcile reconcile reconcile consolidate promote promote",
        "ingest extract extract extract cluster cluster reconcile reconcile consolidate consolidate promote",
        "extract extract cluster cluster reconcile reconcile reconcile consolidate consolidate promote promote",
    )

CHILDREN: list["Child"] = []
"""Every child of this module, so that none outlives it."""


class Child:
    """A process that gets ready to spend a night, and what it says."""

    def __init__(self, home: Path, sources: Path, crash: Crash | None = None) -> None:
        self.said: list[tuple[float, str]] = []
        self.process, self._told = start(spend_night, str(home), str(sources), crash)
        self._is_over = False
        CHILDREN.append(self)

    def until(self, wanted: str) -> bool:
        """Waits for a line that begins so; false when the process ended without it."""
        while not self._is_over:
            try:
                assert self._told.poll(300), "the night says nothing any more"
                line = str(self._told.recv())
            except (EOFError, ConnectionResetError):
                self._is_over = True
                break
            self.said.append((time.monotonic(), line))
            if line.startswith(wanted):
                return True
        return False

    def go(self) -> "Child":
        assert self.until("ready"), self.errors()
        self.say_go()
        return self

    def say_go(self) -> None:
        self._told.send("go")

    def end(self) -> int:
        """Waits for the end; returns the exit code, negative for a signal."""
        self.until("there is no such line")
        self.process.join(120)
        assert self.process.exitcode is not None, "the night does not end"
        self._told.close()
        return self.process.exitcode

    def errors(self) -> str:
        return "".join(line for _, line in self.said if line.startswith("error"))

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
    thanks = [(f"2026-06-01T08:0{minute}:00Z", "Mara", "ok, thanks!") for minute in range(3)]
    write_chat(folder, f"thanks-{first:02}", thanks)
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
        child.process.join(30)


def test_the_conversations_hold_everything_that_a_kill_could_spoil(world):
    statuses = world.wanted["cells"]["status"].value_counts()
    assert dict(statuses.iter_rows())["superseded"] > 10
    assert world.wanted["contradictions"].height > 1
    assert world.wanted["cell_usage"]["confirmations"].sum() > 0
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
    meant = set[str]()
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
            meant |= {stage} if kill else set()
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
    wanted_kills = sum(len(plan.split()) for plan in PLANS)
    assert len(kills) >= wanted_kills - 2, "hardly a night may be over before its kill"
    assert (
        set(STAGES) <= meant
    )  # one that comes late falls into the stage after the one that it was meant for


CRASHES = (
    Crash("ingest", "before", "Path", "replace"),
    Crash("extract", "before", "Store", "_upsert"),
    Crash("reconcile", "before", "Store", "mark_applied"),
    Crash("consolidate", "after", "Store", "_apply_table"),
    Crash("promote", "before", "core_file", "write_whole"),
)


@pytest.mark.timeout(600)
def test_a_night_cut_off_between_commit_and_apply_ends_like_an_undisturbed_one(world):
    home = world.home("cut-off")
    children = [Child(home, world.sources, CRASHES[0])]
    for crash, following in zip(CRASHES, (*CRASHES[1:], None), strict=True):
        child = children[-1]
        children.append(Child(home, world.sources, following))
        assert child.go().end() == -9, (crash, child.errors())
        assert child.said[-1][1] == f"dying {crash.stage}"
        assert set(child.words("acknowledged")) <= set(segments(home))
    drafts = [problem.reason for problem in Journal(home / "journal").listing()[1]]
    assert drafts == ["left by a write that did not finish"]
    assert children[-1].go().end() == 0, children[-1].errors()
    assert_no_row_twice(home)
    assert_same_memory(memory(home), world.wanted)
    assert (home / "MEMORY.md").read_text() == (world.folder / "undisturbed" / "MEMORY.md").read_text()


@pytest.mark.timeout(600)
def test_of_two_nights_started_at_once_one_works_and_the_other_says_so_and_leaves(world):
    home = world.home("twice")
    children = [Child(home, world.sources) for _ in range(2)]
    for child in children:
        assert child.until("ready"), child.errors()
    for child in children:
        child.say_go()
    codes = sorted(child.end() for child in children)
    assert codes == [0, BusyError.exit_code], [child.errors() for child in children]
    told = next(child for child in children if child.process.exitcode).errors()
    assert "another run is writing to" in told
    assert "left everything as it was" in told
    assert_no_row_twice(home)
    assert_same_memory(memory(home), world.wanted)
