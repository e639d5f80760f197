"""`remember`: a person states something, and it is kept verbatim."""

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from slowwave.errors import InputError
from slowwave.home.kept_out import digests
from slowwave.home.paths import Home
from slowwave.home.swept import keep_fresh
from slowwave.ingest.statements import Statement, cell_id_of, read_statement, statement_rows, turn_id_of
from slowwave.journal.catalogue import EventRows, encode_plan, rows_of
from slowwave.language.text import numbers
from slowwave.recall.reader import Reader
from slowwave.recording.folding import Folding, fold_committed, show_committed
from slowwave.schemas.choices import CellType, SaidBy
from slowwave.schemas.identity import content_hash
from slowwave.schemas.requests import RememberRequest
from slowwave.schemas.results import Done
from slowwave.schemas.tables import REMEMBERED
from slowwave.store import Store, col, lit, owned_in


@dataclass(frozen=True)
class Stated:
    """A statement on its way into the journal: the id of its memory, events by kind, and notes.

    `plan` is empty where the same text was remembered in that session already.
    """

    cell_id: str
    plan: EventRows
    notes: list[str]
    ends_deletion: bool = False


def remember(reader: Reader, request: RememberRequest, folding: Folding, *, now: datetime) -> Done:
    """Record a person's statement, as `Memory.remember` says."""
    said = read_statement(
        request.text,
        subject=request.subject,
        attribute=request.attribute,
        value=request.value,
        entities=request.entities,
    )
    home = reader.home
    stated = state(
        home,
        reader.current(),
        said,
        cell_type=request.cell_type,
        salience=request.salience,
        now=now,
        origin=request.origin,
    )
    if not stated.plan:
        note = "this was remembered today already; nothing was added"
        return Done(cell_id=stated.cell_id, notes=[note])
    keep_fresh(home, now=now)
    segment = home.journal.commit(encode_plan(stated.plan), now=now)
    assert segment is not None  # a statement is two events
    # what was deleted is shown only once its tombstone is gone
    is_shown_at_once = folding.has_time and not stated.ends_deletion
    is_found, waits = folding.show() if is_shown_at_once else (False, "")
    if not is_found:
        patience = home.settings.edits.lock_seconds
        folded, waits = fold_committed(reader, patience_seconds=patience, now=now)
        is_found = folded == "folded"
        if not is_found:
            folding.soon()
            is_found, no_vector = show_committed(reader)
            waits = no_vector if is_found else waits
            reader.wait_for(segment)
    notes = [*stated.notes, waits] if waits else stated.notes
    return Done(cell_id=stated.cell_id, is_searchable=is_found, notes=notes)


def state(
    home: Home,
    store: Store | None,
    said: Statement,
    *,
    cell_type: CellType,
    salience: float,
    now: datetime,
    origin: SaidBy,
) -> Stated:
    """Plan the turn and the memory of a statement; a person who says what was deleted ends the deletion.

    Raises:
        InputError: its value has a number that its text does not say (the value is what decides against others), or
            an assistant says what a person deleted or erased.
    """
    _refuse_unsaid_numbers(said)
    digest = content_hash(said.content)
    back = _tombstones(home, store, digest)
    if back.height and origin != "user":
        raise InputError(
            "a person deleted this memory, and what is deleted stays out: say what holds instead"
        )
    session_id, is_known = _session_of(home, store, digest, now, origin=origin)
    cell_id = cell_id_of(home.owner, session_id, digest)
    notes = [f"{count} {kind} redacted" for kind, count in sorted(said.redacted.items())]
    if is_known:
        return Stated(cell_id, {}, notes)
    if back.height:
        notes.append("this had been deleted, and is remembered again")
    decay = home.settings.decay
    rows = statement_rows(
        said,
        owner=home.owner,
        session_id=session_id,
        moment=now,
        cell_type=cell_type,
        salience=salience,
        decay_rate=decay.rates.get(cell_type, decay.default_rate),
        origin=origin,
    )
    return Stated(cell_id, rows | {"cell.readmitted": back}, notes, ends_deletion=back.height > 0)


def _refuse_unsaid_numbers(said: Statement) -> None:
    texts = pl.DataFrame({"text": [said.content, said.value or ""]})
    in_text, in_value = texts.select(numbers(pl.col("text"))).to_series()
    if unsaid := sorted(set(in_value) - set(in_text)):
        raise InputError(
            f"the text does not say {', '.join(unsaid)} of the value {said.value!r}: mend one of them"
        )


def _tombstones(home: Home, store: Store | None, digest: str) -> pl.DataFrame:
    """Tombstones of a text, deleted or erased, as rows of `cell.readmitted`."""
    if store is None:
        return rows_of("cell.readmitted", [])
    owner = home.settings.owner
    mine = owned_in(owner, owner.project_id) & (col("scope") == lit(owner.scope))
    same = col("content_hash").isin([digest, *digests(home.root, [digest])])
    return store.rows("tombstones", ["cell_id"], mine & same).sort("cell_id")


def _session_of(
    home: Home, store: Store | None, digest: str, moment: datetime, *, origin: SaidBy
) -> tuple[str, bool]:
    """The session of a text said now, and whether it is remembered there already.

    The statements of a day form one session; one repeated after it was retired that day, or its turn erased, has its
    own. Assistants have sessions of their own, so that a person may still say the same that day.
    """
    kind = REMEMBERED if origin == "user" else f"{REMEMBERED}-{origin}"
    day = f"{kind}-{moment:%Y-%m-%d}"
    if store is None:
        return day, False
    known = store.by_key("cells", [cell_id_of(home.owner, day, digest)], ["cell_id", "status"])
    erased_ids = digests(home.root, [turn_id_of(home.owner, day, digest)])
    erased = store.by_key("erasures", erased_ids, ["turn_id"])
    if known.is_empty() and erased.is_empty():
        return day, False
    if known.height and known["status"][0] == "active":
        return day, True
    return f"{kind}-{moment:%Y-%m-%dT%H:%M:%S.%f}", False
