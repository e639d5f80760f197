"""The order of values: which memory supersedes which.

Which of several values holds now is computed from dates, never asked.
"""

import polars as pl

from slowwave.lifecycle.walker import connected
from slowwave.schemas.moments import are_unknown, latest_moments

PAIR = ["cell_id", "target_id"]
"""The columns that name a pair of memories."""

AGE_ORDER = ["valid_from", "event_time", "recorded_at", "cell_id"]
"""The order of cells on a page, oldest first."""

HOLDING_ORDER = ["valid_day", "event_time", "recorded_at", "cell_id"]
"""Oldest first; the last cell of a group is the one that holds now. A date without a time is as good as the time of
a turn of that day, so days are compared (`held_from`), and within a day the order in which things were said."""


def held_from() -> pl.Expr:
    """Since when a memory is taken to hold beside others: `valid_from`, where no month or year was told instead.

    Such a date is a range, and the moment of it is taken that is nearest to when it was said. So "in August", said on
    the 31st, comes after what held from the 10th and before what holds from September.
    """
    since, precision = pl.col("valid_from"), pl.col("valid_precision")
    months = pl.when(precision == "month").then(pl.lit("1mo")).when(precision == "year").then(pl.lit("1y"))
    end = since.dt.offset_by(months) - pl.duration(days=1)
    return (
        pl.when(months.is_null())
        .then(since)
        .otherwise(pl.max_horizontal(since, pl.min_horizontal("event_time", end)))
    )


def supersessions(pairs: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Supersessions that follow from pairs of the same subject and attribute.

    `pairs` has `cell_id`, `target_id`, `verdict` (the judged ones and, from earlier nights, the links of the
    cells involved); `cells` has those cells. Each connected group is put in order of `held_from`, then of when
    things were said: every cell is superseded by the next, the last one holds now, whatever order they came in. A
    correction comes after what it corrects, and an outcome after its plan, whatever day the plan was for. What was
    told on an unknown day comes first.

    Returns `cell_id`, `superseded_by`, `valid_until`, `verdict`, oldest first; empty groups give no rows.
    """
    groups = connected(pairs)
    said = cells.select(*AGE_ORDER, held_from=held_from()).sort(AGE_ORDER[1:]).with_row_index("said_rank")
    ordered = (
        pairs.filter(pl.col("verdict").is_in(["corrects", "completes"]))
        .join(said, on="cell_id", how="inner")
        .join(said.select(pl.all().name.suffix("_other"), target_id="cell_id"), on="target_id", how="inner")
        .with_columns(is_later=pl.col("said_rank") > pl.col("said_rank_other"))
    )
    ended = ordered.select(
        "verdict", cell_id=pl.when("is_later").then("target_id").otherwise("cell_id")
    ).sort("cell_id", "verdict")
    # a plan that was met and was wrong all along was wrong
    wrong = ended.unique("cell_id", keep="last", maintain_order=True).rename({"verdict": "ended_by"})
    return (
        groups.join(said.rename({"valid_from": "said_from"}).drop("held_from"), on="cell_id", how="inner")
        .join(_holding_from(said, ordered), on="cell_id", how="inner")
        .join(wrong, on="cell_id", how="left")
        .with_columns(valid_day=pl.col("held_from").dt.truncate("1d"))
        .sort("group", *HOLDING_ORDER)
        .with_columns(
            superseded_by=pl.col("cell_id").shift(-1).over("group", order_by=HOLDING_ORDER),
            next_from=pl.col("held_from").shift(-1).over("group", order_by=HOLDING_ORDER),
        )
        .filter(pl.col("superseded_by").is_not_null())
        .select(
            "cell_id",
            "superseded_by",
            # a corrected value never held
            valid_until=pl.when(pl.col("ended_by") == "corrects").then("said_from").otherwise(_end()),
            verdict=pl.col("ended_by").fill_null("updates"),
        )
    )


def _end() -> pl.Expr:
    """The end of a value: when the next one began to hold; unknown where this one may have been told after that."""
    since, next_from = pl.col("held_from"), pl.col("next_from")
    is_open = are_unknown(since) & (latest_moments(since) >= latest_moments(next_from))
    return pl.when(is_open).then(since + pl.duration(microseconds=1)).otherwise(next_from)


def _holding_from(said: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `held_from`: a correction that says "since ever" still comes after the memory that it corrects.

    That memory may itself be a correction, so the dates pass along until none moves; corrections go from the
    earlier said to the later said and have no circle.
    """
    right = ordered.select(
        cell_id=pl.when("is_later").then("cell_id").otherwise("target_id"),
        wrong_id=pl.when("is_later").then("target_id").otherwise("cell_id"),
    )
    holding, before = said.select("cell_id", "held_from").sort("cell_id"), pl.DataFrame()
    while not holding.equals(before):
        before = holding
        not_before = (
            right.join(before, left_on="wrong_id", right_on="cell_id", how="inner")
            .group_by("cell_id")
            .agg(not_before=pl.col("held_from").max())
        )
        holding = before.join(not_before, on="cell_id", how="left", maintain_order="left").select(
            "cell_id", pl.max_horizontal("held_from", "not_before").alias("held_from")
        )
    return holding


def pair_key(one: str, other: str) -> pl.Expr:
    """A pair of ids in two columns as one text, whichever comes first."""
    return pl.concat_list(one, other).list.sort().list.join(" ")
