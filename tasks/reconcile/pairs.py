"""Pairs worth a judgement: exact repetitions, which need none, and what proposes a pair to the queue.

Nothing is decided here. What proposes a pair is a reason to ask, never a reason to drop.
"""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.lifecycle.order import AGE_ORDER, PAIR
from slowwave.lifecycle.pairs import oriented, with_both, without_named
from slowwave.lifecycle.repetitions import richness
from slowwave.schemas.table_parts import nullable
from slowwave.schemas.tables import OWNER
from tasks.frames import Frame

BEST, WORDS = 3, 0.2
"""Neighbours that a memory is asked about at most, and the share of its words that one has which is just near enough to
be relevant. Among 1,400 memories, 26 of 28 changed statements are so found in 227 pairs; by the ranks of two searches
fused it were 25 in 254 (`benchmarks/pairs.py`)."""

OF_PROPERTY = 3
"""Memories of the same subject and attribute that a memory is asked about: the last ones. A property with several
values at once, such as purchases, has many."""


class Near(Frame):
    """Memories that two searches found beside a memory.

    `similarity` is their cosine (null where one has no vector), `share` how much of its words the other one has, 0..1,
    rare words counting most.
    """

    cell_id: str
    target_id: str
    similarity: float = nullable()
    share: float


class Proposed(Frame):
    """Pairs that somebody should judge, and why; either memory may be the later one."""

    cell_id: str
    target_id: str
    reason: str


def exact_repetitions(cells: pl.DataFrame) -> pl.DataFrame:
    """Memories that say exactly what another one of their owner says; they need no judge.

    Returns `cell_id`, `target_id` (the survivor: the one that `richness` puts first), sorted.
    """
    survivor = pl.col("cell_id").sort_by("richness").first().over(*OWNER, "content_hash")
    ranked = cells.join(richness(cells), on="cell_id").select("cell_id", target_id=survivor)
    return ranked.filter(pl.col("cell_id") != pl.col("target_id")).sort("cell_id")


def shares_of_words(matching: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `target_id`, `share`: scores of full-text search (`match_score`) as parts of a memory's own."""
    own = matching.filter(pl.col("cell_id") == pl.col("target_id")).select("cell_id", own="match_score")
    others = matching.filter(pl.col("cell_id") != pl.col("target_id")).join(own, on="cell_id")
    return others.select(*PAIR, share=(pl.col("match_score") / pl.col("own")).clip(0.0, 1.0))


def near_enough(near: DataFrame[Near], *, least: float) -> DataFrame[Proposed]:
    """The nearest of those whose similarity and share of words come to `least` (relevant at all) and `WORDS`."""
    strength = pl.col("similarity").fill_null(least) + pl.col("share")
    best = (
        near.with_columns(strength=strength)
        .filter(pl.col("strength") >= least + WORDS)
        .sort("cell_id", "strength", "target_id", descending=[False, True, False])
        .group_by("cell_id", maintain_order=True)
        .head(BEST)
    )
    by_vector = pl.format("similarity {}", pl.col("similarity").round(3))
    return Proposed.of(best.select(*PAIR, reason=pl.coalesce(by_vector, pl.lit("much the same words"))))


def of_one_property(looked: pl.DataFrame, known: pl.DataFrame) -> DataFrame[Proposed]:
    """Each memory with the last ones of its owner that claim the same property (`cells.property`)."""
    on = [*OWNER, "property"]
    others = known.sort(AGE_ORDER, descending=True).select(*on, target_id="cell_id")
    both = (
        looked.drop_nulls("property").select("cell_id", *on).join(others, on=on, maintain_order="left_right")
    )
    last = both.filter(pl.col("cell_id") != pl.col("target_id")).group_by("cell_id", maintain_order=True)
    return Proposed.of(last.head(OF_PROPERTY).select(*PAIR, reason=pl.lit("one subject and attribute")))


def resting_on_superseded(
    elaborations: pl.DataFrame, cells: pl.DataFrame, ends: dict[str, str]
) -> DataFrame[Proposed]:
    """Marked memories (`cell_id` of `elaborations`) with what took the place of what they say more about.

    `cells` has `cell_id`, `status`, `valid_until` of the memories that they rest on, `ends` the end of each chain.
    """
    changed = cells.filter((pl.col("status") == "superseded") & pl.col("valid_until").is_not_null())
    heads = elaborations.join(changed, left_on="target_id", right_on="cell_id", how="semi").with_columns(
        target_id=pl.col("target_id").replace_strict(ends, default=None, return_dtype=pl.String)
    )
    found = heads.drop_nulls("target_id").filter(pl.col("cell_id") != pl.col("target_id"))
    reason = pl.lit("it says the same as a memory that was superseded, with more in it")
    return Proposed.of(found.unique(PAIR, maintain_order=True).select(*PAIR, reason=reason))


def unasked(pairs: pl.DataFrame, asked: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Proposed pairs of one owner that nobody asked about (`asked`, in either direction), the later memory first.

    `cells` has the dates and the owner of both. Each pair comes once, with `OWNER`.
    """
    owned = with_both(without_named(oriented(pairs, cells), asked), cells.select("cell_id", *OWNER))
    is_one_owner = pl.all_horizontal(pl.col(name) == pl.col(f"{name}_target") for name in OWNER)
    return owned.filter(is_one_owner)
