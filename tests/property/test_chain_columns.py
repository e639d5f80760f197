"""The derived columns of `cells`: after any superseding, restoring or removing each has the end of its chain."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.journal.changes import Change, collapse
from slowwave.lifecycle.walker import following
from slowwave.store import Store, create_store
from slowwave.store.chain_columns import SEPARATOR
from tests.examples import at_most
from tests.rows import row, rows

CELLS = [f"c{place}" for place in range(8)]

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("link"), st.sampled_from(CELLS), st.sampled_from([None, *CELLS])),
        st.tuples(st.just("remove"), st.sampled_from(CELLS), st.none()),
    ),
    min_size=1,
    max_size=12,
)
"""Links as a night or an edit writes them, circles among them, and removals from anywhere in a chain."""


def written(store: Store, links: dict[str, str | None]) -> None:
    """Put rows of these links into the place of those with their keys."""
    made = [
        row("cells", key, superseded_by=after, subject="Kiln 2", attribute="Heat ")
        for key, after in links.items()
    ]
    frame = rows("cells", *made).with_columns(order=pl.int_range(pl.len()))
    store.apply(collapse([Change("cells", frame, "whole")]))


def removed(store: Store, key: str) -> None:
    """Take a row out."""
    frame = pl.DataFrame({"cell_id": [key], "order": [0]}, schema_overrides={"order": pl.Int64})
    store.apply(collapse([Change("cells", frame, "removal")]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chains")


@given(steps=STEPS)
@settings(max_examples=at_most(30) // 3)
def test_every_memory_has_the_end_of_its_chain_whatever_was_linked_or_removed(folder: Path, steps):
    store = create_store(folder / f"store{len(list(folder.iterdir()))}", embedder_id="", dims=8)
    store.make_current()
    links: dict[str, str | None] = dict.fromkeys(CELLS)
    written(store, links)
    for kind, key, after in steps:
        if kind == "remove":
            removed(store, key)
            links.pop(key, None)
        elif key in links and after != key:
            links[key] = after
            written(store, {key: after})
    stored = store.rows("cells", ["cell_id", "superseded_by", "head_id", "property"])
    after_of = {k: v for k, v in links.items() if v}
    is_circular = {name for name, after in after_of.items() if name in (after, *following(after_of, after))}
    for cell_id, _, head_id, claim in stored.iter_rows():
        after = following(after_of, cell_id)
        if not is_circular & {cell_id, *after}:
            assert head_id == (after[-1] if after else cell_id)
        assert claim == f"kiln 2{SEPARATOR}heat"
    circles = stored.filter(pl.col("cell_id").is_in(sorted(is_circular)))
    assert set(circles["head_id"]) <= is_circular, "a circle ends in one of its own"
