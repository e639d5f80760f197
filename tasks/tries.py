"""Failed tries: after an unusable answer comes a pause that doubles, and at last quarantine."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import polars as pl

from slowwave.errors import InputError, OutputError
from slowwave.journal.catalogue import rows_of
from slowwave.models.requests import Outcome

QUARANTINED, FAILED = "quarantined", "failed"

MOST_ATTEMPTS = 3
"""Unusable answers before quarantine: what two repeats in two nights did not mend is in the text."""

BACKOFF = timedelta(hours=20)
"""First pause before another try, so that the next night makes it; doubles each time."""


def is_failed_try(outcome: Outcome) -> bool:
    """Return whether an answer or a page could not be used; an outage or a spent budget is no try."""
    return isinstance(outcome.error, OutputError | InputError)


def failed_rows(
    kind: str, tried: pl.DataFrame, outcomes: Sequence[Outcome], *, now: datetime
) -> pl.DataFrame:
    """Payload of an event such as `chunk.failed`: a row for each outcome that was a try and failed.

    `tried` has the key columns of what was asked about, and as `attempts` how many tries it had before.
    """
    rows = [
        {**asked, "error": str(said.error), "prompt_version": said.prompt_version, "model": said.model}
        for asked, said in zip(tried.iter_rows(named=True), outcomes, strict=True)
        if is_failed_try(said)
    ]
    if not rows:
        return rows_of(kind, [])
    is_last = pl.col("attempts") + 1 >= MOST_ATTEMPTS
    pause = pl.duration(seconds=BACKOFF.total_seconds() * 2 ** pl.col("attempts"))
    states = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        attempts=pl.col("attempts") + 1,
        status=pl.when(is_last).then(pl.lit(QUARANTINED)).otherwise(pl.lit(FAILED)),
        retry_at=pl.when(~is_last).then(pl.lit(now) + pause),
    )
    return rows_of(kind, states.to_dicts())
