"""The judgements of a page checked by the guard and the vetoes, and committed with what they change."""

from collections.abc import Iterable, Sequence

import polars as pl

from slowwave.lifecycle.order import PAIR, pair_key
from slowwave.schemas.tables import OWNER
from slowwave.stages.asking import author_columns
from slowwave.stages.reconcile.chain_plan import NOTHING, ChainPlan, plan_chains, revived
from slowwave.stages.reconcile.contradictions import contradiction_rows
from slowwave.stages.reconcile.find_candidates import near_threshold
from slowwave.stages.reconcile.guard import guard
from slowwave.stages.reconcile.judge import Page
from slowwave.stages.reconcile.pairs import judged_pairs, judgement_rows
from slowwave.stages.reconcile.vetoes import hold_back, keep_whole, spare_protected
from slowwave.stages.run import Stage
from slowwave.store import col, lit
from slowwave.store.chains import with_stored_chains
from slowwave.trust.origins import PERSON

PAGES_A_COMMIT = 16
"""A commit costs the same for one page as for many, so pages that change nothing in common go together; a run that is
cut off has to ask for none of them again, since answers are kept."""


def commit_judgements(run: Stage, pages: Iterable[Page]) -> pl.Series:
    """Commits what the judgements of pages change; returns the new memories that wait for another (`hold_back`)."""
    nothing = pl.Series("cell_id", [], dtype=pl.String)
    return pl.concat([nothing, *(_commit_together(run, group) for group in _grouped(pages))])


def _grouped(pages: Iterable[Page]) -> list[list[Page]]:
    """Pages in groups that change no memory twice; of two that name the same one the later page comes after."""
    groups: list[list[Page]] = []
    authors: list[tuple[str | None, str]] = []
    after: dict[str, int] = {}
    for page in pages:
        said = page.judgements.drop_nulls("target_id")
        named = [*said["cell_id"], *said["target_id"]]
        at = max((after.get(cell, 0) for cell in named), default=0)
        author = page.outcome.model, page.outcome.prompt_version
        while at < len(groups) and (len(groups[at]) == PAGES_A_COMMIT or authors[at] != author):
            at += 1
        if at == len(groups):
            groups.append([])
            authors.append(author)
        groups[at].append(page)
        after.update(dict.fromkeys(named, at + 1))
    return groups


def _commit_together(run: Stage, pages: Sequence[Page]) -> pl.Series:
    ids = pl.concat([page.cells["cell_id"] for page in pages])
    cells = run.store.by_key("cells", ids)  # as they are now: an earlier page may have changed some
    judged = checked(run, pl.concat([page.judgements for page in pages]), cells)
    plan = plan_judged(run, judged)
    opened, late = contradictions_to_open(judged, cells, plan)
    waiting = pl.concat([judged.filter("is_deferred")["cell_id"], late]).unique().sort()
    told = judged.filter(~pl.col("cell_id").is_in(waiting.implode())).drop_nulls("target_id")
    rows = told.with_columns(reason=pl.coalesce("guard_note", "reason"))
    done = sorted({cell for page in pages for cell in page.new_ids} - set(waiting))
    run.commit(
        {
            "pair.judged": pl.concat([judgement_rows(rows), _kept_apart(run, pages, rows, done)]),
            **plan.events,
            "cell.revived": _back_from_archive(run, judged, cells, plan),
            "contradiction.opened": opened,
            "cell.judged": pl.DataFrame({"cell_id": done}, schema={"cell_id": pl.String}),
        }
    )
    return waiting


def _back_from_archive(
    run: Stage, judged: pl.DataFrame, cells: pl.DataFrame, plan: ChainPlan
) -> pl.DataFrame:
    """Archived memories that come back: those of the chains, and those that were said again with more in it."""
    elaborated = judged.filter(pl.col("effect") == "elaborated")["target_id"]
    archived = cells.filter((pl.col("status") == "archived") & pl.col("cell_id").is_in(elaborated.implode()))
    back = revived(run, archived["cell_id"])
    return pl.concat([plan.events["cell.revived"], back]).unique("cell_id") if plan.events else back


def checked(run: Stage, said: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Judgements with the effect that guard and vetoes leave them, and the owner; what was refused is counted."""
    guarded = guard(said, cells)
    judged = hold_back(guarded, cells, _settled_pairs(run, guarded)).join(
        cells.select("cell_id", *OWNER), on="cell_id", how="inner", maintain_order="left"
    )
    judged = _archived_left(_without_loss(run, _without_protected(run, judged, cells)), cells)
    counted = judged.drop_nulls("guard_note").group_by("guard_note").len().sort("guard_note")
    for reason, number in counted.iter_rows():
        run.reject(f"guard: {reason}", number)
    return judged


def _archived_left(judged: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Judgements by which no other than a person says an archived memory again: it stays where it is."""
    said = judged.join(
        cells.select("cell_id", "origin"), on="cell_id", how="left", maintain_order="left"
    ).join(cells.select(target_id="cell_id", was="status"), on="target_id", how="left", maintain_order="left")
    is_again = pl.col("effect").is_in(["confirmed", "elaborated"]) & (pl.col("was") == "archived")
    is_left = is_again & (pl.col("origin") != PERSON)
    return said.with_columns(
        effect=pl.when(is_left).then(pl.lit("none")).otherwise("effect"),
        guard_note=pl.when(is_left)
        .then(pl.lit("an archived memory comes back by what a person says"))
        .otherwise("guard_note"),
    ).select(judged.columns)


def _without_loss(run: Stage, judged: pl.DataFrame) -> pl.DataFrame:
    """Guarded judgements that merge nothing into a memory which lacks a value of it, through whatever chain."""
    repeating = judged.filter(pl.col("effect") == "confirmed").select(PAIR)
    if repeating.is_empty():
        return judged
    chains = with_stored_chains(run.store, NOTHING, repeating)
    return keep_whole(judged, chains.repeats, chains.members)


def _without_protected(run: Stage, judged: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Guarded judgements that retire nothing which a person confirmed, through whatever chain."""
    retiring = judged.filter(pl.col("effect") == "superseded").select("cell_id", "target_id", "verdict")
    if retiring.is_empty() or not run.store.count("cells", col("protected") == lit(value=True)):
        return judged
    chains = with_stored_chains(run.store, retiring)
    members = pl.concat([cells, chains.members]).unique("cell_id", keep="first", maintain_order=True)
    return spare_protected(judged, chains.links, members) if members["protected"].any() else judged


def plan_judged(run: Stage, judged: pl.DataFrame) -> ChainPlan:
    """The plan of the judgements that retire or repeat."""
    retiring = judged.filter(pl.col("effect") == "superseded")
    repeating = judged.filter(pl.col("effect") == "confirmed")
    if retiring.is_empty() and repeating.is_empty():
        return ChainPlan({}, NOTHING.select("cell_id", superseded_by="target_id"), NOTHING["cell_id"])
    prompt_version, model = judged.select("prompt_version", "model").row(0)
    return plan_chains(run, retiring, repeating, prompt_version=prompt_version, model=model)


def contradictions_to_open(
    judged: pl.DataFrame, cells: pl.DataFrame, plan: ChainPlan
) -> tuple[pl.DataFrame, pl.Series]:
    """Contradictions to open, and the new memories that contradict a memory which this very plan retires."""
    lives_on = dict(plan.merged.iter_rows())
    found = judged.filter(pl.col("effect") == "contradiction")
    named = found.with_columns(pl.col("cell_id", "target_id").replace(lives_on))
    retired = plan.superseded.implode()
    is_stale = pl.col("cell_id").is_in(retired) | pl.col("target_id").is_in(retired)
    late = found.filter(
        pl.col("target_id").replace(lives_on).is_in(retired) & ~pl.col("cell_id").is_in(retired)
    )
    kept = named.filter(~is_stale & (pl.col("cell_id") != pl.col("target_id")))
    return contradiction_rows(kept, cells), late["cell_id"]


def _settled_pairs(run: Stage, judged: pl.DataFrame) -> pl.DataFrame:
    """`pair` of the contradictions among these that were resolved: they are not opened again."""
    ids = [*judged["cell_id"], *judged["target_id"].drop_nulls()]
    found = run.store.having("contradictions", "cell_a", ids, ["cell_a", "cell_b", "status"])
    return found.filter(pl.col("status") == "resolved").select(pair=pair_key("cell_a", "cell_b"))


def _kept_apart(run: Stage, pages: Sequence[Page], told: pl.DataFrame, done: list[str]) -> pl.DataFrame:
    """Near or noted pairs that pages showed and no judgement named: they are kept apart and not asked again."""
    owners = pl.concat([page.cells.select("cell_id", *OWNER) for page in pages]).unique("cell_id")
    shown = (
        pl.concat([page.pairs for page in pages])
        .filter(pl.col("cell_id").is_in(done))
        .join(owners, on="cell_id", how="inner", maintain_order="left")
        .with_columns(pair=pair_key(*PAIR))
        .unique("pair", keep="first", maintain_order=True)
    )
    known = pl.concat([told.select(*PAIR, "verdict"), judged_pairs(run, done, "verdict")])
    known = known.with_columns(pair=pair_key(*PAIR))
    is_noted = pl.col("pair").is_in(known.filter(pl.col("verdict") == "unjudged")["pair"].implode())
    judged = known.filter(pl.col("verdict") != "unjudged")
    fresh = shown.join(judged, on="pair", how="anti", maintain_order="left").filter(
        (pl.col("similarity") >= near_threshold(run)) | is_noted
    )
    apart = pl.format("shown together and kept apart, similarity {}", pl.col("similarity").round(3))
    return judgement_rows(
        fresh.with_columns(
            *author_columns(pages[0].outcome.prompt_version, pages[0].outcome.model),
            reason=pl.coalesce(apart, pl.lit("shown together and kept apart")),
            verdict=pl.lit("keep"),
            effect=pl.lit("none"),
        )
    )
