"""How many secrets are stored, and what is taken by mistake: `python benchmarks/redaction.py [--seed N] [--json]`.

Made secrets of hundreds of kinds (`made_secrets/`) and look-alikes from real files go through the redactor; a sample
goes the whole way in, as conversations and as documents, and is looked for in the journal, the store and every file of
the home. Ends with 1 where a bound is broken. `benchmarks/README.md` says what is counted.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.environment import hide_settings  # noqa: E402
from benchmarks.made_secrets.carriers import carried  # noqa: E402
from benchmarks.made_secrets.filling import Case, cases  # noqa: E402
from benchmarks.made_secrets.look_alikes import COUNT, look_alikes  # noqa: E402
from benchmarks.made_secrets.measure import lost_words, stored  # noqa: E402
from benchmarks.made_secrets.real_lines import Excerpt  # noqa: E402
from benchmarks.made_secrets.whole_way import kept_of, night_texts, spoken, write_sources  # noqa: E402
from slowwave.redaction.redaction import redact  # noqa: E402

MOST_STORED = 0.01
MOST_CARRIED = 0.03
MOST_LOST = 0.03
MOST_TAKEN = 0.005
"""Bounds: the share of the secrets of which something is stored, as they are and in a carrier (quoted, numbered,
escaped), of the words beside a secret that go with it, and of the look-alikes of which something is taken."""
ROUNDS = 5
WHOLE = 120
"""Cases that go the whole way in."""
FORMS = ("chat", "dialogue", "markdown")
EXAMPLES = 20

Redact = Callable[[str], tuple[str, dict[str, int]]]


def measure_secrets(made: Sequence[Case], redacted: Redact = redact) -> dict[str, Any]:
    """Share of the cases that leave a secret, and how often by kind for the kinds that do."""
    kept = [redacted(case.text)[0] for case in made]
    left = Counter(case.kind for case, text in zip(made, kept, strict=True) if stored(case, text))
    lost, words = map(sum, zip(*map(lost_words, made, kept), strict=True))
    kinds = {case.kind for case in made}
    return {
        "cases": len(made),
        "kinds": len(kinds),
        "stored": sum(left.values()) / len(made),
        "surroundings_lost": lost / words,
        "kinds_that_leaked": dict(sorted(left.items(), key=lambda one: (-one[1], one[0]))),
    }


def measure_carried(made: Sequence[tuple[str, Case]], redacted: Redact = redact) -> dict[str, Any]:
    """The same share of cases in carriers, and by carrier."""
    left = [(name, case.kind) for name, case in made if stored(case, redacted(case.text)[0])]
    counts, totals = Counter(name for name, _ in left), Counter(name for name, _ in made)
    return {
        "cases": len(made),
        "stored": len(left) / len(made),
        "by_carrier": {name: counts[name] / total for name, total in sorted(totals.items())},
        "kinds_that_leaked": sorted({f"{kind} in {name}" for name, kind in left}),
    }


def measure_look_alikes(excerpts: Sequence[Excerpt], redacted: Redact = redact) -> dict[str, Any]:
    """Share of the excerpts of which something is taken, how many came from where, and what was taken."""
    taken = [(one, found[0]) for one in excerpts if (found := redacted(one.text))[1]]
    return {
        "excerpts": len(excerpts),
        "sources": dict(Counter(one.source.split(" ")[0] for one in excerpts).most_common()),
        "taken": len(taken) / len(excerpts),
        "examples": [
            {"source": one.source, "text": one.text, "left": text} for one, text in taken[:EXAMPLES]
        ],
    }


def measure_speed(texts: Sequence[str]) -> float:
    """Characters a second through the redactor, on one core."""
    started = time.perf_counter()
    for text in texts:
        redact(text)
    return sum(map(len, texts)) / (time.perf_counter() - started)


def measure_whole_way(made: Sequence[Case], folder: Path) -> dict[str, Any]:
    """Share of the cases of which a secret stands in the home that they were taken into, by the way they came."""
    result: dict[str, Any] = {}
    for form in FORMS:
        fitting = [case for case in made if form != "dialogue" or spoken(case)]
        if not fitting:
            continue
        kept = kept_of(folder / form, write_sources(folder / f"{form}-sources", fitting, form), fitting)
        left = [case.kind for case, text in zip(fitting, kept, strict=True) if stored(case, text)]
        result[form] = {
            "cases": len(fitting),
            "stored": len(left) / len(fitting),
            "kinds_that_leaked": sorted(set(left)),
        }
    return result


def run(seed: int, *, rounds: int, whole: int) -> dict[str, Any]:
    """All figures for a seed."""
    dice = Random(seed)  # noqa: S311
    made = list(cases(dice, rounds))
    hide_settings()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        written = night_texts(folder / "night", ROOT / "data" / "samples")
        excerpts = look_alikes(dice, COUNT, written)
        sample = dice.sample(made, min(whole, len(made)))
        sample += [case for case in cases(dice) if spoken(case)] if whole else []
        way = measure_whole_way(sample, folder) if sample else {}
    return {
        "seed": seed,
        "secrets": measure_secrets(made),
        "carried": measure_carried(list(carried(dice, made))),
        "look_alikes": measure_look_alikes(excerpts),
        "characters_a_second": measure_speed(
            [*(case.text for case in made), *(one.text for one in excerpts)]
        ),
        "whole_way": way,
    }


def broken_bounds(result: dict[str, Any]) -> list[str]:
    """A sentence for each bound that does not hold."""
    shares = {
        "secrets": (result["secrets"]["stored"], MOST_STORED),
        "look-alikes": (result["look_alikes"]["taken"], MOST_TAKEN),
    }
    if "surroundings_lost" in result["secrets"]:
        shares["words beside the secrets"] = (result["secrets"]["surroundings_lost"], MOST_LOST)
    for form, way in result["whole_way"].items():
        shares[f"secrets that came in as {form}"] = (way["stored"], MOST_STORED)
    if "carried" in result:
        shares["secrets in a carrier"] = (result["carried"]["stored"], MOST_CARRIED)
    return [
        f"{100 * share:.2f} % of the {name}, over the bound of {100 * most:g} %"
        for name, (share, most) in shares.items()
        if share > most
    ]


def show(result: dict[str, Any]) -> None:
    """The figures as text, with examples of what was taken by mistake."""
    secrets, taken = result["secrets"], result["look_alikes"]
    print(f"seed {result['seed']}")
    print(
        f"secrets: {secrets['cases']} cases of {secrets['kinds']} kinds, stored {100 * secrets['stored']:.2f} %"
    )
    print(f"  words of the surroundings lost with them: {100 * secrets['surroundings_lost']:.2f} %")
    for kind, count in secrets["kinds_that_leaked"].items():
        print(f"  {count:3} {kind}")
    inside = result["carried"]
    print(f"in carriers: {inside['cases']} cases, stored {100 * inside['stored']:.2f} %")
    print("".join(f"  {100 * share:5.1f} % {name}\n" for name, share in inside["by_carrier"].items()), end="")
    sources = ", ".join(f"{count} {name}" for name, count in taken["sources"].items())
    print(f"look-alikes: {taken['excerpts']} ({sources}), taken {100 * taken['taken']:.2f} %")
    for one in taken["examples"]:
        print(
            f"  {one['source']}\n    - {one['text'].strip()}\n    + {one['left'].strip()}".replace(
                "\n", "\n    "
            )
        )
    print(f"speed: {result['characters_a_second'] / 1e6:.2f} million characters a second")
    for form, way in result["whole_way"].items():
        print(f"whole way as {form}: {way['cases']} cases, stored {100 * way['stored']:.2f} %")
        print("".join(f"    {kind}\n" for kind in way["kinds_that_leaked"]), end="")
    for sentence in broken_bounds(result):
        print(f"broken: {sentence}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where a bound is broken, else 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, help="seed of all that is drawn; a fresh one without it")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="cases of each kind")
    parser.add_argument("--whole", type=int, default=WHOLE, help="cases that go the whole way in")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args(arguments)
    seed = SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    result = run(seed, rounds=options.rounds, whole=options.whole)
    if options.json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        show(result)
    return 1 if broken_bounds(result) else 0


if __name__ == "__main__":
    raise SystemExit(main())
