"""Failed tries: after an unusable answer comes a pause that doubles, and at last quarantine."""

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from slowwave.errors import InputError, OutputError
from slowwave.journal.catalogue import rows_of
from slowwave.models.requests import Outcome
from slowwave.settings.groups import NightSettings
from slowwave.stages.run import Stage

QUARANTINED, FAILED = "quarantined", "failed"


def is_failed_try(outcome: Outcome) -> bool:
    """Return whether an answer or a page could not be used; an outage or a spent budget is no try."""
    return isinstance(outcome.error, OutputError | InputError)


def after_failed_try(tried: pl.DataFrame, *, night: NightSettings, now: datetime) -> pl.DataFrame:
    """The rows with `attempts` (before) counted up, and the `status` and `retry_at` that follow from it."""
    is_last = pl.col("attempts") + 1 >= night.max_attempts
    pause = pl.duration(seconds=night.retry_backoff_hours * 3600 * 2 ** pl.col("attempts"))
    return tried.with_columns(
        attempts=pl.col("attempts") + 1,
        status=pl.when(is_last).then(pl.lit(QUARANTINED)).otherwise(pl.lit(FAILED)),
        retry_at=pl.when(~is_last).then(pl.lit(now) + pause),
    )


def failed_rows(run: Stage, kind: str, tried: pl.DataFrame, outcomes: Sequence[Outcome]) -> pl.DataFrame:
    """Payload of an event such as `chunk.failed`: a row for each outcome that was a try and failed.

    `tried` has the key columns of what was asked about, and as `attempts` how many tries it had before.
    """
    rows = [
        {
            **asked,
            "error": str(outcome.error),
            "prompt_version": outcome.prompt_version,
            "model": outcome.model,
        }
        for asked, outcome in zip(tried.iter_rows(named=True), outcomes, strict=True)
        if is_failed_try(outcome)
    ]
    if not rows:
        return rows_of(kind, [])
    failed = pl.DataFrame(rows, infer_schema_length=None)
    states = after_failed_try(failed, night=run.settings.night, now=run.now)
    return rows_of(kind, states.to_dicts())
