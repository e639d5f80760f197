"""Deletions by a person that came while the derivation was under way: what it made of them before goes, too."""

import polars as pl

from slowwave.edits.forget import deletion
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.derivation import CarriedEdit
from slowwave.schemas.tables import STATED
from slowwave.stages.extract.deleted import keep_out_deleted
from slowwave.stages.run import Stage
from slowwave.store import Store, col, is_none_of, lit


def carry_deletions(run: Stage, living: Store) -> list[CarriedEdit]:
    """Takes away what says a deleted memory and was made before the deletion was known; tells of every deletion.

    Later memories went through `extract`, which keeps such ones out.
    """
    dead = living.rows("tombstones").sort("deleted_at", "cell_id")
    alive = run.store.by_key("cells", dead["cell_id"])
    gone = pl.concat([alive, _said_before(run, dead).join(alive, on="cell_id", how="anti")])
    if gone.height:
        plan, _ = deletion(run.store, gone.sort("cell_id"), note="")
        run.commit(plan)
    return [
        CarriedEdit(edit="deleted", said=content, cell_id=cell_id, how="kept out, in other words too")
        for cell_id, content in dead.drop_nulls("content").select("cell_id", "content").iter_rows()
    ]


def _said_before(run: Stage, dead: pl.DataFrame) -> pl.DataFrame:
    """Rows of `cells` that say a deleted memory, made before it was deleted."""
    latest = dead["deleted_at"].max()
    made = is_none_of("prompt_version", STATED)
    cells = run.store.rows("cells", where=made & (col("cell_type") != lit(EPISODE)))
    before = cells.filter((pl.col("status") != "superseded") & (pl.col("recorded_at") < latest))
    if before.is_empty():
        return before
    kept, waiting = keep_out_deleted(run, before)
    undecided = pl.col("chunk_id").is_in(sorted(waiting)).fill_null(value=False)
    return before.join(kept, on="cell_id", how="anti").filter(~undecided)
