"""Columns that may quote what a person said, worked out from the tables: `erase` looks through these.

A text or a list of texts may quote, unless it is an id, an owner, a hash, a choice among few values, or says who made
the row. So a new column is looked through as soon as it is in a table.
"""

from functools import cache

import polars as pl

from slowwave.schemas.tables import OWNER, TABLES, Dtype, frame_schema

REFERENCES = frozenset(
    {
        "cell_a", "cell_b", "confirmed_by", "evidence", "merged_into", "superseded_by", "supersedes",
    }
)  # fmt: skip
"""Columns of ids, beside those that end in `_id` or `_ids`."""

MADE_BY = frozenset({"content_hash", "directions", "hash", "model", "prompt_version", "secret_kind"})

ORIGINS = frozenset({"speaker", "source_name", "cwd", "git_branch", "imported_from"})
"""Texts that say where a row comes from. To name one of them names no memory."""

LABELS = frozenset({"subject", "attribute", "value", "topic_hint", "index_label", "entities", "artifacts"})
"""Short texts that many memories share: that one stands elsewhere too proves nothing."""


def is_reference(name: str) -> bool:
    """Return whether a column holds ids."""
    return name.endswith(("_id", "_ids")) or name in REFERENCES


def is_text(name: str, dtype: Dtype) -> bool:
    """Return whether a column of this name and type may quote what somebody said."""
    is_name = name in OWNER or name in MADE_BY or name in _choices() or is_reference(name)
    return dtype in (pl.String, pl.List(pl.String)) and not is_name


def text_columns(table: str) -> list[str]:
    """The columns of a table that may quote what somebody said."""
    return [name for name, dtype in frame_schema(table).items() if is_text(name, dtype)]


@cache
def _choices() -> frozenset[str]:
    """Columns that hold one of few values."""
    return frozenset(
        name
        for model in TABLES.values()
        for name, column in model.to_schema().columns.items()
        if any(check.name == "isin" for check in column.checks)
    )
