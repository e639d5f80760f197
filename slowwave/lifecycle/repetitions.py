"""Repetitions: which of several memories of one value stands for them, and when a repetition holds by itself.

Of memories that say the same, the richest text stands for all, and the oldest of equally rich ones. Where another value
held in between, the later ones begin a new stretch of the timeline: "100, then 250, then 100 again" is three states and
not two. So what is believed does not depend on the order in which the memories came in.
"""

from datetime import datetime

import polars as pl

from slowwave.language.lexicon import STOP_WORDS
from slowwave.language.text import days_and_months, names, numbers, plain_value, without_telling_date, words
from slowwave.lifecycle.order import HOLDING_ORDER, PAIR, held_from
from slowwave.lifecycle.walker import connected
from slowwave.schemas.moments import are_unknown, first_of
from slowwave.trust.origins import PERSON, rank_of

WORDS_THAT_COUNT = 4
"""Telling words that one text must have more for being the richer one: a word more or less is only another wording."""


def hard_value_lists(cells: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `values`: the numbers, named days and names of a memory's content, subject and value, as one list.

    The day on which a habit was told is none of them.
    """
    content = without_telling_date(pl.col("content"), pl.col("event_time"))
    named = [names("x " + pl.col(name).fill_null("")) for name in ("subject", "value")]
    parts = [numbers(content), days_and_months(content), names(content), *named]
    return cells.select("cell_id", values=pl.concat_list(parts).list.unique().list.sort())


def richness(cells: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `richness` (0 is the richest): which of several memories that say the same should stand for them.

    What was said on a known day comes first, then what a person confirmed, then what a trusted source said, then the
    text with most numbers, days and names, then the one with clearly more telling words, then the oldest.
    """
    telling = words(pl.col("content")).list.unique().list.set_difference(sorted(STOP_WORDS)).list.len()
    order = ["is_dated", "is_protected", "trust", "value_count", "word_count"]
    known = cells if "protected" in cells.columns else cells.with_columns(protected=pl.lit(value=False))
    return (
        known.join(hard_value_lists(cells), on="cell_id", how="left", maintain_order="left")
        .select(
            "cell_id",
            *HOLDING_ORDER[1:-1],
            valid_day=held_from().dt.truncate("1d"),
            is_protected=pl.col("protected"),
            trust=-rank_of(pl.col("origin")),
            is_dated=~are_unknown(pl.col("event_time")),
            value_count=pl.col("values").list.len(),
            word_count=telling // WORDS_THAT_COUNT,
        )
        .sort(*order, *HOLDING_ORDER, descending=[True] * len(order) + [False] * len(HOLDING_ORDER))
        .select("cell_id")
        .with_row_index("richness")
    )


def incomplete(repeats: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """`cell_id` of memories with a number, day or name that the one which would stand for them does not have.

    `repeats` has `cell_id`, `target_id` of memories that say the same, two by two; together they may not.
    """
    ranked = connected(repeats).join(richness(cells), on="cell_id", how="inner").sort("group", "richness")
    best = ranked.with_columns(best_id=pl.col("cell_id").first().over("group"))
    values = hard_value_lists(cells)
    sides = best.join(values, on="cell_id", how="inner").join(
        values.rename({"cell_id": "best_id", "values": "held"}), on="best_id", how="inner"
    )
    left = pl.col("values").list.set_difference("held").list.len()
    return sides.filter(left > 0).select("cell_id").sort("cell_id")


def complete(repeats: pl.DataFrame, cells: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """The repetitions by which no value is lost, and the ids of the memories that say more than the others.

    Two by two memories may say the same where three, each with a value of its own, do not.
    """
    left, lost = repeats, pl.Series("cell_id", [], dtype=pl.String)
    while (more := incomplete(left, cells)["cell_id"]).len():
        lost = pl.concat([lost, more])
        left = repeats.filter(~pl.any_horizontal(pl.col(PAIR).is_in(lost.implode())))
    return left, lost


def stand_ins(pairs: pl.DataFrame, repeats: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """For every memory of the groups, the one that stands for it.

    `pairs` has `cell_id`, `target_id`, `verdict` (who updates or corrects whom), `repeats` has `cell_id`, `target_id`
    (who says the same as whom, in whatever direction); `cells` has the memories named. In a group without a
    correction, memories of one value that nothing separates make a stretch, and of those that say the same the richest
    of the stretch stands for the others (`richness`). In a group with a correction the oldest of all stands for them:
    that a wrong value was said again does not make it right. What was said on an unknown day is taken to hold from the
    first known day on which the same was said.

    Returns `cell_id`, `element_id` (itself where it stands for itself), sorted.
    """
    groups = connected(pl.concat([pairs.select(PAIR), repeats.select(PAIR)]))
    value = pl.coalesce("value", "content")
    kinds = connected(repeats).rename({"group": "kind"})
    wrong = pairs.filter(pl.col("verdict") == "corrects").select("cell_id").unique()
    first_told = first_of(pl.col("valid_day")).over("group", "kind")
    corrected = groups.join(wrong, on="cell_id", how="semi").select("group").unique()
    return (
        groups.join(
            cells.select(
                "cell_id",
                "event_time",
                "recorded_at",
                valid_day=held_from().dt.truncate("1d"),
                is_undated=are_unknown(held_from()),
                said=plain_value(value),
            ),
            on="cell_id",
            how="inner",
        )
        .join(kinds, on="cell_id", how="left")
        .with_columns(kind=pl.coalesce(pl.format("r{}", "kind"), "cell_id"))
        .join(corrected.with_columns(is_corrected=pl.lit(value=True)), on="group", how="left")
        .with_columns(valid_day=pl.when("is_undated").then(first_told).otherwise("valid_day"))
        .sort("group", "valid_day", "is_undated", *HOLDING_ORDER[1:])
        # what says the same has the value of its oldest, however it was put
        .with_columns(said=pl.col("said").first().over("group", "kind"))
        .with_columns(stretch=pl.col("said").rle_id().over("group"))
        .with_columns(stretch=pl.when("is_corrected").then(0).otherwise("stretch"))
        .join(richness(cells), on="cell_id", how="left", maintain_order="left")
        .with_columns(richness=pl.when("is_corrected").then(0).otherwise("richness"))
        .select(
            "cell_id",
            element_id=pl.col("cell_id")
            .sort_by("richness", maintain_order=True)
            .first()
            .over("group", "stretch", "kind"),
        )
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


def confirmations(
    pairs: pl.DataFrame, cells: pl.DataFrame, cell_usage: pl.DataFrame, *, now: datetime
) -> pl.DataFrame:
    """New counts and joined evidence of cells that were said again.

    `pairs` has `cell_id` (the survivor), `confirmed_by`, `evidence`, `origin` and `session_id` (of the
    repetition), `cells` also the survivor's `session_id`. Only a person who says it in another conversation
    confirms: a document, a tool or an assistant may say it as often as it likes, and adds its evidence alone. What
    had confirmed a repetition counts on for the survivor. Returns one row a survivor.
    """
    before = cell_usage.select(confirmed_by="cell_id", said_before="confirmations")
    counted = pairs.join(before, on="confirmed_by", how="left", maintain_order="left").join(
        cells.select("cell_id", said_in="session_id"), on="cell_id", how="left", maintain_order="left"
    )
    is_independent = (pl.col("origin") == PERSON) & pl.col("session_id").ne_missing(pl.col("said_in"))
    said = counted.group_by("cell_id").agg(
        pl.col("confirmed_by").sort().str.join(" "),
        said_count=pl.col("session_id").filter(is_independent).n_unique().cast(pl.Int64)
        + pl.col("said_before").sum(),
        is_confirmed=is_independent.any(),
        said_evidence=pl.col("evidence").list.explode(keep_nulls=False, empty_as_null=False),
    )
    return (
        said.join(cells.select("cell_id", "evidence"), on="cell_id", how="inner")
        .join(cell_usage.select("cell_id", "confirmations", "last_accessed"), on="cell_id", how="inner")
        .select(
            "cell_id",
            "confirmed_by",
            confirmations=pl.col("confirmations") + pl.col("said_count"),
            evidence=pl.col("evidence").list.set_union("said_evidence").list.sort(),
            last_accessed=pl.when("is_confirmed")
            .then(pl.max_horizontal("last_accessed", pl.lit(now)))
            .otherwise("last_accessed"),
        )
        .sort("cell_id")
    )
