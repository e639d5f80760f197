"""Whether what is current is said first: `python benchmarks/holds.py WORLD [--mode raw|model | --home HOME]`.

WORLD is a folder with an invented world (`benchmarks/holds_world.py`): conversations in which properties change while
people go on mentioning old values, questions about what is current now, and lists made by hand. `raw` is a home after
one night without a model, `model` the fold of the journal that was kept in the world, `--home` any home that holds it.
`benchmarks/holds_judge.py` says how an answer is judged, `benchmarks/README.md` what the figures mean.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import holds_lists  # noqa: E402
from benchmarks.holds_judge import judge  # noqa: E402
from benchmarks.holds_memory import Asked, make_home, use_settings  # noqa: E402
from benchmarks.holds_paraphrases import measure_paraphrases  # noqa: E402
from benchmarks.holds_world import read_world  # noqa: E402
from slowwave.memory import Memory  # noqa: E402

FIGURES = ("first", "named", "older_first", "older")
EVERY = "all"
LISTS = ("nothing_known", "fixes", "decisions", "core", "whose_word")
SHOWN_LINES = 3


def ask_questions(asked: Asked, questions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row a question and way: its `FIGURES`, and the lines that were shown."""
    rows = []
    for question in questions:
        about = asked.world.properties[question["property"]]
        for way, lines_of in asked.ways.items():
            lines = lines_of(question["question"])
            verdict = judge(lines, about)
            figures = {name: getattr(verdict, name) for name in FIGURES}
            about_it = {name: question[name] for name in ("id", "question", "style", "property")}
            rows.append({**about_it, "way": way, **figures, "marked": verdict.marked, "lines": lines})
    return rows


def shares(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Shares of the questions by style and way, all styles together first."""
    frame = pl.DataFrame([{name: row[name] for name in ("style", "way", *FIGURES)} for row in rows])
    parts = [frame.with_columns(style=pl.lit(EVERY)), frame]
    means = [pl.col(name).mean().round(3) for name in FIGURES]
    return (
        pl.concat(parts)
        .group_by("style", "way", maintain_order=True)
        .agg(pl.len().alias("questions"), *means)
    )


def depends_on_limit(asked: Asked, questions: Sequence[dict[str, Any]]) -> int:
    """Questions whose results at limit 5 are not the first ones at limit 10."""

    def texts(question: str, limit: int) -> list[str]:
        return [line.text for line in asked.lines_found(asked.search(question, limit))]

    asked_texts = [question["question"] for question in questions]
    pairs = ((texts(text, 5), texts(text, 10)) for text in asked_texts)
    return sum(five != ten[: len(five)] for five, ten in pairs)  # the lead stands before the five


def measure_world(asked: Asked, *, limit: int | None = None) -> dict[str, Any]:
    """The figures of one world, as an object that JSON can hold but for `rows`."""
    world = asked.world
    questions = world.questions[:limit]
    rows = ask_questions(asked, questions)
    return {
        "world": world.name,
        "memories": len(asked.cells),
        "questions": len(questions),
        "shares": shares(rows).to_dicts(),
        "limit_5_differs": depends_on_limit(asked, questions),
        **{name: getattr(holds_lists, name)(asked) for name in LISTS},
        "rows": rows,
    }


def show(found: dict[str, Any]) -> None:
    """The figures as tables."""
    if "shares" in found:
        with pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
            print(pl.DataFrame(found["shares"]).select(pl.lit(found["world"]).alias("world"), pl.all()))
    for name, value in found.items():
        if name not in ("shares", "rows"):
            print(f"{name}: {value}")


def show_failures(rows: Sequence[dict[str, Any]], ways: Sequence[str]) -> None:
    """Answers that miss the current value first or give an older one, and lines that a mark of the past let through."""
    for row in rows:
        if row["way"] in ways and (not row["first"] or row["older"]):
            wrong = [name for name in FIGURES if row[name] == name.startswith("older")]
            print(f"\n{row['id']} ({row['style']}, {row['way']}) {row['question']}\n  {', '.join(wrong)}")
            for line in row["lines"][:SHOWN_LINES]:
                print(f"  > {line.day} {line.text[:300]}")
        for text in row["marked"] if row["way"] in ways else ():
            print(f"\n{row['id']} ({row['way']}) marked as past: {text[:300]}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("world", type=Path, nargs="?", help="folder of the world")
    parser.add_argument("--home", type=Path, help="ask this home instead of a new one")
    parser.add_argument("--mode", choices=("raw", "model"), default="raw", help="how a new home is made")
    parser.add_argument("--limit", type=int, help="ask only the first questions")
    parser.add_argument("--show", choices=("fail",), help="print what is wrong, and what a mark let through")
    parser.add_argument("--ways", default="search,page 300,small", help="ways that --show prints, by comma")
    parser.add_argument("--paraphrases", type=Path, help="folder of memories and questions in other words")
    parser.add_argument("--embedder-url", help="an OpenAI-compatible server instead of the embedded model")
    parser.add_argument("--embedder-model", default="", help="its model")
    parser.add_argument("--embedder-folder", help="an ONNX model's folder instead of the embedded model")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args(arguments)
    if options.world is None and options.paraphrases is None:
        parser.error("name a world, or --paraphrases")
    with tempfile.TemporaryDirectory(prefix="slowwave-holds-") as folder, patch.dict(os.environ):
        use_settings(Path(folder), **embedding(options))
        found = measure(options, Path(folder))
    show(found)
    rows = found.pop("rows", [])
    if options.show:
        show_failures(rows, options.ways.split(","))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


def embedding(options: argparse.Namespace) -> dict[str, str]:
    """Settings of the embedder: the embedded model, a folder's or a named server's."""
    if options.embedder_folder:
        return {"provider": "onnx", "folder": options.embedder_folder}
    if not options.embedder_url:
        return {"provider": "wordllama"}
    named = {"base_url": options.embedder_url, "model": options.embedder_model}
    return {"provider": "openai", "api_key": "none", **named}


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The figures of what was named, as an object that JSON can hold but for `rows`."""
    found: dict[str, Any] = {}
    if options.world is not None:
        world = read_world(options.world)
        journal = options.world / "journal" if options.mode == "model" else None
        home = options.home or make_home(world, folder, journal=journal)
        with Memory(home, records_usage=False) as memory:
            found |= measure_world(Asked(home, memory, world), limit=options.limit)
    if options.paraphrases is not None:
        found["paraphrases"] = measure_paraphrases(options.paraphrases, folder)
    return found


if __name__ == "__main__":
    sys.exit(main())
