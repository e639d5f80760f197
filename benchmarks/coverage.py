"""Coverage: the share of a question's evidence turns that what is shown rests on, without a reader or a judge.

A page that rests on the turns which answer a question can answer it; one that does not cannot. What is lost in
extracting shows in the coverage of all memories, what is lost in choosing in that of the budgeted pages.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

import polars as pl
from pydantic import Field

from benchmarks.pages import BUDGETED, MemoryPages
from slowwave.progress import progress
from slowwave.schemas.questions import Question
from slowwave.schemas.refusals import Frozen

BUDGETS = (500, 1_000, 2_000, 4_000)
"""Tokens of a page."""

COVERED = pl.Schema(
    {
        "way": pl.String,
        "budget_tokens": pl.Int64,
        "category": pl.String,
        "share": pl.Float64,
        "tokens": pl.Int64,
    }
)
"""A row for each question and page; `budget_tokens` is null for a page that holds everything."""


class CoverageLine(Frozen):
    """Evidence coverage of one way to show memory, as means over the questions."""

    way: str = Field(
        description="`context`, `search`, `turns`, `ranked turns`, or `memories`: all there are."
    )
    budget_tokens: int | None = Field(description="Most tokens of a page; null for all memories.")
    coverage: float = Field(
        ge=0, le=1, description="Share of a question's evidence turns that a page rests on."
    )
    complete: float = Field(ge=0, le=1, description="Share of the questions with all of their evidence.")
    tokens: float = Field(ge=0, description="Tokens of a page.")
    questions: int = Field(ge=0)
    by_category: dict[str, float] = Field(description="`coverage` by the set's own categories.")


def wanted_by_question(wanted: pl.DataFrame) -> dict[int, frozenset[str]]:
    """Evidence turns by the question's place, of `WANTED` (`slowwave/measure.py`)."""
    grouped = wanted.group_by("question_index").agg("turn_id")
    turns = (frozenset(ids) for ids in grouped["turn_id"].to_list())
    return dict(zip(grouped["question_index"].to_list(), turns, strict=True))


def cover(
    memory: MemoryPages,
    questions: Sequence[Question],
    wanted: Mapping[int, AbstractSet[str]],
    *,
    now: datetime,
    budgets: Sequence[int] = BUDGETS,
    ways: Sequence[str] = BUDGETED,
) -> pl.DataFrame:
    """Every answerable question that has evidence (`wanted`, turn ids by place) asked in every way: `COVERED`.

    A question that is asked before the last turn is left out: context has no view of an earlier state.
    """
    asked = [
        (place, one)
        for place, one in enumerate(questions)
        if one.is_answerable and wanted.get(place) and (one.asked_at or now) >= memory.said_until
    ]
    everything = memory.everything("memories")

    def shown() -> Iterator[tuple[str, int | None, str, float, int]]:
        for done, (place, question) in enumerate(asked, start=1):
            evidence = wanted[place]
            pages = {("memories", None): everything} | memory.pages(question, ways, budgets, now=now)
            for (way, budget), page in pages.items():
                share = len(page.turn_ids & evidence) / len(evidence)
                yield way, budget, question.category, share, page.tokens
            progress("questions", done, len(asked))

    return pl.DataFrame(list(shown()), schema=COVERED, orient="row")


def coverage_lines(covered: pl.DataFrame) -> list[CoverageLine]:
    """Means of `COVERED` by way and budget, in the order in which these come; every question counts the same."""
    return [_line(part) for part in covered.partition_by("way", "budget_tokens", maintain_order=True)]


def _line(part: pl.DataFrame) -> CoverageLine:
    """The means of one way and budget."""
    shares = part.group_by("category").agg(pl.col("share").mean().round(4)).sort("category")
    mean = part.select(
        coverage=pl.col("share").mean().round(4),
        complete=(pl.col("share") == 1.0).mean().round(4),
        tokens=pl.col("tokens").mean().round(1),
    )
    return CoverageLine(
        way=part["way"][0],
        budget_tokens=part["budget_tokens"][0],
        coverage=mean["coverage"][0],
        complete=mean["complete"][0],
        tokens=mean["tokens"][0],
        questions=part.height,
        by_category=dict(zip(shares["category"].to_list(), shares["share"].to_list(), strict=True)),
    )
