"""`correct`: a person, or an assistant, says what is right, and it replaces the memory that said otherwise.

An assistant's correction to which no person agreed replaces what rests on no person's message and no person confirmed.
Of anything else it is a proposal: both memories stay in a contradiction until a person agrees or decides otherwise.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, cast

import polars as pl

from slowwave.edits.confirm import NO_PERSON, confirmed_by_a_person, is_a_persons, proposed_since
from slowwave.edits.consequences import displaced, displacement, joined, protection
from slowwave.edits.passages import UNCHANGED, Parted, edited, meant_by, part, stays
from slowwave.edits.reasons import Taken, taken_as
from slowwave.edits.remember import state
from slowwave.edits.session import cell_of, commit_edit, edit_session, refuse_retired
from slowwave.errors import InputError
from slowwave.home.workspace import Workspace
from slowwave.ingest.statements import Statement, read_note, read_statement
from slowwave.journal.catalogue import EventRows, rows_of
from slowwave.recall.reader import Reader
from slowwave.schemas.choices import CorrectionReason, SaidBy
from slowwave.schemas.identity import content_hash, normalize_text, stable_id
from slowwave.schemas.moments import latest_of
from slowwave.schemas.requests import CorrectRequest
from slowwave.schemas.results import Done
from slowwave.schemas.tables import OWNER, REMEMBERED, frame_schema, shaped
from slowwave.store import Row, Store, col, lit, same_owner
from slowwave.store.chains import PERSON as PERSONS_JUDGEMENT
from slowwave.trust.origins import PERSON, is_passage


class _Reason(TypedDict):
    """The reason of a correction, as an answer says it."""

    reason: CorrectionReason
    since: datetime | None


@dataclass(frozen=True)
class Replacement:
    """The memory that replaces another (one row of `cells`), the events that make it so, and notes."""

    cell: pl.DataFrame
    plan: EventRows
    notes: list[str]


def correct(reader: Reader, request: CorrectRequest, *, now: datetime) -> Done:
    """Put a text in the place of a memory, as `Memory.correct` says."""
    note = read_note(request.note)
    with edit_session(reader.home, now=now, reader=reader) as work:
        old = cell_of(work, request.cell_id)
        new, meant = _meant(work, old, request.text)
        said = statement_of(old, request.model_copy(update={"text": new}))
        after = _same_after(work.store, old, said)
        if after is not None and _is_said_so(request, old, after):
            return _so_already(old, after)
        if after is None:
            refuse_retired(old)
            if content_hash(said.content) == old["content_hash"]:
                return _said_as_it_is(work, request, old, note=note)
        cells = work.store.by_key("cells", [old["cell_id"]])
        known = after or (_said_before(work.store, cells, said) if request.origin == "user" else None)
        proposal = known if known is not None and proposed_since(known) is not None else None
        taken = taken_as(request, old, now=now, proposal=proposal)
        # what was replaced already was replaced with all that was meant
        parted = part(work, cells, meant) if after is None else Parted(cells, cells, cells.clear(), [])
        if request.dry_run:
            return parted.preview(said.content).model_copy(update=_reason(taken))
        since = taken.since or latest_of(old["valid_from"])
        made = replacement(work, said, like=old, since=since, note=note, origin=request.origin, known=known)
        return _replaced(work, old, made, parted, taken, origin=request.origin, note=note)


def replacement(
    work: Workspace,
    said: Statement,
    *,
    like: Row,
    since: datetime,
    note: str,
    origin: SaidBy = "user",
    known: Row | None = None,
) -> Replacement:
    """A statement in the place of a memory (`like`, a row of `cells`), true since a moment; a person's is protected.

    `known` is a memory (a row of `cells`) that says so already, and so is what was remembered in the same words today:
    it becomes the replacement, whoever said it, and a person's correction confirms it.
    """
    is_persons = origin == "user"
    stated = state(
        work.home.of_project(like["project_id"]),
        work.store,
        said,
        cell_type=like["cell_type"],
        salience=max(like["salience"], 0.8) if is_persons else like["salience"],
        now=work.clock(),
        origin=origin,
    )
    notes = stated.notes(said)
    if known is not None or not stated.plan:
        cell = work.store.by_key("cells", [known["cell_id"] if known is not None else stated.cell_id])
        dated = cell.with_columns(valid_from=pl.lit(since))
        changed = dated.join(cell, on=["cell_id", "valid_from"], how="anti").select("cell_id", "valid_from")
        sure = {"cell.protected": protection(cell["cell_id"], note), "cell.dated": changed}
        return Replacement(dated, sure, notes) if is_persons else Replacement(cell, {}, notes)
    hint = said.subject or (like["topic_hint"] if is_a_persons(like) else None)
    made = stated.plan["cell.extracted"].with_columns(
        valid_from=pl.lit(since), topic_hint=pl.lit(hint, dtype=pl.String)
    )
    plan = {**stated.plan, "cell.extracted": made}
    if is_persons:
        plan["cell.protected"] = protection([stated.cell_id], note)
    return Replacement(
        shaped(made.with_columns(recorded_at=pl.lit(work.clock())), frame_schema("cells")), plan, notes
    )


def statement_of(old: Row, request: CorrectRequest) -> Statement:
    """The text with what it does not say taken from the old memory; an old value only if the text has it.

    From what no person said or confirmed, only what the text says itself: else a planted subject would be his word.
    """
    text, is_trusted = request.text, is_a_persons(old)
    known_subject = old["subject"] if is_trusted or _says(text, old["subject"]) else None
    has_property = known_subject is not None and (is_trusted or _says(text, old["attribute"]))
    known_attribute = old["attribute"] if has_property else None
    subject = request.subject or known_subject
    attribute, value, names = request.attribute, request.value, request.entities
    if attribute is None and subject == known_subject:
        attribute = known_attribute
    is_same_property = attribute is not None and attribute == known_attribute
    if value is None and is_same_property and _says(text, old["value"]):
        value = old["value"]
    if names is None:
        names = tuple(name for name in old["entities"] or () if is_trusted or _says(text, name))
    return read_statement(text, subject=subject, attribute=attribute, value=value, entities=names)


# Inside


def _replaced(
    work: Workspace,
    old: Row,
    new: Replacement,
    parted: Parted,
    taken: Taken,
    *,
    origin: SaidBy,
    note: str,
) -> Done:
    """Commit a correction."""
    is_persons, winner_id = origin == "user", new.cell["cell_id"][0]
    told = [] if is_persons else [NO_PERSON]
    if not is_persons and (is_a_persons(old) or _has_a_persons_turn(work, parted)):
        plan, waits = _opened(work, old, winner_id, note=note)
        told.append(waits)
    else:
        speaker = "a person" if is_persons else "an assistant"
        displacing = displacement(
            work.store,
            new.cell,
            parted.passages,
            why=note or f"{speaker} corrected it",
            event=f"was corrected by {speaker}",
            now=work.clock(),
            author=PERSONS_JUDGEMENT if is_persons else REMEMBERED,
            since=taken.since,
        )
        plan = joined(stays(parted, note=note), displacing)
        told += parted.notes()
    changed, notes = commit_edit(work, joined(new.plan, plan))
    replaced = displaced(plan)
    return Done(
        cell_id=winner_id,
        content=new.cell["content"][0],
        replaced=replaced,
        changed=changed,
        rest=parted.rest["cell_id"].to_list() if replaced else [],
        left_out=parted.left_out if replaced else [],
        **_reason(taken),
        notes=[*new.notes, *told, *([taken.told] if taken.told else []), *notes],
    )


def _has_a_persons_turn(work: Workspace, parted: Parted) -> bool:
    """Return whether a person says a part of what would go, whatever else is in the messages behind it."""
    said = work.store.by_key("turns", parted.gone["evidence"].explode().drop_nulls(), ["turn_id", "origin"])
    return bool((said["origin"] == PERSON).any())


def _opened(work: Workspace, old: Row, new_id: str, *, note: str) -> tuple[EventRows, str]:
    """The contradiction between a person's memory and an assistant's, if there is none yet, and a note on it."""
    named = stable_id("contradiction", old["cell_id"], new_id)
    told = f"a person said the other: both stand, and contradiction {named} is for a person to end"
    if work.store.by_key("contradictions", [named]).height:
        return {}, told
    opened = {
        "contradiction_id": named,
        "cell_a": old["cell_id"],
        "cell_b": new_id,
        **{name: old[name] for name in ("subject", "attribute", *OWNER)},
        "note": note or "an assistant says otherwise than a person",
        "prompt_version": REMEMBERED,
    }
    return {"contradiction.opened": rows_of("contradiction.opened", [opened])}, told


def _reason(taken: Taken) -> _Reason:
    return {"reason": taken.reason, "since": taken.since}


def _meant(work: Workspace, old: Row, text: str) -> tuple[str, set[str]]:
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


def _same_after(store: Store, old: Row, said: Statement) -> Row | None:
    """The memory with the text of a correction that took the place of the old one before; None where none did."""
    if old["status"] != "superseded":
        return None
    found = store.by_key("cells", [old["superseded_by"] or ""])
    same = found.filter(pl.col("status") != "superseded", content_hash=content_hash(said.content))
    return same.row(0, named=True) if same.height else None


def _said_before(store: Store, old: pl.DataFrame, said: Statement) -> Row | None:
    """The newest active statement that says what a correction of `old` says: a row of `cells`."""
    is_same = (col("content_hash") == lit(content_hash(said.content))) & (col("status") == lit("active"))
    stated = is_same & (col("prompt_version") == lit(REMEMBERED))
    rows = store.rows("cells", where=same_owner(old) & stated).sort("recorded_at", "cell_id")
    facts = ("subject", "attribute", "value")
    same = [row for row in rows.to_dicts() if all(row[name] == getattr(said, name) for name in facts)]
    return same[-1] if same else None


def _is_said_so(request: CorrectRequest, old: Row, after: Row) -> bool:
    """Return whether a correction that was made before says nothing more: no person's yes, and no other reason."""
    is_same = request.since is None and request.reason in (None, _stored_reason(old)["reason"])
    return request.origin != "user" or (is_a_persons(after) and is_same)


def _stored_reason(old: Row) -> _Reason:
    """The reason for which a memory was replaced, by its dates."""
    until = cast("datetime | None", old["valid_until"])
    is_changed = until is not None and until > old["valid_from"]
    return {"reason": "changed" if is_changed else "wrong", "since": until if is_changed else None}


def _so_already(old: Row, after: Row) -> Done:
    """The result of the same correction, where it was made before: whoever got no answer says it again."""
    note = "this was corrected so already; nothing was changed"
    return Done(cell_id=after["cell_id"], content=after["content"], **_stored_reason(old), notes=[note])


def _said_as_it_is(work: Workspace, request: CorrectRequest, old: Row, *, note: str) -> Done:
    """A correction with the memory's own text: a person's yes to it.

    Raises:
        InputError: it is an assistant's.
    """
    if request.origin != "user":
        raise InputError(f"memory {old['cell_id']} says exactly that already: confirm it instead")
    if request.dry_run:
        return Done(cell_id=old["cell_id"], content=old["content"], notes=[UNCHANGED])
    done = confirmed_by_a_person(work, old, note=note)
    return done.model_copy(update={"notes": ["it says exactly that, and is confirmed now", *done.notes]})


def _says(text: str, part: str | None) -> bool:
    return part is not None and normalize_text(part) in normalize_text(text)
