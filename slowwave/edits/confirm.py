"""`confirm`: a person says that a memory holds. It never fades, and no judge retires it any more.

Other values of its property are replaced, whoever said them: a person's decision is the latest word on it. So is what
contradicts it otherwise and is no person's word, or is what an assistant proposed to replace by it. Where an assistant
says so it is noted, and protects nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

import polars as pl

from slowwave.edits.consequences import (
    displaced,
    displacement,
    joined,
    lost_its_follower,
    protection,
    standing_again,
)
from slowwave.edits.session import cell_of, commit_edit, edit_session, refuse_retired
from slowwave.home.workspace import Workspace
from slowwave.ingest.statements import read_note
from slowwave.lifecycle.fading import revivals
from slowwave.recall.reader import Reader
from slowwave.schemas.requests import ConfirmRequest
from slowwave.schemas.results import Done
from slowwave.schemas.tables import REMEMBERED
from slowwave.store import Row
from slowwave.store.chains import side_by_side
from slowwave.trust.origins import PERSON

WHY = "a person confirmed the other"

PERSONS = ("user", "system")
"""Origins of what a person said."""

PERSON_SAID = "a person"
"""`confirmed_by` of a confirmation without a text behind it."""

ASSISTANT_SAID = "an assistant, which does not count"
"""`confirmed_by` of a confirmation to which no person agreed."""

NO_PERSON = "recorded as an assistant's word: no person agreed to it"


def confirm(reader: Reader, request: ConfirmRequest, *, now: datetime) -> Done:
    """Protects a memory for good, as `Memory.confirm` says."""
    note = read_note(request.note)
    with edit_session(reader.home, now=now, reader=reader) as work:
        row = cell_of(work, request.cell_id)
        if request.origin == "user":
            return confirmed_by_a_person(work, row, note=note)
        refuse_retired(row)
        kept = ["it stays archived"] if row["status"] == "archived" else []
        noted = {"cell.confirmed": _confirmed(work, row, by=ASSISTANT_SAID)}
        done = Done(cell_id=row["cell_id"], content=row["content"], notes=[NO_PERSON, *kept])
        return commit_edit(work, noted, done)


def confirmed_by_a_person(work: Workspace, row: Row, *, note: str, notes: Sequence[str] = ()) -> Done:
    """Protect a memory (a row of `cells`) for good, and replace what says otherwise.

    Raises:
        InputError: another memory took its place.
    """
    is_stranded = lost_its_follower(work.store, row)
    if not is_stranded:
        refuse_retired(row)
    found, notes = row["cell_id"], list(notes)
    confirmed = _confirmed(work, row, by=PERSON_SAID)
    plan = {"cell.protected": protection([found], note), "cell.confirmed": confirmed}
    if row["status"] == "archived":
        usage = work.store.by_key("cell_usage", [found])
        plan["cell.revived"] = revivals(usage, now=work.clock(), reason="a person confirmed it")
        notes.append("it was archived, and is back in search")
    if is_stranded:
        plan["cell.restored"] = standing_again(work.home.journal, pl.Series("cell_id", [found]))
        notes.append("it had been superseded by a memory that was deleted, and is believed again")
    displacing = displacement(
        work.store,
        work.store.by_key("cells", [found]),
        _contrary(work, row),
        why=note or WHY,
        event="lost to one that a person confirmed",
        now=work.clock(),
        since=proposed_since(row),
    )
    if displacing:
        notes.append("it takes the place of what was said otherwise")
    done = Done(cell_id=found, content=row["content"], replaced=displaced(displacing), notes=notes)
    return commit_edit(work, joined(plan, displacing), done)


def is_a_persons(cell: Row) -> bool:
    """Return whether a person said or confirmed a memory (a row of `cells`)."""
    return bool(cell["protected"]) or cell["origin"] in PERSONS


def proposed_since(cell: Row) -> datetime | None:
    """Since when an assistant's statement (a row of `cells`) is true, to which a person agrees; None for any other."""
    is_assistants = cell["prompt_version"] == REMEMBERED and cell["origin"] != PERSON
    return cast("datetime", cell["valid_from"]) if is_assistants and not cell["protected"] else None


def _confirmed(work: Workspace, row: Row, *, by: str) -> pl.DataFrame:
    """The row of `cell.confirmed`: a use of the memory, which counts only as a person's yes."""
    return work.store.by_key("cell_usage", [row["cell_id"]]).select(
        "cell_id",
        confirmed_by=pl.lit(by),
        confirmations=pl.col("confirmations") + int(by == PERSON_SAID),
        evidence=pl.lit(row["evidence"], dtype=pl.List(pl.String)),
        last_accessed=pl.max_horizontal("last_accessed", pl.lit(work.clock())),
        prompt_version=pl.lit(None, dtype=pl.String),
        model=pl.lit(None, dtype=pl.String),
    )


def _contrary(work: Workspace, row: Row) -> pl.DataFrame:
    """Memories to replace: what contradicts it and no person said or confirmed.

    What an assistant proposed replaces a person's word, too, now that a person agrees to it.
    """
    sides = work.store.find([side_by_side([row["cell_id"]])])[0]
    named = {side for pair in sides if pair["status"] == "open" for side in (pair["cell_a"], pair["cell_b"])}
    cells = work.store.by_key("cells", sorted(named - {row["cell_id"]}))
    is_persons = pl.col("protected") | pl.col("origin").is_in(PERSONS)
    may_go = pl.lit(proposed_since(row) is not None) | ~is_persons
    return cells.filter((pl.col("status") != "superseded") & may_go)
