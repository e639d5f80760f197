"""Questions to the language model: what they cost, and why some of them were not answered."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import polars as pl

from slowwave.errors import BudgetError, ConfigError, InputError, OutputError
from slowwave.home.stage import Stage
from slowwave.models.answers.fields import Answer
from slowwave.models.gateway import LLM
from slowwave.models.requests import Outcome, Request
from slowwave.progress import progress
from slowwave.schemas.ledger import Ledger, LedgerLine
from slowwave.schemas.report import AWAY, SPENT, UNUSABLE

A = TypeVar("A", bound=Answer)
K = TypeVar("K", bound=Hashable)


class Answered(NamedTuple, Generic[A]):
    """A usable answer, and who gave it."""

    answer: A
    prompt_version: str
    model: str


Ask = Callable[[LLM, Sequence[Request], str, int], list[Outcome]]
"""`ask_batch`, as a task within a flow run."""


def ask_batch(llm: LLM, requests: Sequence[Request], work: str, count: int) -> list[Outcome]:
    """Asks a batch of questions; outcomes come in the order of the requests."""
    done = 0

    def report(_: Outcome) -> None:
        nonlocal done
        done += 1
        progress(work, done, count)

    return llm.ask_all(requests, on_done=report)


class Model:
    """The language model of a run, within its budget; it writes nothing but the run's account of what was spent.

    A plain class and no dataclass: Prefect looks into the fields of a dataclass that is handed to a task.
    """

    def __init__(self, run: Stage, llm: LLM, *, ask: Ask) -> None:
        self.llm = llm
        self._run = run
        self._ask = ask

    @property
    def is_away(self) -> bool:
        """Return whether the rest is not asked: the server stopped answering in this run, or its budget is spent."""
        return self.llm.is_down or SPENT in self._run.report.rejected

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
        found = self._ask(self.llm, list(requests.values()), work, len(requests))
        for outcome in found:
            self._account_for(outcome)
        return dict(zip(requests, found, strict=True))

    def _account_for(self, outcome: Outcome) -> None:
        """Adds to the report what an outcome cost, and why it has no answer."""
        run, error = self._run, outcome.error
        line = LedgerLine(
            call_count=outcome.call_count,
            cached_count=int(outcome.is_cached),
            input_tokens=outcome.input_tokens,
            output_tokens=outcome.output_tokens,
            cost=outcome.cost,
        )
        run.report.ledger += Ledger.of(line, model=outcome.model, prompt_version=outcome.prompt_version)
        if isinstance(error, ConfigError):
            raise error
        if isinstance(error, BudgetError):
            run.note("the budget of this run is spent; what is left stays pending")
            run.reject(SPENT)
        elif isinstance(error, OutputError):
            run.reject(f"{UNUSABLE} ({outcome.prompt_version})")
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
