"""Consequences of an edit: which memory follows which afterwards, and flags on what rests on those that leave.

Every function returns rows by event kind; `joined` makes one plan of them, which the edit commits as one segment.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

import polars as pl

from slowwave.journal.catalogue import EventRows, rows_of
from slowwave.journal.derivations import in_force, last_switch
from slowwave.journal.lookup import mentioning, of_kind
from slowwave.journal.segments import Journal
from slowwave.lifecycle.pairs import judgement_rows
from slowwave.lifecycle.succession import LINK, Bridges, bridges, moved, succeeded
from slowwave.schemas.moments import latest_moments
from slowwave.schemas.tables import OWNER, RAW_PROMPT, TIMESTAMP
from slowwave.store import Row, Store, col, lit
from slowwave.store.chains import PERSON, flags, links_of, read_chains, rivals_of

MADE_BY = ["prompt_version", "model"]


def contraction(store: Store, gone: Collection[str], *, why: str) -> tuple[Bridges, EventRows]:
    """The links that the chains of memories need when these leave, and the events for links and the judgement."""
    cells = read_chains(store, gone).sort("cell_id")
    verdicts = dict(links_of(store, cells).select("target_id", "verdict").iter_rows())
    found = bridges(cells, gone, verdicts)
    left = cells.filter(~pl.col("cell_id").is_in(sorted(gone)))
    after = moved(left, [*found.superseded, *found.merged])
    links = rows_of("cell.superseded", [row | dict.fromkeys(MADE_BY) for row in found.superseded])
    return found, {
        "pair.judged": judged(after.join(links.select("cell_id", "verdict"), on="cell_id"), why=why),
        "cell.superseded": links,
        "cell.merged": rows_of("cell.merged", found.merged),
        "cell.succeeded": succeeded(after, found.successors),
    }


def displacement(
    store: Store,
    winner: pl.DataFrame,
    losers: pl.DataFrame,
    *,
    why: str,
    event: str,
    now: datetime,
    author: str = PERSON,
    since: datetime | None = None,
) -> EventRows:
    """Events by which `winner` (one row of `cells`) replaces `losers`, as a person (or `author`) said.

    A person's decision is the latest word on a property, so all other values of it go, too. What changed on the day
    `since` was true until then, and is a former value. What was wrong, or is of a later day, never held, so its
    validity ends where it began. `why` is the reason; `event` ends the sentence "a memory ...".
    """
    if author == PERSON:
        rivals = rivals_of(store, {**winner.row(0, named=True), "protected": True})
        losers = store.by_key("cells", list(dict.fromkeys([*losers["cell_id"], *rivals])))
    if losers.is_empty():
        return {}
    winner_id = winner["cell_id"][0]
    ended = _ended(losers, since).with_columns(superseded_by=pl.lit(winner_id), superseded_at=pl.lit(now))
    chain = pl.concat([winner, read_chains(store, [winner_id, *ended["cell_id"]])]).unique(
        "cell_id", keep="first"
    )
    # a decision that is made again ends the one before: nothing follows the winner
    after = moved(chain, [{"cell_id": winner_id}, *ended.select("cell_id", *LINK).to_dicts()])
    follows = cascade(store, losers, why=event)
    if losers["prompt_version"].is_in([RAW_PROMPT]).any():  # an episode written without a model quotes them
        follows |= without_tellings(store, follows["cell.flagged"])
    return joined(
        {
            "pair.judged": judged(ended, why=why, author=author),
            # the memory keeps who made it: the judgement says that a person spoke
            "cell.superseded": ended.select("cell_id", *MADE_BY, *LINK, "verdict"),
            "cell.succeeded": succeeded(after, [winner_id]),
        },
        follows,
        {"contradiction.resolved": settled_by(store, losers["cell_id"] if author == PERSON else (), why=why)},
    )


def displaced(plan: EventRows) -> list[str]:
    """Ids of the memories that a plan replaces by another one."""
    return plan["cell.superseded"]["cell_id"].to_list() if "cell.superseded" in plan else []


def _ended(losers: pl.DataFrame, since: datetime | None) -> pl.DataFrame:
    """The losers with the end of their validity and the `verdict` on each."""
    moment = pl.lit(since, dtype=TIMESTAMP)
    was_true = (latest_moments(pl.col("valid_from")) < moment).fill_null(value=False)
    # an earlier decision about it gave it the end that it has
    earlier = pl.when(pl.col("status") != "superseded").then("valid_until")
    return losers.with_columns(
        valid_until=pl.when(was_true).then(pl.min_horizontal(earlier, moment)).otherwise("valid_from"),
        verdict=pl.when(was_true).then(pl.lit("updates")).otherwise(pl.lit("corrects")),
    )


def protection(cell_ids: Collection[str], note: str) -> pl.DataFrame:
    """Rows of `cell.protected`: a person is sure of these memories."""
    return rows_of("cell.protected", [(name, 1.0, note or None) for name in cell_ids])


def lost_its_follower(store: Store, row: Row) -> bool:
    """Return whether the memory that superseded this one (a row of `cells`) was deleted: its place is empty."""
    by = row["superseded_by"] if row["status"] == "superseded" else None
    return by is not None and store.by_key("tombstones", [by], ["cell_id"]).height > 0


def standing_again(journal: Journal, cell_ids: pl.Series) -> pl.DataFrame:
    """Rows of `cell.restored` for superseded memories: believed again, for as long as their source said."""
    events = mentioning(journal, cell_ids.to_list())
    made = of_kind(in_force(events, last_switch(journal, journal.segment_ids())), "cell.extracted")
    until = made.select("cell_id", "valid_until").unique("cell_id", keep="first", maintain_order=True)
    return (
        cell_ids.to_frame("cell_id")
        .join(until, on="cell_id", how="left", maintain_order="left")
        .select(
            "cell_id",
            "valid_until",
            status=pl.lit("active"),
            superseded_by=pl.lit(None, dtype=pl.String),
            superseded_at=pl.lit(None, dtype=TIMESTAMP),
        )
    )


def judged(losers: pl.DataFrame, *, why: str, author: str = PERSON) -> pl.DataFrame:
    """Judgements of a person (or `author`): each memory, with its `verdict`, lost to the one in `superseded_by`.

    Where the verdict is `keep` both stay.
    """
    stay = pl.col("verdict") == "keep"
    return judgement_rows(
        losers.select(
            *OWNER,
            "verdict",
            cell_id="superseded_by",
            target_id="cell_id",
            effect=pl.when(stay).then(pl.lit("none")).otherwise(pl.lit("superseded")),
            reason=pl.lit(why),
            prompt_version=pl.lit(author),
            model=pl.lit(None, dtype=pl.String),
        )
    )


def cascade(store: Store, gone: pl.DataFrame, *, why: str) -> EventRows:
    """Events that flag what rests on memories (`gone`, rows of `cells`) that a person took out.

    To the flags of a night come the summaries of entities that they name, their lines of core memory, and the
    episodes that tell of their turns or of what they had replaced. `why` ends the sentence "a memory ...".
    """
    ids = gone["cell_id"].to_list()
    turns = store.by_key("turns", gone["evidence"].explode().drop_nulls(), ["turn_id", "session_id"])
    replaced = store.having("cells", "superseded_by", ids, ["session_id"])
    named = store.having("mentions", "cell_id", ids, ["entity_id"])["entity_id"].unique()
    entities = store.by_key("entities", named, ["entity_id", "summary"]).drop_nulls("summary")
    sessions = [*turns["session_id"], *replaced["session_id"]]
    return {
        **flags(store, gone, gone=ids, why=why, sessions=sessions),
        "entity.flagged": entities.sort("entity_id").select(
            "entity_id", reason=pl.lit(f"a memory that names it {why}")
        ),
        "core.demoted": store.by_key("core", ids, ["cell_id"]).with_columns(reason=pl.lit(f"it {why}")),
    }


def without_tellings(store: Store, flagged: pl.DataFrame) -> EventRows:
    """Events that drop episodes of conversations among flagged memories (`cell.flagged`) until they are written anew.

    What a person remembered as an episode is not one of a conversation, and stays.
    """
    told = store.by_key("episodes", flagged["cell_id"], ["cell_id"])
    return {
        "episode.dropped": flagged.join(told, on="cell_id", how="semi"),
        "cell.flagged": flagged.join(told, on="cell_id", how="anti"),
    }


def unsummarized(store: Store, topics: pl.DataFrame, *, gone: Collection[str], why: str) -> pl.DataFrame:
    """Rows of `topic.unsummarized` for topics (`topic_id`) whose summary may mention memories that go.

    Until the next summary such a topic answers by its other memories alone.
    """
    live = col("topic_id").isin(topics["topic_id"].to_list()) & (col("status") == lit("active"))
    cells = store.rows("cells", ["cell_id", "topic_id"], live)
    left = cells.filter(~pl.col("cell_id").is_in(list(gone))).sort("cell_id")
    by_topic = left.group_by("topic_id").agg(cell_ids=pl.col("cell_id"))
    return (
        topics.select("topic_id")
        .join(by_topic, on="topic_id", how="left")
        .with_columns(pl.col("cell_ids").fill_null([]), reason=pl.lit(why))
        .sort("topic_id")
    )


def settled_by(store: Store, cell_ids: Iterable[str], *, why: str) -> pl.DataFrame:
    """Open contradictions that end because one side went: the other side wins."""
    ids = list(cell_ids)
    either = (col("cell_a").isin(ids) | col("cell_b").isin(ids)) & (col("status") == lit("open"))
    rows = store.rows("contradictions", ["contradiction_id", "cell_a", "cell_b"], either)
    lost = pl.col("cell_a").is_in(ids)
    rows = rows.filter(~(lost & pl.col("cell_b").is_in(ids)))  # neither side is left: the night closes it
    return rows.sort("contradiction_id").select(
        "contradiction_id",
        resolution=pl.when(lost).then(pl.lit("b_wins")).otherwise(pl.lit("a_wins")),
        resolution_note=pl.lit(why),
        winner_id=pl.when(lost).then("cell_b").otherwise("cell_a"),
    )


def joined(*plans: EventRows) -> EventRows:
    """Plans as one; rows of one kind follow each other in the order of the plans."""
    together: EventRows = {}
    for plan in plans:
        for kind, rows in plan.items():
            if rows.height:
                known = together.get(kind)
                together[kind] = rows if known is None else pl.concat([known, rows.select(known.columns)])
    return together
