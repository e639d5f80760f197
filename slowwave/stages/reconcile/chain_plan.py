"""The plan of what judged pairs and repetitions change in the chains of values that memories form."""

from dataclasses import dataclass

import polars as pl

from slowwave.chains.repetitions import between_elements, inherited, stand_ins
from slowwave.chains.stored import PAIR, with_stored_chains
from slowwave.chains.timelines import confirmations, supersessions, timelines
from slowwave.decay.fading import revivals
from slowwave.schemas.choices import EPISODE
from slowwave.stages.asking import author_columns
from slowwave.stages.run import Plan, Stage

RETIRING = {"cell_id": pl.String, "target_id": pl.String, "verdict": pl.String}
"""Columns of guarded updates and corrections."""

NOTHING = pl.DataFrame(schema=RETIRING)


@dataclass(frozen=True)
class ChainPlan:
    """Rows by event kind (`events`), and what they take out of the living memories.

    `merged` has `cell_id` and `superseded_by` of memories that live on in another; `superseded` has the ids of those
    that another value followed.
    """

    events: Plan
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
    now = members.select(
        "cell_id", "status", "superseded_by", "valid_until", "topic_id", "session_id", "content"
    )
    merged = _newly_merged(elements, now)
    leaving = follows.join(now.filter(pl.col("status") != "superseded"), on="cell_id", how="semi")
    standing = elements.filter(pl.col("cell_id") == pl.col("element_id")).join(
        follows, on="cell_id", how="anti"
    )
    back = now.join(standing, on="cell_id", how="semi").join(by_person, on="cell_id", how="anti")
    made_by = author_columns(prompt_version, model)
    gone = pl.concat([merged["cell_id"], leaving["cell_id"]])
    events: Plan = {
        "cell.merged": merged.with_columns(superseded_at=pl.lit(run.now)),
        **_said_again(run, merged, members, made_by),
        "cell.protected": _protection_passed_on(merged, members),
        "cell.superseded": follows.with_columns(*made_by, superseded_at=pl.lit(run.now)),
        "cell.succeeded": timelines(follows, members).with_columns(made_by),
        "cell.reinstated": back.filter(pl.col("status") == "superseded").select("cell_id"),
        "cell.revived": revived(run, back.filter(pl.col("status") == "archived")["cell_id"]),
        **_flagged(run, now.join(leaving, on="cell_id", how="semi"), gone),
    }
    _show(run, leaving, merged, now)
    return ChainPlan(events, merged, leaving["cell_id"])


def _newly_merged(elements: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `superseded_by` of memories that others stand for and of which that is not stored yet."""
    stored = now.filter((pl.col("status") == "superseded") & pl.col("valid_until").is_null())
    return (
        elements.filter(pl.col("cell_id") != pl.col("element_id"))
        .select("cell_id", superseded_by="element_id")
        .join(stored, on=["cell_id", "superseded_by"], how="anti")
        .sort("cell_id")
    )


def _said_again(run: Stage, merged: pl.DataFrame, members: pl.DataFrame, made_by: list[pl.Expr]) -> Plan:
    """Counts, uses and evidence go over to the memory that stands for what is merged."""
    fresh = merged.join(members.filter(pl.col("status") != "superseded"), on="cell_id", how="inner")
    if fresh.is_empty():
        return {}
    cell_usage = run.store.by_key("cell_usage", pl.concat([fresh["cell_id"], fresh["superseded_by"]]))
    pairs = fresh.select(cell_id="superseded_by", confirmed_by="cell_id", evidence="evidence")
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


def _flagged(run: Stage, leaving: pl.DataFrame, gone: pl.Series) -> Plan:
    """Marks what rests on the memories that leave: their topics' summaries, what elaborates them, their episodes.

    What is in `gone` leaves with the plan itself.
    """
    topics = leaving.drop_nulls("topic_id").select("topic_id").unique().sort("topic_id")
    told = elaborated_pairs(run, leaving["cell_id"]).select(
        cell_id="target_id", reason=pl.lit("says the same as a memory that was superseded, with more in it")
    )
    sessions, wanted = leaving["session_id"].drop_nulls(), ["cell_id", "cell_type", "status"]
    episodes = (
        run.store.having("cells", "session_id", sessions, wanted)
        .filter((pl.col("cell_type") == EPISODE) & (pl.col("status") == "active"))
        .select("cell_id", reason=pl.lit("tells of a session of which a memory was superseded"))
    )
    rests = pl.concat([told, episodes]).filter(~pl.col("cell_id").is_in(gone.implode()))
    alive = run.store.by_key("cells", rests["cell_id"], ["cell_id", "status"])
    return {
        "topic.flagged": topics.with_columns(reason=pl.lit("a memory of this topic was superseded")),
        "cell.flagged": rests.unique("cell_id", keep="first", maintain_order=True)
        .sort("cell_id")
        .join(
            alive.filter(pl.col("status") != "superseded"), on="cell_id", how="semi", maintain_order="left"
        ),
    }


def elaborated_pairs(run: Stage, cell_ids: pl.Series) -> pl.DataFrame:
    """Pairs of `cell_id` (one of these) and `target_id`: one says the same with more in it, each rests on the other."""
    named = [run.store.having("judgements", name, cell_ids, [*PAIR, "effect"]) for name in PAIR]
    found, turned = (pairs.filter(pl.col("effect") == "elaborated").select(PAIR) for pairs in named)
    both = [found, turned.select(cell_id="target_id", target_id="cell_id")]
    return pl.concat(both).unique(maintain_order=True)


def _show(run: Stage, leaving: pl.DataFrame, merged: pl.DataFrame, now: pl.DataFrame) -> None:
    text = now.select("cell_id", "content")
    both = leaving.join(text, on="cell_id").join(
        text, left_on="superseded_by", right_on="cell_id", suffix="_new"
    )
    run.show(merged.join(text, on="cell_id").select(pl.format("said again: {}", "content")).to_series())
    run.show(both.select(pl.format("{}: {} -> {}", "verdict", "content", "content_new")).to_series())
