"""The plan of what judged pairs and repetitions change in the chains of values that memories form."""

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from slowwave.journal.catalogue import EventRows
from slowwave.lifecycle.fading import revivals
from slowwave.lifecycle.order import PAIR, supersessions, timelines
from slowwave.lifecycle.repetitions import between_elements, confirmations, inherited, stand_ins
from slowwave.stages.asking import author_columns
from slowwave.stages.run import Stage
from slowwave.store.chains import flags, with_stored_chains

RETIRING = {"cell_id": pl.String, "target_id": pl.String, "verdict": pl.String}
"""Columns of guarded updates and corrections."""

NOTHING = pl.DataFrame(schema=RETIRING)


@dataclass(frozen=True)
class ChainPlan:
    """Rows by event kind (`events`), and what they take out of the living memories.

    `merged` has `cell_id` and `superseded_by` of memories that live on in another; `superseded` has the ids of those
    that another value followed.
    """

    events: EventRows
    merged: pl.DataFrame
    superseded: pl.Series


def plan_chains(
    run: Stage,
    retiring: pl.DataFrame,
    repeating: pl.DataFrame,
    *,
    prompt_version: str | None = None,
    model: str | None = None,
) -> ChainPlan:
    """Puts memories into the order in which their values held, whatever order they came in.

    `retiring` has `cell_id`, `target_id`, `verdict` of guarded updates and corrections, `repeating` has `cell_id`,
    `target_id` of memories that say the same. Chains and repetitions of earlier nights are taken in.
    """
    chains = with_stored_chains(run.store, retiring.select(*RETIRING), repeating.select(PAIR))
    members, by_person = chains.members, chains.by_person.to_frame()
    elements = stand_ins(chains.links, chains.repeats, members)
    pairs = between_elements(chains.links, chains.repeats, elements)
    follows = supersessions(pairs, members).join(by_person, on="cell_id", how="anti")
    merged = _newly_merged(elements, members)
    leaving = follows.join(members.filter(pl.col("status") != "superseded"), on="cell_id", how="semi")
    standing = elements.filter(pl.col("cell_id") == pl.col("element_id")).join(
        follows, on="cell_id", how="anti"
    )
    back = members.join(standing, on="cell_id", how="semi").join(by_person, on="cell_id", how="anti")
    made_by = author_columns(prompt_version, model)
    gone = pl.concat([merged["cell_id"], leaving["cell_id"]])
    events: EventRows = {
        "cell.merged": merged.with_columns(superseded_at=_merged_at(merged, members, now=run.now)),
        **_said_again(run, merged, members, made_by),
        "cell.protected": _protection_passed_on(merged, members),
        "cell.superseded": follows.with_columns(*made_by, superseded_at=pl.lit(run.now)),
        "cell.succeeded": timelines(follows, members).with_columns(made_by),
        "cell.reinstated": back.filter(pl.col("status") == "superseded").select("cell_id"),
        "cell.revived": revived(run, back.filter(pl.col("status") == "archived")["cell_id"]),
        **flags(run.store, members.join(leaving, on="cell_id", how="semi"), gone=gone, why="was superseded"),
    }
    _show(run, leaving, merged, members)
    return ChainPlan(events, merged, leaving["cell_id"])


def _newly_merged(elements: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `superseded_by` of memories that others stand for and of which that is not stored yet."""
    stored = members.filter((pl.col("status") == "superseded") & pl.col("valid_until").is_null())
    return (
        elements.filter(pl.col("cell_id") != pl.col("element_id"))
        .select("cell_id", superseded_by="element_id")
        .join(stored, on=["cell_id", "superseded_by"], how="anti")
        .sort("cell_id")
    )


def _merged_at(merged: pl.DataFrame, members: pl.DataFrame, *, now: datetime) -> pl.Series:
    """The moment at which each memory left: an earlier merge keeps its own, whoever stands for the memory now."""
    before = members.filter(pl.col("valid_until").is_null()).select("cell_id", "superseded_at")
    known = merged.join(before, on="cell_id", how="left", maintain_order="left")
    return known.select(pl.col("superseded_at").fill_null(now)).to_series()


def _said_again(run: Stage, merged: pl.DataFrame, members: pl.DataFrame, made_by: list[pl.Expr]) -> EventRows:
    """Counts, uses and evidence go over to the memory that stands for what is merged."""
    fresh = merged.join(members.filter(pl.col("status") != "superseded"), on="cell_id", how="inner")
    if fresh.is_empty():
        return {}
    cell_usage = run.store.by_key("cell_usage", pl.concat([fresh["cell_id"], fresh["superseded_by"]]))
    pairs = fresh.select("evidence", "origin", "session_id", cell_id="superseded_by", confirmed_by="cell_id")
    return {
        "cell_usage.folded": inherited(fresh.select("cell_id", "superseded_by"), cell_usage),
        "cell.confirmed": confirmations(pairs, members, cell_usage, now=run.now).with_columns(made_by),
    }


def _protection_passed_on(merged: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Rows of `cell.protected` for memories in which a protected one lives on."""
    protected = members.filter("protected")["cell_id"].implode()
    is_new = pl.col("cell_id").is_in(protected) & ~pl.col("superseded_by").is_in(protected)
    note = pl.lit("a memory that a person confirmed lives on in it")
    successors = merged.filter(is_new).select(cell_id="superseded_by").unique().sort("cell_id")
    return successors.with_columns(confidence=pl.lit(1.0), note=note)


def revived(run: Stage, cell_ids: pl.Series) -> pl.DataFrame:
    """Archived memories that were said again, or hold again, come back, and that is counted."""
    return revivals(run.store.by_key("cell_usage", cell_ids), now=run.now, reason="said again")


def _show(run: Stage, leaving: pl.DataFrame, merged: pl.DataFrame, members: pl.DataFrame) -> None:
    text = members.select("cell_id", "content")
    both = leaving.join(text, on="cell_id").join(
        text, left_on="superseded_by", right_on="cell_id", suffix="_new"
    )
    run.show(merged.join(text, on="cell_id").select(pl.format("said again: {}", "content")).to_series())
    run.show(both.select(pl.format("{}: {} -> {}", "verdict", "content", "content_new")).to_series())
