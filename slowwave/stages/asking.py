"""Batches of questions to the language model, and why some of them were not answered."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import polars as pl

from slowwave.errors import BudgetError, ConfigError, InputError, OutputError
from slowwave.models.answers.fields import Answer
from slowwave.models.requests import Outcome, Request
from slowwave.schemas.report import AWAY
from slowwave.stages.run import Stage

A = TypeVar("A", bound=Answer)
K = TypeVar("K")
Author = dict[str, str | None]
"""`prompt_version` and `model` of a text or a decision; both null where a rule made it."""

SPENT = "budget spent"
"""Why something was not asked; the following night asks it, as after an outage (`AWAY`)."""


def ask(run: Stage, requests: Sequence[Request], *, work: str) -> list[Outcome]:
    """Outcomes in the order of the requests; what they cost and why some failed goes into the report.

    Raises:
        ConfigError: the server refuses every question (key, model or address).
    """
    llm = run.workspace.llm
    if llm is None or not requests:
        return []
    outcomes = run.steps.ask(llm, requests, work, len(requests))
    for outcome in outcomes:
        run.spend(outcome)
        if isinstance(outcome.error, ConfigError):
            raise outcome.error
        if isinstance(outcome.error, BudgetError):
            run.note("the budget of this run is spent; what is left stays pending")
            run.reject(SPENT)
        elif isinstance(outcome.error, OutputError):
            run.reject(f"unusable answer ({outcome.prompt_version})")
        elif isinstance(outcome.error, InputError):
            run.note(f"the language model cannot take a page: {outcome.error}")
            run.reject(f"unusable page ({outcome.prompt_version})")
        elif outcome.error is not None:
            run.note(f"the language model does not serve: {outcome.error}")
            run.reject(AWAY)
    return outcomes


def usable_answers(
    kind: type[A], asked_about: Iterable[K], outcomes: Sequence[Outcome]
) -> list[tuple[K, A, Author]]:
    """Usable answers in order, each with what it was asked about and who gave it."""
    return [
        (key, outcome.answer, {"prompt_version": outcome.prompt_version, "model": outcome.model})
        for key, outcome in zip(asked_about, outcomes, strict=True)
        if isinstance(outcome.answer, kind)
    ]


def author_columns(prompt_version: str | None = None, model: str | None = None) -> list[pl.Expr]:
    """`prompt_version` and `model` as columns of one value."""
    return [
        pl.lit(prompt_version, dtype=pl.String).alias("prompt_version"),
        pl.lit(model, dtype=pl.String).alias("model"),
    ]
