"""Rules of the choice as frames: which memories may enter core memory, and which lines keep their places."""

from datetime import datetime, timedelta

import polars as pl

from slowwave.lifecycle.order import HOLDING_ORDER, held_from
from slowwave.lifecycle.retention import access_count, rate_of, retention, unused_days
from slowwave.schemas.tables import REMEMBERED

AVERAGE_SALIENCE = 0.5
"""The salience of a memory that nobody judged."""

RETRIEVALS_A_USE = 3
"""Retrievals, net of being ignored, that count as one use: one search finds ten memories."""


def worth(*, now: datetime) -> pl.Expr:
    """The worth of a memory in every prompt: at least 0, of rows that join `cells` and `cell_usage`.

    Salience plus the logarithm of its uses (net of being ignored, confirmations among them), times its retention after
    whole unused days: which stage of one night said a memory again makes no difference.
    """
    uses = (access_count() + pl.col("confirmations")).clip(lower_bound=0.0)
    left = retention(rate_of(), unused_days(now=now).floor())
    return (pl.col("salience") + (1.0 + uses).log()) * left


def usage_record() -> pl.Expr:
    """The usage record in words: "cited 3 times, said again once", or its salience where there was no use."""
    parts = [
        pl.when(pl.col(name) > 0).then(
            pl.when(pl.col(name) == 1)
            .then(pl.lit(f"{word} once"))
            .otherwise(pl.format(f"{word} {{}} times", pl.col(name)))
        )
        for name, word in (
            ("citation_count", "cited"),
            ("confirmations", "said again"),
            ("retrieval_count", "retrieved"),
            ("ignore_count", "ignored"),
        )
    ]
    told = pl.concat_str(parts, separator=", ", ignore_nulls=True)
    return pl.when(told == "").then(pl.format("salience {}", pl.col("salience").round(2))).otherwise(told)


def belongs() -> pl.Expr:
    """Return whether a row of `cells` is of what a colleague would want to know on the first day.

    A decision, a risk, a standing wish, or what somebody asked to be remembered.
    """
    is_lasting = pl.col("cell_type").is_in(["decision", "risk"]) | pl.col("is_wish")
    return is_lasting | (pl.col("source_id") == REMEMBERED).fill_null(value=False)


def one_a_property(cells: pl.DataFrame) -> pl.DataFrame:
    """Rows of `cells`, of those on one property (subject and attribute) only the one that holds now.

    One that a person confirmed is not replaced by a later one that nobody did.
    """
    dated = cells.with_columns(property=pl.coalesce("property", "cell_id"), valid_day=held_from().dt.date())
    newest_last = dated.sort("protected", *HOLDING_ORDER)
    kept = newest_last.unique("property", keep="last", maintain_order=True)
    return cells.join(kept, on="cell_id", how="semi", maintain_order="left")


def promotion_candidates(
    cells: pl.DataFrame,
    cell_usage: pl.DataFrame,
    core: pl.DataFrame,
    *,
    doubted: pl.Series,
    limit: int,
    now: datetime,
) -> pl.DataFrame:
    """Active cells that may stand in core memory, at most `limit`: its lines in their order, then others by worth.

    `doubted` are cells in open contradictions, which stay out of prompts, as does what a person took out. A third of
    the places is kept for newcomers; the lines worth most are among the candidates. Returns the columns of `cells`
    with the counts of `cell_usage`, `worth`, `is_core` and `line_rank` (null for newcomers).
    """
    ranked = (
        cells.filter((pl.col("status") == "active") & ~pl.col("cell_id").is_in(doubted.implode()))
        .join(cell_usage.filter(pl.col("demoted_at").is_null()), on="cell_id", how="inner")
        .join(core.select("cell_id", "line_rank", "promoted_at"), on="cell_id", how="left")
        .with_columns(is_core=pl.col("line_rank").is_not_null(), worth=worth(now=now))
        .sort("worth", "cell_id", descending=[True, False])
    )
    standing, others = ranked.filter("is_core"), ranked.filter(~pl.col("is_core"))
    kept = standing.head(limit - min(others.height, limit // 3))
    return pl.concat([kept.sort("line_rank", "cell_id"), others.head(limit - kept.height)])


def choose_by_use(candidates: pl.DataFrame, *, lines: int, margin: float) -> pl.DataFrame:
    """The choice without a model, most worth first: cells that were used, or are salient above average (0.5).

    A cell was used if it was cited, said again, or found `RETRIEVALS_A_USE` times without being ignored. A line of core
    memory counts `margin` (a share) more, so that two of about the same worth do not take turns from night to night.
    """
    found = (pl.col("retrieval_count") - pl.col("ignore_count")) // RETRIEVALS_A_USE
    is_used = pl.col("citation_count") + pl.col("confirmations") + found > 0
    standing = pl.col("worth") * pl.when("is_core").then(1.0 + margin).otherwise(1.0)
    return (
        candidates.filter(is_used | (pl.col("salience") > AVERAGE_SALIENCE))
        .with_columns(standing=standing)
        .sort("standing", "cell_id", descending=[True, False])
        .drop("standing")
        .head(lines)
    )


def with_unsettled(
    chosen: pl.DataFrame, candidates: pl.DataFrame, *, now: datetime, settled_days: float, max_lines: int
) -> pl.DataFrame:
    """The choice and the lines that stay: younger than `settled_days`, or confirmed by a person.

    At most `max_lines`, cutting the choice.
    """
    young = pl.col("promoted_at") > pl.lit(now - timedelta(days=settled_days))
    stays = young.fill_null(value=False) | (pl.col("is_core") & pl.col("protected"))
    kept = candidates.filter(stays).join(chosen, on="cell_id", how="anti")
    room = max(max_lines - kept.height, 0)
    return pl.concat([chosen.head(room), kept.select(chosen.columns)])
