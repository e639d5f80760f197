"""Questions to the language model: what they cost, and why some of them were not answered."""

from collections.abc import Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

import polars as pl

from slowwave.errors import BudgetError, ConfigError, InputError, OutputError
from slowwave.models.answers.fields import Answer
from slowwave.models.gateway import LLM
from slowwave.models.requests import Outcome, Request
from slowwave.schemas.report import AWAY, SPENT
from slowwave.stages.run import Stage

A = TypeVar("A", bound=Answer)
K = TypeVar("K", bound=Hashable)


class Answered(NamedTuple, Generic[A]):
    """A usable answer, and who gave it."""

    answer: A
    prompt_version: str
    model: str


class Model:
    """The language model of a run, within its budget; it writes nothing but the run's account of what was spent.

    A plain class and no dataclass: Prefect looks into the fields of a dataclass that is handed to a task.
    """

    def __init__(self, run: Stage, llm: LLM) -> None:
        self.llm = llm
        self._run = run

    @property
    def is_away(self) -> bool:
        """Return whether the server stopped answering in this run: the rest is not asked."""
        return self.llm.is_down

    def ask(self, kind: type[A], requests: Mapping[K, Request], *, work: str) -> dict[K, Answered[A]]:
        """The usable answers of a batch, by what was asked about; what failed is counted in the report.

        An outage or a spent budget leaves the rest unasked: the next night finds it waiting.

        Raises:
            ConfigError: the server refuses every question (key, model or address).
        """
        return {
            key: Answered(outcome.answer, outcome.prompt_version, outcome.model)
            for key, outcome in self.outcomes(requests, work=work).items()
            if isinstance(outcome.answer, kind)
        }

    def outcomes(self, requests: Mapping[K, Request], *, work: str) -> dict[K, Outcome]:
        """The same with what failed, for work that counts its tries.

        Raises:
            ConfigError: the server refuses every question (key, model or address).
        """
        if not requests:
            return {}
        found = self._run.steps.ask(self.llm, list(requests.values()), work, len(requests))
        for outcome in found:
            self._account_for(outcome)
        return dict(zip(requests, found, strict=True))

    def _account_for(self, outcome: Outcome) -> None:
        """Adds to the report what an outcome cost, and why it has no answer."""
        run, error = self._run, outcome.error
        run.spend(outcome)
        if isinstance(error, ConfigError):
            raise error
        if isinstance(error, BudgetError):
            run.note("the budget of this run is spent; what is left stays pending")
            run.reject(SPENT)
        elif isinstance(error, OutputError):
            run.reject(f"unusable answer ({outcome.prompt_version})")
        elif isinstance(error, InputError):
            run.note(f"the language model cannot take a page: {error}")
            run.reject(f"unusable page ({outcome.prompt_version})")
        elif error is not None:
            run.note(f"the language model does not serve: {error}")
            run.reject(AWAY)


def author_columns(prompt_version: str | None = None, model: str | None = None) -> list[pl.Expr]:
    """`prompt_version` and `model` as columns of one value; both null where a rule decided."""
    return [
        pl.lit(prompt_version, dtype=pl.String).alias("prompt_version"),
        pl.lit(model, dtype=pl.String).alias("model"),
    ]
