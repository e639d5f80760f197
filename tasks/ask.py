"""Questions to the language model: what they cost, and why some of them were not answered."""

from collections.abc import Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

import polars as pl

from slowwave.llm import LLM, Outcome, Request
from slowwave.prompting.answers import Answer
from slowwave.stages import asking
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
        """The same with what failed, for work that counts its tries."""
        return dict(zip(requests, asking.ask(self._run, list(requests.values()), work=work), strict=True))


def author_columns(prompt_version: str | None = None, model: str | None = None) -> list[pl.Expr]:
    """`prompt_version` and `model` as columns of one value; both null where a rule decided."""
    return asking.author_columns(prompt_version, model)


__all__ = ["Answered", "Model", "Outcome", "Request", "author_columns"]
