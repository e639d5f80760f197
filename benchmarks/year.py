"""A simulated year: what a memory believes after each of 365 nights: `python benchmarks/year.py [--json] [--days N]`.

Real flows over a real home with the embedded embedder; an oracle stands in for the language model, over HTTP. Time
is simulated: nights read the clock of the workspace that this file opens, and all that happens by day is told its
moment. `benchmarks/year_world.py` says what happens, `benchmarks/README.md` what is reported and what must hold.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for `tests.servers` and the files beside this one

from benchmarks.night import use_home  # noqa: E402
from benchmarks.year_oracle import Oracle  # noqa: E402
from benchmarks.year_world import CITED_SHARE, IDLE_QUESTIONS, PLACES, SEEN, SETTLED_SHARE, Fact, World  # noqa: E402

FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)
NIGHT_HOUR, TALK_HOUR, USE_HOUR = 3, 9, 12
PROBES_A_DAY = 16
"""Facts asked for each day only to see what is believed: those that changed last, the others in turn."""
CHANGED_DAYS = 3
NEEDS = ("served", "archived", "lost", "too_new")
"""How a need can end: `too_new` is what was said since the last night, and no fault."""
MONTH = 30

SETTINGS = """\
[embedding]
provider = "wordllama"
"""


class Life:
    """One home that lives through a world: `days` has a row for each day."""

    def __init__(self, home: Path, world: World, *, seed: int, every: int) -> None:
        from slowwave.home.paths import open_home
        from slowwave.memory import Memory

        self.home, self.world = open_home(home), world
        self.folder = home.parent / "talk"
        self.folder.mkdir()
        self.now = FIRST_DAY
        self.days: list[dict[str, Any]] = []
        self.memory = Memory(home)
        self.unnoted = Memory(home, records_usage=False)
        self.chance = random.Random(f"life-{seed}")  # noqa: S311 - a benchmark's dice
        self.retold: list[str] = []
        self.every, self.slept = every, 0

    def live(self, day: int) -> None:
        """A day: the night's work, then what is believed, needed and said."""
        row: dict[str, Any] = {"day": day}
        if day % self.every == 0:
            row |= self._sleep(day)
            self.slept = day
            row |= self._probe(day) if day > 0 else {}
        row |= self._use(day)
        self._talk(day)
        self.days.append(row | self._sizes() if self.slept == day else row)

    def _at(self, day: int, hour: float) -> datetime:
        self.now = FIRST_DAY + timedelta(days=day, hours=hour)
        return self.now

    def _talk(self, day: int) -> None:
        """What people say, as a file of turns."""
        at = self._at(day, TALK_HOUR)
        lines = [*self.world.said[day], *self.retold]
        if not self.world.said[day]:
            return
        self.retold = []
        records = [
            {
                **{"session_id": f"day-{day:03d}", "id": f"{day}-{place}", "role": "user", "speaker": "Mara"},
                **{"timestamp": (at + timedelta(minutes=place)).isoformat(), "content": text},
            }
            for place, text in enumerate(lines)
        ]
        path = self.folder / f"day-{day:03d}.jsonl"
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")

    def _sleep(self, day: int) -> dict[str, Any]:
        """A night, with the clock at three in the morning."""
        from flows.nightly import nightly
        from slowwave.home.workspace import open_workspace

        self._at(day, NIGHT_HOUR)
        started, cpu = time.perf_counter(), time.process_time()
        with open_workspace(self.home.root, clock=lambda: self.now):
            report = nightly.fn(home=str(self.home.root), sources=[str(self.folder)])
        spent = {
            "night_seconds": time.perf_counter() - started,
            "night_cpu_seconds": time.process_time() - cpu,
        }
        counts = Counter[str]()
        for stage in report.stages:
            counts.update(stage.counts)
        return {
            **spent,
            "calls": report.ledger.total.call_count,
            "archived_tonight": counts["cell.archived"],
            "revived_tonight": counts["cell.revived"],
            "core_entered": counts["core.promoted"],
            "core_left": counts["core.demoted"],
        }

    def _probe(self, day: int) -> dict[str, Any]:
        """What default search believes: nothing of this is noted as use."""
        at, told = self._at(day, NIGHT_HOUR + 1), self.world.told_before(day)
        most, since = PROBES_A_DAY * self.every, day - max(CHANGED_DAYS, self.every)
        fresh = [fact for fact in told if _changed_lately(fact, since, day)][: most // 2]
        others = [fact for fact in told if not _changed_lately(fact, since, day)]
        count = most - len(fresh)
        start = day * count % max(len(others), 1)
        turn = (others[start:] + others[:start])[:count]
        counts = Counter[str]()
        for fact in [*fresh, *turn]:
            counts.update(_belief(fact, self.unnoted.search(fact.question, now=at).cells, day))
        return {
            f"probe_{name}": counts[name] for name in ("asked", "first", "found", "told", "right", "stale")
        }

    def _use(self, day: int) -> dict[str, Any]:
        """Who needs a fact asks for it, and says what helped; idle questions help nobody."""
        outcomes, cited = Counter[str](), set[str]()
        for place, fact in enumerate(self.world.needed[day]):
            at = self._at(day, USE_HOUR + place / 20)
            where = f"use-{day}-{place}"
            found = self.memory.search(fact.question, conversation_id=where, now=at).cells
            value = fact.value_on(self.slept)
            if value is None or value != fact.value_on(day):
                outcomes["too_new"] += 1  # said since the last night
                continue
            right = [
                hit.cell_id for hit in found if (hit.subject, hit.attribute, hit.value) == (*fact.key, value)
            ]
            if not right:
                outcomes[self._look_in_archive(fact, value, at)] += 1
                continue
            outcomes["served"] += 1
            cited |= self._settle(where, [hit.cell_id for hit in found], right[:1], at)
        for place in range(IDLE_QUESTIONS):
            at, where = self._at(day, USE_HOUR - 1 + place / 20), f"idle-{day}-{place}"
            question = f"How many {self.chance.choice(SEEN)} were at the {self.chance.choice(PLACES)}?"
            found = self.memory.search(question, conversation_id=where, now=at).cells
            self._settle(where, [hit.cell_id for hit in found], [], at)
        if cited:
            self.memory.cite(sorted(cited), f"day-{day}", now=self._at(day, USE_HOUR + 6))
        self.memory.flush()
        return {f"need_{name}": outcomes[name] for name in NEEDS}

    def _settle(self, where: str, shown: list[str], right: list[str], at: datetime) -> set[str]:
        """What is cited of an answer; the rest of it is noted as ignored, in most conversations."""
        cited = set(right) if self.chance.random() < CITED_SHARE else set[str]()
        if self.chance.random() < SETTLED_SHARE:
            self.memory.ignore([cell for cell in shown if cell not in right], where, now=at)
        return cited

    def _look_in_archive(self, fact: Fact, value: str | None, at: datetime) -> str:
        """A needed fact that default search does not give: asked for in the archive, else said again tomorrow."""
        hits = self.memory.archived(fact.question, limit=5)
        right = [hit.cell_id for hit in hits if (hit.subject, hit.attribute, hit.value) == (*fact.key, value)]
        if right:
            self.memory.cite(right[:1], "archive", now=at)
            return "archived"
        if value is not None:
            self.retold.append(fact.sentence(value))
        return "lost"

    def _sizes(self) -> dict[str, Any]:
        """Memories by status, and how many of the living were never cited."""
        from slowwave.store import col, lit, open_store

        store = open_store(self.home.store_root)
        cells = store.rows("cells", ["cell_id", "status"])
        statuses = Counter(cells["status"].to_list())
        cited = set(store.rows("cell_usage", ["cell_id"], col("citation_count") > lit(0))["cell_id"])
        active = set(cells.filter(cells["status"] == "active")["cell_id"])
        cell_usage = store.rows("cell_usage", ["archived_count", "revived_count"])
        return {
            **{name: statuses[name] for name in ("active", "superseded", "archived")},
            "active_cited": len(active & cited),
            "archived_ever": int(cell_usage["archived_count"].sum()),
            "revived_ever": int(cell_usage["revived_count"].sum()),
            "core_lines": store.count("core"),
        }


def _changed_lately(fact: Fact, since: int, day: int) -> bool:
    """Whether the fact changed within the last days: where a stale belief would show."""
    return any(since <= at < day for at, _ in fact.values[1:])


def _belief(fact: Fact, cells: Sequence[Any], day: int) -> dict[str, int]:
    """What the hits of one question say: is the value first, is it there, what is told of it, is any of that stale."""
    value = fact.value_on(day)
    told = [hit for hit in cells if (hit.subject, hit.attribute) == fact.key]
    right = [hit for hit in told if hit.value == value]
    return {
        "asked": 1,
        "first": int(bool(right) and cells[0] is right[0]),
        "found": int(bool(right)),
        "told": len(told),
        "right": len(right),
        "stale": int(len(told) > len(right)),
    }


def live_year(
    folder: Path, *, days: int, seed: int, every: int = 1, rows: Path | None = None
) -> list[dict[str, Any]]:
    """Lives the year in a fresh home below `folder`, a night every `every` days; returns a row a day.

    `rows` is a file that gets each day's row as it is over.
    """
    from tests.servers import OpenAIServer

    world = World(days=days, seed=seed)
    home = folder / "home"
    home.mkdir(parents=True)
    (home / "slowwave.toml").write_text(SETTINGS, encoding="utf-8")
    with OpenAIServer(Oracle(world)) as server:
        llm = {"PROVIDER": "openai", "BASE_URL": server.url, "API_KEY": "none", "MODEL": "m"}
        use_home(home, **{f"SLOWWAVE_LLM__{name}": value for name, value in llm.items()})
        life = Life(home, world, seed=seed, every=every)
        for day in range(days):
            life.live(day)
            if rows is not None:
                with rows.open("a", encoding="utf-8") as file:
                    file.write(f"{json.dumps(life.days[-1])}\n")
        life.memory.close()
        life.unnoted.close()
    return life.days


def summary(days: list[dict[str, Any]]) -> dict[str, Any]:
    """The year in numbers, and month by month (30 days each; what is left at the end belongs to the last)."""
    count = max(len(days) // MONTH, 1)
    months = [
        _month(number + 1, days[number * MONTH : None if number + 1 == count else (number + 1) * MONTH])
        for number in range(count)
    ]
    last = [row for row in days if "active" in row][-1]
    rate = last["revived_ever"] / last["archived_ever"] if last["archived_ever"] else None
    result = {"days": len(days), "year": _month(0, days) | {"false_forgetting": rate}}
    if count > 1:
        for name in ("night", "work"):
            result[f"{name}_growth"] = months[-1][f"{name}_cpu_seconds"] / max(
                months[1][f"{name}_cpu_seconds"], 1e-9
            )
        result["active_growth"] = months[-1]["active"] / months[count // 2 - 1]["active"]
    return result | {"months": months}


SUMMED = ("archived_tonight", "revived_tonight", "core_entered", "core_left", "calls")
LAST = ("active", "active_cited", "superseded", "archived", "core_lines")


def _month(number: int, days: list[dict[str, Any]]) -> dict[str, Any]:
    total = Counter[str]()
    for row in days:
        total.update(
            {name: row[name] for name in row if name.startswith(("probe_", "need_")) or name in SUMMED}
        )
    nights = [row for row in days if "active" in row]
    asked, needs = total["probe_asked"], sum(total[f"need_{name}"] for name in NEEDS[:3])
    return {
        "month": number,
        "asked": asked,
        "first": total["probe_first"] / max(asked, 1),
        "recall": total["probe_found"] / max(asked, 1),
        "precision": total["probe_right"] / max(total["probe_told"], 1),
        "stale": total["probe_stale"] / max(asked, 1),
        "needs": needs,
        "served": total["need_served"] / max(needs, 1),
        "needs_in_archive": total["need_archived"],
        "needs_lost": total["need_lost"],
        **{name: total[name] for name in SUMMED},
        **{name: nights[-1][name] for name in LAST},
        "night_seconds": statistics.mean(row["night_seconds"] for row in nights),
        "night_cpu_seconds": statistics.mean(row["night_cpu_seconds"] for row in nights),
        # of the nights in which the model worked: the others wait until enough is new
        "work_cpu_seconds": statistics.median(
            [row["night_cpu_seconds"] for row in nights if row["calls"]] or [0.0]
        ),
    }


def table(result: dict[str, Any]) -> str:
    """The year as text."""
    columns = ("month", "first", "recall", "precision", "stale", "served", "active", "active_cited", "superseded",
               "archived", "archived_tonight", "revived_tonight", "core_lines", "night_cpu_seconds",
               "work_cpu_seconds")  # fmt: skip
    lines = ["  ".join(f"{name.removesuffix('_seconds'):>12}" for name in columns)]
    for row in [*result["months"], result["year"]]:
        cells = (
            f"{row[name]:>12.3f}" if isinstance(row[name], float) else f"{row[name]:>12}" for name in columns
        )
        lines.append("  ".join(cells))
    for name in ("night_growth", "work_growth", "active_growth"):
        if name in result:
            lines.append(f"{name}: {result[name]:.2f}")
    rate = result["year"]["false_forgetting"]
    lines.append(f"false forgetting: {'nothing was archived' if rate is None else f'{rate:.2%}'}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Live and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text, with every day")
    parser.add_argument("--days", type=int, default=365, help="length of the year")
    parser.add_argument("--every", type=int, default=1, help="days from night to night")
    parser.add_argument("--rows", type=Path, help="a file that gets each day as it is over, a JSON line each")
    parser.add_argument("--seed", type=int, default=1, help="another number is another world")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="bench_year_") as folder:
        days = live_year(
            Path(folder), days=options.days, seed=options.seed, every=options.every, rows=options.rows
        )
    result = summary(days) | {"seconds": time.perf_counter() - started, "seed": options.seed}
    print(json.dumps(result | {"by_day": days}) if options.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
