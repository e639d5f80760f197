"""`confirm`: a person says that a memory holds. It never fades, and no judge retires it any more.

Where an assistant says so it is noted, and protects nothing.
"""

from datetime import datetime

import polars as pl

from slowwave.decay.fading import revivals
from slowwave.edits.assistants_word import confirmed_by_an_assistant
from slowwave.edits.consequences import lost_its_follower, standing_again
from slowwave.edits.correct import protection, refuse_retired
from slowwave.edits.session import cell_of, commit_edit, edit_session
from slowwave.home.paths import Home
from slowwave.readers.statements import read_note
from slowwave.schemas.requests import ConfirmRequest
from slowwave.schemas.results import Done

PERSON_SAID = "a person"
"""`confirmed_by` of a confirmation that no text stands behind."""


def confirm(home: Home, request: ConfirmRequest, *, now: datetime) -> Done:
    """Protects a memory for good, as `Memory.confirm` says."""
    note = read_note(request.note)
    with edit_session(home, now=now) as work:
        row = cell_of(work, request.cell_id)
        if request.origin != "user":
            refuse_retired(row)
            return confirmed_by_an_assistant(work, row)
        found = str(row["cell_id"])
        is_stranded = lost_its_follower(work.store, row)
        if not is_stranded:
            refuse_retired(row)
        cell_usage = work.store.by_key("cell_usage", [found])
        plan = {
            "cell.protected": protection(found, note),
            "cell.confirmed": cell_usage.select(
                "cell_id",
                confirmed_by=pl.lit(PERSON_SAID),
                confirmations=pl.col("confirmations") + 1,
                evidence=pl.lit(row["evidence"], dtype=pl.List(pl.String)),
                last_accessed=pl.max_horizontal("last_accessed", pl.lit(now)),
                prompt_version=pl.lit(None, dtype=pl.String),
                model=pl.lit(None, dtype=pl.String),
            ),
        }
        notes = []
        if row["status"] == "archived":
            plan["cell.revived"] = revivals(cell_usage, now=now, reason="a person confirmed it")
            notes.append("it was archived, and is back in search")
        if is_stranded:
            plan["cell.restored"] = standing_again(work.home.journal, pl.Series("cell_id", [found]))
            notes.append("it had been superseded by a memory that was deleted, and is believed again")
        changed, waits = commit_edit(work, plan)
        return Done(cell_id=found, content=str(row["content"]), changed=changed, notes=[*notes, *waits])
