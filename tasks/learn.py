"""Learning after a conversation: the budget of a day, and messages that were recorded one by one."""

from dataclasses import replace

from slowwave.errors import BudgetError, NotFoundError
from slowwave.home.paths import Home
from slowwave.home.workspace import wall_clock
from slowwave.recording.chunks import cut_recorded
from slowwave.schemas.report import StageReport
from slowwave.store import OutdatedStoreError, col, lit, open_store
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


def learning_budget(home: Home) -> int:
    """Tokens that are left today for learning from conversations that ended.

    Those of a run that goes on are not counted yet: there is one at a time.
    """
    today = wall_clock().replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        store = open_store(home.store_root)
    except (NotFoundError, OutdatedStoreError):  # the run makes a store
        return home.settings.night.learn_tokens
    of_today = (col("outcome") == lit("learned")) & (col("started_at") >= lit(today))
    spent = store.rows("nights", ["token_count"], of_today)["token_count"].sum()
    return max(home.settings.night.learn_tokens - int(spent), 0)


@step
def cut_recorded_turns(home: str, *, dry_run: bool) -> StageReport:
    """Chunks of the messages that were recorded one by one."""
    with open_stage("ingest", home=home, dry_run=dry_run) as run:
        cut_recorded(run)
    return run.report
