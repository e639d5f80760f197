"""Rows of `cells` for a memory that is made: its ids, and what every new memory is."""

import polars as pl

from slowwave.schemas.identity import content_hashes, stable_ids
from slowwave.schemas.tables import OWNER, TIMESTAMP, frame_schema, shaped


def cells_of(rows: pl.DataFrame, *, now: object, more: pl.Schema | None = None) -> pl.DataFrame:
    """`new_cells` with their ids: one session says one thing once. Rows have what the text and its source say."""
    hashed = rows.with_columns(content_hashes(rows["content"]))
    identity = hashed.select(*OWNER, "session_id", "content_hash")
    named = hashed.with_columns(stable_ids("cell", identity), recorded_at=pl.lit(now).cast(TIMESTAMP))
    return new_cells(named, more=more).unique("cell_id", keep="first", maintain_order=True)


def new_cells(rows: pl.DataFrame, *, more: pl.Schema | None = None) -> pl.DataFrame:
    """The columns of `cells` and `more`: active, nothing happened to them yet; what is not given is null."""
    unmarked = dict.fromkeys(["needs_review", "is_judged", "is_summarized", "protected"], pl.lit(value=False))
    wish = {} if "is_wish" in rows.columns else {"is_wish": pl.lit(value=False)}
    schema = pl.Schema(frame_schema("cells") | dict(more or {}))
    return shaped(rows.with_columns(status=pl.lit("active"), **unmarked, **wish), schema)
