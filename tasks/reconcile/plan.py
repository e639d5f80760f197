"""The plan of judged pairs: what is confirmed, superseded, left open, and what is never asked again."""

from collections.abc import Sequence

import polars as pl

from slowwave.journal.catalogue import EventRows
from slowwave.lifecycle.order import PAIR
from slowwave.lifecycle.pairs import judgement_rows, kept_rows, without_named
from slowwave.lifecycle.succession import Succession
from slowwave.schemas.tables import OWNER
from tasks.reconcile.contradictions import contradiction_rows

SPARED = "a person confirmed one of these memories: only a person retires it"
INCOMPLETE = (
    "said again with a value that the others lack, or in a chain that only a person changes: both stay"
)


def after_succession(judged: pl.DataFrame, found: Succession) -> pl.DataFrame:
    """Guarded judgements with the effect that the chains of values leave them.

    Where a chain would lose a memory that a person confirmed, its changes become contradictions, for a person to
    settle. A repetition by which a value would be lost stays. What contradicts a memory that goes by the same plan
    waits, to be asked about against the one that stands then.
    """
    effect = pl.col("effect")
    is_spared = (effect == "superseded") & pl.col("cell_id").is_in(found.spared.implode())
    stays = pl.concat([found.incomplete, found.spared])
    is_kept = (effect == "confirmed") & pl.any_horizontal(pl.col(PAIR).is_in(stays.implode()))
    lives_on = dict(found.merged.iter_rows())
    stands_for = pl.col(PAIR).replace(lives_on)
    is_late = (effect == "contradiction") & pl.any_horizontal(stands_for.is_in(found.leaving.implode()))
    return judged.with_columns(
        effect=pl.when(is_spared)
        .then(pl.lit("contradiction"))
        .when(is_kept)
        .then(pl.lit("elaborated"))
        .when(is_late)
        .then(pl.lit("none"))
        .otherwise(effect),
        verdict=pl.when(is_late).then(pl.lit("unjudged")).otherwise("verdict"),
        guard_note=pl.when(is_spared)
        .then(pl.lit(SPARED))
        .when(is_kept)
        .then(pl.lit(INCOMPLETE))
        .otherwise("guard_note"),
    )


def judged_events(
    judged: pl.DataFrame, shown: pl.DataFrame, cells: pl.DataFrame, found: Succession
) -> EventRows:
    """Events of judged pairs (with `OWNER`) beside those of their chains (`found`).

    `shown` has the pairs of the queue that stood on answered pages: what was not judged among them is kept, so that no
    pair is asked about twice. `cells` has the memories of the pairs and of their chains.
    """
    rows = judged.with_columns(reason=pl.coalesce("guard_note", "reason"))
    owned = shown.join(cells.select("cell_id", *OWNER), on="cell_id", maintain_order="left")
    apart = kept_rows(without_named(owned, judged), pl.lit("shown together and kept apart"))
    lives_on = judged.with_columns(pl.col(PAIR).replace(dict(found.merged.iter_rows())))
    return {
        "pair.judged": pl.concat([judgement_rows(rows), apart]),
        **found.events,
        "contradiction.opened": contradiction_rows(lives_on, cells),
    }


def said_with_more(judged: pl.DataFrame, cells: pl.DataFrame) -> pl.Series:
    """The archived memories that a person said again, with more in it: they come back."""
    again = judged.filter(pl.col("effect") == "elaborated")
    archived = cells.filter(pl.col("status") == "archived").select(target_id="cell_id")
    return again.join(archived, on="target_id", how="semi")["target_id"].unique().sort()


def examples(judged: pl.DataFrame, cells: pl.DataFrame) -> Sequence[str]:
    """Retired and repeated memories as a person reads them."""
    text = cells.select("cell_id", "content")
    both = judged.join(text, on="cell_id").join(
        text.rename({"cell_id": "target_id", "content": "content_old"}), on="target_id"
    )
    told = pl.when(pl.col("effect") == "superseded").then(
        pl.format("{}: {} -> {}", "verdict", "content_old", "content")
    )
    again = pl.when(pl.col("effect") == "confirmed").then(pl.format("said again: {}", "content"))
    return both.select(told=pl.coalesce(told, again)).drop_nulls()["told"].to_list()
