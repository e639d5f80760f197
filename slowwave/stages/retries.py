"""Failed tries: after an unusable answer comes a pause that doubles, and at last quarantine."""

from collections.abc import Sequence
from datetime import timedelta

import polars as pl

from slowwave.errors import InputError, OutputError
from slowwave.journal.catalogue import rows_of
from slowwave.models.requests import Outcome
from slowwave.stages.run import Stage


def failed_try(run: Stage, outcome: Outcome, *, tries_before: int) -> dict[str, object] | None:
    """The state after one try more: `attempts`, `status`, `error`, `retry_at`, `prompt_version`, `model`.

    None where it was no try: the answer is usable, the server was away, or the budget was spent.
    """
    if not isinstance(outcome.error, OutputError | InputError):
        return None
    night, attempts = run.settings.night, tries_before + 1
    is_last = attempts >= night.max_attempts
    pause = timedelta(hours=night.retry_backoff_hours * 2 ** (attempts - 1))
    return {
        "attempts": attempts,
        "status": "quarantined" if is_last else "failed",
        "error": str(outcome.error),
        "retry_at": None if is_last else run.now + pause,
        "prompt_version": outcome.prompt_version,
        "model": outcome.model,
    }


def failed_rows(run: Stage, kind: str, tried: pl.DataFrame, outcomes: Sequence[Outcome]) -> pl.DataFrame:
    """Payload of an event such as `chunk.failed`: a row for each outcome that was a try and failed.

    `tried` has the key columns of what was asked about, and as `attempts` how many tries it had before.
    """
    rows = [
        {**asked, **state}
        for asked, outcome in zip(tried.iter_rows(named=True), outcomes, strict=True)
        if (state := failed_try(run, outcome, tries_before=asked["attempts"])) is not None
    ]
    return rows_of(kind, rows)
