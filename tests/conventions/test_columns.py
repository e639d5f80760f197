"""One vocabulary of columns: `data/README.md` against the schemas."""

import polars as pl

from slowwave.schemas.tables import TABLES, TIMESTAMP, frame_schema
from tests.conventions.source import ROOT

SETTLED_TIMES = {"event_time", "valid_from", "valid_until", "last_accessed"}
SETTLED_BOOLEANS = {"protected", "needs_review"}
SETTLED_INTEGERS = {"confirmations", "attempts", "first_char", "last_char"}
STORE_TYPES = {
    "vector": "vector",
    "embedder_id": "text",
    "centroid": "vector",
    "centroid_embedder_id": "text",
}
"""Columns that the store adds, since their width belongs to the embedder."""

TYPE_NAMES = {
    pl.String(): "text",
    pl.Int64(): "integer",
    pl.Float64(): "number",
    pl.Boolean(): "boolean",
    pl.List(pl.String()): "texts",
    TIMESTAMP: "time",
}


def vocabulary() -> list[list[str]]:
    """Rows of the vocabulary: column, type, unit or range, meaning, null means."""
    found, is_inside = [], False
    for line in (ROOT / "data" / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            is_inside = False
        elif cells[0] == "column":
            assert cells == ["column", "type", "unit or range", "meaning", "null means"]
            is_inside = True
        elif is_inside and set(cells[0]) != {"-"}:
            found.append(cells)
    return found


def columns() -> dict[str, set[pl.DataType]]:
    """Every column of the tables with the types that it has."""
    types: dict[str, set[pl.DataType]] = {}
    for table in TABLES:
        for name, kind in frame_schema(table).items():
            types.setdefault(name, set()).add(kind)
    return types


def test_every_column_is_in_the_vocabulary_exactly_once_and_nothing_else_is():
    listed = [row[0].strip("`") for row in vocabulary()]
    assert [name for name in listed if listed.count(name) > 1] == []
    assert set(columns()) | set(STORE_TYPES) == set(listed)


def test_every_column_has_a_meaning_and_says_what_null_means():
    assert [row for row in vocabulary() if len(row) != 5 or not row[3] or not row[4]] == []


def test_a_column_has_one_type_in_all_tables_and_the_vocabulary_names_it():
    listed = {row[0].strip("`"): row[1] for row in vocabulary()}
    known = {name: {TYPE_NAMES[kind] for kind in kinds} for name, kinds in columns().items()}
    known |= {name: {kind} for name, kind in STORE_TYPES.items()}
    assert {name: {kind} for name, kind in listed.items()} == known


def test_the_vocabulary_explains_null_exactly_where_null_is_allowed():
    nullable = {
        name
        for model in TABLES.values()
        for name, column in model.to_schema().columns.items()
        if column.nullable
    }
    explained = {row[0].strip("`") for row in vocabulary() if row[4] != "never"}
    assert explained - {"vector", "centroid"} == nullable


def test_the_store_adds_only_columns_of_the_vocabulary():
    from slowwave.store import EMBEDDER_OF

    assert set(EMBEDDER_OF) | set(EMBEDDER_OF.values()) == set(STORE_TYPES)


def test_the_data_page_lists_every_table():
    page = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    listed = [
        line.split("`")[1] for line in page.partition("## Columns")[0].splitlines() if line.startswith("| `")
    ]
    assert [name for name in listed if not name.endswith("/")] == list(TABLES)


def test_names_tell_types():
    wrong = []
    for name, kinds in columns().items():
        for kind in kinds:
            is_time = name.endswith("_at") or name in SETTLED_TIMES
            is_truth = name.startswith(("is_", "has_")) or name in SETTLED_BOOLEANS
            is_whole = name.endswith(("_count", "_index", "_rank")) or name in SETTLED_INTEGERS
            wanted = {
                is_time: TIMESTAMP,
                is_truth: pl.Boolean(),
                is_whole: pl.Int64(),
                name.endswith("_id"): pl.String(),
                name.endswith("_ids"): pl.List(pl.String()),
                name.endswith(("_score", "_days")): pl.Float64(),
            }
            telling = {TIMESTAMP, pl.Boolean(), pl.Int64()}  # a name of these types must say so
            if wanted.get(True, kind) != kind or (True not in wanted and kind in telling):
                wrong.append(f"{name}: {kind}")
    assert wrong == []


def test_counts_and_ranks_have_their_lower_bound():
    bounds = {"_count": 0, "_index": 0, "_rank": 1}
    wrong = []
    for table, model in TABLES.items():
        for name, column in model.to_schema().columns.items():
            lower = [bound for suffix, bound in bounds.items() if name.endswith(suffix)]
            given = [check.statistics.get("min_value") for check in column.checks]
            if lower and lower != given:
                wrong.append(f"{table}.{name}: {given}, wanted {lower}")
    assert wrong == []
