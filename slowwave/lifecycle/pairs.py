"""Pairs of memories (`cell_id`, `target_id`) as frames: which is later, and their rows when judged or waiting."""

import polars as pl

from slowwave.lifecycle.order import AGE_ORDER, PAIR, held_from, pair_key
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import frame_schema


def with_both(pairs: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """`pairs` in their order with the columns of `facts` (by `cell_id`) of both memories.

    Those of `target_id` end in `_target`. A pair of which a side is not in `facts` is left out.
    """
    targets = facts.rename(lambda name: "target_id" if name == "cell_id" else f"{name}_target")
    return pairs.join(facts, on="cell_id", how="inner", maintain_order="left").join(
        targets, on="target_id", how="inner", maintain_order="left"
    )


def oriented(pairs: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """`pairs` with the later memory as `cell_id` and the earlier as `target_id`, each pair once, first row kept.

    A pair of which a side is not in `cells` is left out.
    """
    age = cells.sort(held_from(), *AGE_ORDER).select("cell_id").with_row_index("age")
    is_later = pl.col("age") >= pl.col("age_target")
    turned = with_both(pairs, age).with_columns(
        cell_id=pl.when(is_later).then("cell_id").otherwise("target_id"),
        target_id=pl.when(is_later).then("target_id").otherwise("cell_id"),
    )
    return (
        turned.filter(pl.col("cell_id") != pl.col("target_id"))
        .drop("age", "age_target")
        .unique(PAIR, keep="first", maintain_order=True)
    )


def without_named(pairs: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """Pairs that `named` (`cell_id`, `target_id`) does not have, in either direction."""
    keys = named.select(key=pair_key(*PAIR)).unique()
    keyed = pairs.with_columns(key=pair_key(*PAIR))
    return keyed.join(keys, on="key", how="anti", maintain_order="left").drop("key")


def judgement_rows(judged: pl.DataFrame) -> pl.DataFrame:
    """Rows of `pair.judged`: a pair has one, whichever of the two is judged against the other."""
    identified = judged.with_columns(stable_ids("judgement", judged.select(pair_key(*PAIR))))
    names = [name for name in frame_schema("judgements").names() if name != "judged_at"]
    return identified.select(names).sort("judgement_id")


def unjudged_rows(pairs: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    """Rows of `pair.judged` for pairs (with the owner) that wait for a judge."""
    return _undecided_rows(pairs, "unjudged", reason)


def kept_rows(pairs: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    """Rows of `pair.judged` for pairs (with the owner) of which both stay without an answer."""
    return _undecided_rows(pairs, "keep", reason)


def _undecided_rows(pairs: pl.DataFrame, verdict: str, reason: pl.Expr) -> pl.DataFrame:
    nobody = pl.lit(None, dtype=pl.String)
    return judgement_rows(
        pairs.with_columns(
            verdict=pl.lit(verdict), effect=pl.lit("none"), reason=reason, prompt_version=nobody, model=nobody
        )
    )
