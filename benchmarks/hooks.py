"""How long a hook takes from start to exit: `python benchmarks/hooks.py [--cells N] [--rounds N] [--json]`.

Three programs take turns, so that a busy machine slows all of them: a bare interpreter (`python -I -c pass`), the hook
program without a server, and the hook program at a prompt that a warm server answers from N memories. Each is told
in milliseconds and as a ratio to the bare interpreter beside it. `benchmarks/README.md` says more.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.environment import hide_settings  # noqa: E402
from benchmarks.invented_store import TOPIC_CELLS, build, draw_world  # noqa: E402
from benchmarks.latency import questions  # noqa: E402
from slowwave.interfaces import client  # noqa: E402

PROGRAM = ROOT / "slowwave" / "interfaces" / "hooks" / "hook.py"
BARE = [sys.executable, "-I", "-S", "-c", "pass"]
DIMS = 32
START_SECONDS = 120
SETTINGS = '[embedding]\nprovider = "none"\n'
WARM_UP = 3
REST_SECONDS = 3.0
"""For a server that was started in vain to end."""


@contextmanager
def server(home: Path) -> Iterator[None]:
    """The server of a home, in a process of its own."""
    process = client.start_server(home.resolve())
    if process is None:
        raise SystemExit("hooks need Unix sockets")
    with process:
        deadline = time.monotonic() + START_SECONDS
        while not is_ready(home):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the server did not start")
            time.sleep(0.1)
        try:
            yield
        finally:
            process.terminate()


def is_ready(home: Path) -> bool:
    """Return whether the server of a home answers questions."""
    reply = client.ask(home.resolve(), "GET", "/health/ready", may_start=False)
    return reply is not None and reply.status == 200


def run(words: Sequence[str], payload: bytes = b"") -> tuple[float, bytes]:
    """Milliseconds from start to exit of a process, and what it printed."""
    started = time.perf_counter()
    done = subprocess.run(words, input=payload, capture_output=True, check=True)
    return (time.perf_counter() - started) * 1_000, done.stdout


def hook(home: Path) -> list[str]:
    """The hook program at a prompt."""
    return [sys.executable, "-I", "-S", str(PROGRAM), "claude-code", "UserPromptSubmit", "--home", str(home)]


def start_asleep(home: Path) -> float:
    """Milliseconds of the hook at a start in a home whose server sleeps, with a kept opening; no server can start."""
    page = home / "cache" / "opening" / hashlib.sha256(b"/x").hexdigest()[:24]
    page.parent.mkdir(parents=True)
    page.write_text('"/x"\n<slowwave-memory>\nThe kiln is hot.\n</slowwave-memory>', encoding="utf-8")
    (home / "slowwave.toml").write_text("[", encoding="utf-8")
    words = [word.replace("UserPromptSubmit", "SessionStart") for word in hook(home)]
    took, answer = run(words, b'{"session_id": "s", "cwd": "/x"}')
    if b"kiln" not in answer:
        raise SystemExit("the kept opening was not printed")
    time.sleep(REST_SECONDS)
    return took


def measure(folder: Path, *, cells: int, rounds: int) -> dict[str, Any]:
    """The figures of one size."""
    home = folder / "served"
    build(home, cells=cells, turns=cells, dims=DIMS)
    (home / "slowwave.toml").write_text(SETTINGS, encoding="utf-8")
    asked, _ = questions(draw_world(max(cells // TOPIC_CELLS, 1), DIMS), cells, rounds + WARM_UP)
    took: dict[str, list[float]] = {"bare": [], "asleep": [], "served": []}
    told = 0
    with server(home):
        for place, prompt in enumerate(asked):
            given = {
                "session_id": f"s{place}",
                "prompt": prompt,
                "cwd": "/x",
                "transcript_path": "/x/s.jsonl",
            }
            payload = json.dumps(given).encode()
            bare, _ = run(BARE)
            without = 0.0 if place % 2 else start_asleep(folder / f"asleep-{place}")
            with_server, answer = run(hook(home), payload)
            if place >= WARM_UP:
                told += bool(answer)
                for name, value in (("bare", bare), ("asleep", without), ("served", with_server)):
                    took[name] += [value] * (value > 0)
    return {
        "cells": cells,
        "rounds": rounds,
        "answered": told,
        **{name: figures(values, took["bare"]) for name, values in took.items()},
        "cores": os.cpu_count(),
    }


def figures(values: Sequence[float], bare: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile in milliseconds, and the ratio of the median to that of the bare interpreter."""
    return {
        "p50_ms": round(statistics.median(values), 1),
        "p95_ms": round(statistics.quantiles(values, n=20)[-1], 1),
        "ratio": round(statistics.median(values) / statistics.median(bare), 2),
    }


def text_of(found: dict[str, Any]) -> str:
    """The figures as text."""
    names = {"bare": "python -I -S -c pass", "asleep": "start, server asleep", "served": "hook at a prompt"}
    lines = [
        f"{found['cells']:,} memories, {found['rounds']} rounds, {found['answered']} prompts got memory, "
        f"{found['cores']} cores"
    ]
    for name, title in names.items():
        one = found[name]
        lines.append(
            f"{title:22} p50 {one['p50_ms']:6.1f} ms   p95 {one['p95_ms']:6.1f} ms   {one['ratio']:.2f} x bare"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, call and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=int, default=10_000, help="memories in the server's store")
    parser.add_argument("--rounds", type=int, default=60, help="calls of each program")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args(arguments)
    hide_settings()
    with tempfile.TemporaryDirectory(prefix="slowwave-hooks-") as temporary:
        found = measure(Path(temporary), cells=options.cells, rounds=options.rounds)
    print(json.dumps(found) if options.json else text_of(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
