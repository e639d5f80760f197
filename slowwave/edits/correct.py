"""`correct`: a person, or an assistant, says what is right, and it replaces the memory that said otherwise.

An assistant's correction to which no person agreed replaces what rests on no person's message and no person confirmed.
Of anything else it is a proposal: both memories stay in a contradiction until a person agrees or decides otherwise.
"""

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from slowwave.edits.confirm import NO_PERSON, confirmed_by_a_person, is_a_persons, proposed_since
from slowwave.edits.consequences import displaced, displacement, joined, protection
from slowwave.edits.passages import UNCHANGED, Parted, meant_by, part, stays
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
        _refuse_lines(old, request.text)
        said = statement_of(old, request)
        known = _said_before(work.store, old, said)
        if known is None or known["cell_id"] != old["superseded_by"]:
            refuse_retired(old)
        elif (so := _said_so(request, old, known)) is not None:
            return so
        known = known if request.origin == "user" else None
        if content_hash(said.content) == old["content_hash"]:
            return _said_as_it_is(work, request, old, note=note)
        taken = taken_as(request, old, now=now, proposal=known if known and proposed_since(known) else None)
        parted = part(
            work, work.store.by_key("cells", [old["cell_id"]]), meant_by(work.store, old, request.text)
        )
        if request.dry_run:
            as_taken = {"reason": taken.reason, "since": taken.since}
            return parted.preview(said.content).model_copy(update=as_taken)
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
    notes = stated.notes
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
    notes = [*new.notes, *([] if is_persons else [NO_PERSON])]
    if not is_persons and (is_a_persons(old) or _has_a_persons_turn(work, parted)):
        plan, waits = _opened(work, old, winner_id, note=note)
        notes.append(waits)
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
        notes += parted.notes()
    replaced = displaced(plan)
    done = Done(
        cell_id=winner_id,
        content=new.cell["content"][0],
        replaced=replaced,
        rest=parted.rest["cell_id"].to_list() if replaced else [],
        left_out=parted.left_out if replaced else [],
        reason=taken.reason,
        since=taken.since,
        notes=[*notes, taken.told] if taken.told else notes,
    )
    return commit_edit(work, joined(new.plan, plan), done)


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


def _refuse_lines(old: Row, text: str) -> None:
    """Refuse the lines of raw talk as a correction of it: they are the words of everybody who spoke.

    Raises:
        InputError: the text repeats a line of the talk.
    """
    lines = {line.strip() for line in text.splitlines()}
    if is_passage(old) and len(lines) > 1 and lines & {line.strip() for line in old["content"].splitlines()}:
        raise InputError(
            f"memory {old['cell_id']} is raw talk: write only what is right, without the lines that stay"
        )


def _said_before(store: Store, old: Row, said: Statement) -> Row | None:
    """The active statement that says what a correction of `old` says (a row of `cells`).

    Of several the one that replaced it already, else the newest.
    """
    same = (col("content_hash") == lit(content_hash(said.content))) & (col("status") == lit("active"))
    stated = same & (col("prompt_version") == lit(REMEMBERED))
    rows = store.rows("cells", where=same_owner(store.by_key("cells", [old["cell_id"]])) & stated).to_dicts()
    facts = ("subject", "attribute", "value")
    return max(
        (row for row in rows if all(row[name] == getattr(said, name) for name in facts)),
        key=lambda row: (row["cell_id"] == old["superseded_by"], row["recorded_at"], row["cell_id"]),
        default=None,
    )


def _said_so(request: CorrectRequest, old: Row, after: Row) -> Done | None:
    """The result of the same correction, where it was made before: whoever got no answer says it again.

    None where it says more than that: a person's yes, or another reason.
    """
    until = old["valid_until"]
    is_changed = until is not None and until > old["valid_from"]
    reason: CorrectionReason = "changed" if is_changed else "wrong"
    is_same = request.since is None and request.reason in (None, reason)
    if request.origin == "user" and not (is_a_persons(after) and is_same):
        return None
    return Done(
        cell_id=after["cell_id"],
        content=after["content"],
        reason=reason,
        since=until if is_changed else None,
        notes=["this was corrected so already; nothing was changed"],
    )


def _said_as_it_is(work: Workspace, request: CorrectRequest, old: Row, *, note: str) -> Done:
    """A correction with the memory's own text: a person's yes to it.

    Raises:
        InputError: it is an assistant's.
    """
    if request.origin != "user":
        raise InputError(f"memory {old['cell_id']} says exactly that already: confirm it instead")
    if request.dry_run:
        return Done(cell_id=old["cell_id"], content=old["content"], notes=[UNCHANGED])
    return confirmed_by_a_person(work, old, note=note, notes=["it says exactly that, and is confirmed now"])


def _says(text: str, part: str | None) -> bool:
    return part is not None and normalize_text(part) in normalize_text(text)
