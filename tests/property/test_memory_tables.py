"""What a table in memory answers is what the disk answers: the same conditions, words and vectors."""

from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slowwave.journal.changes import Change, collapse
from slowwave.journal.segments import Journal
from slowwave.store import (
    RowsQuery,
    SearchQuery,
    Store,
    col,
    create_store,
    lit,
)
from tests.examples import at_most
from tests.rows import DAY, row, rows

DIMS = 8
NAMES = ("red ferry", "Blue limits", "limit of the ferry", "über 'quoted\" text\\", "token token", "ferry")
OWNERS = ("ana", "bo")

VALUES = {
    "user_id": st.sampled_from(OWNERS),
    "scope": st.sampled_from(["user-private", "project-shared", "system"]),
    "status": st.sampled_from(["active", "superseded"]),
    "cell_type": st.sampled_from(["fact", "decision", "risk"]),
    "subject": st.sampled_from([None, "ferry", "it's", 'a "b" \\']),
    "superseded_by": st.sampled_from([None, "c0", "c5"]),
    "event_time": st.integers(0, 9).map(lambda days: DAY + timedelta(days=days)),
    "salience": st.sampled_from([0.1, 0.5, 1.0]),
    "protected": st.booleans(),
}


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3):
    if depth and draw(st.booleans()):
        left, right = draw(conditions(depth=depth - 1)), draw(conditions(depth=depth - 1))
        return left & right if draw(st.booleans()) else left | right
    name = draw(st.sampled_from(sorted(VALUES)))
    value = draw(VALUES[name].filter(lambda drawn: drawn is not None))
    if isinstance(value, str):
        kind = draw(st.sampled_from(["is", "is not", "in", "null", "not null"]))
        if kind.endswith("null"):
            return col(name).is_null() if kind == "null" else col(name).is_not_null()
        if kind == "in":
            return col(name).isin(draw(st.lists(VALUES[name].filter(bool), max_size=3)))
        return col(name) == lit(value) if kind == "is" else col(name) != lit(value)
    if isinstance(value, bool):
        return col(name) == lit(value=value)
    compare = draw(st.sampled_from(["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"]))
    return getattr(col(name), compare)(lit(value))


def vector_of(place: int) -> list[float]:
    return [float(x) for x in np.random.default_rng(place).standard_normal(DIMS)]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    """The same generation on disk and in memory."""
    tmp = tmp_path_factory.mktemp("memory")
    store = create_store(tmp / "store", embedder_id="scripted/m/8/1", dims=DIMS)
    dice = np.random.default_rng(7)
    cells = []
    for place in range(60):
        drawn = {
            "user_id": OWNERS[place % 2],
            "scope": ("user-private", "project-shared", "system")[place % 3],
            "status": ("active", "superseded")[dice.integers(2)],
            "cell_type": ("fact", "decision", "risk")[dice.integers(3)],
            "subject": (None, "ferry", "it's", 'a "b" \\')[dice.integers(4)],
            "superseded_by": (None, "c0", "c5")[dice.integers(3)],
            "event_time": DAY + timedelta(days=int(dice.integers(10))),
            "salience": (0.1, 0.5, 1.0)[dice.integers(3)],
            "protected": bool(dice.integers(2)),
        }
        names = [NAMES[dice.integers(len(NAMES))]] if place % 4 else []
        cells.append(
            row("cells", f"c{place}", content=f"{NAMES[place % 6]} {place}", entities=names, **drawn)
        )
    changes = [Change("cells", rows("cells", *cells).with_columns(order=pl.int_range(pl.len())), "whole")]
    store.apply(collapse(changes))
    keys = [f"c{place}" for place in range(60) if place % 5]
    store.put_vectors(
        "cells", pl.DataFrame({"cell_id": keys, "vector": [vector_of(int(key[1:])) for key in keys]})
    )
    store.index_new_rows("cells")
    copied = Store(store.root, store.name, store.meta)
    copied.keep_in_memory(Journal(tmp), most_rows=1_000, exact_rows=1_000)
    return store, copied


@given(conditions())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=at_most(60)
)
def test_a_condition_holds_for_the_same_rows(stores: tuple[Store, Store], where):
    stored, copied = stores
    queries = [RowsQuery("cells", ("cell_id", "subject", "event_time"), where)]
    (on_disk,), (known,) = stored.find(queries), copied.find(queries)
    assert known == sorted(on_disk, key=lambda row: row["cell_id"])
    small = stored.rows("cells", queries[0].columns, where).sort("cell_id")
    assert small.rows(named=True) == known, "a small table, held"


@given(conditions(depth=1), st.sampled_from([*NAMES, "ferries limited", "?!", "nothing"]), st.integers(1, 70))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=at_most(40)
)
def test_words_and_vectors_find_the_same_rows(stores: tuple[Store, Store], where, text, k):
    stored, copied = stores
    vector = np.array(vector_of(len(text)), np.float32)
    queries = [
        (SearchQuery("cells", text, None, k, where, ("status",)), "text_score"),
        (SearchQuery("cells", text, None, k, where, fields=("entities",)), "text_score"),
        (SearchQuery("cells", "", vector, k, where, ("status",)), "similarity"),
    ]
    for query, value in queries:
        on_disk, in_memory = (
            sorted(store.find([query])[0], key=lambda row: -row[value]) for store in (stored, copied)
        )
        values = [row[value] for row in on_disk]
        assert [row[value] for row in in_memory] == pytest.approx(values, abs=1e-4)
        # of equal ones at the cut either may be there
        cut = values[-1] if len(values) == k else float("-inf")
        sure = [
            {row["cell_id"] for row in found if row[value] > cut + 1e-4} for found in (on_disk, in_memory)
        ]
        assert sure[0] == sure[1], query


@given(
    conditions(depth=1), st.sampled_from([*NAMES, "ferries limited", "?!"]), st.integers(1, 70), st.booleans()
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=at_most(40)
)
def test_a_search_brings_the_same_rows_with_both_values_and_the_terms_they_hold(
    stores: tuple[Store, Store], where, text, k, has_vector
):
    stored, copied = stores
    vector = np.array(vector_of(len(text)), np.float32) if has_vector else None
    query = SearchQuery(
        "cells", text, vector, k, where, ("status",), ("content", "entities"), also=("c7", "c9")
    )
    on_disk, in_memory = (
        {row["cell_id"]: row for row in store.find([query])[0]} for store in (stored, copied)
    )
    lists = 1 + has_vector
    if max(len(on_disk), len(in_memory)) < k:  # of equal ones at a cut either may be there
        assert on_disk.keys() == in_memory.keys()
    assert len(in_memory) <= lists * k + 2
    for key in on_disk.keys() & in_memory.keys():
        one, other = on_disk[key], in_memory[key]
        assert one["held"] == other["held"]
        assert one["similarity"] == pytest.approx(other["similarity"], abs=1e-4)
        assert one["status"] == other["status"]


def test_a_table_of_more_rows_than_are_kept_as_lists_gives_the_same_rows(
    stores: tuple[Store, Store], monkeypatch
):
    _, copied = stores
    query = SearchQuery("cells", "red ferry", None, 20, None, ("cell_id", "status"), ("content",))
    listed = copied.find([query])
    monkeypatch.setattr("slowwave.store.memory_tables.MOST_LISTED", 0, raising=False)
    assert copied.find([query]) == listed
    assert listed[0]
