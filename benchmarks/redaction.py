"""How many secrets are stored, and what is taken by mistake: `python benchmarks/redaction.py [--seed N] [--json]`.

Secrets and look-alikes of `blind_secrets.py` go through the redactor, as they are and in carriers; then the sources and
pages of this repository, where nothing is a secret. Ends with 1 where a bound is broken.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import SystemRandom
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.blind_secrets import NEVER, Case, carried, cases, is_stored, look_alikes, lost_words  # noqa: E402
from slowwave.ingest.redact import redact  # noqa: E402

MOST = {"stored": 0.16, "carried": 0.11, "never": 0.0, "taken": 0.01, "lost": 0.035}
"""Bounds on shares: secrets stored as they are, secrets stored in carriers, those of the seven classes, look-alikes
taken, and words next to a secret that go with it."""
ROUNDS = 3
READ = (".md", ".py", ".toml", ".yaml", ".js")
NOT_READ = ("tests/", "data/", "benchmarks/blind_secrets.py", "slowwave/ingest/redact/", "docs/redaction.md")

Redact = Callable[[str], tuple[str, dict[str, int]]]


def measure(seed: int, *, rounds: int = ROUNDS, redacted: Redact = redact) -> dict[str, Any]:
    """All shares for a seed; `rounds` seeds from it on are drawn."""
    seeds = range(seed, seed + rounds)
    plain = [case for one in seeds for case in cases(one)]
    inside = [case for one in seeds for case in carried(one)]
    alike = [case for one in seeds for case in look_alikes(one)]
    started = time.process_time()
    kept = [redacted(case.text)[0] for case in (*plain, *inside, *alike)]
    seconds = time.process_time() - started
    stored = [is_stored(case, text) for case, text in zip((*plain, *inside), kept, strict=False)]
    left = Counter(case.family for case, is_left in zip((*plain, *inside), stored, strict=True) if is_left)
    lost, words = map(sum, zip(*map(lost_words, (*plain, *inside), kept), strict=True))
    taken = [case for case, text in zip(alike, kept[-len(alike) :], strict=True) if text != case.text]
    return {
        "seed": seed,
        "kinds": len({case.kind for case in plain}),
        "stored": sum(stored[: len(plain)]) / len(plain),
        "carried": sum(stored[len(plain) :]) / len(inside),
        "never": sum(left[family] for family in NEVER) / len(stored),
        "taken": len(taken) / len(alike),
        "lost": lost / words,
        "stored_by_class": _shares(left, [*plain, *inside]),
        "characters_a_cpu_second": sum(len(case.text) for case in (*plain, *inside, *alike)) / seconds,
    }


def _shares(left: Counter[str], made: Sequence[Case]) -> dict[str, float]:
    totals = Counter(case.family for case in made)
    return {family: round(left[family] / total, 3) for family, total in totals.items()}


def measure_repository(redacted: Redact = redact) -> dict[str, float]:
    """Characters of this repository for each place that is taken by mistake, and those read in a CPU second."""
    names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split()
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names if _is_read(name)]
    started = time.process_time()
    found = sum(sum(redacted(text)[1].values()) for text in texts)
    seconds = time.process_time() - started
    length = sum(map(len, texts))
    return {"characters_a_mistake": length / max(found, 1), "characters_a_cpu_second": length / seconds}


def _is_read(name: str) -> bool:
    return name.endswith(READ) and not name.startswith(NOT_READ) and (ROOT / name).is_file()


def broken_bounds(result: dict[str, Any]) -> list[str]:
    """The bounds that a result breaks, in words."""
    return [
        f"{name}: {result[name]:.2%}, at most {most:.1%}"
        for name, most in MOST.items()
        if result[name] > most
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--json", action="store_true", help="one document instead of lines")
    given = parser.parse_args(arguments)
    result = measure(given.seed) | {"repository": measure_repository()}
    broken = broken_bounds(result)
    if given.json:
        print(json.dumps(result | {"broken": broken}))
    else:
        for name, value in result.items():
            print(f"{name:24} {value:.2%}" if name in MOST else f"{name:24} {value}")
        print("\n".join(broken) or "All bounds hold.")
    return int(bool(broken))


if __name__ == "__main__":
    raise SystemExit(main())
