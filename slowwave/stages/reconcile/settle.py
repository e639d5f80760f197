"""What a page's judgements change, after the guard and the vetoes checked each of them."""

from collections.abc import Iterable, Sequence

import polars as pl

from slowwave.chains.timelines import contradiction_rows, pair_key
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER, frame_schema
from slowwave.stages.reconcile.guard import guard
from slowwave.stages.reconcile.judge import Page
from slowwave.stages.reconcile.placing import Placed, place, revived
from slowwave.stages.reconcile.protection import without_protected
from slowwave.stages.reconcile.vetoes import hold_back
from slowwave.stages.run import Stage

PAGES_A_COMMIT = 16
"""A commit costs the same for one page as for many, so pages that change nothing in common go together; a run that is
cut off has to ask for none of them again, since answers are kept."""


def settle(run: Stage, pages: Iterable[Page]) -> pl.Series:
    """Commits what the judgements of pages change; returns the new memories that could not be settled.

    A judgement may stand on a memory that another one retired meanwhile: its new memory waits for a judgement against
    what holds now.
    """
    nothing = pl.Series("cell_id", [], dtype=pl.String)
    return pl.concat([nothing, *(_settle_together(run, group) for group in _apart(pages))])


def _apart(pages: Iterable[Page]) -> list[list[Page]]:
    """Pages in groups that change no memory twice; of two that name the same one the later page comes after."""
    groups: list[list[Page]] = []
    after: dict[str, int] = {}
    for page in pages:
        named = _named(page)
        place = max((after.get(cell, 0) for cell in named), default=0)
        while place < len(groups) and not _takes(groups[place], page):
            place += 1
        if place == len(groups):
            groups.append([])
        groups[place].append(page)
        after.update(dict.fromkeys(named, place + 1))
    return groups


def _named(page: Page) -> list[str]:
    """The memories that a page's judgements may change."""
    said = page.judgements.drop_nulls("target_id")
    return [*said["cell_id"], *said["target_id"]]


def _takes(group: list[Page], page: Page) -> bool:
    one, other = group[0].outcome, page.outcome
    is_same_model = (one.model, one.prompt_version) == (other.model, other.prompt_version)
    return is_same_model and len(group) < PAGES_A_COMMIT


def _settle_together(run: Stage, pages: Sequence[Page]) -> pl.Series:
    ids = pl.concat([page.cells["cell_id"] for page in pages])
    cells = run.store.by_key("cells", ids)  # as they are now: an earlier page may have changed some
    judged = checked(run, pl.concat([page.judgements for page in pages]), cells)
    placed = chain_plan(run, judged)
    opened, late = doubts(judged, cells, placed)
    waiting = pl.concat([judged.filter("is_deferred")["cell_id"], late]).unique().sort()
    told = judged.filter(~pl.col("cell_id").is_in(waiting.implode())).drop_nulls("target_id")
    rows = told.with_columns(reason=pl.coalesce("guard_note", "reason"))
    done = sorted({cell for page in pages for cell in page.new_ids} - set(waiting))
    run.commit(
        {
            "pair.judged": pl.concat([judgement_rows(rows), _left_apart(run, pages, rows, done)]),
            **placed.plan,
            "cell.revived": _said_again(run, judged, cells, placed),
            "contradiction.opened": opened,
            "cell.judged": pl.DataFrame({"cell_id": done}, schema={"cell_id": pl.String}),
        }
    )
    return waiting


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
        cells.select("cell_id", *OWNER), on="cell_id", how="inner", maintain_order="left"
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
    """Rows of `pair.judged`: a pair has one, whichever of the two is judged against the other."""
    identified = judged.with_columns(stable_ids("judgement", judged.select(pair_key("cell_id", "target_id"))))
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


def _left_apart(run: Stage, pages: Sequence[Page], told: pl.DataFrame, done: list[str]) -> pl.DataFrame:
    """Near or noted pairs that pages showed and no judgement named: they are kept apart and not asked again."""
    owners = pl.concat([page.cells.select("cell_id", *OWNER) for page in pages]).unique("cell_id")
    pairs = pl.concat([page.pairs for page in pages])
    shown = (
        pairs.filter(pl.col("cell_id").is_in(done))
        .join(owners, on="cell_id", how="inner", maintain_order="left")
        .with_columns(pair=pair_key("cell_id", "target_id"))
        .unique("pair", keep="first", maintain_order=True)
    )
    names = ["cell_id", "target_id", "verdict"]
    known = pl.concat(
        [told.select(names), *(run.store.having("judgements", name, done, names) for name in names[:2])]
    )
    known = known.with_columns(pair=pair_key("cell_id", "target_id"))
    is_noted = pl.col("pair").is_in(known.filter(pl.col("verdict") == "unjudged")["pair"].implode())
    judged = known.filter(pl.col("verdict") != "unjudged")
    fresh = shown.join(judged, on="pair", how="anti", maintain_order="left").filter(
        (pl.col("similarity") >= near_threshold(run)) | is_noted
    )
    apart = pl.format("shown together and kept apart, similarity {}", pl.col("similarity").round(3))
    return judgement_rows(
        fresh.with_columns(
            reason=pl.coalesce(apart, pl.lit("shown together and kept apart")),
            verdict=pl.lit("keep"),
            effect=pl.lit("none"),
            prompt_version=pl.lit(pages[0].outcome.prompt_version),
            model=pl.lit(pages[0].outcome.model),
        )
    )
