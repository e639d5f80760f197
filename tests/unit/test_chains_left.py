"""A chain of values that some of its memories leave: the links that the others need then."""

from datetime import timedelta

import pytest

from slowwave.lifecycle.succession import bridges
from tests.rows import NOW, row, rows


def memory(name: str, by: str | None = None, *, until: int | None = None) -> dict[str, object]:
    """A memory that `by` superseded, on a day; without one it lives on in `by` as said twice."""
    ended = None if until is None else NOW + timedelta(days=until)
    return row(
        "cells", name, superseded_by=by, superseded_at=NOW if by else None, valid_until=ended, valid_from=NOW
    )


A, B, C = memory("a", "b", until=1), memory("b", "c", until=2), memory("c")
SAME = memory("a2", "a")


@pytest.mark.parametrize(
    ("cells", "gone", "superseded", "merged", "stranded"),
    [
        ([A, B, C], {"b"}, [("a", "c", 1)], [], []),
        ([A, B, C], {"c"}, [], [], ["b"]),
        ([A, B, C], {"b", "c"}, [], [], ["a"]),
        ([A, B, C, SAME], {"a"}, [("a2", "b", 1)], [], []),
        ([memory("a"), SAME, memory("a3", "a")], {"a"}, [], [("a3", "a2")], ["a2"]),
        ([A, B, C], {"a"}, [], [], []),
    ],
    ids=["middle", "last", "two", "its stand-in ends where it ended", "the oldest stand-in takes its place", "first"],
)  # fmt: skip
def test_the_others_hold_together(cells, gone, superseded, merged, stranded):
    found = bridges(rows("cells", *cells), gone, {})
    days = [
        (one["cell_id"], one["superseded_by"], (one["valid_until"] - NOW).days) for one in found.superseded
    ]
    assert days == superseded
    assert [(one["cell_id"], one["superseded_by"]) for one in found.merged] == merged
    assert found.stranded == stranded
