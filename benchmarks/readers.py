"""Eight readers while a night writes: `python benchmarks/readers.py [--cells N] [--json]`.

Each reader is a process of its own, as agents are, and asks a question every `--pause` seconds: first of a quiet home,
then while a whole night, in another process, takes in new conversations with a scripted model. Told are median and
95th percentile of both times, and what went wrong.
"""

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.invented import TOPIC_CELLS, write_sessions  # noqa: E402
from benchmarks.night import grow_store, run_night, use_home  # noqa: E402

READERS = 8
WARM_UP = 5
QUESTION_WORDS = 6
QUIET_SECONDS = 30.0


def read(home: Path, number: int, pause: float, told: Connection, stop: Event) -> None:
    """Asks until it is told to stop; sends `ready`, then the moment and milliseconds of each question, and errors."""
    use_home(home)
    from slowwave import Memory
    from slowwave.home.paths import open_home
    from slowwave.store import col, lit, open_store

    store = open_store(open_home(home).store_root)
    known = store.rows("cells", ["cell_id", "content"], col("status") == lit("active")).sort("cell_id")
    chance = random.Random(number)  # noqa: S311 - a benchmark's dice
    memory = Memory(home, records_usage=False)
    took: list[tuple[float, float]] = []
    errors: list[str] = []
    for place in range(10**9):
        words = known["content"][chance.randrange(known.height)].split()
        started = time.time()
        try:
            found = memory.search(" ".join(words[:QUESTION_WORDS]))
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
        else:
            if not found.cells:
                errors.append("nothing was found of what is there")
        if place >= WARM_UP:
            took.append((started, (time.time() - started) * 1_000))
        elif place == WARM_UP - 1:
            told.send("ready")
        if stop.wait(chance.uniform(0.5, 1.5) * pause):
            break
    memory.close()
    told.send((took, errors))


def write(home: Path, sessions: Path, told: Connection) -> None:
    """One whole night with a scripted model; sends when it begins and what it took."""
    from benchmarks.scripted_answers import ScriptedAnswers
    from tests.servers import OpenAIServer

    with OpenAIServer(ScriptedAnswers()) as server:
        llm = {"PROVIDER": "openai", "BASE_URL": server.url, "API_KEY": "none", "MODEL": "m"}
        use_home(home, **{f"SLOWWAVE_LLM__{name}": value for name, value in llm.items()})
        import flows.nightly  # noqa: F401 - not part of a night

        told.send("ready")
        told.recv()
        night = run_night(home, sessions)
    told.send(night["seconds"])


def spread_of(took: Sequence[float]) -> dict[str, float | int]:
    """Median, 95th percentile, and how many."""
    return {
        **{f"p{part}_ms": round(float(np.percentile(took, part)), 1) for part in (50, 95)},
        "questions": len(took),
    }


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one home."""
    home, sessions = folder / "home", folder / "added"
    use_home(home)
    grow_store(home, cells=options.cells)
    write_sessions(sessions, turns=options.turns, topics=max(options.cells // TOPIC_CELLS, 1), label="added")
    context = multiprocessing.get_context("spawn")
    stop = context.Event()

    def start(work: Any, *arguments: object) -> Connection:
        here, there = context.Pipe()
        tail = (there, stop) if work is read else (there,)
        context.Process(target=work, args=(*arguments, *tail), daemon=True).start()
        return here

    night = start(write, home, sessions)
    readers = [start(read, home, number, options.pause) for number in range(READERS)]
    for end in (night, *readers):
        assert end.recv() == "ready"
    quiet = time.time()
    time.sleep(options.quiet)
    begun = time.time()
    night.send("go")
    seconds = night.recv()
    ended = time.time()
    stop.set()
    said = [end.recv() for end in readers]
    took = [entry for times, _ in said for entry in times]
    before = [ms for at, ms in took if quiet <= at < begun]
    during = [ms for at, ms in took if begun <= at < ended]
    result = {
        "cells": options.cells,
        "readers": READERS,
        "cores": os.cpu_count(),
        "quiet": spread_of(before),
        "night": spread_of(during),
        "night_seconds": round(seconds, 1),
        "errors": sorted({error for _, errors in said for error in errors}),
    }
    return result | {"p95_ratio": round(result["night"]["p95_ms"] / result["quiet"]["p95_ms"], 2)}


def text_of(found: dict[str, Any]) -> str:
    """The figures as text."""
    lines = [f"{found['readers']} readers of {found['cells']:,} memories on {found['cores']} cores"]
    for name, label in (("quiet", "quiet"), ("night", "with a night")):
        part = found[name]
        lines.append(
            f"{label:<12}  p50 {part['p50_ms']:7.1f} ms   p95 {part['p95_ms']:7.1f} ms   {part['questions']} questions"
        )
    lines.append(
        f"p95 while a night of {found['night_seconds']} s writes, over quiet: {found['p95_ratio']}; "
        f"errors: {found['errors'] or 'none'}"
    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=int, default=10_000, help="memories in the store")
    parser.add_argument("--turns", type=int, default=400, help="turns that the night takes in")
    parser.add_argument(
        "--pause", type=float, default=1.0, help="seconds between the questions of one reader, on average"
    )
    parser.add_argument("--quiet", type=float, default=QUIET_SECONDS, help="seconds before the night begins")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench_readers_") as temporary:
        found = measure(Path(temporary), options)
    print(json.dumps(found) if options.json else text_of(found))
    return 1 if found["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
