"""Repetitions: which of several memories of one value stands for them, and when a repetition holds by itself.

Of memories that say the same, the oldest stands for all. Where another value held in between, the later ones begin
a new stretch of the timeline: "100, then 250, then 100 again" is three states and not two. So what is believed does
not depend on the order in which the memories came in.
"""

import polars as pl

from slowwave.chains.stored import PAIR
from slowwave.chains.timelines import HOLDING_ORDER
from slowwave.chains.walker import connected


def plain_value(text: pl.Expr) -> pl.Expr:
    """Values as they are compared: their signs count (C is not C++), their case and blanks do not."""
    return text.str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars(" .")


def stand_ins(pairs: pl.DataFrame, repeats: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """For every memory of the groups, the one that stands for it.

    `pairs` has `cell_id`, `target_id`, `verdict` (who updates or corrects whom), `repeats` has `cell_id`, `target_id`
    (who says the same as whom, in whatever direction); `cells` has the memories named. In a group without a
    correction, memories of one value that nothing separates make a stretch, and of those that say the same the oldest
    of the stretch stands for the others. In a group with a correction the oldest of all stands for them: that a
    wrong value was said again does not make it right.

    Returns `cell_id`, `element_id` (itself where it stands for itself), sorted.
    """
    groups = connected(pl.concat([pairs.select(PAIR), repeats.select(PAIR)]))
    value = pl.coalesce("value", "content")
    kinds = connected(repeats).rename({"group": "kind"})
    wrong = pairs.filter(pl.col("verdict") == "corrects").select("cell_id").unique()
    corrected = groups.join(wrong, on="cell_id", how="semi").select("group").unique()
    return (
        groups.join(
            cells.select("cell_id", "valid_from", "event_time", "recorded_at", said=plain_value(value)),
            on="cell_id",
            how="inner",
        )
        .join(kinds, on="cell_id", how="left")
        .with_columns(
            kind=pl.coalesce(pl.format("r{}", "kind"), "cell_id"),
            valid_day=pl.col("valid_from").dt.truncate("1d"),
        )
        .join(corrected.with_columns(is_corrected=pl.lit(value=True)), on="group", how="left")
        .sort("group", *HOLDING_ORDER)
        # what says the same has the value of its oldest, however it was put
        .with_columns(said=pl.col("said").first().over("group", "kind"))
        .with_columns(stretch=pl.col("said").rle_id().over("group"))
        .with_columns(stretch=pl.when("is_corrected").then(0).otherwise("stretch"))
        .select("cell_id", element_id=pl.col("cell_id").first().over("group", "stretch", "kind"))
        .sort("cell_id")
    )


def between_elements(pairs: pl.DataFrame, repeats: pl.DataFrame, elements: pl.DataFrame) -> pl.DataFrame:
    """`pairs` between the memories that stand for others, with a pair for every repetition that holds by itself.

    `elements` is what `stand_ins` returned. Returns `cell_id`, `target_id`, `verdict`, each pair once.
    """
    again = repeats.select(*PAIR, verdict=pl.lit("updates"))
    both = pl.col(PAIR)
    ends = pl.concat([pairs.select(*PAIR, "verdict"), again]).with_columns(
        both.replace_strict(elements["cell_id"], elements["element_id"], default=None, return_dtype=pl.String)
    )
    return ends.filter(pl.col("cell_id") != pl.col("target_id")).unique(
        PAIR, keep="first", maintain_order=True
    )


def inherited(merged: pl.DataFrame, cell_usage: pl.DataFrame) -> pl.DataFrame:
    """Usage of the memories that others were merged into, with the counts of those others added.

    `merged` has `cell_id` (which goes) and `superseded_by` (which stands); `cell_usage` has the rows of both.
    Only those that gain a use are returned; confirmations are not counted here.
    """
    counts, times = ["retrieval_count", "citation_count", "ignore_count"], ["last_accessed", "retrieved_at"]
    gained = (
        merged.join(cell_usage, on="cell_id", how="inner")
        .group_by("superseded_by")
        .agg(pl.col(counts).sum(), pl.col(times).max())
        .filter(pl.sum_horizontal(counts) > 0)
    )
    return (
        cell_usage.join(gained, left_on="cell_id", right_on="superseded_by", how="inner", suffix="_gained")
        .with_columns(
            *(pl.col(name) + pl.col(f"{name}_gained") for name in counts),
            *(pl.max_horizontal(name, f"{name}_gained").alias(name) for name in times),
        )
        .select(cell_usage.columns)
        .sort("cell_id")
    )
