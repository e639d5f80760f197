"""Chains as they are read from a real store: both ways, over branches, into circles, and past what is gone."""

from pathlib import Path

import polars as pl
import pytest

from slowwave.journal.changes import Change, collapse
from slowwave.store import Store, create_store
from slowwave.store.chains import read_chains, standing_ends
from tests.rows import row, rows

LINKS = {
    "a": "b",
    "a2": "b",
    "b": "c",
    "c": None,
    "x": "y",
    "y": "x",
    "lost": "pruned",
    "retired": None,
    "other": None,
}
"""Who superseded whom: `a` and `a2` lead over `b` to `c`, `x` and `y` are a circle, `lost` leads out of the store."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = create_store(tmp_path / "store", embedder_id="scripted/m/4/1", dims=4)
    gone = {*(key for key, by in LINKS.items() if by), "retired"}
    cells = [
        row("cells", key, superseded_by=by, status="superseded" if key in gone else "active")
        for key, by in LINKS.items()
    ]
    whole = rows("cells", *cells).with_columns(order=pl.int_range(pl.len()))
    made.apply(collapse([Change("cells", whole, "whole")]))
    return made


@pytest.mark.parametrize(
    ("start", "way", "found"),
    [
        ("b", "both", "b a a2 c"),
        ("a", "after", "a b c"),
        ("c", "before", "c b a a2"),
        ("a", "both", "a b a2 c"),
        ("x", "after", "x y"),
        ("y", "both", "y x"),
        ("lost", "both", "lost"),
        ("other", "both", "other"),
        ("nobody", "both", ""),
    ],
)
def test_a_chain_is_read_nearest_first_and_each_memory_once(store: Store, start: str, way, found: str):
    cells = read_chains(store, [start], ["cell_id"], way=way)
    assert cells.columns == ["cell_id"]
    assert cells["cell_id"].to_list() == found.split()


def test_a_link_that_is_no_tie_is_not_followed(store: Store):
    read = read_chains(store, ["a"], ties=lambda cells: cells.filter(pl.col("cell_id") != "b"))
    assert sorted(read["cell_id"]) == ["a", "a2", "b"]
    assert "content" in read.columns


def test_a_chain_ends_in_the_memory_that_stands_and_nowhere_where_none_does(store: Store):
    ends = standing_ends(store, pl.Series([*LINKS, "nobody"]))
    assert ends == {"a": "c", "a2": "c", "b": "c", "c": "c", "other": "other"}
    assert standing_ends(store, pl.Series([], dtype=pl.String)) == {}
