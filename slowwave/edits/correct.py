"""`correct`: a person, or an assistant, says what is right, and it replaces the memory that said otherwise."""

from datetime import datetime
from typing import cast

import polars as pl

from slowwave.edits.assistants_word import corrected_by_an_assistant, is_a_persons
from slowwave.edits.consequences import cascade, joined, settled_by, succession, with_rivals, without_tellings
from slowwave.edits.passages import edited, meant_by, part, stays
from slowwave.edits.remember import redacted, refuse_deleted, said_plan, session_of
from slowwave.edits.session import cell_of, commit_edit, edit_session
from slowwave.errors import InputError
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import Plan, rows_of
from slowwave.readers.statements import Statement, cell_id_of, read_note, read_statement
from slowwave.recall.reader import Reader
from slowwave.schemas.choices import CellType
from slowwave.schemas.identity import content_hash, normalize_text
from slowwave.schemas.moments import latest_of
from slowwave.schemas.requests import CorrectRequest
from slowwave.schemas.results import Done
from slowwave.schemas.tables import frame_schema
from slowwave.trust.origins import is_passage

WHY = "a person corrected it"


def correct(reader: Reader, request: CorrectRequest, *, now: datetime) -> Done:
    """Put a text in the place of a memory, as `Memory.correct` says."""
    note = read_note(request.note)
    with edit_session(reader.home, now=now, reader=reader) as work:
        old = cell_of(work, request.cell_id)
        new, meant = _meant(work, old, request.text)
        said = _statement(old, request.model_copy(update={"text": new}))
        if (done := _done_before(work, old, said)) is not None:
            return done
        refuse_retired(old)
        if content_hash(said.content) == old["content_hash"]:
            raise InputError(f"memory {old['cell_id']} says exactly that already: confirm it instead")
        parted = part(work, work.store.by_key("cells", [str(old["cell_id"])]), meant)
        losers = parted.passages
        if request.dry_run:
            return parted.preview(said.content)
        if request.origin != "user":
            return corrected_by_an_assistant(work, old, said, parted=parted, origin=request.origin, note=note)
        made, winner = protected_statement(
            work, said, like=old, valid_from=latest_of(cast("datetime", old["valid_from"])), note=note
        )
        losers = with_rivals(work.store, winner, losers)
        follows = cascade(work.store, losers, why="was corrected by a person")
        if is_passage(old):  # a telling without a model has its words
            follows |= without_tellings(work.store, follows["cell.flagged"])
        plan = joined(
            made,
            stays(parted, note=note),
            succession(work.store, winner, losers, why=note or WHY, now=now),
            follows,
            {"contradiction.resolved": settled_by(work.store, losers["cell_id"].to_list(), why=note or WHY)},
        )
        changed, notes = commit_edit(work, plan)
        return Done(
            cell_id=winner["cell_id"][0],
            content=said.content,
            replaced=losers["cell_id"].to_list(),
            changed=changed,
            rest=parted.rest["cell_id"].to_list(),
            left_out=parted.left_out,
            notes=[*redacted(said), *parted.notes(), *notes],
        )


def protected_statement(
    work: Workspace, said: Statement, *, like: dict[str, object], valid_from: datetime, note: str
) -> tuple[Plan, pl.DataFrame]:
    """Events for a statement that is protected from the start, and its row of `cells`.

    It holds since `valid_from`. What was remembered in the same words today becomes that memory.
    """
    digest = content_hash(said.content)
    home = work.home.of_project(cast("str", like["project_id"]))
    refuse_deleted(home, work.store, digest)
    session_id, is_known = session_of(home, work.store, digest, work.clock())
    if is_known:
        known = work.store.by_key("cells", [cell_id_of(home.owner, session_id, digest)])
        return {"cell.protected": protection(known["cell_id"][0], note)}, known
    made = said_plan(
        home,
        said,
        session_id=session_id,
        cell_type=cast("CellType", like["cell_type"]),
        salience=max(cast("float", like["salience"]), 0.8),
        now=work.clock(),
    )
    hint = said.subject or (like["topic_hint"] if is_a_persons(like) else None)
    cell = made["cell.extracted"].with_columns(
        valid_from=pl.lit(valid_from), topic_hint=pl.lit(hint, dtype=pl.String)
    )
    winner = cell.with_columns(recorded_at=pl.lit(work.clock())).select(frame_schema("cells").names())
    plan = {**made, "cell.extracted": cell, "cell.protected": protection(winner["cell_id"][0], note)}
    return plan, winner.cast(dict(frame_schema("cells").items()))


def protection(cell_id: str, note: str) -> pl.DataFrame:
    """One row of `cell.protected`: a person is sure of it."""
    return rows_of("cell.protected", [{"cell_id": cell_id, "confidence": 1.0, "note": note or None}])


def refuse_retired(row: dict[str, object]) -> None:
    """Refuse to edit a memory that another one replaced.

    Raises:
        InputError: the memory is superseded.
    """
    if row["status"] == "superseded":
        if row["superseded_by"] is None:
            raise InputError(
                f"memory {row['cell_id']} made way, and nothing took its place: say what holds anew"
            )
        raise InputError(
            f"memory {row['cell_id']} was superseded by {row['superseded_by']} already: speak of that one"
        )


def _meant(work: Workspace, old: dict[str, object], text: str) -> tuple[str, set[str]]:
    """The text that replaces a memory, and the statements of raw talk that it is about; none where that is not told.

    Raises:
        InputError: the text is that of raw talk with less in it, and says nothing new.
    """
    if not is_passage(old):
        return text, set()
    changed = edited(work.store, old, text)
    if changed is None:
        return text, meant_by(work.store, old, text)
    if not changed[0]:
        raise InputError(
            f"the text only leaves something out of {old['cell_id']}: `slowwave forget ID --only WORDS` does that"
        )
    return changed


def _done_before(work: Workspace, old: dict[str, object], said: Statement) -> Done | None:
    """The result of the same correction, where it was made before: whoever got no answer says it again."""
    if old["status"] != "superseded" or old["superseded_by"] is None:
        return None
    successor = work.store.by_key(
        "cells", [str(old["superseded_by"])], ["cell_id", "content", "content_hash"]
    )
    if successor.is_empty() or successor["content_hash"][0] != content_hash(said.content):
        return None
    note = "this was corrected so already; nothing was changed"
    return Done(cell_id=successor["cell_id"][0], content=successor["content"][0], notes=[note])


def _statement(old: dict[str, object], request: CorrectRequest) -> Statement:
    """The text with what it does not say taken from the old memory; an old value only if the text has it."""
    known = taken_over(old, request.text)
    attribute, value = request.attribute, request.value
    subject = request.subject or known["subject"]
    if attribute is None and subject == known["subject"]:
        attribute = known["attribute"]
    if (
        value is None
        and _says(request.text, known["value"])
        and attribute is not None
        and attribute == known["attribute"]
    ):
        value = known["value"]
    named = known_names(old, request.text) if request.entities is None else request.entities
    return read_statement(request.text, subject=subject, attribute=attribute, value=value, entities=named)


def taken_over(old: dict[str, object], text: str) -> dict[str, str | None]:
    """Subject, attribute and value of a memory for the text that replaces it.

    From what no person said or confirmed, only what the text says itself: else a planted subject would be his word.
    """
    known = {name: cast("str | None", old[name]) for name in ("subject", "attribute", "value")}
    if is_a_persons(old):
        return known
    subject = known["subject"] if _says(text, known["subject"]) else None
    attribute = known["attribute"] if subject and _says(text, known["attribute"]) else None
    return {"subject": subject, "attribute": attribute, "value": known["value"] if attribute else None}


def known_names(old: dict[str, object], text: str) -> list[str]:
    """Names of a memory for the text that replaces it, by the same rule."""
    names = cast("list[str]", old["entities"] or [])
    return [name for name in names if is_a_persons(old) or _says(text, name)]


def _says(text: str, part: str | None) -> bool:
    return part is not None and normalize_text(part) in normalize_text(text)
