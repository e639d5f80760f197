"""`remember`: a person says something, and it is kept word by word."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

import polars as pl

from slowwave.edits.session import apply_committed, embed, open_or_make, owner_of
from slowwave.errors import BusyError, ConfigError, InputError, TransientError
from slowwave.home.lock import APPLYING, is_held_here, writing
from slowwave.home.paths import Home
from slowwave.journal.catalogue import encode
from slowwave.language.text import numbers
from slowwave.readers.statements import REMEMBERED, Statement, cell_id_of, read_statement, said_rows
from slowwave.schemas.choices import CellType
from slowwave.schemas.identity import content_hash
from slowwave.search import Reader
from slowwave.store import Store, col, lit, owned_by

WAITS = "recorded; {} writes the store just now, and the next writer takes this memory in"


@dataclass(frozen=True)
class Remembered:
    """What became of a `remember`: it is in the journal, and survives a kill.

    `is_searchable` is False while someone else writes the store; the next writer, at the latest the next night,
    takes it in. `notes` say so, and how many secrets were redacted.
    """

    cell_id: str
    is_searchable: bool
    notes: tuple[str, ...] = ()


def remember(
    reader: Reader,
    text: str,
    *,
    cell_type: CellType,
    subject: str | None,
    attribute: str | None,
    value: str | None,
    entities: Iterable[str],
    salience: float,
    now: datetime,
) -> Remembered:
    """Records the word of a person, as `Memory.remember` says."""
    if cell_type not in get_args(CellType):
        known = ", ".join(get_args(CellType))
        raise InputError(f"there is no cell type {cell_type[:40]!r}: choose one of {known}")
    if not 0 <= salience <= 1:
        raise InputError(f"salience {salience} is not possible: choose 0 to 1")
    said = read_statement(text, subject=subject, attribute=attribute, value=value, entities=entities)
    home, digest, store = reader.home, content_hash(said.content), reader.current()
    if store is not None:
        refuse_deleted(home, store, digest)
    session_id, is_known = session_of(home, store, digest, now)
    cell_id = cell_id_of(owner_of(home), session_id, digest)
    if is_known:
        return Remembered(cell_id, True, ("this was remembered today already; nothing was added",))
    plan = said_plan(
        home, said, session_id=session_id, cell_type=cell_type, salience=float(salience), now=now
    )
    home.journal.commit(pl.concat([encode(kind, rows) for kind, rows in plan.items()]), now=now)
    is_searchable, waits = _apply(reader)
    return Remembered(cell_id, is_searchable, (*redacted(said), *([waits] if waits else [])))


def said_plan(
    home: Home, said: Statement, *, session_id: str, cell_type: CellType, salience: float, now: datetime
) -> dict[str, pl.DataFrame]:
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
    return said_rows(
        said,
        owner=owner_of(home),
        session_id=session_id,
        moment=now,
        cell_type=cell_type,
        salience=salience,
        decay_rate=decay.rates.get(cell_type, decay.default_rate),
    )


def redacted(said: Statement) -> list[str]:
    """What was taken out of a statement, in words."""
    return [f"{count} {kind} redacted" for kind, count in sorted(said.redacted.items())]


def refuse_deleted(home: Home, store: Store, digest: str) -> None:
    """A text that a person deleted is not taken in again.

    Raises:
        InputError: it was deleted.
    """
    owner = home.settings.owner
    mine = owned_by(owner.user_id, owner.project_id) & (col("scope") == lit(owner.scope))
    if store.rows("tombstones", ["cell_id"], mine & (col("content_hash") == lit(digest))).height:
        raise InputError(
            "a person deleted this memory, and what is deleted stays out: say what holds instead"
        )


def session_of(home: Home, store: Store | None, digest: str, moment: datetime) -> tuple[str, bool]:
    """The session of a text said now, and whether it is remembered there already.

    What is said on one day is one session; what is said again after it was retired that day has its own.
    """
    day = f"{REMEMBERED}-{moment:%Y-%m-%d}"
    if store is None:
        return day, False
    known = store.by_key("cells", [cell_id_of(owner_of(home), day, digest)], ["cell_id", "status"])
    if known.is_empty():
        return day, False
    if known["status"][0] == "active":
        return day, True
    return f"{REMEMBERED}-{moment:%Y-%m-%dT%H:%M:%S.%f}", False


def _apply(reader: Reader) -> tuple[bool, str]:
    """Takes what is committed into the store, with vectors; returns whether it is there, else what to say."""
    home = reader.home
    try:
        with APPLYING:
            if is_held_here(home):
                return False, WAITS.format("a run in this program")
            with writing(home, work="word"):
                if reader.current() is None:
                    open_or_make(home)
                store = reader.current()
                assert store is not None  # made above, under the lock
                apply_committed(home, store)
                return True, embed(store, reader.embedder)
    except BusyError:
        return False, WAITS.format("another process")
    except (TransientError, ConfigError) as error:
        return False, f"recorded; the next writer makes it searchable: {error}"
