"""The state of a task at a moment."""

from datetime import UTC, datetime, timedelta

import pytest

from slowwave.recall.score import is_over
from slowwave.schemas.moments import unknown_until

TOLD = datetime(2026, 6, 1, tzinfo=UTC)


DUE = TOLD + timedelta(days=10)


@pytest.mark.parametrize(
    ("memory", "days", "over"),
    [
        ({"cell_type": "fact", "value": "done"}, 0, False),
        ({"value": "Done "}, 0, True),
        ({"valid_until": DUE}, 9, False),
        ({"valid_until": DUE}, 23, False),
        ({"valid_until": DUE}, 25, True),
        ({"valid_from": DUE}, 25, True),
        ({"valid_from": TOLD, "event_time": unknown_until(DUE)}, 25, False),
        ({"value": "open", "valid_until": DUE}, 25, True),
        ({}, 4_000, False),
    ],
)
def test_a_task_is_past_a_fortnight_after_its_day_and_open_for_ever_without_one(memory, days, over):
    whole = {"cell_type": "task", "value": None, "valid_from": TOLD, "valid_until": None, "event_time": TOLD}
    now = TOLD + timedelta(days=days)
    assert is_over(whole | memory, now=now) is over
