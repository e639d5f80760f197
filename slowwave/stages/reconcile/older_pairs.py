"""Pairs of memories that were known before and that nobody judged: which are asked about, and in what order."""

import polars as pl

from slowwave.chains.timelines import AGE_ORDER

PAIR = ["cell_id", "target_id"]


def oriented(pairs: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """`pairs` with the later memory as `cell_id` and the earlier as `target_id`, each pair once, first row kept.

    A pair of which a side is not in `cells` is left out.
    """
    age = cells.sort(AGE_ORDER).select("cell_id").with_row_index("age")
    aged = pairs.join(age, on="cell_id", how="inner", maintain_order="left").join(
        age.rename({"cell_id": "target_id", "age": "target_age"}),
        on="target_id",
        how="inner",
        maintain_order="left",
    )
    is_later = pl.col("age") >= pl.col("target_age")
    turned = aged.with_columns(
        cell_id=pl.when(is_later).then("cell_id").otherwise("target_id"),
        target_id=pl.when(is_later).then("target_id").otherwise("cell_id"),
    )
    return (
        turned.filter(pl.col("cell_id") != pl.col("target_id"))
        .drop("age", "target_age")
        .unique(PAIR, keep="first", maintain_order=True)
    )


def without_named(pairs: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """Pairs that `named` (`cell_id`, `target_id`) does not have, in either direction."""
    turned = named.select(cell_id="target_id", target_id="cell_id")
    return pairs.join(named, on=PAIR, how="anti", maintain_order="left").join(
        turned, on=PAIR, how="anti", maintain_order="left"
    )


def worth(pairs: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """`pairs` (with `similarity`, 0..1, null as 0) with `score`: similarity times the mean salience of the two."""
    salience = cells.select("cell_id", "salience")
    both = pairs.join(salience, on="cell_id", how="inner", maintain_order="left").join(
        salience.rename({"cell_id": "target_id", "salience": "target_salience"}),
        on="target_id",
        how="inner",
        maintain_order="left",
    )
    mean = (pl.col("salience") + pl.col("target_salience")) / 2
    return both.with_columns(score=pl.col("similarity").fill_null(0.0) * mean).drop(
        "salience", "target_salience"
    )


def similarities(pairs: pl.DataFrame, vectors: pl.DataFrame) -> pl.DataFrame:
    """`pairs` with `similarity`, the cosine of the two memories' `vector`; null where one has none."""
    placed = pairs.join(vectors, on="cell_id", how="left", maintain_order="left").join(
        vectors.rename({"cell_id": "target_id", "vector": "target_vector"}),
        on="target_id",
        how="left",
        maintain_order="left",
    )
    one, other = pl.col("vector").arr.to_list(), pl.col("target_vector").arr.to_list()
    norm = (one * one).list.sum().sqrt() * (other * other).list.sum().sqrt()
    return placed.with_columns(similarity=((one * other).list.sum() / norm).cast(pl.Float64)).drop(
        "vector", "target_vector"
    )
