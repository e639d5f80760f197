"""Filters as conditions on rows. Every one starts from what the asking owner may see."""

import polars as pl

from slowwave.schemas.search import Filters
from slowwave.setting_groups import ScopeSettings
from slowwave.store import Expr, col, lit, owned_by


def cell_condition(own: ScopeSettings, filters: Filters) -> Expr:
    """Cells that may be found: live ones, or for a question about the past those that were said by then."""
    where = _said(own, filters)
    if filters.cell_types:
        where &= col("cell_type").isin(list(filters.cell_types))
    if filters.as_of is not None:
        where &= (col("event_time") <= lit(filters.as_of)) & (col("valid_from") <= lit(filters.as_of))
    if filters.known_at is not None:
        where &= col("recorded_at") <= lit(filters.known_at)
    if filters.is_historical:
        return where
    return where & (col("status") == lit("active"))


def turn_condition(own: ScopeSettings, filters: Filters) -> Expr:
    """Turns and passages that may be found."""
    where = _said(own, filters)
    if filters.as_of is not None:
        where &= col("event_time") <= lit(filters.as_of)
    return where


def recorded_condition(own: ScopeSettings, filters: Filters) -> Expr:
    """Turns that may be found, and were recorded by `known_at`; passages do not say when."""
    where = turn_condition(own, filters)
    return where if filters.known_at is None else where & (col("recorded_at") <= lit(filters.known_at))


def held(cells: pl.DataFrame, survivors: pl.DataFrame, filters: Filters) -> pl.DataFrame:
    """Of cells that were said by then, those that held at that moment and were not known to be outdated.

    `survivors` has the `cell_id` and `event_time` of the cells that superseded some: what was merged into another
    counts only before that other one was said. Both clocks are asked: `as_of` when it held, `known_at` what had
    been revised.
    """
    rows = cells.join(
        survivors.select(superseded_by="cell_id", survivor_time="event_time"), on="superseded_by", how="left"
    )
    if filters.known_at is not None:
        revised_later = (pl.col("superseded_at") > filters.known_at).fill_null(value=True)
        rows = rows.filter((pl.col("status") != "superseded") | revised_later)
    if filters.as_of is not None:
        moment = filters.as_of
        is_merged = (pl.col("status") == "superseded") & pl.col("valid_until").is_null()
        is_past = pl.col("cell_type") == "episode"  # what happened stays so after it ended
        rows = rows.filter(
            ((pl.col("valid_until") > moment).fill_null(value=True) | is_past)
            & (~is_merged | (pl.col("survivor_time") > moment).fill_null(value=False))
        )
    return rows.select(cells.columns)


def _said(own: ScopeSettings, filters: Filters) -> Expr:
    where = scope_condition(own, filters)
    if filters.source_type is not None:
        where &= col("source_type") == lit(filters.source_type)
    if filters.after is not None:
        where &= col("event_time") >= lit(filters.after)
    if filters.before is not None:
        where &= col("event_time") < lit(filters.before)
    return where


def scope_condition(own: ScopeSettings, filters: Filters) -> Expr:
    """Rows of whatever state that the asking owner may see, in the scope asked for."""
    where = owned_by(own.user_id, own.project_id)
    return where if filters.scope is None else where & (col("scope") == lit(filters.scope))


def as_they_stood(cells: pl.DataFrame, filters: Filters) -> pl.DataFrame:
    """Cells with what came later taken back: what was superseded after the moment asked for was live then."""
    if not filters.is_historical:
        return cells
    later = pl.lit(value=False)
    if filters.known_at is not None:
        later |= (pl.col("superseded_at") > filters.known_at).fill_null(value=False)
    if filters.as_of is not None:
        later |= (pl.col("valid_until") > filters.as_of).fill_null(value=False)
    was_live = later & (pl.col("status") == "superseded")
    return cells.with_columns(
        status=pl.when(was_live).then(pl.lit("active")).otherwise("status"),
        superseded_by=pl.when(~was_live).then("superseded_by"),
        valid_until=pl.when(~was_live).then("valid_until"),
    )
