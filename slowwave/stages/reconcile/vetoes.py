"""Checks of guarded judgements against where both memories stand now.

The guard looks at two texts. Meanwhile an earlier page of the same night may have retired one of the memories, a person
may have settled the pair, or confirmed a memory of the same chain.
"""

import polars as pl

from slowwave.lifecycle.order import PAIR, pair_key, supersessions
from slowwave.lifecycle.repetitions import incomplete
from slowwave.lifecycle.walker import connected

REPLACED = "the other memory was superseded meanwhile"


def hold_back(judged: pl.DataFrame, cells: pl.DataFrame, settled: pl.DataFrame) -> pl.DataFrame:
    """Takes the effect from judgements of a memory that no longer holds, or of a pair that was settled before.

    `judged` is what `guard` returned; `cells` has the present rows; `settled` has `pair` (`pair_key`) of
    contradictions that a person or an earlier night resolved. Returns `judged` with `is_deferred`: the new
    memory waits for a judgement against what holds now.
    """
    gone = cells.filter(pl.col("status") == "superseded")["cell_id"].implode()
    is_gone = pl.col("cell_id").is_in(gone)
    rests_on_gone = pl.col("target_id").is_in(gone) & ~is_gone
    corrections = judged.filter((pl.col("effect") == "superseded") & (pl.col("verdict") == "corrects"))
    says_wrong = (pl.col("effect") == "confirmed") & pl.col("target_id").is_in(
        corrections["target_id"].implode()
    )
    joins = pl.col("effect").is_in(["confirmed", "elaborated", "contradiction"])
    is_settled = pair_key("cell_id", "target_id").is_in(settled["pair"].implode())
    veto = (
        pl.when((pl.col("effect") != "none") & is_settled)
        .then(pl.lit("this pair was settled before"))
        .when(joins & is_gone)
        .then(pl.lit("the new memory was superseded meanwhile"))
        .when((joins & rests_on_gone) | says_wrong)
        .then(pl.lit(REPLACED))
    )
    return (
        judged.with_columns(veto=veto)
        .with_columns(
            effect=pl.when(pl.col("veto").is_null()).then("effect").otherwise(pl.lit("none")),
            guard_note=pl.coalesce("veto", "guard_note"),
            is_deferred=(pl.col("veto") == REPLACED).fill_null(value=False),
        )
        .drop("veto")
    )


def spare_protected(judged: pl.DataFrame, chain: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Guarded judgements of which none retires a memory that a person confirmed.

    `chain` has the judged pairs and the links of earlier nights, `cells` their cells. Dates may put a confirmed memory
    before others: then all pairs of its group become contradictions, for a person to settle.
    """
    standing = cells.select(
        "cell_id", "protected", known_by=pl.when(pl.col("status") == "superseded").then("superseded_by")
    )
    lost = (
        supersessions(chain, cells)
        .join(standing, on="cell_id", how="inner")
        .filter(pl.col("protected") & pl.col("superseded_by").ne_missing(pl.col("known_by")))
    )
    groups = connected(chain)
    with_lost = groups.join(lost, on="cell_id", how="semi")
    spared = groups.join(with_lost, on="group", how="semi")["cell_id"]
    is_spared = (pl.col("effect") == "superseded") & pl.col("cell_id").is_in(spared.implode())
    note = pl.lit("a person confirmed one of these memories: only a person retires it")
    return judged.with_columns(
        guard_note=pl.when(is_spared).then(note).otherwise("guard_note"),
        effect=pl.when(is_spared).then(pl.lit("contradiction")).otherwise("effect"),
    )


def keep_whole(judged: pl.DataFrame, repeats: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Guarded judgements after which each memory that is merged lives on in one that has all its values.

    Two by two they do; three may say the same and each have a value of its own. `repeats` has the judged repetitions
    and those of earlier nights, `cells` the memories of both. What would lose a value stays beside the other.
    """
    lost = pl.Series("cell_id", [], dtype=pl.String)
    left = repeats
    while (more := incomplete(left, cells)["cell_id"]).len():
        lost = pl.concat([lost, more])
        left = repeats.filter(~pl.any_horizontal(pl.col(PAIR).is_in(lost.implode())))
    is_lost = (pl.col("effect") == "confirmed") & pl.any_horizontal(pl.col(PAIR).is_in(lost.implode()))
    return judged.with_columns(
        effect=pl.when(is_lost).then(pl.lit("elaborated")).otherwise("effect"),
        guard_note=pl.when(is_lost)
        .then(pl.lit("said again with a value that the others lack: both stay"))
        .otherwise("guard_note"),
    )
