"""The state of a task at a moment: open, closed, or past its day with nothing known of its outcome.

Told from stored columns and the moment, where it is read: nothing is rewritten because a day went by.
"""

from datetime import datetime, timedelta
from typing import Literal

from slowwave.language.lexicon import CLOSED_STATES
from slowwave.schemas.moments import latest_of

TaskState = Literal["no task", "open", "closed", "past"]


def task_state(
    cell_type: str,
    value: str | None,
    *,
    event_time: datetime,
    valid_from: datetime,
    valid_until: datetime | None,
    now: datetime,
    past_days: float,
) -> TaskState:
    """The state of a memory as a task, from columns of `cells`.

    Its day is `valid_until`, else a `valid_from` later than it was told; `past_days` after it the task is past. One
    without a day stays open.
    """
    if cell_type != "task":
        return "no task"
    if (value or "").strip().lower() in CLOSED_STATES:
        return "closed"
    day = valid_until or (valid_from if valid_from > latest_of(event_time) else None)
    return "past" if day is not None and day + timedelta(days=past_days) < now else "open"
