"""`Memory.frame`: typed frames of the store, of rows that the asker may see and of no others."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest

from slowwave import Memory
from slowwave.errors import InputError, NotFoundError
from slowwave.journal.changes import Change, collapse
from slowwave.schemas.tables import KEYS, OWNER, TABLES, frame_schema
from slowwave.store import create_store
from tests.rows import row, rows
from tests.scripted_model import write_settings

OWNERS = {
    "ana": ("ana", "kiln", "user-private"),
    "ana-oven": ("ana", "oven-12345678", "user-private"),
    "ben": ("ben", "kiln", "user-private"),
    "ben-oven": ("ben", "oven-12345678", "project-shared"),
    "shared": ("ben", "kiln", "project-shared"),
    "system": ("ben", "kiln", "system"),
}
"""The owner of each row; a row without one belongs to the memory with its key."""

FRAMES = [table for table in TABLES if table != "spaces"]


def rows_of(table: str) -> pl.DataFrame:
    """A row for each owner; its key names the owner, and so does the memory that it is about."""
    owned = set(OWNER) <= set(frame_schema(table).names())
    about = {"cell_id"} & set(frame_schema(table).names())
    return rows(
        table,
        *(
            row(
                table,
                key,
                **(dict(zip(OWNER, owner, strict=True)) if owned else {}),
                **dict.fromkeys(about, key),
            )
            for key, owner in OWNERS.items()
        ),
    )


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("frames") / "home"
    write_settings(folder, embedding={"provider": "none"}, owner={"user_id": "ana", "project_id": "kiln"})
    store = create_store(folder / "store", embedder_id="", dims=4)
    ordered = {table: rows_of(table).with_columns(order=pl.int_range(pl.len())) for table in TABLES}
    store.apply(collapse([Change(table, frame, "whole") for table, frame in ordered.items()]))
    with Memory(folder, records_usage=False) as memory:
        yield memory


@pytest.mark.parametrize("table", FRAMES)
def test_a_frame_has_the_rows_that_the_asker_may_see_in_the_types_of_the_table(memory: Memory, table: str):
    found = memory.frame(table)
    own = ["ana", "ana-oven", "shared", "system"]
    if set(OWNER) <= set(found.columns):
        assert set(found.select(OWNER).rows()) == {OWNERS[key] for key in own}
    else:
        assert found[KEYS[table]].to_list() == (list(OWNERS) if table == "nights" else own)
    context = {"context"} if table == "usage" else set()
    assert dict(found.schema) == {
        name: kind for name, kind in frame_schema(table).items() if name not in context
    }


def test_a_frame_from_within_a_project_has_its_rows_and_those_of_the_home(memory: Memory):
    own = memory.frame("cells", project="oven-12345678")
    assert own["cell_id"].to_list() == ["ana", "ana-oven", "ben-oven", "shared", "system"]
    assert (
        memory.frame("cell_usage", project="oven-12345678")["cell_id"].to_list() == own["cell_id"].to_list()
    )


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (pl.col("scope") == "user-private", ["ana", "ana-oven"]),
        (pl.lit(value=True), ["ana", "ana-oven", "shared", "system"]),
        (pl.col("cell_id").is_in(["ben", "system"]), ["system"]),
        (pl.col("user_id").n_unique() > 2, []),
        (pl.any_horizontal(cs.string() == "system"), ["system"]),
    ],
)
def test_a_condition_is_computed_on_rows_of_the_asker_alone_whatever_columns_are_shown(
    memory: Memory, where: pl.Expr, wanted: list[str]
):
    assert memory.frame("cells", columns=["cell_id"], where=where)["cell_id"].to_list() == wanted


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"table": "vitals"}, r"no table 'vitals': choose one of turns, .*, links$"),
        ({"table": "spaces"}, "no table 'spaces'"),
        (
            {"table": "nights", "columns": ["night_id", "vector"]},
            "'nights' has no column 'vector': choose from night_id, ",
        ),
        ({"table": "nights", "columns": "note"}, "a list of names"),
        ({"table": "nights", "where": "1 = 1"}, "a Polars expression"),
        ({"table": "nights", "where": pl.col("price") > 0}, "'nights' lacks: choose from night_id, "),
        ({"table": "usage", "where": pl.col("context") == "text"}, "'usage' lacks"),
        ({"table": "nights", "where": pl.col("note")}, "does not fit the types of table 'nights'"),
        (
            {"table": "cells", "where": pl.col("content").cast(pl.Int64) > 0},
            r"'cells' \(InvalidOperationError\): see its schema$",
        ),
    ],
)
def test_what_cannot_be_a_frame_is_refused_in_a_line_that_names_what_can(
    memory: Memory, asked, sentence: str
):
    with pytest.raises(InputError, match=sentence) as refusal:
        memory.frame(**asked)
    assert "\n" not in str(refusal.value)


def test_without_a_memory_there_is_no_frame(tmp_path: Path):
    with Memory(tmp_path / "none") as memory, pytest.raises(NotFoundError, match="No memory yet"):
        memory.frame("cells")
    assert not (tmp_path / "none").exists()
