"""Results of `answers.py` as tables, or as one JSON object."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.answers_judge import Accuracy
from benchmarks.coverage import CoverageLine
from slowwave.schemas.ledger import Ledger


def wide() -> Console:
    """A console on which the tables fit also where there is no terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 140)


@dataclass(frozen=True)
class Told:
    """Accuracy by page, counts of what does not count, and what this run paid."""

    lines: list[Accuracy]
    left_out: dict[str, int]
    ledger: Ledger

    def as_json(self) -> dict[str, Any]:
        """One object."""
        lines = [vars(line) for line in self.lines]
        return {"answers": lines, "left_out": self.left_out, "ledger": self.ledger.model_dump()}


def show_accuracy(told: Told) -> None:
    """A line a page."""
    categories = sorted({name for line in told.lines for name in line.by_category})
    made = Table("shown", "budget", "tokens", "accuracy", "questions", "unanswerable", *categories)
    for line in told.lines:
        budget = "" if line.budget_tokens is None else f"{line.budget_tokens:,}"
        shares = [percent(line.by_category.get(name)) for name in categories]
        row = [line.way, budget, f"{line.tokens:,.0f}", percent(line.accuracy), str(line.questions)]
        made.add_row(*row, percent(line.unanswerable), *shares)
    console, total = wide(), told.ledger.total
    console.print(made)
    console.print(
        f"left out: {told.left_out or 'nothing'}; this run: {total.call_count} calls, {total.cached_count} cached, "
        f"{total.input_tokens:,} tokens in, {total.output_tokens:,} out"
    )


def percent(share: float | None) -> str:
    """A share in per cent, "" for none."""
    return "" if share is None else f"{share:.1%}"


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
