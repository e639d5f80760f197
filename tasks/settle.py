"""What a page's judgements change, after the guard and the vetoes checked each of them."""

import polars as pl

from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWN, frame_schema
from slowwave.transforms.guard import guard
from slowwave.transforms.reconciliation import contradiction_rows, pair_key
from slowwave.transforms.vetoes import hold_back
from tasks.chains import Placed, place, revived
from tasks.judge import Page, judgements
from tasks.persons_word import without_protected
from tasks.stage import Stage


def settle(run: Stage, page: Page) -> None:
    """Commits what one page's judgements change; what stands on a memory that was retired meanwhile waits."""
    cells = run.store.by_key(
        "cells", page.cells["cell_id"]
    )  # as they are now: an earlier page may have changed some
    judged = checked(run, judgements(page), cells)
    placed = chain_plan(run, judged)
    opened, late = doubts(judged, cells, placed)
    waiting = pl.concat([judged.filter("is_deferred")["cell_id"], late])
    told = judged.filter(~pl.col("cell_id").is_in(waiting.implode())).drop_nulls("target_id")
    rows = told.with_columns(reason=pl.coalesce("guard_note", "reason"))
    done = [cell for cell in page.new_ids if cell not in set(waiting)]
    run.reject("waits for a judgement against what holds now", len(waiting.unique()))
    run.commit(
        {
            "pair.judged": pl.concat([judgement_rows(rows), _left_apart(run, page, rows, done)]),
            **placed.plan,
            "cell.revived": _said_again(run, judged, cells, placed),
            "contradiction.opened": opened,
            "cell.judged": pl.DataFrame({"cell_id": done}, schema={"cell_id": pl.String}),
        }
    )


def _said_again(run: Stage, judged: pl.DataFrame, cells: pl.DataFrame, placed: Placed) -> pl.DataFrame:
    """Archived memories that come back: those of the chains, and those that were said again with more in it."""
    elaborated = judged.filter(pl.col("effect") == "elaborated")["target_id"]
    archived = cells.filter((pl.col("status") == "archived") & pl.col("cell_id").is_in(elaborated.implode()))
    back = revived(run, archived["cell_id"])
    return pl.concat([placed.plan["cell.revived"], back]).unique("cell_id") if placed.plan else back


def checked(run: Stage, said: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Judgements with the effect that guard and vetoes leave them, and the owner; what was refused is counted."""
    guarded = guard(said, cells)
    judged = hold_back(guarded, cells, _settled_pairs(run, guarded)).join(
        cells.select("cell_id", *OWN), on="cell_id", how="inner", maintain_order="left"
    )
    judged = without_protected(run, judged, cells)
    for reason, number in (
        judged.drop_nulls("guard_note").group_by("guard_note").len().sort("guard_note").iter_rows()
    ):
        run.reject(f"guard: {reason}", number)
    return judged


def chain_plan(run: Stage, judged: pl.DataFrame) -> Placed:
    """The plan of the judgements that retire or repeat."""
    retiring = judged.filter(pl.col("effect") == "superseded")
    repeating = judged.filter(pl.col("effect") == "confirmed")
    if retiring.is_empty() and repeating.is_empty():
        nothing = pl.Series("cell_id", [], dtype=pl.String)
        return Placed({}, nothing.to_frame().with_columns(superseded_by="cell_id"), nothing)
    prompt_version, model = judged.select("prompt_version", "model").row(0)
    return place(run, retiring, repeating, prompt_version=prompt_version, model=model)


def doubts(judged: pl.DataFrame, cells: pl.DataFrame, placed: Placed) -> tuple[pl.DataFrame, pl.Series]:
    """Contradictions to open, and the new memories whose doubt is about a memory that this very plan retires."""
    lives_on = dict(placed.merged.iter_rows())
    named = judged.filter(pl.col("effect") == "contradiction").with_columns(
        pl.col("cell_id", "target_id").replace(lives_on)
    )
    retired = placed.superseded.implode()
    is_stale = pl.col("cell_id").is_in(retired) | pl.col("target_id").is_in(retired)
    late = judged.filter(
        (pl.col("effect") == "contradiction")
        & pl.col("target_id").replace(lives_on).is_in(retired)
        & ~pl.col("cell_id").is_in(retired)
    )
    kept = named.filter(~is_stale & (pl.col("cell_id") != pl.col("target_id")))
    return contradiction_rows(kept, cells), late["cell_id"]


def judgement_rows(judged: pl.DataFrame) -> pl.DataFrame:
    """Rows of `pair.judged`."""
    identified = judged.with_columns(stable_ids("judgement", judged.select("cell_id", "target_id")))
    names = [name for name in frame_schema("judgements").names() if name != "judged_at"]
    return identified.select(names).sort("judgement_id")


def near_threshold(run: Stage) -> float:
    """Similarity from which a pair is worth a judgement; nothing is near without an embedder."""
    return run.workspace.embedder.profile.near_threshold if run.workspace.embedder else 1.0


def _settled_pairs(run: Stage, judged: pl.DataFrame) -> pl.DataFrame:
    """`pair` of the contradictions among these that were resolved: they are not opened again."""
    names = ["cell_a", "cell_b", "status"]
    found = run.store.having(
        "contradictions", "cell_a", [*judged["cell_id"], *judged["target_id"].drop_nulls()], names
    )
    return found.filter(pl.col("status") == "resolved").select(pair=pair_key("cell_a", "cell_b"))


def _left_apart(run: Stage, page: Page, told: pl.DataFrame, done: list[str]) -> pl.DataFrame:
    """Near or noted pairs that the page showed and no judgement named: they are kept apart and not asked again."""
    noted = run.store.having("judgements", "cell_id", done)
    is_waiting = pl.col("verdict") == "unjudged"
    shown = page.pairs.join(
        page.cells.select("cell_id", *OWN), on="cell_id", how="inner", maintain_order="left"
    )
    near = shown.filter(pl.col("similarity") >= near_threshold(run)).with_columns(
        reason=pl.format("shown together and kept apart, similarity {}", pl.col("similarity").round(3))
    )
    names = ["cell_id", "target_id", *OWN, "reason"]
    left = pl.concat([noted.filter(is_waiting).select(names), near.select(names)])
    known = noted.filter(~is_waiting)
    fresh = left.filter(pl.col("cell_id").is_in(done)).unique(
        ["cell_id", "target_id"], keep="first", maintain_order=True
    )
    pair = ["cell_id", "target_id"]
    for judged in (told, known):
        fresh = fresh.join(judged, on=pair, how="anti", maintain_order="left")
        turned = judged.select(cell_id="target_id", target_id="cell_id")
        fresh = fresh.join(turned, on=pair, how="anti", maintain_order="left")
    return judgement_rows(
        fresh.with_columns(
            verdict=pl.lit("keep"),
            effect=pl.lit("none"),
            prompt_version=pl.lit(page.outcome.prompt_version),
            model=pl.lit(page.outcome.model),
        )
    )
