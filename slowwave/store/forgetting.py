"""Memories that fade soon, and how often forgetting was wrong, read from the store in narrow columns."""

from datetime import datetime, timedelta

import polars as pl

from slowwave.lifecycle.fading import fading, false_forgetting
from slowwave.schemas.report import Forgetting
from slowwave.settings.groups import ForgetSettings
from slowwave.store.conditions import col, lit
from slowwave.store.reading import StoreReader


def forgetting_of(store: StoreReader, *, now: datetime) -> Forgetting:
    """Count archived memories and those that came back, of all time and lately."""
    columns = ["archived_count", "archived_at", "revived_count", "revived_at"]
    archived = store.rows("cell_usage", columns, col("archived_count") > lit(0))
    return false_forgetting(archived, now=now)


def long_unused(store: StoreReader, columns: list[str], *, since: datetime) -> pl.DataFrame:
    """Active cells that were last cited, said again or made before `since`.

    They may have been shown since, which prolongs their life: `unused_days` decides.
    """
    unused = store.rows("cell_usage", ["cell_id"], col("last_accessed") <= lit(since))
    if unused.is_empty():
        return store.by_key("cells", [], columns)
    active = store.rows("cells", ["cell_id"], col("status") == lit("active"))
    return store.by_key("cells", active.join(unused, on="cell_id", how="semi")["cell_id"], columns)


PREVIEW_DAYS = 30.0
"""Days that the preview of fading looks ahead: a month leaves time to use or confirm a memory."""


def fading_of(
    store: StoreReader, *, now: datetime, forget: ForgetSettings, days: float = PREVIEW_DAYS
) -> pl.DataFrame:
    """Memories that will fade within so many days: `cell_id`, `fades_at`, soonest first."""
    soon = min(now, now - timedelta(days=forget.unused_days - days))
    cells = long_unused(store, ["cell_id", "status", "confidence", "decay_rate", "protected"], since=soon)
    cell_usage = store.by_key("cell_usage", cells["cell_id"])
    return fading(cells, cell_usage, now=now, forget=forget, days=days)
