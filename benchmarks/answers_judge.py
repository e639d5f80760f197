"""Marks of a strict judge, and accuracy by way and budget.

The judge sees questions with the right and the given answer, of all pages and conversations in one shuffled order, and
what was answered twice in the same words once: it cannot know which page an answer comes from. What needs no judge is
marked here: "not in memory" is right where nothing answers the question, and wrong everywhere else.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.answers_read import Asked, Kept, ask_all, hashed, parts_of
from benchmarks.measuring import JUDGE, JudgeAnswer
from slowwave.models.gateway import LLM
from slowwave.models.prompts import render_file
from slowwave.models.requests import Request

POINTS = {"right": 1.0, "half": 0.5, "wrong": 0.0}
ABSTAINED = "not in memory"
SEED = 1


@dataclass(frozen=True)
class Answered:
    """A question about a page, with the answer that a reader gave."""

    asked: Asked
    given: str

    @property
    def is_abstention(self) -> bool:
        """Return whether the reader says that the page does not hold it."""
        return self.given.strip(" .'\"*").lower().startswith(ABSTAINED)

    @property
    def needs_judge(self) -> bool:
        """Return whether only a judge can tell."""
        return self.asked.question.is_answerable and not self.is_abstention

    def key(self, model: str) -> str:
        """The hash under which its mark is kept."""
        question = self.asked.question
        return hashed(JUDGE.prompt_version, model, question.question, question.answer or "", self.given)


def judge_all(llm: LLM, answered: Sequence[Answered], kept: Kept, *, items_a_request: int) -> None:
    """Have everything marked that needs a judge and has no mark yet, in an order that tells nothing.

    Raises:
        ConfigError: the server refuses every question.
    """
    model = llm.settings.model
    waiting = {
        key: one for one in answered if one.needs_judge and (key := one.key(model)) not in kept.entries
    }
    keys = sorted(waiting)
    random.Random(SEED).shuffle(keys)  # noqa: S311 - an order, no secret
    batches = parts_of(keys, items_a_request)
    requests = [_request([waiting[key] for key in batch]) for batch in batches]
    for batch, outcome in zip(batches, ask_all(llm, requests), strict=True):
        if isinstance(outcome.answer, JudgeAnswer):
            for mark in outcome.answer.marks:
                key = batch[mark.item - 1]
                kept.add(waiting[key].asked.folder, key, mark=mark.mark, reason=mark.reason)


def _request(batch: Sequence[Answered]) -> Request:
    items = [
        {
            "number": number,
            "question": one.asked.question.question,
            "right": one.asked.question.answer or "",
            "given": one.given,
        }
        for number, one in enumerate(batch, start=1)
    ]
    numbers = {"item_numbers": frozenset(range(1, len(items) + 1))}
    return Request(render_file(JUDGE, {"items": items}), JudgeAnswer, numbers)


def marked(answered: Sequence[Answered], kept: Kept, model: str) -> pl.DataFrame:
    """One row an answer: what was asked and given, `points` (0, 0.5 or 1; null without a mark) and the `reason`."""
    marks: Mapping[str, Mapping[str, str]] = kept.entries
    rows = [_row(one, marks.get(one.key(model))) for one in answered]
    return pl.DataFrame(rows, schema=MARKED, orient="row")


MARKED = pl.Schema(
    {
        "folder": pl.String,
        "way": pl.String,
        "budget_tokens": pl.Int64,
        "category": pl.String,
        "is_answerable": pl.Boolean,
        "question": pl.String,
        "right": pl.String,
        "given": pl.String,
        "points": pl.Float64,
        "reason": pl.String,
        "tokens": pl.Int64,
    }
)


def _row(one: Answered, mark: Mapping[str, str] | None) -> tuple[object, ...]:
    question = one.asked.question
    if one.needs_judge:
        points, reason = (POINTS[mark["mark"]], mark["reason"]) if mark else (None, None)
    else:
        points, reason = float(one.is_abstention and not question.is_answerable), None
    about = (
        str(one.asked.folder),
        one.asked.way,
        one.asked.budget,
        question.category,
        question.is_answerable,
    )
    return (*about, question.question, question.answer, one.given, points, reason, one.asked.page.tokens)


@dataclass(frozen=True)
class Accuracy:
    """Mean points of one way and budget, over the questions that have an answer and over those that have none."""

    way: str
    budget_tokens: int | None
    tokens: float
    accuracy: float | None
    questions: int
    unanswerable: float | None
    unanswerable_questions: int
    by_category: dict[str, float]


def accuracy_lines(rows: pl.DataFrame) -> list[Accuracy]:
    """Accuracy by way and budget of `marked` rows, in their order; rows without points do not count."""
    told = rows.drop_nulls("points")
    return [_line(part) for part in told.partition_by("way", "budget_tokens", maintain_order=True)]


def _line(part: pl.DataFrame) -> Accuracy:
    answerable, others = part.filter("is_answerable"), part.filter(~pl.col("is_answerable"))
    shares = part.group_by("category").agg(pl.col("points").mean().round(4)).sort("category")
    return Accuracy(
        way=part["way"][0],
        budget_tokens=part["budget_tokens"][0],
        tokens=round(_mean(part, "tokens") or 0.0, 1),
        accuracy=_mean(answerable, "points"),
        questions=answerable.height,
        unanswerable=_mean(others, "points"),
        unanswerable_questions=others.height,
        by_category=dict(zip(shares["category"].to_list(), shares["points"].to_list(), strict=True)),
    )


def _mean(rows: pl.DataFrame, column: str) -> float | None:
    """The mean of a column; null without rows."""
    return round(float(rows[column].sum()) / rows.height, 4) if rows.height else None


def write_rows(rows: pl.DataFrame, folders: Sequence[Path]) -> None:
    """Every answer with its mark into `answers.json` of its folder, for reading what failed."""
    for folder in folders:
        own = rows.filter(pl.col("folder") == str(folder)).drop("folder")
        (folder / "answers.json").write_text(own.write_json(), encoding="utf-8")
