"""The state of a task at a moment."""

from datetime import UTC, datetime, timedelta

import pytest

from slowwave.lifecycle.task_state import task_state
from slowwave.schemas.moments import unknown_until

TOLD = datetime(2026, 6, 1, tzinfo=UTC)


DUE = TOLD + timedelta(days=10)


@pytest.mark.parametrize(
    ("memory", "days", "state"),
    [
        ({"cell_type": "fact", "value": "done"}, 0, "no task"),
        ({"value": "Done "}, 0, "closed"),
        ({"valid_until": DUE}, 9, "open"),
        ({"valid_until": DUE}, 23, "open"),
        ({"valid_until": DUE}, 25, "past"),
        ({"valid_from": DUE}, 25, "past"),
        ({"valid_from": TOLD, "event_time": unknown_until(DUE)}, 25, "open"),
        ({"value": "open", "valid_until": DUE}, 25, "past"),
        ({}, 4_000, "open"),
    ],
)
def test_a_task_is_past_a_fortnight_after_its_day_and_open_for_ever_without_one(memory, days, state):
    whole = {"cell_type": "task", "value": None, "valid_from": TOLD, "valid_until": None, "event_time": TOLD}
    now = TOLD + timedelta(days=days)
    assert task_state(**whole | memory, now=now, past_days=14) == state
