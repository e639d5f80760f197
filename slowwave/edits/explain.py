"""`explain`: the quotes, judgements and events that made a memory."""

from datetime import datetime
from typing import Any, Literal, cast

import polars as pl

from slowwave.edits.resolve import disputes
from slowwave.errors import NotFoundError
from slowwave.home.ids import whole_ids
from slowwave.journal.catalogue import CATALOGUE, decode
from slowwave.journal.derivations import in_force, last_switch
from slowwave.journal.lookup import journaled, mentioning
from slowwave.journal.segments import Journal
from slowwave.lifecycle.values import former_values
from slowwave.recall.lists.cells import with_use
from slowwave.recall.reader import NO_MEMORY, Reader
from slowwave.recall.results import CELL, cell_of
from slowwave.schemas.choices import EPISODE, WHOSE
from slowwave.schemas.moments import day_of
from slowwave.schemas.results import Cell, Dispute, Judged, Life, LifeEvent
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.store import Row, Store, as_filter, col, lit, owned_by
from slowwave.store.chains import read_chains
from slowwave.trust.origins import PERSON

MOST_LINKS = 100


def explain(reader: Reader, cell_id: str, *, now: datetime) -> Cell:
    """Everything known of one memory, as `Memory.explain` says."""
    store = reader.require_store(NO_MEMORY)
    journal = reader.home.journal
    (whole,) = whole_ids(
        store,
        [cell_id],
        owner=reader.settings.owner,
        tables=["cells", "tombstones"],
        elsewhere=lambda begins: _pruned(reader, begins),
    )
    events = mentioning(journal, [whole])
    told, made = _events(events, whole)
    stored = store.by_key("cells", [whole])
    if stored.is_empty() and made is None:
        raise NotFoundError(
            f"memory {whole} told a conversation, and a person deleted it: erase the conversation to take its text"
        )
    row = stored.row(0, named=True) if stored.height else (made or {})
    is_dead = store.by_key("tombstones", [whole], ["cell_id"]).height > 0
    state = str(row["status"]) if stored.height else "deleted" if is_dead else _left(journal, events)
    cell = with_use(store, reader.settings.owner, row, now=now)
    life = Life(
        state=state,
        chunk_id=row["chunk_id"],
        model=row["model"],
        core_reason=_core_reason(cell, is_there=stored.height > 0),
        before=_chain(store, whole, way="before"),
        after=_chain(store, whole, way="after"),
        judgements=_judgements(store, whole),
        contradictions=_disputes(reader, whole),
        events=told,
        notes=[f"it is {state}: this is what the journal keeps of it"] if stored.is_empty() else [],
    )
    return cell.model_copy(update={"life": life, "summary": _timeline(store, row)})


def _left(journal: Journal, events: pl.DataFrame) -> str:
    """The state of a memory that left the store, from its events: pruned, or replaced by another derivation."""
    switch = last_switch(journal, journal.segment_ids())
    made = in_force(events, switch).filter(pl.col("kind").is_in(["cell.extracted", "episode.written"]))
    return "pruned" if made.height else "replaced by another derivation"


def _pruned(reader: Reader, begins: str) -> set[str]:
    """Memories of this owner that left the store and whose id begins so."""
    rows = journaled(reader.home.journal, [begins], "cell.extracted")
    return {
        *rows.filter(pl.col("cell_id").str.starts_with(begins) & as_filter(owned_by(reader.settings.owner)))[
            "cell_id"
        ]
    }


def _events(events: pl.DataFrame, cell_id: str) -> tuple[list[LifeEvent], dict[str, Any] | None]:
    """The events of a memory's life in their order, and the memory as it was extracted."""
    told: list[tuple[int, LifeEvent]] = []
    made: dict[str, Any] | None = None
    numbered = events.with_row_index("order").cast({"order": pl.Int64})
    for kind, entry in CATALOGUE.items():
        if entry.sentence is None:
            continue
        rows = decode(kind, numbered.filter(pl.col("kind") == kind)).filter(pl.col("cell_id") == cell_id)
        for row in rows.iter_rows(named=True):
            event = LifeEvent(at=row["event_recorded_at"], kind=kind, told=entry.sentence(row))
            told.append((row["order"], event))
            if kind == "cell.extracted":
                made = {**row, "recorded_at": row["event_recorded_at"]}
    return [event for _, event in sorted(told, key=lambda pair: pair[0])], made


def _core_reason(cell: Cell, *, is_there: bool) -> str:
    """The reason why core memory may hold a memory, or may not, by its origin and the turns behind it."""
    if not is_there or cell.status != "active":
        return "core memory holds only what is remembered now"
    if cell.cell_type == EPISODE:
        return "core memory holds single memories, and this retells a conversation"
    if cell.protected:
        return "core memory may hold it: a person confirmed it"
    if cell.origin != PERSON:
        by_persons = cell.evidence and all(turn.origin == PERSON for turn in cell.evidence)
        taken = ", and the turns of persons behind it only quote it, or do not say it" if by_persons else ""
        return f"core memory holds only what a person said; whose word this is: {WHOSE[cell.origin]}{taken}"
    if cell.prompt_version == RAW_PROMPT:
        return "core memory holds what a person said once a language model has read it: this is raw talk"
    return "core memory may hold it: a person said it"


def _chain(store: Store, cell_id: str, *, way: Literal["before", "after"]) -> list[Cell]:
    """The memories that one superseded, or that superseded it, step by step."""
    rows = read_chains(store, [cell_id], CELL, way=way)
    others = rows.filter(pl.col("cell_id") != cell_id).head(MOST_LINKS)
    return [cell_of(row) for row in others.iter_rows(named=True)]


def _timeline(store: Store, row: Row) -> str | None:
    """The value of a memory and those before it, newest first; its own summary where there were none.

    What was corrected or said again is not among them.
    """
    rows = read_chains(store, [row["cell_id"]], CELL, way="before")
    former = former_values(rows.filter(pl.col("cell_id") != row["cell_id"]).to_dicts(), {}).get(
        row["cell_id"]
    )
    if not former:
        return cast("str | None", row["summary"])
    before = ", ".join(f"{_value(one)} (until {day_of(one['valid_until'])})" for one in former)
    return f"now {_value(row)}; previously {before}"


def _value(row: Row) -> str:
    return str(row["value"] or row["content"].rstrip("."))


def _judgements(store: Store, cell_id: str) -> list[Judged]:
    either = (col("cell_id") == lit(cell_id)) | (col("target_id") == lit(cell_id))
    rows = store.rows("judgements", where=either).sort("judged_at", "judgement_id")
    other = pl.when(pl.col("cell_id") == cell_id).then("target_id").otherwise("cell_id")
    told = rows.with_columns(other_id=other).select(list(Judged.model_fields))
    return [Judged(**row) for row in told.iter_rows(named=True)]


def _disputes(reader: Reader, cell_id: str) -> list[Dispute]:
    found = disputes(reader, has_resolved=True)
    return [one for one in found if cell_id in {side.cell_id for side in (one.a, one.b) if side is not None}]
