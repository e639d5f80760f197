"""Pairs of memories (`cell_id`, `target_id`) as frames: which is later, how near they are, their rows when judged."""

from collections.abc import Collection

import polars as pl

from slowwave.lifecycle.order import AGE_ORDER, PAIR, held_from, pair_key
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import frame_schema
from slowwave.stages.asking import author_columns
from slowwave.stages.run import Stage


def judged_pairs(run: Stage, cell_ids: Collection[str] | pl.Series, *columns: str) -> pl.DataFrame:
    """Pairs that were judged or noted and of which a side is among these memories, with more `columns` of theirs."""
    return pl.concat([run.store.having("judgements", name, cell_ids, [*PAIR, *columns]) for name in PAIR])


def contradicting_pairs(run: Stage, cell_ids: pl.Series) -> pl.DataFrame:
    """Pairs of these memories that stand or stood in a contradiction."""
    found = run.store.having("contradictions", "cell_a", cell_ids, ["cell_a", "cell_b"])
    return found.select(cell_id="cell_b", target_id="cell_a")


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
    turned = named.select(cell_id="target_id", target_id="cell_id")
    return pairs.join(named, on=PAIR, how="anti", maintain_order="left").join(
        turned, on=PAIR, how="anti", maintain_order="left"
    )


def with_score(pairs: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """`pairs` (with `similarity`, 0..1, null as 0) with `score`: similarity times the mean salience of the two."""
    score = pl.col("similarity").fill_null(0.0) * ((pl.col("salience") + pl.col("salience_target")) / 2)
    both = with_both(pairs, cells.select("cell_id", "salience"))
    return both.with_columns(score=score).drop("salience", "salience_target")


def with_similarity(pairs: pl.DataFrame, vectors: pl.DataFrame) -> pl.DataFrame:
    """`pairs` with `similarity`, the cosine of the two memories' `vector`; null where one has none."""
    one, other = pl.col("vector").arr.to_list(), pl.col("vector_target").arr.to_list()
    norm = (one * one).list.sum().sqrt() * (other * other).list.sum().sqrt()
    cosine = ((one * other).list.sum() / norm).cast(pl.Float64)
    known = with_both(pairs.select(PAIR), vectors).select(*PAIR, similarity=cosine)
    return pairs.join(known, on=PAIR, how="left", maintain_order="left")


def judgement_rows(judged: pl.DataFrame) -> pl.DataFrame:
    """Rows of `pair.judged`: a pair has one, whichever of the two is judged against the other."""
    identified = judged.with_columns(stable_ids("judgement", judged.select(pair_key(*PAIR))))
    names = [name for name in frame_schema("judgements").names() if name != "judged_at"]
    return identified.select(names).sort("judgement_id")


def unjudged_rows(pairs: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    """Rows of `pair.judged` for pairs (with the owner) that wait for a judge."""
    waits = {"verdict": pl.lit("unjudged"), "effect": pl.lit("none"), "reason": reason}
    return judgement_rows(pairs.with_columns(*author_columns(), **waits))


def near_rows(pairs: pl.DataFrame) -> pl.DataFrame:
    """Rows of `pair.judged` for near pairs (`similarity` and the owner) that wait for a judge."""
    return unjudged_rows(pairs, pl.format("similarity {}", pl.col("similarity").round(3)))


def within(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """All words of one list are among those of the other, and both have some."""
    common = left.list.set_intersection(right).list.len()
    fewer = pl.min_horizontal(left.list.len(), right.list.len())
    return (fewer > 0) & (common == fewer)
