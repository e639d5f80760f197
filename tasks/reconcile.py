"""Work of the reconcile stage: candidates, pages for the judge, and what its answers change."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import polars as pl

from slowwave.llm import Outcome, Request
from slowwave.prompts import reconcile_prompt
from slowwave.schemas.answers import ReconcileAnswer
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.prompt_inputs import PageCell
from slowwave.schemas.tables import OWN, frame_schema
from slowwave.store import col, lit, same_owner
from slowwave.transforms.candidates import build_pages, exact_duplicates, fuse_candidates, near_pairs
from slowwave.transforms.guard import guard
from slowwave.transforms.reconciliation import (
    AGE_ORDER,
    confirmations,
    contradiction_rows,
    supersessions,
    survivors,
    timelines,
)
from slowwave.transforms.text import query_words
from tasks.models import ask
from tasks.stage import Plan, Stage

WHOLE_WORDS, TELLING_WORDS = 64, 24
"""Full-text search looks for every word of a memory with at most so many different ones, and for so many telling ones
of a longer one. From windows of a conversation the telling ones found more of the statements that others update
than the first 48 words did, at half the cost in a large store."""


@dataclass(frozen=True)
class Page:
    """One judged page: its cells in the order of their numbers, and the model's outcome."""

    cells: pl.DataFrame
    new_ids: list[str]
    outcome: Outcome


def find_work(run: Stage) -> pl.DataFrame:
    """Active memories that were never reconciled and, once there is a model, those in pairs noted as unjudged."""
    active = col("status") == lit("active")
    new = run.store.rows("cells", where=active & (col("is_judged") == lit(value=False)))
    if run.workspace.llm is not None:
        waiting = run.store.rows("judgements", ["cell_id"], col("verdict") == lit("unjudged"))["cell_id"]
        older = run.store.by_key("cells", waiting).filter(pl.col("status") == "active")
        new = pl.concat([new, older]).unique("cell_id")
    run.report.rows_in = new.height
    return new.sort(AGE_ORDER)


def merge_exact(run: Stage, new: pl.DataFrame) -> pl.DataFrame:
    """Memories that say exactly what another says live on in the oldest one; returns the others."""
    hashes = new["content_hash"].unique().to_list()
    known = run.store.rows(
        "cells", where=col("content_hash").isin(hashes) & col("status").isin(["active", "archived"])
    )
    repeated = exact_duplicates(known)
    if repeated.is_empty():
        return new
    said = repeated.join(known.select("cell_id", "evidence"), on="cell_id", how="inner").select(
        cell_id="superseded_by", confirmed_by="cell_id", evidence="evidence"
    )
    run.commit(
        {
            "cell.merged": repeated.with_columns(superseded_at=pl.lit(run.now)),
            "cell.confirmed": _confirmed(run, said, known, prompt_version=None, model=None),
            **_revived(run, said["cell_id"], known),
        }
    )
    return new.join(repeated, on="cell_id", how="anti", maintain_order="left")


def find_candidates(run: Stage, new: pl.DataFrame) -> pl.DataFrame:
    """The k best candidates of each memory among the living and the archived of its owner, by hybrid search."""
    k = run.settings.reconcile.neighbours
    if not run.report.dry_run:
        run.store.index_if_stale("cells")  # each query would read every new text otherwise
    nothing = {"query_index": pl.Int64, "cell_id": pl.String, "similarity": pl.Float64}
    found = []
    for own in new.partition_by(OWN, maintain_order=True):
        queries = own.select("cell_id").with_row_index("query_index").cast({"query_index": pl.Int64})
        where = col("status").isin(["active", "archived"]) & same_owner(own)
        near = pl.DataFrame(schema=nothing)
        vectors = run.store.vectors("cells", own["cell_id"])
        if vectors.height:
            placed = queries.join(vectors, on="cell_id", how="inner", maintain_order="left")
            sought = placed["vector"].to_numpy().astype(np.float32)
            # one pass for all queries costs less than the index does for each, and no state of an index changes pages
            near = run.store.nearest("cells", sought, 2 * k, where=where, exact=True)
            near = near.with_columns(
                query_index=pl.col("query_index").replace_strict(
                    dict(enumerate(placed["query_index"])), return_dtype=pl.Int64
                )
            )
        texts = query_words(own["content"], whole=WHOLE_WORDS, most=TELLING_WORDS)
        matching = run.store.matching("cells", texts, 2 * k, where=where)
        found.append(
            fuse_candidates(queries, near, matching, k=k, rank_constant=run.settings.search.rank_constant)
        )
    return (
        pl.concat(found)
        if found
        else fuse_candidates(
            new.select("cell_id").with_row_index("query_index"),
            pl.DataFrame(schema=nothing),
            pl.DataFrame(schema={"query_index": pl.Int64, "cell_id": pl.String, "match_score": pl.Float64}),
            k=k,
            rank_constant=1,
        )
    )


def note_unjudged(run: Stage, new: pl.DataFrame, candidates: pl.DataFrame) -> None:
    """Without a model: near pairs are noted for a later judge, and nothing is dropped."""
    embedder = run.workspace.embedder
    threshold = embedder.profile.near_threshold if embedder else 1.0
    pairs = near_pairs(candidates, threshold=threshold).join(
        new.select("cell_id", *OWN), on="cell_id", how="inner"
    )
    rows = pairs.with_columns(
        verdict=pl.lit("unjudged"),
        effect=pl.lit("none"),
        reason=pl.format("similarity {}", pl.col("similarity").round(3)),
        prompt_version=pl.lit(None, dtype=pl.String),
        model=pl.lit(None, dtype=pl.String),
    )
    run.commit({"pair.judged": _judgement_rows(rows), "cell.judged": new.select("cell_id").sort("cell_id")})
    if pairs.height:
        run.note("near pairs are noted as unjudged: without a language model nobody decides what they mean")


def judge(run: Stage, new: pl.DataFrame, candidates: pl.DataFrame) -> Iterator[Page]:
    """Pages with their judgements. A page whose answer cannot be used stays waiting and blocks no other."""
    alone = new.join(candidates, on="cell_id", how="anti")
    run.commit({"cell.judged": alone.select("cell_id").sort("cell_id")})
    pages = build_pages(candidates, new["cell_id"], max_cells=run.settings.reconcile.component_cells)
    cells = _with_speakers(run, run.store.by_key("cells", pages["cell_id"]))
    shown = [
        part.join(cells, on="cell_id", how="inner").sort(AGE_ORDER)
        for part in pages.partition_by("page", maintain_order=True)
    ]
    shown.sort(key=lambda page: page.filter("is_new")["event_time"].min())  # type: ignore[arg-type,return-value]
    outcomes = ask(run, [_request(page) for page in shown], work="reconcile")
    for page, outcome in zip(shown, outcomes, strict=True):
        if outcome.answer is None:
            run.reject("waits for a judgement", page.filter("is_new").height)
        else:
            yield Page(
                page.drop("page", "is_new", "said_by"), page.filter("is_new")["cell_id"].to_list(), outcome
            )


def settle(run: Stage, page: Page) -> None:
    """Commits what one page's judgements change, after the guard checked each of them."""
    cells = _alive(run, page.cells)
    judged = guard(_judgements(page), cells).join(cells.select("cell_id", *OWN), on="cell_id", how="inner")
    confirmed = judged.filter(pl.col("effect") == "confirmed")
    lives_on = survivors(dict(zip(confirmed["cell_id"], confirmed["target_id"], strict=True)))
    settled = judged.with_columns(pl.col("cell_id", "target_id").replace(lives_on)).filter(
        pl.col("cell_id") != pl.col("target_id")
    )
    for reason, number in judged.drop_nulls("guard_note").group_by("guard_note").len().iter_rows():
        run.reject(f"guard: {reason}", number)
    told = judged.with_columns(reason=pl.coalesce("guard_note", "reason")).drop_nulls("target_id")
    run.commit(
        {
            "pair.judged": pl.concat([_judgement_rows(told), _left_apart(run, page, told)]),
            **_confirmation_plan(run, confirmed, lives_on, cells),
            **_revived(run, _said_again(settled, lives_on), cells),
            **_supersession_plan(run, settled, cells),
            "contradiction.opened": contradiction_rows(settled, cells),
            "cell.judged": pl.DataFrame({"cell_id": page.new_ids}),
        }
    )


def _left_apart(run: Stage, page: Page, told: pl.DataFrame) -> pl.DataFrame:
    """Pairs of the page's new cells that waited for a judge and that he did not name: they are kept apart."""
    mine = col("cell_id").isin(page.new_ids) & (col("verdict") == lit("unjudged"))
    waited = run.store.rows("judgements", where=mine).drop("judgement_id", "judged_at")
    left = waited.join(told, on=["cell_id", "target_id"], how="anti").with_columns(
        verdict=pl.lit("keep"),
        prompt_version=pl.lit(page.outcome.prompt_version),
        model=pl.lit(page.outcome.model),
    )
    return _judgement_rows(left)


def _request(page: pl.DataFrame) -> Request:
    shown = [
        PageCell(
            number,
            row["is_new"],
            row["cell_type"],
            row["subject"] or "",
            row["attribute"] or "",
            row["value"] or "",
            f"{row['valid_from']:%Y-%m-%d}",
            row["said_by"],
            row["content"],
        )
        for number, row in enumerate(page.iter_rows(named=True), start=1)
    ]
    context = {
        "page_numbers": {cell.number for cell in shown},
        "new_numbers": {cell.number for cell in shown if cell.is_new},
    }
    return Request(reconcile_prompt(shown), ReconcileAnswer, context)


def _with_speakers(run: Stage, cells: pl.DataFrame) -> pl.DataFrame:
    """Cells with `said_by`: the one person whose words a cell rests on, else its origin."""
    evidence = cells.select("cell_id", turn_id="evidence").explode("turn_id")
    turns = run.store.by_key("turns", evidence["turn_id"].drop_nulls(), ["turn_id", "speaker"])
    speakers = (
        evidence.join(turns, on="turn_id", how="inner")
        .group_by("cell_id")
        .agg(speaker=pl.col("speaker").first(), speaker_count=pl.col("speaker").n_unique())
    )
    is_one = (pl.col("origin") == "user") & (pl.col("speaker_count") == 1)
    said_by = pl.when(is_one).then(pl.coalesce("speaker", "origin")).otherwise("origin")
    joined = cells.join(speakers, on="cell_id", how="left", maintain_order="left")
    return joined.with_columns(said_by=said_by).drop("speaker", "speaker_count")


def _judgements(page: Page) -> pl.DataFrame:
    """Rows of the answer with cell ids instead of page numbers; `target_id` is null for keep."""
    ids = dict(enumerate(page.cells["cell_id"], start=1))
    answer = cast("ReconcileAnswer", page.outcome.answer)
    rows = [
        (ids[item.new], ids.get(item.target), item.verdict, item.subject, item.attribute, item.reason)
        for item in answer.judgements
    ]
    names = ["cell_id", "target_id", "verdict", "subject", "attribute", "reason"]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row").with_columns(
        prompt_version=pl.lit(page.outcome.prompt_version), model=pl.lit(page.outcome.model)
    )


def _alive(run: Stage, cells: pl.DataFrame) -> pl.DataFrame:
    """The page's cells as they are now: an earlier page may have changed some."""
    return run.store.by_key("cells", cells["cell_id"]) if not run.report.dry_run else cells


def _confirmation_plan(
    run: Stage, confirmed: pl.DataFrame, lives_on: dict[str, str], cells: pl.DataFrame
) -> Plan:
    if confirmed.is_empty():
        return {}
    pairs = confirmed.join(cells.select("cell_id", "evidence"), on="cell_id", how="inner").select(
        cell_id=pl.col("cell_id").replace(lives_on), confirmed_by="cell_id", evidence="evidence"
    )
    merged = pairs.filter(pl.col("confirmed_by") != pl.col("cell_id")).select(
        cell_id="confirmed_by", superseded_by="cell_id", superseded_at=pl.lit(run.now)
    )
    run.show(_lines(confirmed, cells, "said again: {}"))
    prompt_version, model = confirmed.select("prompt_version", "model").row(0)
    return {
        "cell.merged": merged,
        "cell.confirmed": _confirmed(run, pairs, cells, prompt_version=prompt_version, model=model),
    }


def _supersession_plan(run: Stage, judged: pl.DataFrame, cells: pl.DataFrame) -> Plan:
    retiring = judged.filter(pl.col("effect") == "superseded").select("cell_id", "target_id", "verdict")
    if retiring.is_empty():
        return {}
    chain, members = _with_earlier_links(run, retiring, cells)
    links = supersessions(chain, members)
    heads = timelines(links, members)
    provenance = judged.select("prompt_version", "model").row(0)
    named = {"prompt_version": pl.lit(provenance[0]), "model": pl.lit(provenance[1])}
    topics = (
        members.join(links, on="cell_id", how="semi")
        .drop_nulls("topic_id")
        .select("topic_id")
        .unique()
        .sort("topic_id")
    )
    text = members.select("cell_id", "content")
    shown = links.join(text, on="cell_id").join(
        text, left_on="superseded_by", right_on="cell_id", suffix="_new"
    )
    run.show(shown.select(pl.format("{}: {} -> {}", "verdict", "content", "content_new")).to_series())
    return {
        "cell.superseded": links.with_columns(superseded_at=pl.lit(run.now), **named),
        "cell.succeeded": heads.with_columns(**named),
        "topic.flagged": topics.with_columns(reason=pl.lit("a memory of this topic was superseded")),
    }


def _with_earlier_links(
    run: Stage, retiring: pl.DataFrame, cells: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The judged pairs with the chains that their cells already belong to, and all cells of those chains."""
    links, members = retiring, cells
    frontier = pl.concat([retiring["cell_id"], retiring["target_id"]]).unique()
    seen = set(frontier)
    while len(frontier):
        known = run.store.by_key("cells", frontier)
        before = run.store.rows("cells", where=col("superseded_by").isin(frontier.to_list()))
        around = pl.concat(
            [known, before, run.store.by_key("cells", known["superseded_by"].drop_nulls())]
        ).unique("cell_id")
        linked = around.drop_nulls("superseded_by").filter(pl.col("valid_until").is_not_null())
        corrected = _pair("cell_id", "superseded_by").is_in(
            _corrected_pairs(run, linked["cell_id"]).implode()
        )
        links = pl.concat(
            [
                links,
                linked.select(
                    cell_id="superseded_by",
                    target_id="cell_id",
                    verdict=pl.when(corrected).then(pl.lit("corrects")).otherwise(pl.lit("updates")),
                ),
            ]
        ).unique(["cell_id", "target_id"], keep="first", maintain_order=True)
        members = pl.concat([members, around.select(members.columns)]).unique("cell_id")
        ids = pl.concat([around["cell_id"], around["superseded_by"].drop_nulls()]).unique()
        frontier = ids.filter(~ids.is_in(list(seen)))
        seen |= set(frontier)
    return links, members


def _corrected_pairs(run: Stage, cell_ids: pl.Series) -> pl.Series:
    """Pairs with these cells of which an earlier judgement said that one corrects the other."""
    ids = cell_ids.to_list()
    either = col("target_id").isin(ids) | col("cell_id").isin(ids)
    was = either & (col("verdict") == lit("corrects")) & (col("effect") == lit("superseded"))
    judged = run.store.rows("judgements", ["cell_id", "target_id"], was)
    return judged.select(_pair("cell_id", "target_id")).to_series()


def _pair(one: str, other: str) -> pl.Expr:
    return pl.concat_list(one, other).list.sort().list.join(" ")


def _confirmed(
    run: Stage, said: pl.DataFrame, cells: pl.DataFrame, *, prompt_version: str | None, model: str | None
) -> pl.DataFrame:
    vitals = run.store.by_key("vitals", said["cell_id"])
    return confirmations(said, cells, vitals, now=run.now).with_columns(
        prompt_version=pl.lit(prompt_version, dtype=pl.String), model=pl.lit(model, dtype=pl.String)
    )


def _revived(run: Stage, cell_ids: pl.Series, cells: pl.DataFrame) -> Plan:
    """Archived memories that were said again come back, and that is counted."""
    archived = cells.filter((pl.col("status") == "archived") & pl.col("cell_id").is_in(cell_ids.implode()))
    vitals = run.store.by_key("vitals", archived["cell_id"])
    return {
        "cell.revived": vitals.select(
            "cell_id",
            revived_count=pl.col("revived_count") + 1,
            last_accessed=pl.lit(run.now),
            reason=pl.lit("said again"),
        )
    }


def _said_again(settled: pl.DataFrame, lives_on: dict[str, str]) -> pl.Series:
    """Cells that live on in a page's confirmations, and those that it said again with more or in other words."""
    elaborated = settled.filter(pl.col("effect") == "elaborated")["target_id"]
    return pl.concat([pl.Series([*lives_on.values()], dtype=pl.String), elaborated]).unique()


def _judgement_rows(judged: pl.DataFrame) -> pl.DataFrame:
    identified = judged.with_columns(stable_ids("judgement", judged.select("cell_id", "target_id")))
    names = [name for name in frame_schema("judgements").names() if name != "judged_at"]
    return identified.select(names).sort("judgement_id")


def _lines(judged: pl.DataFrame, cells: pl.DataFrame, form: str) -> pl.Series:
    return (
        judged.join(cells.select("cell_id", "content"), on="cell_id", how="inner")
        .select(pl.format(form, "content"))
        .to_series()
    )
