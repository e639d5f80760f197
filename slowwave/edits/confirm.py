"""`confirm`: a person says that a memory holds. It never fades, and no judge retires it any more.

Other values of its property make way, whoever said them: a person's decision is the latest word on it. So does what
contradicts it otherwise and is no person's word, or is what an assistant proposed to replace by it. Where an assistant
says so it is noted, and protects nothing.
"""

from datetime import datetime

import polars as pl

from slowwave.edits.assistants_word import confirmed_by_an_assistant, is_a_persons, proposed_since
from slowwave.edits.consequences import (
    cascade,
    joined,
    lost_its_follower,
    protection,
    settled_by,
    standing_again,
    succession,
)
from slowwave.edits.session import cell_of, commit_edit, edit_session, refuse_retired
from slowwave.home.workspace import Workspace
from slowwave.ingest.statements import read_note
from slowwave.journal.catalogue import EventRows
from slowwave.lifecycle.fading import revivals
from slowwave.recall.reader import Reader
from slowwave.schemas.requests import ConfirmRequest
from slowwave.schemas.results import Done
from slowwave.store.chains import rivals_of, side_by_side

WHY = "a person confirmed the other"
PERSON_SAID = "a person"
"""`confirmed_by` of a confirmation that no text stands behind."""


def confirm(reader: Reader, request: ConfirmRequest, *, now: datetime) -> Done:
    """Protects a memory for good, as `Memory.confirm` says."""
    note = read_note(request.note)
    with edit_session(reader.home, now=now, reader=reader) as work:
        row = cell_of(work, request.cell_id)
        if request.origin != "user":
            refuse_retired(row)
            return confirmed_by_an_assistant(work, row)
        return confirmed_by_a_person(work, row, note=note)


def confirmed_by_a_person(work: Workspace, row: dict[str, object], *, note: str) -> Done:
    """Protect a memory (a row of `cells`) for good; what says otherwise makes way.

    Raises:
        InputError: another memory took its place.
    """
    found, now = str(row["cell_id"]), work.clock()
    is_stranded = lost_its_follower(work.store, row)
    if not is_stranded:
        refuse_retired(row)
    cell_usage = work.store.by_key("cell_usage", [found])
    plan = {"cell.protected": protection(found, note), "cell.confirmed": _confirmation(cell_usage, row, now)}
    notes = []
    if row["status"] == "archived":
        plan["cell.revived"] = revivals(cell_usage, now=now, reason="a person confirmed it")
        notes.append("it was archived, and is back in search")
    if is_stranded:
        plan["cell.restored"] = standing_again(work.home.journal, pl.Series("cell_id", [found]))
        notes.append("it had been superseded by a memory that was deleted, and is believed again")
    losers = _contrary(work, row)
    if losers.height:
        plan = joined(plan, _taking_place(work, row, losers, why=note or WHY))
        notes.append("it takes the place of what was said otherwise")
    changed, waits = commit_edit(work, plan)
    return Done(
        cell_id=found,
        content=str(row["content"]),
        replaced=losers["cell_id"].to_list(),
        changed=changed,
        notes=[*notes, *waits],
    )


def _confirmation(cell_usage: pl.DataFrame, row: dict[str, object], now: datetime) -> pl.DataFrame:
    """The row of `cell.confirmed` by which a person's yes counts."""
    return cell_usage.select(
        "cell_id",
        confirmed_by=pl.lit(PERSON_SAID),
        confirmations=pl.col("confirmations") + 1,
        evidence=pl.lit(row["evidence"], dtype=pl.List(pl.String)),
        last_accessed=pl.max_horizontal("last_accessed", pl.lit(now)),
        prompt_version=pl.lit(None, dtype=pl.String),
        model=pl.lit(None, dtype=pl.String),
    )


def _taking_place(work: Workspace, row: dict[str, object], losers: pl.DataFrame, *, why: str) -> EventRows:
    """Events by which what says otherwise makes way; what an assistant proposed changed on the day that it said."""
    winner = work.store.by_key("cells", [str(row["cell_id"])])
    return joined(
        succession(work.store, winner, losers, why=why, now=work.clock(), since=proposed_since(row)),
        cascade(work.store, losers, why="lost to one that a person confirmed"),
        {"contradiction.resolved": settled_by(work.store, losers["cell_id"].to_list(), why=WHY)},
    )


def _contrary(work: Workspace, row: dict[str, object]) -> pl.DataFrame:
    """Memories that make way: other values of its property, and what contradicts it and no person said or confirmed.

    What an assistant proposed takes the place of a person's word, too, now that a person agrees to it.
    """
    found = str(row["cell_id"])
    rivals = set(rivals_of(work.store, {**row, "protected": True}))
    sides = work.store.find([side_by_side([found])])[0]
    named = {side for pair in sides if pair["status"] == "open" for side in (pair["cell_a"], pair["cell_b"])}
    cells = work.store.by_key("cells", sorted((named | rivals) - {found})).filter(
        pl.col("status") != "superseded"
    )
    is_proposal = proposed_since(row) is not None
    makes_way = [
        is_proposal or cell["cell_id"] in rivals or not is_a_persons(cell)
        for cell in cells.iter_rows(named=True)
    ]
    return cells.filter(pl.Series(makes_way, dtype=pl.Boolean))
