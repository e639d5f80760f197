"""How fast a night is and what it asks of a language model: `python benchmarks/night.py [--json] [--quick]`.

On invented, seeded, dated conversations it measures three things, each in a process of its own:

- `whole`: turns a second through a whole first night without a language model, and the peak memory.
- `model`: calls and tokens by prompt, for a night with a scripted model over real HTTP.
- `growth`: the time of a night that adds the same turns to stores of growing size, by stage. The stores are
  made from journal events, the way many nights would have left them, and copied for every run. `cold` is the
  first night of a process with the store's files out of the page cache; `warm` is the best of the others.

Flows run in plain mode: Prefect is imported, its server is not started. `benchmarks/README.md` says more.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for `tests.servers` and the files beside this one

from benchmarks.environment import hide_settings  # noqa: E402
from benchmarks.invented import TOPIC_CELLS, night_of_events, write_sessions  # noqa: E402

SIZES, TURNS, ADDED, REPEATS = (1_000, 10_000, 100_000), 3_000, 500, 3
QUICK_SIZES, QUICK_TURNS, QUICK_ADDED, QUICK_REPEATS = (200, 2_000), 300, 60, 1
NIGHT_CELLS, MODEL_TURNS = 500, 1_000
DAYS = 80
"""Days that a grown store spans: under `forget.unused_days`, so that no memory fades and every scan is full."""


def grow_store(home: Path, *, cells: int) -> dict[str, Any]:
    """Makes a home of `cells` memories from journal events, with vectors and indices, and lets one night settle it."""
    from slowwave.home.paths import open_home
    from slowwave.home.workspace import open_workspace
    from slowwave.schemas.tables import VECTOR_TEXT

    started = time.monotonic()
    use_home(home)
    nights = max(cells // NIGHT_CELLS, 1)
    first = datetime.now(UTC) - timedelta(days=DAYS)
    journal = open_home(home).journal
    for night in range(nights):
        now = first + timedelta(days=DAYS * (night + 0.5) / nights)
        rows = range(night * cells // nights, (night + 1) * cells // nights)
        for plan in night_of_events(rows, cells // TOPIC_CELLS, now):
            journal.commit(plan, now=now)
    with open_workspace(home) as workspace:
        store, embedder = workspace.store, workspace.embedder
        assert embedder is not None
        for table in VECTOR_TEXT:  # in larger portions than a night takes, which writes the same rows
            missing = store.embedded_texts(table, store.without_vector(table))
            for part in missing.iter_slices(20_000):
                vectors = embedder.embed_documents(part["text"].to_list()).vectors
                store.put_vectors(table, part.select(part.columns[0], vector=pl.Series(vectors)))
        workspace.refresh_vectors()
        store.optimize(keep_versions=timedelta(hours=24))
    write_sessions(home / "settling", turns=40, topics=cells // TOPIC_CELLS, label="settling")
    run_night(home, home / "settling")
    tables = ("turns", "chunks", "cells", "topics", "usage", "judgements")
    with open_workspace(home) as workspace:
        rows_of = {table: workspace.store.count(table) for table in tables}
        return {
            "rows": rows_of,
            "segments": len(journal.segment_ids()),
            "build_seconds": time.monotonic() - started,
        }


# -- measuring; each of these runs in a process of its own


def use_home(home: Path, **environment: str) -> None:
    """A home on the embedded embedder, whatever servers the machine has."""
    home.mkdir(parents=True, exist_ok=True)
    hide_settings()
    os.environ.update(
        {
            "SLOWWAVE_EMBEDDING__PROVIDER": "wordllama",
            "PREFECT_HOME": str(home.parent / "prefect"),
            **environment,
        }
    )


def use_model(home: Path, base_url: str) -> None:
    """A home as `use_home` makes it, with a scripted model."""
    llm = {"PROVIDER": "openai", "BASE_URL": base_url, "API_KEY": "none", "MODEL": "m"}
    use_home(home, **{f"SLOWWAVE_LLM__{name}": value for name, value in llm.items()})


@contextmanager
def clocked(times: dict[str, float], owner: object, name: str, label: str) -> Iterator[None]:
    """Adds the time of a function that no stage's report covers to `times`."""
    original: Callable[..., object] = getattr(owner, name)

    def measured(*args: object, **kwargs: object) -> object:
        started = time.monotonic()
        try:
            return original(*args, **kwargs)
        finally:
            times[label] = times.get(label, 0.0) + time.monotonic() - started

    setattr(owner, name, measured)
    try:
        yield
    finally:
        setattr(owner, name, original)


def run_night(home: Path, sources: Path) -> dict[str, Any]:
    """One forced night in plain mode: its time, and the time by stage, with what lies outside of the stages."""
    import slowwave.home.workspace
    from flows.nightly import nightly
    from slowwave.store import Store

    stages: dict[str, float] = {}
    started, cpu = time.monotonic(), time.process_time()
    with (
        clocked(stages, slowwave.home.workspace, "apply_pending", "open: journal"),
        clocked(stages, Store, "optimize", "upkeep"),
    ):
        report = nightly.fn(home=str(home), sources=[str(sources)], force=True)
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    stages |= {stage.stage: stage.seconds for stage in report.stages}
    stages["rest"] = max(seconds - sum(stages.values()), 0.0)
    counts = {stage.stage: stage.counts for stage in report.stages}
    return {"seconds": seconds, "cpu_seconds": cpu, "stages": stages, "counts": counts}


def measure_whole(options: argparse.Namespace) -> dict[str, Any]:
    """A first night without a model: turns a second, time by stage, peak memory."""
    started = time.monotonic()
    import flows.nightly  # noqa: F401 - its import is a number of its own

    imported = time.monotonic() - started
    home = options.folder / "home"
    use_home(home)
    write_sessions(options.folder / "sessions", turns=options.turns, topics=40, label="whole")
    night = run_night(home, options.folder / "sessions")
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    made = night["counts"]["extract"].get("cell.extracted", 0)
    return {
        **night,
        "turns": options.turns,
        "cells": made,
        "turns_a_second": options.turns / night["seconds"],
        "import_seconds": imported,
        "peak_rss_gib": peak / 2**20,
    }


def measure_model(options: argparse.Namespace) -> dict[str, Any]:
    """A first night with the scripted model: calls and tokens by prompt for 1,000 turns."""
    from benchmarks.scripted_answers import ScriptedAnswers
    from tests.servers import OpenAIServer

    said = ScriptedAnswers()
    write_sessions(options.folder / "sessions", turns=options.turns, topics=40, label="model")
    with OpenAIServer(said) as server:
        use_model(options.folder / "home", server.url)
        night = run_night(options.folder / "home", options.folder / "sessions")
    scale = 1_000 / options.turns
    prompts = {
        name: {
            "calls": said.calls[name] * scale,
            "tokens_in": said.tokens_in[name] * scale,
            "tokens_out": said.tokens_out[name] * scale,
        }
        for name in sorted(said.calls)
    }
    return {**night, "turns": options.turns, "per_1000_turns": prompts}


def measure_growth(options: argparse.Namespace) -> dict[str, Any]:
    """Nights that add the same turns to copies of one grown store: a cold one, then warm ones."""
    grown = options.folder / f"grown-{options.cells}"
    about = options.folder / f"grown-{options.cells}.json"
    if not about.is_file():
        about.write_text(json.dumps(grow_store(grown, cells=options.cells)), encoding="utf-8")
    sessions = options.folder / f"added-{options.turns}"
    write_sessions(sessions, turns=options.turns, topics=20, label="added")
    use_home(grown)
    import flows.nightly  # noqa: F401 - not part of a night

    nights = []
    for run in range(1 + options.repeats):
        copy = options.folder / f"copy-{options.cells}-{os.getpid()}"
        subprocess.run(["cp", "-r", str(grown), str(copy)], check=True)
        for path in copy.rglob("*") if run == 0 else ():
            forget_pages(path)
        nights.append(run_night(copy, sessions))
        shutil.rmtree(copy)
    cold, warm = nights[0], best_of(nights[1:])
    return {
        "cells": options.cells,
        "turns": options.turns,
        **json.loads(about.read_text(encoding="utf-8")),
        "cold": cold,
        "warm": warm,
        "warm_seconds": [night["seconds"] for night in nights[1:]],
    }


def best_of(nights: list[dict[str, Any]]) -> dict[str, Any]:
    """The fastest night, with the least CPU time and the least time of each stage over all of them."""
    best = min(nights, key=lambda night: float(night["seconds"]))
    stages = {name: min(night["stages"].get(name, 0.0) for night in nights) for name in best["stages"]}
    return {**best, "cpu_seconds": min(night["cpu_seconds"] for night in nights), "stages": stages}


def forget_pages(path: Path) -> None:
    """Takes a file out of the page cache, where the system can."""
    if path.is_file() and hasattr(os, "posix_fadvise"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


MEASURES = {"whole": measure_whole, "model": measure_model, "growth": measure_growth}


def in_own_process(measure: str, folder: Path, **arguments: int) -> dict[str, Any]:
    """What a measure says when a fresh interpreter runs it, so that memory and warmth are its own."""
    command = [sys.executable, __file__, "--measure", measure, "--folder", str(folder)]
    command += [text for name, value in arguments.items() for text in (f"--{name}", str(value))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def table(result: dict[str, Any]) -> str:
    """The measurements as text."""
    whole, model, growth = result["whole"], result["model"], result["growth"]
    lines = [
        f"whole night without a model: {whole['turns']} turns in {whole['seconds']:.1f} s, "
        f"{whole['turns_a_second']:.0f} turns/s, peak {whole['peak_rss_gib']:.2f} GiB, "
        f"import {whole['import_seconds']:.1f} s",
        "  " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in whole["stages"].items()),
        f"for 1,000 turns with a model ({model['turns']} measured):",
    ]
    lines += [
        f"  {name:<18}{part['calls']:8.1f} calls {part['tokens_in']:10.0f} tokens in {part['tokens_out']:8.0f} out"
        for name, part in model["per_1000_turns"].items()
    ]
    lines.append(f"a night of {growth[0]['turns']} turns, seconds by cells in the store (warm, best; cold):")
    lines.append(f"  {'':<14}" + "".join(f"{part['cells']:>16,}" for part in growth))
    cpu = "".join(f"{part['warm']['cpu_seconds']:>16.2f}" for part in growth)
    lines.append(f"  {'cpu, warm':<14}{cpu}")
    for stage in ("all", *growth[0]["warm"]["stages"]):
        pairs = [
            [
                part[state]["seconds"] if stage == "all" else part[state]["stages"].get(stage, 0.0)
                for state in ("warm", "cold")
            ]
            for part in growth
        ]
        lines.append(f"  {stage:<14}" + "".join(f"{f'{warm:.2f} ({cold:.2f})':>16}" for warm, cold in pairs))
    lines.append(
        f"growth, largest over smallest store: {result['growth_ratio']:.2f} (CPU time {result['cpu_growth_ratio']:.2f})"
    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes: shows that it works, measures little"
    )
    parser.add_argument(
        "--folder", type=Path, help="keep grown stores here for the next run; else a temporary folder"
    )
    parser.add_argument(
        "--sizes",
        type=lambda text: tuple(int(size) for size in text.split(",")),
        help="cells of the grown stores",
    )
    parser.add_argument("--turns", type=int, help="turns of the whole night")
    parser.add_argument("--added", type=int, help="turns that a night adds to a grown store")
    parser.add_argument("--repeats", type=int, help="warm nights for each grown store")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    parser.add_argument("--cells", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(MEASURES[options.measure](options)))
        return 0
    sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    turns = options.turns or (QUICK_TURNS if options.quick else TURNS)
    added = options.added or (QUICK_ADDED if options.quick else ADDED)
    repeats = options.repeats or (QUICK_REPEATS if options.quick else REPEATS)
    with tempfile.TemporaryDirectory(prefix="bench_night_") as temporary:
        scratch, kept = Path(temporary), options.folder or Path(temporary)
        kept.mkdir(parents=True, exist_ok=True)
        result: dict[str, Any] = {"cpus": os.cpu_count(), "python": sys.version.split()[0]}
        result["whole"] = in_own_process("whole", scratch / "whole", turns=turns)
        result["model"] = in_own_process("model", scratch / "model", turns=min(turns, MODEL_TURNS))
        result["growth"] = [
            in_own_process("growth", kept, cells=size, turns=added, repeats=repeats) for size in sizes
        ]
    growth = result["growth"]
    result["growth_ratio"] = growth[-1]["warm"]["seconds"] / growth[0]["warm"]["seconds"]
    result["cpu_growth_ratio"] = growth[-1]["warm"]["cpu_seconds"] / growth[0]["warm"]["cpu_seconds"]
    print(json.dumps(result) if options.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
