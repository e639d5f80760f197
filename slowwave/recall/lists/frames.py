"""Tables of the store as frames, for analysts: only rows that the asking owner may see."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from slowwave.errors import InputError
from slowwave.recall.reader import Reader
from slowwave.schemas.tables import KEYS, OWNER, TABLES, frame_schema
from slowwave.store import owned_by

CELL = "cell_id"

OF_THE_HOME = frozenset({"nights"})
"""Tables about the home as a whole: counts without stored text, which `status` shows to every user, too."""

PRIVATE = {"usage": frozenset({"context"})}
"""Columns left out: several users may use a shared memory, and a context names the conversation of one of them."""


def frame(reader: Reader, table: str, columns: Sequence[str] | None, where: pl.Expr | None) -> pl.DataFrame:
    """Rows of a table that the reader's owner may see, as `Memory.frame` says."""
    known = _columns_of(table)
    named = known if columns is None else _known(table, columns, known)
    # selectors may name any column, so that a condition gets all of them
    needed = known if where is not None else [name for name in known if name in {KEYS[table], CELL, *named}]
    rows = _visible(reader, table, needed).sort(KEYS[table])
    return (rows if where is None else _filtered(rows, table, where)).select(named)


def _owner_of_rows(table: str) -> Literal["row", "memory", "home"] | None:
    """Columns that name the owner of a table's rows; None if nothing names it, and nobody may read the table."""
    columns = frame_schema(table).names()
    if {*OWNER} <= {*columns}:
        return "row"
    if CELL in columns:
        return "memory"
    return "home" if table in OF_THE_HOME else None


def _columns_of(table: str) -> list[str]:
    """The columns of a table that may be read.

    Raises:
        InputError: there is no such table.
    """
    tables = [name for name in TABLES if _owner_of_rows(name)]
    if table not in tables:
        raise InputError(f"there is no table {table!r}: choose one of {', '.join(tables)}")
    return [name for name in frame_schema(table) if name not in PRIVATE.get(table, ())]


def _known(table: str, names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names, each once.

    Raises:
        InputError: the table has no such column.
    """
    if isinstance(names, str):
        raise InputError(f"columns is a list of names, not the text {names!r}")
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"table {table!r} has no column {unknown[0]!r}: choose from {', '.join(known)}")
    return list(dict.fromkeys(names))


def _visible(reader: Reader, table: str, columns: Sequence[str]) -> pl.DataFrame:
    store, mine = reader.require_store(), owned_by(reader.settings.owner)
    named_in = _owner_of_rows(table)
    rows = store.rows(table, columns, mine if named_in == "row" else None)
    if named_in == "memory":
        return rows.join(store.rows("cells", [CELL], mine), on=CELL, how="semi")
    return rows


def _filtered(rows: pl.DataFrame, table: str, where: pl.Expr) -> pl.DataFrame:
    """Rows for which a condition holds. It sees no others, so that it cannot even tell whether there are any."""
    if not isinstance(where, pl.Expr):
        raise InputError(f"where is a Polars expression such as pl.col('status') == 'active', not {where!r}")
    try:
        return rows.filter(where)
    except pl.exceptions.ColumnNotFoundError as error:
        names = ", ".join(rows.columns)
        raise InputError(f"where names a column that table {table!r} lacks: choose from {names}") from error
    except pl.exceptions.PolarsError as error:  # its text may quote stored values
        kind = type(error).__name__
        raise InputError(
            f"where does not fit the types of table {table!r} ({kind}): see its schema"
        ) from error
