"""How fast a question is answered: `python benchmarks/latency.py --cells N [--json] [--dims 768] [--turns N]`.

A store of N memories, as many turns with their passages, and N / 20 topics is written with the store's own functions
and asked: words from a Zipf-like vocabulary, vectors in clusters, filters by type, time and scope. One caller, one
question at a time, handles warm. `benchmarks/README.md` says what is invented and what the figures mean.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.invented_store import (  # noqa: E402
    DAYS,
    NOW,
    SEED,
    TOPIC_CELLS,
    WORDS_OF_A_TOPIC,
    Floats,
    World,
    build,
    draw_world,
    vectors_of,
)
from slowwave.home.paths import Home  # noqa: E402
from slowwave.recall.reader import Reader  # noqa: E402
from slowwave.recall.search import ask  # noqa: E402
from slowwave.schemas.search import DetailLevel, Filters  # noqa: E402
from slowwave.settings.tree import Settings  # noqa: E402
from slowwave.store import SearchQuery, Store, col, lit, open_store  # noqa: E402

QUERY_SPREAD = 0.5
"""Length of a question's own part beside its topic's direction."""
TOP = 10
WARM_UP = 20
"""Questions that are asked before those that count."""
FILTERED = {
    "none": Filters(),
    "types": Filters(cell_types=("fact", "decision")),
    "after": Filters(after=NOW - timedelta(days=DAYS // 2)),
    "scope": Filters(scope="user-private"),
}
TURNS = ("none", "types", "after", "scope", "none")
"""Filters take turns; two of five questions have none."""

TARGETS = {1_000: (10, 20), 10_000: (15, 25), 100_000: (25, 40)}
"""p95 in ms on two quiet cores, by cells: the two tiers alone, and with raw turns."""


ASKED = (
    "what did we say about the {0} {1} and the {2}",
    "why is the {0} of {1} {2}",
    "who decided on {0} for the {1}",
    "when did the {0} change the {1} {2} last month",
    "{0} {1} {2}",
)
"""Forms of questions; they take turns."""


def questions(world: World, cells: int, count: int) -> tuple[list[str], Floats]:
    """Questions about memories drawn evenly, and their vectors near those memories' topics."""
    dice = np.random.default_rng([SEED, cells, 3])
    topic = (dice.integers(0, cells, count) // TOPIC_CELLS * 7919) % len(world.centres)
    columns = np.array([dice.choice(WORDS_OF_A_TOPIC, 3, replace=False) for _ in range(count)])
    named = world.words[world.preferred[topic[:, None], columns]]
    asked = [ASKED[place % len(ASKED)].format(*words) for place, words in enumerate(named)]
    return asked, vectors_of(world, topic, seed=4, spread=QUERY_SPREAD)


def filters_of(count: int) -> list[Filters]:
    """The filters of each question."""
    return [FILTERED[TURNS[place % len(TURNS)]] for place in range(count)]


def timed(reader: Reader, asked: list[str], vectors: Floats, detail: DetailLevel) -> NDArray[np.float64]:
    """Milliseconds of each question, one after the other; the first ones are asked before, to warm up."""
    given = list(zip(asked, vectors, filters_of(len(asked)), strict=True))
    first = given[:WARM_UP]
    took, answered = [], 0
    for place, (text, vector, filters) in enumerate([*first, *given]):
        started = time.perf_counter()
        found = ask(reader, text, detail_level=detail, filters=filters, now=NOW, vector=vector)
        if place >= len(first):
            took.append((time.perf_counter() - started) * 1_000)
        answered += bool(found.cells)
    if not answered:
        raise SystemExit(
            "nothing was found for any question: the store in this folder is not of this benchmark"
        )
    return np.array(took)


def spread_of(took: NDArray[np.float64]) -> dict[str, float]:
    """Median and 95th percentile."""
    return {f"p{part}_ms": round(float(np.percentile(took, part)), 2) for part in (50, 95)}


def exactness(store: Store, vectors: Floats) -> tuple[float, float]:
    """Share of the exact nearest `TOP` that the vector list returns, and milliseconds of one exact pass in memory."""
    live = store.rows("cells", ["cell_id", "vector"], col("status") == lit("active"))
    matrix, ids = live["vector"].to_numpy(), live["cell_id"].to_numpy()
    hits, took = 0, []
    for vector in vectors:
        started = time.perf_counter()
        similarity = matrix @ vector
        best = np.argpartition(-similarity, min(TOP, len(ids) - 1))[:TOP]
        took.append((time.perf_counter() - started) * 1_000)
        query = SearchQuery("cells", "", vector, TOP, col("status") == lit("active"))
        hits += len(set(ids[best]) & {row["cell_id"] for row in store.find([query])[0]})
    return hits / (len(vectors) * min(TOP, len(ids))), float(np.median(took))


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one size; a store that is in `folder` already is used again."""
    started = time.monotonic()
    home = folder / f"latency-{options.cells}-{options.turns}-{options.dims}"
    store = (
        open_store(home / "store")
        if (home / "store" / "CURRENT").is_file()
        else build(home, cells=options.cells, turns=options.turns, dims=options.dims)
    )
    built = time.monotonic() - started
    reader = Reader(Home(Settings(home=home)), store, None, "")
    store.read_into_memory(("cells", "cell_usage", "topics", "contradictions", "turns", "passages"))
    asked, vectors = questions(
        draw_world(max(options.cells // TOPIC_CELLS, 1), options.dims), options.cells, options.queries
    )
    two_tiers = timed(reader, asked, vectors, "full")
    with_turns = timed(reader, asked, vectors, "evidence")
    recall, limit = exactness(store, vectors)
    return {
        "cells": store.count("cells"),
        "turns": store.count("turns"),
        "passages": store.count("passages"),
        "topics": store.count("topics"),
        "dims": options.dims,
        "queries": options.queries,
        **spread_of(two_tiers),
        "with_turns": spread_of(with_turns),
        "targets_ms": TARGETS.get(options.cells),
        "exact_recall": round(recall, 4),
        "limit_ms": round(limit, 2),
        "cores": os.cpu_count(),
        "build_seconds": round(built, 1),
    }


def text_of(found: dict[str, Any]) -> str:
    """The figures as text."""
    target = found["targets_ms"]
    wanted = [f" (target {value} ms)" for value in target] if target else ["", ""]
    turns = found["with_turns"]
    return "\n".join(
        [
            f"{found['cells']:,} memories, {found['turns']:,} turns, {found['passages']:,} passages, "
            f"{found['topics']:,} topics, {found['dims']} dimensions, {found['cores']} cores",
            f"two tiers       p50 {found['p50_ms']:6.1f} ms   p95 {found['p95_ms']:6.1f} ms{wanted[0]}",
            f"with raw turns  p50 {turns['p50_ms']:6.1f} ms   p95 {turns['p95_ms']:6.1f} ms{wanted[1]}",
            f"of the exact nearest {TOP} the vector list finds {found['exact_recall']:.1%}; "
            f"one exact pass over the vectors in memory takes {found['limit_ms']:.1f} ms",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, ask and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=int, default=10_000, help="memories in the store")
    parser.add_argument("--turns", type=int, help="raw turns in the store; else as many as memories")
    parser.add_argument("--dims", type=int, default=768, help="width of a vector")
    parser.add_argument("--queries", type=int, default=200, help="questions of each kind")
    parser.add_argument("--folder", type=Path, help="keep the store here for the next run")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args(arguments)
    options.turns = options.turns or options.cells
    with tempfile.TemporaryDirectory(prefix="slowwave-latency-") as temporary:
        found = measure(options.folder or Path(temporary), options)
    print(json.dumps(found) if options.json else text_of(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
