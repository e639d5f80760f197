"""What guarded judgements may still not do, because of what happened to their memories meanwhile.

The guard looks at two texts; these checks look at where both memories stand now: an earlier page of the same night may
have retired one, or a person may have settled the pair.
"""

import polars as pl

from slowwave.chains.timelines import pair_key


def hold_back(judged: pl.DataFrame, cells: pl.DataFrame, settled: pl.DataFrame) -> pl.DataFrame:
    """Takes the effect from judgements that stand on a memory that no longer holds, or on a pair that was settled.

    `judged` is what `guard` returned; `cells` has the present rows; `settled` has `pair` (`pair_key`) of
    contradictions that a person or an earlier night resolved. Returns `judged` with `is_deferred`: the new
    memory waits for a judgement against what holds now.
    """
    status = cells.select("cell_id", "status")
    both = judged.join(
        status.rename({"status": "status_new"}), on="cell_id", how="left", maintain_order="left"
    ).join(
        status.select(target_id="cell_id", status_old="status"),
        on="target_id",
        how="left",
        maintain_order="left",
    )
    is_gone = pl.col("status_new") == "superseded"
    rests_on_gone = (pl.col("status_old") == "superseded") & ~is_gone
    corrected = judged.filter((pl.col("effect") == "superseded") & (pl.col("verdict") == "corrects"))[
        "target_id"
    ]
    says_wrong = (pl.col("effect") == "confirmed") & pl.col("target_id").is_in(corrected.implode())
    joins = pl.col("effect").is_in(["confirmed", "elaborated", "contradiction"])
    pair = pair_key("cell_id", "target_id")
    note = (
        pl.when((pl.col("effect") != "none") & pair.is_in(settled["pair"].implode()))
        .then(pl.lit("this pair was settled before"))
        .when(joins & is_gone)
        .then(pl.lit("the new memory was superseded meanwhile"))
        .when((joins & rests_on_gone) | says_wrong)
        .then(pl.lit("the other memory was superseded meanwhile"))
    )
    held = both.with_columns(veto=note).with_columns(
        effect=pl.when(pl.col("veto").is_null()).then("effect").otherwise(pl.lit("none")),
        guard_note=pl.coalesce("veto", "guard_note"),
        is_deferred=(pl.col("veto") == "the other memory was superseded meanwhile").fill_null(value=False),
    )
    return held.select(*judged.columns, "is_deferred")


def closings(doubts: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Open contradictions that name a memory which no longer stands, and how they end.

    `doubts` has `contradiction_id`, `cell_a`, `cell_b` and more; `cells` has `cell_id`, `status`, `superseded_by`,
    `valid_until` of the memories named, as far as they are there. A memory that the other one superseded lost. One that
    was merged into a third lives on in it and the doubt with it; one that a third superseded, or that was deleted,
    leaves nobody to contradict.

    Returns the columns of `doubts` with `resolution`, `closing` (the reason), `successor_a`, `successor_b` (the
    memories that took the place of the two sides, null where there is none) and `is_merged` (what is said did not
    change).
    """
    facts = cells.select(
        "cell_id",
        "superseded_by",
        is_gone=pl.col("status") == "superseded",
        is_same=pl.col("valid_until").is_null(),
    )
    sides = doubts
    for side in ("a", "b"):
        mine = facts.rename({name: f"{name}_{side}" for name in facts.columns if name != "cell_id"})
        sides = sides.join(
            mine, left_on=f"cell_{side}", right_on="cell_id", how="left", maintain_order="left"
        ).with_columns(pl.col(f"is_gone_{side}").fill_null(value=True))
    a_lost = pl.col("is_gone_a") & pl.col("superseded_by_a").eq_missing(pl.col("cell_b"))
    b_lost = pl.col("is_gone_b") & pl.col("superseded_by_b").eq_missing(pl.col("cell_a"))
    is_same = (pl.col("is_same_a") | ~pl.col("is_gone_a")) & (pl.col("is_same_b") | ~pl.col("is_gone_b"))
    return (
        sides.filter(pl.col("is_gone_a") | pl.col("is_gone_b"))
        .with_columns(
            resolution=pl.when((a_lost | b_lost) & is_same)
            .then(pl.lit("merged"))
            .when(a_lost)
            .then(pl.lit("b_wins"))
            .when(b_lost)
            .then(pl.lit("a_wins")),
            closing=pl.when(a_lost | b_lost)
            .then(pl.lit("one of the two memories took the place of the other"))
            .when(is_same)
            .then(pl.lit("one of the two memories lives on in another that says the same"))
            .otherwise(pl.lit("one of the two memories was superseded by a third or is gone")),
            successor_a=pl.when("is_gone_a").then("superseded_by_a").otherwise("cell_a"),
            successor_b=pl.when("is_gone_b").then("superseded_by_b").otherwise("cell_b"),
            is_merged=is_same.fill_null(value=False),
        )
        .select(*doubts.columns, "resolution", "closing", "successor_a", "successor_b", "is_merged")
        .sort("contradiction_id")
    )
