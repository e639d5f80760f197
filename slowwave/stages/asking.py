"""Batches of questions to the language model, and why some of them were not answered."""

from collections.abc import Sequence

from slowwave.errors import BudgetError, ConfigError, InputError, OutputError
from slowwave.llm import Outcome, Request
from slowwave.stages.run import Stage

AWAY, SPENT = "language model away", "budget spent"
"""Why something was not asked; the following night asks it."""


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
