"""Batches of questions to the language model."""

from collections.abc import Sequence

from prefect import task
from prefect.cache_policies import NO_CACHE

from slowwave.errors import BudgetError, ConfigError, InputError, OutputError
from slowwave.llm import LLM, Outcome, Request
from slowwave.progress import progress
from tasks.stage import Stage, call_task

AWAY, SPENT = "language model away", "budget spent"
"""Why something was not asked; the following night asks it."""


@task(name="ask-model", cache_policy=NO_CACHE, task_run_name="ask-{work}-{count}")
def _ask(llm: LLM, requests: Sequence[Request], work: str, count: int) -> list[Outcome]:
    done = 0

    def told(_: Outcome) -> None:
        nonlocal done
        done += 1
        progress(work, done, count)

    return llm.ask_all(requests, on_done=told)


def ask(run: Stage, requests: Sequence[Request], *, work: str) -> list[Outcome]:
    """Outcomes in the order of the requests; what they cost and why some failed goes into the report.

    Raises:
        ConfigError: the server refuses every question (key, model or address).
    """
    llm = run.workspace.llm
    if llm is None or not requests:
        return []
    outcomes = call_task(_ask, llm, requests, work, len(requests))
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
