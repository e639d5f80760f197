"""Consequences of an edit that takes a memory out: the line of succession, and flags on what rested on it."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl

from slowwave.journal.catalogue import EventRows, rows_of
from slowwave.journal.derivations import in_force, last_switch
from slowwave.journal.lookup import mentioning, of_kind
from slowwave.journal.segments import Journal
from slowwave.lifecycle.succession import LINK, moved, succeeded
from slowwave.schemas.identity import stable_id
from slowwave.schemas.moments import latest_moments
from slowwave.schemas.tables import OWNER, TIMESTAMP
from slowwave.store import Store, col, lit
from slowwave.store.chains import PERSON, flags, links_of, read_chains, rivals_of


def succession(
    store: Store,
    winner: pl.DataFrame,
    losers: pl.DataFrame,
    *,
    why: str,
    now: datetime,
    author: str = PERSON,
    since: datetime | None = None,
) -> EventRows:
    """Events by which `winner` (one row of `cells`) takes the place of `losers`, as a person (or `author`) said.

    What changed on the day `since` was true until then, and is a former value. What was wrong, or is of a later day,
    never held, so its validity ends where it began. The winner's summary carries the timeline of what was superseded
    before.
    """
    winner_id = winner["cell_id"][0]
    losers = _ended(losers, since).with_columns(superseded_by=pl.lit(winner_id), superseded_at=pl.lit(now))
    known = read_chains(store, [winner_id, *losers["cell_id"]])
    chains = pl.concat([winner, known]).unique("cell_id", keep="first", maintain_order=True)
    verdicts = dict(links_of(store, chains).select("target_id", "verdict").iter_rows())
    verdicts |= dict(losers.select("cell_id", "verdict").iter_rows())
    # a decision that is made again ends the one before: nothing follows the winner
    after = moved(chains, [{"cell_id": winner_id}, *losers.select("cell_id", *LINK).to_dicts()])
    made_by = ["prompt_version", "model"]  # stay as they are: the judgement says that a person spoke
    return {
        "pair.judged": judged(winner_id, losers, effect="superseded", why=why, author=author),
        "cell.superseded": losers.select("cell_id", *made_by, *LINK, "verdict"),
        "cell.succeeded": succeeded(after, [winner_id], verdicts),
    }


def _ended(losers: pl.DataFrame, since: datetime | None) -> pl.DataFrame:
    """The losers with the end of their validity and the `verdict` on each."""
    moment = pl.lit(since, dtype=TIMESTAMP)
    was_true = (latest_moments(pl.col("valid_from")) < moment).fill_null(value=False)
    # an earlier decision about it gave it the end that it has
    told = pl.when(pl.col("status") != "superseded").then("valid_until")
    return losers.with_columns(
        valid_until=pl.when(was_true).then(pl.min_horizontal(told, moment)).otherwise("valid_from"),
        verdict=pl.when(was_true).then(pl.lit("updates")).otherwise(pl.lit("corrects")),
    )


def protection(cell_id: str, note: str) -> pl.DataFrame:
    """One row of `cell.protected`: a person is sure of it."""
    return rows_of("cell.protected", [{"cell_id": cell_id, "confidence": 1.0, "note": note or None}])


def with_rivals(store: Store, winner: pl.DataFrame, losers: pl.DataFrame) -> pl.DataFrame:
    """The losers and all other values of the property that a person decided (`winner`, one row): its latest word."""
    rivals = rivals_of(store, winner.row(0, named=True))
    return store.by_key(
        "cells", [*losers["cell_id"], *(key for key in rivals if key not in losers["cell_id"])]
    )


def lost_its_follower(store: Store, row: Mapping[str, object]) -> bool:
    """Return whether the memory that superseded this one (a row of `cells`) was deleted: nobody holds its place."""
    by = row["superseded_by"]
    if row["status"] != "superseded" or by is None:
        return False
    return store.by_key("tombstones", [str(by)], ["cell_id"]).height > 0


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


def judged(
    winner_id: str, losers: pl.DataFrame, *, effect: str, why: str, author: str = PERSON
) -> pl.DataFrame:
    """Judgements of a person (or `author`): the winner corrects each loser, or (effect `none`) both are kept.

    A loser may have its own `verdict`.
    """
    return rows_of(
        "pair.judged",
        [
            {
                "judgement_id": stable_id("judgement", " ".join(sorted([winner_id, loser["cell_id"]]))),
                **{name: loser[name] for name in OWNER},
                "cell_id": winner_id,
                "target_id": loser["cell_id"],
                "verdict": loser.get("verdict", "corrects") if effect == "superseded" else "keep",
                "effect": effect,
                "reason": why,
                "prompt_version": author,
            }
            for loser in losers.iter_rows(named=True)
        ],
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
    """Events by which tellings of conversations among flagged memories (`cell.flagged`) go until they are told anew.

    What a person remembered as an episode is not one of a conversation, and stays.
    """
    told = store.by_key("episodes", flagged["cell_id"], ["cell_id"])
    episodes = flagged.join(told, on="cell_id", how="semi")
    return {
        "episode.dropped": episodes,
        "cell.flagged": flagged.join(episodes, on="cell_id", how="anti"),
    }


def settled_by(store: Store, cell_ids: Sequence[str], *, why: str) -> pl.DataFrame:
    """Open contradictions that end because one side went: the other side stands."""
    ids = list(cell_ids)
    either = (col("cell_a").isin(ids) | col("cell_b").isin(ids)) & (col("status") == lit("open"))
    rows = store.rows("contradictions", ["contradiction_id", "cell_a", "cell_b"], either)
    lost = pl.col("cell_a").is_in(ids)
    rows = rows.filter(~(lost & pl.col("cell_b").is_in(ids)))  # neither side stands: the night closes it
    return rows.sort("contradiction_id").select(
        "contradiction_id",
        resolution=pl.when(lost).then(pl.lit("b_wins")).otherwise(pl.lit("a_wins")),
        resolution_note=pl.lit(why),
        winner_id=pl.when(lost).then("cell_b").otherwise("cell_a"),
        former_supersedes=pl.lit(None, dtype=pl.String),
        former_summary=pl.lit(None, dtype=pl.String),
    )


def joined(*plans: EventRows) -> EventRows:
    """Plans as one; rows of one kind stand together, in the order of the plans."""
    together: EventRows = {}
    for plan in plans:
        for kind, rows in plan.items():
            if rows.height:
                known = together.get(kind)
                together[kind] = rows if known is None else pl.concat([known, rows.select(known.columns)])
    return together
