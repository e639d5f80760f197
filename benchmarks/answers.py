"""What a memory is worth for the questions of a set: nights, evidence coverage, and judged answers.

    python benchmarks/answers.py night SET INDEX --folder FOLDER [--base-url URL --model NAME]
    python benchmarks/answers.py coverage FOLDER...

`night` takes in conversation INDEX (from 0) of a question set and does its nights, with the clock at each. `coverage`
needs no model. SET is LoCoMo's JSON, LongMemEval's, or our own form (`slowwave/schemas/questions.py`). A command that
was killed goes on where it was when it is given again. benchmarks/README.md says what the figures mean.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import answers_nights  # noqa: E402
from benchmarks.answers_memory import measured_coverage  # noqa: E402
from slowwave.errors import SlowwaveError  # noqa: E402
from slowwave.schemas.questions import CoverageLine  # noqa: E402


def night(options: argparse.Namespace) -> int:
    """Do the nights of one conversation, and tell what they cost."""
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    answers_nights.use_own_environment(folder)
    conversation = answers_nights.read_conversation(options.set, options.index)
    model = answers_nights.Model(
        base_url=options.base_url,
        model=options.model,
        gate_model=options.gate_model or options.model,
        concurrency=options.concurrency,
        timeout_seconds=options.timeout,
        transport_retries=options.transport_retries,
        budget_tokens=options.budget_tokens,
    )
    answers_nights.sleep_through(
        folder, conversation, options.nights, model, options.embedder, options.set_setting
    )
    report = answers_nights.night_report(folder)
    (folder / "night.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    show_json(report) if options.json else show_night(report)
    return 0


def coverage(options: argparse.Namespace) -> int:
    """Measure the coverage of folders together."""
    found = measured_coverage(options.folders, audit=options.audit, budgets=options.budgets)
    show_json(found.as_json()) if options.json else show_coverage(found.lines, found.left_out)
    return 0


def wide() -> Console:
    """A console on which the tables fit also where there is no terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 140)


def show_json(found: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    print(json.dumps(found))


def show_night(report: dict[str, Any]) -> None:
    """Costs by prompt, and what the nights made."""
    made = Table("prompt version", "calls", "cached", "tokens in", "tokens out", "tokens a turn")
    for name, line in report["prompts"].items():
        tokens = (f"{line['input_tokens']:,}", f"{line['output_tokens']:,}", f"{line['tokens_a_turn']:,.1f}")
        made.add_row(name, str(line["calls"]), str(line["cached"]), *tokens)
    console = wide()
    console.print(made)
    console.print(
        f"{report['nights']} nights over {report['turns']} turns: {report['memories']} memories, "
        f"{report['episodes']} episodes, {report['topics']} topics, the largest with "
        f"{report['largest_topic']:.1%} of the memories; rejected: {report['rejected'] or 'nothing'}"
    )


def show_coverage(lines: Sequence[CoverageLine], left_out: dict[str, int]) -> None:
    """A line a way and budget."""
    categories = sorted({name for line in lines for name in line.by_category})
    made = Table("shown", "budget", "tokens", "coverage", "complete", *categories)
    for line in lines:
        budget = "" if line.budget_tokens is None else f"{line.budget_tokens:,}"
        shares = [f"{line.by_category.get(name, 0.0):.1%}" for name in categories]
        made.add_row(
            line.way, budget, f"{line.tokens:,.0f}", f"{line.coverage:.1%}", f"{line.complete:.1%}", *shares
        )
    console = wide()
    console.print(made)
    console.print(f"{lines[0].questions if lines else 0} questions; left out: {left_out or 'nothing'}")


def numbers(text: str) -> tuple[int, ...]:
    """Whole numbers, split by commas."""
    return tuple(int(part) for part in text.split(","))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    of_night = commands.add_parser("night", help="take in a conversation and do its nights")
    of_night.add_argument("set", type=Path, help="question set: LoCoMo, LongMemEval, or our own form")
    of_night.add_argument("index", type=int, help="which conversation of it, from 0")
    of_night.add_argument("--folder", type=Path, required=True, help="where everything is kept")
    of_night.add_argument(
        "--nights",
        choices=("between", "end"),
        default="end",
        help="a night after each day of talk, or one two days after the last (default)",
    )
    of_night.add_argument("--embedder", choices=("wordllama", "ollama", "none"), default="wordllama")
    of_night.add_argument(
        "--set-setting", action="append", default=[], metavar="GROUP.NAME=VALUE", help="any other setting"
    )
    add_model(of_night)
    of_coverage = commands.add_parser("coverage", help="share of the evidence that is shown; no model")
    of_coverage.add_argument(
        "folders", type=Path, nargs="+", help="folders of nights; their questions count together"
    )
    of_coverage.add_argument(
        "--budgets", type=numbers, default=(500, 1_000, 2_000, 4_000), help="tokens of a page"
    )
    for command in (of_night, of_coverage):
        command.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    of_coverage.add_argument("--audit", type=Path, help="corrections of the set: wrong answers are left out")
    return parser.parse_args(arguments)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Options of a model server."""
    parser.add_argument(
        "--base-url", default="", help="OpenAI-compatible server, with /v1; without it there is no model"
    )
    parser.add_argument("--model", default="model", help="its model")
    parser.add_argument("--gate-model", default="", help="a cheaper model for the gate")
    parser.add_argument("--concurrency", type=int, default=40, help="requests in flight at once")
    parser.add_argument("--timeout", type=float, default=5_000.0, help="seconds for one answer")
    parser.add_argument("--transport-retries", type=int, default=0, help="repeats of a request that failed")
    parser.add_argument("--budget-tokens", type=int, help="most tokens of this run")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = parsed(arguments)
    try:
        return {"night": night, "coverage": coverage}[options.command](options)
    except SlowwaveError as error:
        print(error, file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
