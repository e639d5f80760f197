"""How often forgetting was wrong, read from the vitals of memories that were ever archived."""

from datetime import datetime

from slowwave.schemas.report import Forgetting
from slowwave.store.reading import StoreReader
from slowwave.store.scopes import col, lit
from slowwave.transforms.forgetting import false_forgetting

COLUMNS = ("archived_count", "archived_at", "revived_count", "revived_at")


def forgetting_of(store: StoreReader, *, now: datetime, days: float) -> Forgetting:
    """Archived and revived memories of all time and of the last `days`."""
    archived = store.rows("vitals", COLUMNS, col("archived_count") > lit(0))
    return false_forgetting(archived, now=now, days=days)
