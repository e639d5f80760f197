"""`remember`: a person states something, and it is kept verbatim."""

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
from slowwave.recording.folding import Folding, fold_committed
from slowwave.schemas.choices import CellType, SaidBy
from slowwave.schemas.identity import content_hash
from slowwave.schemas.requests import RememberRequest
from slowwave.schemas.results import Remembered
from slowwave.schemas.tables import REMEMBERED
from slowwave.store import Store, col, lit, owned_in


def remember(reader: Reader, request: RememberRequest, folding: Folding, *, now: datetime) -> Remembered:
    """Record a person's statement, as `Memory.remember` says."""
    said = read_statement(
        request.text,
        subject=request.subject,
        attribute=request.attribute,
        value=request.value,
        entities=request.entities,
    )
    home, digest, store = reader.home, content_hash(said.content), reader.current()
    back = readmission(home, store, digest, origin=request.origin)
    session_id, is_known = session_of(home, store, digest, now, origin=request.origin)
    cell_id = cell_id_of(home.owner, session_id, digest)
    if is_known:
        note = "this was remembered today already; nothing was added"
        return Remembered(cell_id=cell_id, is_searchable=True, notes=(note,))
    plan = said_plan(
        home,
        said,
        session_id=session_id,
        cell_type=request.cell_type,
        salience=request.salience,
        now=now,
        origin=request.origin,
    )
    plan |= {"cell.readmitted": back}
    keep_fresh(home, now=now)
    segment = home.journal.commit(encode_plan(plan), now=now)
    assert segment is not None  # a statement is two events
    # what was deleted is shown only once its tombstone is gone
    is_found, waits = (
        folding.show(segment.segment_id) if folding.has_time and back.is_empty() else (False, "")
    )
    if not is_found:
        patience = home.settings.edits.lock_seconds
        folded, waits = fold_committed(reader, patience_seconds=patience, now=now)
        is_found = folded == "folded"
        if not is_found:
            reader.wait_for(segment.segment_id)
            folding.soon()
    notes = (*redacted(said), *remembered_again(back), *([waits] if waits else []))
    return Remembered(cell_id=cell_id, is_searchable=is_found, notes=notes)


def said_plan(
    home: Home,
    said: Statement,
    *,
    session_id: str,
    cell_type: CellType,
    salience: float,
    now: datetime,
    origin: SaidBy = "user",
) -> EventRows:
    """The turn and the memory of a statement, as rows by event kind.

    Raises:
        InputError: its value has a number that its text does not say; the value is what decides against others.
    """
    told = pl.DataFrame({"text": [said.content, said.value or ""]}).select(numbers=numbers(pl.col("text")))
    unsaid = sorted(set(told["numbers"][1]) - set(told["numbers"][0]))
    if unsaid:
        raise InputError(
            f"the text does not say {', '.join(unsaid)} of the value {said.value!r}: mend one of them"
        )
    decay = home.settings.decay
    return statement_rows(
        said,
        owner=home.owner,
        session_id=session_id,
        moment=now,
        cell_type=cell_type,
        salience=salience,
        decay_rate=decay.rates.get(cell_type, decay.default_rate),
        origin=origin,
    )


def redacted(said: Statement) -> list[str]:
    """Notes on what was redacted from a statement, one a kind."""
    return [f"{count} {kind} redacted" for kind, count in sorted(said.redacted.items())]


def readmission(home: Home, store: Store | None, digest: str, *, origin: SaidBy = "user") -> pl.DataFrame:
    """Rows of `cell.readmitted`: tombstones of a text that a person says again, which ends the deletion.

    Raises:
        InputError: an assistant says it, and it was deleted or erased.
    """
    nothing = rows_of("cell.readmitted", [])
    if store is None:
        return nothing
    owner = home.settings.owner
    mine = owned_in(owner, owner.project_id) & (col("scope") == lit(owner.scope))
    same = col("content_hash").isin([digest, *digests(home.root, [digest])])
    dead = store.rows("tombstones", nothing.columns, mine & same)
    if dead.height and origin != "user":
        raise InputError(
            "a person deleted this memory, and what is deleted stays out: say what holds instead"
        )
    return dead.sort("cell_id")


def remembered_again(back: pl.DataFrame) -> list[str]:
    """A note where a statement ended a deletion (rows of `cell.readmitted`)."""
    return ["this had been deleted, and is remembered again"] if back.height else []


def session_of(
    home: Home, store: Store | None, digest: str, moment: datetime, *, origin: SaidBy = "user"
) -> tuple[str, bool]:
    """The session of a text said now, and whether it is remembered there already.

    The statements of a day form one session; one repeated after it was retired that day, or its turn erased, has its
    own. What an
    assistant says stands in sessions of its own, so that a person may still say the same that day.
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
