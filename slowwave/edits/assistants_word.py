"""Corrections and confirmations by an assistant to which no person agreed: they are its own word and weigh no more.

Its correction takes the place of what rests on no person's message and no person confirmed. Of anything else it is a
proposal: both memories stand in a contradiction until a person agrees or decides otherwise. Its confirmation is noted,
and protects nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

import polars as pl

from slowwave.edits.consequences import cascade, joined, succession
from slowwave.edits.passages import Parted, stays
from slowwave.edits.reasons import Taken
from slowwave.edits.remember import readmission, redacted, said_plan, session_of
from slowwave.edits.session import commit_edit
from slowwave.home.workspace import Workspace
from slowwave.ingest.statements import Statement, cell_id_of
from slowwave.journal.catalogue import EventRows, rows_of
from slowwave.schemas.choices import CellType, SaidBy
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.moments import latest_of
from slowwave.schemas.results import Done
from slowwave.schemas.tables import OWNER, REMEMBERED, frame_schema
from slowwave.trust.origins import PERSON

ASSISTANT_SAID = "an assistant, which does not count"
"""`confirmed_by` of a confirmation to which no person agreed."""

NO_PERSON = "recorded as an assistant's word: no person agreed to it"
WHY = "an assistant corrected it"


def is_a_persons(cell: dict[str, object]) -> bool:
    """Return whether a person said or confirmed a memory (a row of `cells`)."""
    return bool(cell["protected"]) or cell["origin"] in ("user", "system")


def proposed_since(cell: Mapping[str, Any]) -> datetime | None:
    """Since when an assistant's statement (a row of `cells`) is true, to which a person agrees; None for any other."""
    is_assistants = cell["prompt_version"] == REMEMBERED and cell["origin"] != PERSON
    return cast("datetime", cell["valid_from"]) if is_assistants and not cell["protected"] else None


def corrected_by_an_assistant(
    work: Workspace,
    old: dict[str, object],
    said: Statement,
    *,
    parted: Parted,
    origin: SaidBy,
    note: str,
    taken: Taken,
) -> Done:
    """Record what an assistant says instead of a memory (a row of `cells`), or of a part of raw talk."""
    since = taken.since or latest_of(cast("datetime", old["valid_from"]))
    made, winner = _statement(work, said, like=old, origin=origin, since=since)
    losers = parted.passages
    told = [NO_PERSON, *([taken.told] if taken.told else [])]
    if is_a_persons(old) or _has_a_persons_turn(work, parted):
        losers = losers.clear()
        plan, waits = _opened(work, old, str(winner["cell_id"][0]), note=note)
        told.append(waits)
    else:
        plan = joined(
            stays(parted, note=note),
            succession(
                work.store,
                winner,
                losers,
                why=note or WHY,
                now=work.clock(),
                author=REMEMBERED,
                since=taken.since,
            ),
            cascade(work.store, losers, why="was corrected by an assistant"),
        )
        told += parted.notes()
    changed, notes = commit_edit(work, joined(made, plan))
    return Done(
        cell_id=winner["cell_id"][0],
        content=said.content,
        replaced=losers["cell_id"].to_list(),
        changed=changed,
        rest=parted.rest["cell_id"].to_list() if losers.height else [],
        left_out=parted.left_out if losers.height else [],
        reason=taken.reason,
        since=taken.since,
        notes=[*told, *redacted(said), *notes],
    )


def confirmed_by_an_assistant(work: Workspace, row: dict[str, object]) -> Done:
    """Note that an assistant holds a memory for right: as a use of it, and no more."""
    used = work.store.by_key("cell_usage", [str(row["cell_id"])]).select(
        "cell_id",
        "confirmations",
        confirmed_by=pl.lit(ASSISTANT_SAID),
        evidence=pl.lit(row["evidence"], dtype=pl.List(pl.String)),
        last_accessed=pl.max_horizontal("last_accessed", pl.lit(work.clock())),
        prompt_version=pl.lit(None, dtype=pl.String),
        model=pl.lit(None, dtype=pl.String),
    )
    changed, notes = commit_edit(work, {"cell.confirmed": used})
    kept = ["it stays archived"] if row["status"] == "archived" else []
    return Done(
        cell_id=str(row["cell_id"]),
        content=str(row["content"]),
        changed=changed,
        notes=[NO_PERSON, *kept, *notes],
    )


def _statement(
    work: Workspace, said: Statement, *, like: dict[str, object], origin: SaidBy, since: datetime
) -> tuple[EventRows, pl.DataFrame]:
    """Events for an assistant's statement, none where it said so today already, and its row of `cells`."""
    home, digest = work.home.of_project(cast("str", like["project_id"])), content_hash(said.content)
    readmission(home, work.store, digest, origin=origin)
    session_id, is_known = session_of(home, work.store, digest, work.clock(), origin=origin)
    if is_known:
        return {}, work.store.by_key("cells", [cell_id_of(home.owner, session_id, digest)])
    made = said_plan(
        home,
        said,
        session_id=session_id,
        cell_type=cast("CellType", like["cell_type"]),
        salience=cast("float", like["salience"]),
        now=work.clock(),
        origin=origin,
    )
    cell = made["cell.extracted"].with_columns(valid_from=pl.lit(since))
    winner = cell.with_columns(recorded_at=pl.lit(work.clock())).select(frame_schema("cells").names())
    return {**made, "cell.extracted": cell}, winner.cast(dict(frame_schema("cells").items()))


def _has_a_persons_turn(work: Workspace, parted: Parted) -> bool:
    """Return whether a person says a part of what would go, whatever else stands in the messages behind it."""
    said = work.store.by_key("turns", parted.gone["evidence"].explode().drop_nulls(), ["turn_id", "origin"])
    return bool((said["origin"] == PERSON).any())


def _opened(work: Workspace, old: dict[str, object], new_id: str, *, note: str) -> tuple[EventRows, str]:
    """The contradiction between a person's word and an assistant's, if there is none yet, and what is told of it."""
    opened = contradiction_with_an_assistant(old, new_id, note=note)
    named = opened["contradiction_id"][0]
    told = f"a person said the other: both stand, and contradiction {named} is for a person to end"
    is_there = work.store.by_key("contradictions", [named]).height > 0
    return {} if is_there else {"contradiction.opened": opened}, told


def proposal_id(old_id: str, new_id: str) -> str:
    """The id of the contradiction between a person's memory and what an assistant says instead."""
    return stable_id("contradiction", old_id, new_id)


def contradiction_with_an_assistant(old: dict[str, object], new_id: str, *, note: str) -> pl.DataFrame:
    """One row of `contradiction.opened`: an assistant's memory beside a person's, `old`, a row of `cells`."""
    sides = str(old["cell_id"]), new_id
    opened = {
        "contradiction_id": proposal_id(*sides),
        "cell_a": sides[0],
        "cell_b": sides[1],
        "subject": old["subject"],
        "attribute": old["attribute"],
        "note": note or "an assistant says otherwise than a person",
        **{name: old[name] for name in OWNER},
        "prompt_version": REMEMBERED,
    }
    return rows_of("contradiction.opened", [opened])
