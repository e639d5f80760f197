"""`correct`: a person, or an assistant, says what is right, and it replaces the memory that said otherwise."""

from datetime import datetime
from typing import TypedDict, cast

import polars as pl

from slowwave.edits.assistants_word import corrected_by_an_assistant, is_a_persons, proposal_id
from slowwave.edits.confirm import confirmed_by_a_person
from slowwave.edits.consequences import (
    cascade,
    joined,
    protection,
    settled_by,
    succession,
    with_rivals,
    without_tellings,
)
from slowwave.edits.passages import UNCHANGED, Parted, edited, meant_by, part, stays
from slowwave.edits.reasons import Taken, taken_as
from slowwave.edits.remember import readmission, redacted, remembered_again, said_plan, session_of
from slowwave.edits.session import cell_of, commit_edit, edit_session, refuse_retired
from slowwave.errors import InputError
from slowwave.home.workspace import Workspace
from slowwave.ingest.statements import Statement, cell_id_of, read_note, read_statement
from slowwave.journal.catalogue import EventRows
from slowwave.recall.reader import Reader
from slowwave.schemas.choices import CellType, CorrectionReason
from slowwave.schemas.identity import content_hash, normalize_text
from slowwave.schemas.moments import latest_of
from slowwave.schemas.requests import CorrectRequest
from slowwave.schemas.results import Done
from slowwave.schemas.tables import REMEMBERED, frame_schema
from slowwave.store import Store, col, lit, same_owner
from slowwave.trust.origins import PERSON, is_passage

WHY = "a person corrected it"
MOST_MERGED = 10
"""Steps from a memory to the one that holds its text: a damaged chain may be a circle."""


class _Reason(TypedDict):
    """The reason of a correction, as an answer says it."""

    reason: CorrectionReason
    since: datetime | None


def correct(reader: Reader, request: CorrectRequest, *, now: datetime) -> Done:
    """Put a text in the place of a memory, as `Memory.correct` says."""
    note = read_note(request.note)
    with edit_session(reader.home, now=now, reader=reader) as work:
        old = cell_of(work, request.cell_id)
        new, meant = _meant(work, old, request.text)
        said = _statement(old, request.model_copy(update={"text": new}))
        after = _same_after(work.store, old, said)
        if after is not None and _is_said_so(request, old, after):
            return _so_already(old, after)
        if after is None:
            refuse_retired(old)
            if content_hash(said.content) == old["content_hash"]:
                return _said_as_it_is(work, request, old, note=note)
        cells = work.store.by_key("cells", [str(old["cell_id"])])
        echoes = _said_by_assistants(work.store, cells, said)
        taken = taken_as(request, old, now=now, proposal=after or _proposal(work.store, old, echoes))
        # what made way already made way with all that was meant
        parted = part(work, cells, meant) if after is None else Parted(cells, cells, cells.clear(), [])
        if request.dry_run:
            return parted.preview(said.content).model_copy(update=_reason(taken))
        if request.origin != "user":
            return corrected_by_an_assistant(
                work, old, said, parted=parted, origin=request.origin, note=note, taken=taken
            )
        known = after if after is not None and is_a_persons(after) else None
        return _replaced(work, said, old, parted, taken, echoes=echoes, known=known, note=note)


def _replaced(
    work: Workspace,
    said: Statement,
    old: dict[str, object],
    parted: Parted,
    taken: Taken,
    *,
    echoes: pl.DataFrame,
    known: dict[str, object] | None,
    note: str,
) -> Done:
    """Commit a person's correction; the same words of assistants (`echoes`, rows of `cells`) live on in it.

    `known` is the memory that has its text since an earlier correction by a person, which is decided otherwise now.
    """
    since = taken.since or latest_of(cast("datetime", old["valid_from"]))
    if known is None:
        made, winner, told = protected_statement(work, said, like=old, valid_from=since, note=note)
    else:
        (made, winner), told = _dated(work, str(known["cell_id"]), since, note=note), []
    losers = with_rivals(work.store, winner, parted.passages)
    losers = losers.filter(~pl.col("cell_id").is_in(echoes["cell_id"].implode()))
    follows = cascade(work.store, losers, why="was corrected by a person")
    if is_passage(old):  # a telling without a model has its words
        follows |= without_tellings(work.store, follows["cell.flagged"])
    plan = joined(
        made,
        stays(parted, note=note),
        succession(work.store, winner, losers, why=note or WHY, now=work.clock(), since=taken.since),
        {"cell.merged": _merged(echoes, winner, now=work.clock())},
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
        **_reason(taken),
        notes=[*told, *redacted(said), *parted.notes(), *([taken.told] if taken.told else []), *notes],
    )


def protected_statement(
    work: Workspace, said: Statement, *, like: dict[str, object], valid_from: datetime, note: str
) -> tuple[EventRows, pl.DataFrame, list[str]]:
    """Events for a statement that is protected from the start, its row of `cells`, and notes on it.

    It is true since `valid_from`. What was remembered in the same words today becomes that memory.
    """
    digest = content_hash(said.content)
    home = work.home.of_project(cast("str", like["project_id"]))
    back = readmission(home, work.store, digest)
    session_id, is_known = session_of(home, work.store, digest, work.clock())
    if is_known:
        return *_dated(work, cell_id_of(home.owner, session_id, digest), valid_from, note=note), []
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
    sure = protection(winner["cell_id"][0], note)
    plan = {**made, "cell.extracted": cell, "cell.protected": sure, "cell.readmitted": back}
    return plan, winner.cast(dict(frame_schema("cells").items())), remembered_again(back)


# Inside


def _reason(taken: Taken) -> _Reason:
    return {"reason": taken.reason, "since": taken.since}


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


def _same_after(store: Store, old: dict[str, object], said: Statement) -> dict[str, object] | None:
    """The memory with the text of a correction that took the place of the old one before; None where none did."""
    digest, row = content_hash(said.content), old
    for _ in range(MOST_MERGED):  # the same words of an assistant may live on in a person's
        if row["status"] != "superseded" or row["superseded_by"] is None:
            break
        found = store.by_key("cells", [str(row["superseded_by"])])
        if found.is_empty() or found["content_hash"][0] != digest:
            return None
        row = found.row(0, named=True)
    return row if row is not old and row["status"] != "superseded" else None


def _is_said_so(request: CorrectRequest, old: dict[str, object], after: dict[str, object]) -> bool:
    """Return whether a correction that was made before says nothing more: no person's yes, and no other reason."""
    if request.origin != "user":
        return True
    if not is_a_persons(after):
        return False
    if request.reason is None and request.since is None:
        return True
    return request.since is None and request.reason == _stored_reason(old)["reason"]


def _stored_reason(old: dict[str, object]) -> _Reason:
    """The reason for which a memory made way, by its dates."""
    until, began = cast("datetime | None", old["valid_until"]), cast("datetime", old["valid_from"])
    is_changed = until is not None and until > began
    return {"reason": "changed" if is_changed else "wrong", "since": until if is_changed else None}


def _so_already(old: dict[str, object], after: dict[str, object]) -> Done:
    """The result of the same correction, where it was made before: whoever got no answer says it again."""
    note = "this was corrected so already; nothing was changed"
    return Done(
        cell_id=str(after["cell_id"]), content=str(after["content"]), **_stored_reason(old), notes=[note]
    )


def _said_as_it_is(work: Workspace, request: CorrectRequest, old: dict[str, object], *, note: str) -> Done:
    """A correction with the memory's own text: a person's yes to it.

    Raises:
        InputError: it is an assistant's.
    """
    if request.origin != "user":
        raise InputError(f"memory {old['cell_id']} says exactly that already: confirm it instead")
    if request.dry_run:
        return Done(cell_id=str(old["cell_id"]), content=str(old["content"]), notes=[UNCHANGED])
    done = confirmed_by_a_person(work, old, note=note)
    return done.model_copy(update={"notes": ["it says exactly that, and is confirmed now", *done.notes]})


def _said_by_assistants(store: Store, old: pl.DataFrame, said: Statement) -> pl.DataFrame:
    """Living statements of assistants with the text of a correction of `old`: rows of `cells`, newest first."""
    same = col("content_hash") == lit(content_hash(said.content))
    stated = same & (col("prompt_version") == lit(REMEMBERED)) & (col("origin") != lit(PERSON))
    rows = store.rows("cells", where=same_owner(old) & stated & (col("status") != lit("superseded")))
    return rows.filter(~pl.col("protected")).sort("recorded_at", "cell_id", descending=[True, False])


def _proposal(store: Store, old: dict[str, object], echoes: pl.DataFrame) -> dict[str, object] | None:
    """The statement of an assistant that stands in a contradiction with a person's memory, as its correction."""
    ids = [proposal_id(str(old["cell_id"]), cell_id) for cell_id in echoes["cell_id"]]
    known = store.by_key("contradictions", ids, ["contradiction_id", "cell_b"])
    found = echoes.filter(pl.col("cell_id").is_in(known["cell_b"].implode()))
    return found.row(0, named=True) if found.height else None


def _dated(work: Workspace, cell_id: str, since: datetime, *, note: str) -> tuple[EventRows, pl.DataFrame]:
    """Events by which a known memory is protected and true since another day, and its row of `cells`."""
    known = work.store.by_key("cells", [cell_id])
    dated = known.with_columns(valid_from=pl.lit(since))
    changed = dated.join(known, on=["cell_id", "valid_from"], how="anti").select("cell_id", "valid_from")
    return {"cell.protected": protection(cell_id, note), "cell.dated": changed}, dated


def _merged(echoes: pl.DataFrame, winner: pl.DataFrame, *, now: datetime) -> pl.DataFrame:
    """Rows of `cell.merged` for the same words of assistants, which are a person's now."""
    return echoes.select("cell_id", superseded_by=pl.lit(winner["cell_id"][0]), superseded_at=pl.lit(now))


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
