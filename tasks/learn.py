"""Learning after a conversation: the budget of a day, and messages that were recorded one by one."""

from dataclasses import replace

from slowwave.errors import BudgetError
from slowwave.home.paths import Home
from slowwave.schemas.report import StageReport
from slowwave.stages.ingest.recorded_chunks import cut_recorded
from slowwave.stages.night.night import learning_budget
from tasks.step import open_stage, step


@step
def within_budget(home: Home) -> Home:
    """The home with the tokens that are left today as the budget of this run.

    Raises:
        BudgetError: none are left, so that the rest waits for the night.
    """
    left = learning_budget(home)
    if left == 0:
        raise BudgetError(
            "the tokens of today for learning after conversations are spent; the night does the rest"
        )
    llm = home.settings.llm
    least = min(left, llm.budget_tokens) if llm.budget_tokens is not None else left
    limited = llm.model_copy(update={"budget_tokens": least})
    return replace(home, settings=home.settings.model_copy(update={"llm": limited}))


@step
def cut_recorded_turns(home: str, *, dry_run: bool) -> StageReport:
    """Chunks of the messages that were recorded one by one."""
    with open_stage("ingest", home=home, dry_run=dry_run) as run:
        cut_recorded(run)
    return run.report
