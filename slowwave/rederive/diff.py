"""The difference between a living memory and a derivation: gained, lost, changed, said in other words, kept."""

from typing import Any

import polars as pl

from slowwave.rederive.pairing import pair
from slowwave.schemas.derivation import CarriedEdit, ChangedMemory, DerivationDiff
from slowwave.store import Store, col
from slowwave.store.chains import EXTRACTED

LIVE = ["active", "archived"]
COMPARED = ["cell_id", "cell_type", "content", "content_hash", "value", "status", "salience"]


def compare(living: Store, derived: Store, edits: list[CarriedEdit], *, least_score: float) -> DerivationDiff:
    """The difference between the live memories of two stores, with how a person's edits were carried."""
    pairs = pair(living, derived, least_score=least_score)
    old, new = (store.rows("cells", COMPARED, EXTRACTED) for store in (living, derived))
    found = differences(old, new, pairs)
    counts = dict.fromkeys(("gained", "lost", "changed", "reworded", "kept"), 0)
    counts |= dict(found.group_by("difference").len().iter_rows())
    before, after = (_topics(store) for store in (living, derived))
    return DerivationDiff(
        counts=counts,
        by_type=_by_type(old, new),
        topics=(len(before), len(after)),
        gained_topics=sorted(set(after) - set(before)),
        lost_topics=sorted(set(before) - set(after)),
        memories=[
            ChangedMemory(**row) for row in found.filter(pl.col("difference") != "kept").iter_rows(named=True)
        ],
        edits=edits,
    )


def differences(old: pl.DataFrame, new: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The live memories of two derivations side by side, one row each, most salient first within a difference.

    `old` and `new` have `COMPARED`, `pairs` is what `counterparts` returned. Returns `difference` (`kept` too) and the
    other columns of `ChangedMemory`.
    """
    is_live = pl.col("status").is_in(LIVE)
    follows = new.select(
        target_id="cell_id",
        after="content",
        new_hash="content_hash",
        new_value="value",
        holds=is_live,
    )
    best = (
        pairs.join(follows, on="target_id", how="inner", maintain_order="left")
        .sort("cell_id", "holds", "score", descending=[False, True, True], maintain_order=True)
        .unique("cell_id", keep="first", maintain_order=True)
    )
    live = old.filter(is_live).join(best, on="cell_id", how="left", maintain_order="left")
    known = live.select(
        _difference().alias("difference"),
        "cell_type",
        "cell_id",
        before="content",
        new_id="target_id",
        after="after",
        why=_why(),
        salience="salience",
    )
    alive = old.filter(is_live).select("cell_id")
    told = pairs.join(alive, on="cell_id", how="semi").select(cell_id="target_id")
    nothing: dict[str, Any] = dict.fromkeys(["cell_id", "before"], pl.lit(None, dtype=pl.String))
    gained = new.filter(is_live).join(told, on="cell_id", how="anti")
    held_before = pl.col("cell_id").is_in(pairs["target_id"].implode())
    fresh = gained.select(
        "cell_type",
        "salience",
        difference=pl.lit("gained"),
        new_id="cell_id",
        after="content",
        why=pl.when(held_before).then(pl.lit("no longer held in the living memory")).otherwise(pl.lit("")),
        **nothing,
    )
    return (
        pl.concat([known, fresh.select(known.columns)])
        .sort("difference", "salience", "before", "after", descending=[False, True, False, False])
        .drop("salience")
    )


def _difference() -> pl.Expr:
    return (
        pl.when(pl.col("target_id").is_null())
        .then(pl.lit("lost"))
        .when(~pl.col("holds") | ~pl.col("agrees"))
        .then(pl.lit("changed"))
        .when(pl.col("content_hash") == pl.col("new_hash"))
        .then(pl.lit("kept"))
        .otherwise(pl.lit("reworded"))
    )


def _why() -> pl.Expr:
    is_lost = pl.col("target_id").is_null()
    return (
        pl.when(~is_lost & ~pl.col("holds"))
        .then(pl.lit("no longer holds in the derivation"))
        .when(~is_lost & ~pl.col("agrees"))
        .then(pl.lit("other numbers, dates, negation or value"))
        .otherwise(pl.lit(""))
    )


def _by_type(old: pl.DataFrame, new: pl.DataFrame) -> dict[str, tuple[int, int]]:
    before, after = (
        dict(frame.filter(pl.col("status").is_in(LIVE)).group_by("cell_type").len().iter_rows())
        for frame in (old, new)
    )
    return {name: (before.get(name, 0), after.get(name, 0)) for name in sorted({*before, *after})}


def _topics(store: Store) -> list[str]:
    rows = store.rows("topics", ["name", "cell_count"], col("merged_into").is_null())
    return rows.filter(pl.col("cell_count") > 0)["name"].to_list()
