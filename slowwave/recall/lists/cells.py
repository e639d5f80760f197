"""Lists of memories, and one memory with its use and the turns that it rests on."""

from collections.abc import Iterable
from datetime import datetime

from slowwave.errors import InputError
from slowwave.home.ids import whole_ids
from slowwave.lifecycle.retention import COUNTS, effective_confidence
from slowwave.recall.conditions import PAST, as_they_stood, held, said_condition, scope_condition
from slowwave.recall.lists.paging import EPOCH, Listed, cursor_of, place_in, read_page
from slowwave.recall.question import naming
from slowwave.recall.reader import Reader
from slowwave.recall.results import CELL, cell_of, evidence_of, named_cells
from slowwave.recall.search import filters_of
from slowwave.schemas.moments import latest_of
from slowwave.schemas.requests import ArchivedRequest, CellsRequest
from slowwave.schemas.results import Cell, Page, Rank, Use
from slowwave.schemas.search import Filters
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Expr, Row, RowsQuery, Store, col, lit
from slowwave.store.chains import side_by_side

NAMED_MOST = 100_000
"""Memories without a place in the graph yet that are looked at for a name: a list has all of them."""


def cells(reader: Reader, request: CellsRequest, *, now: datetime) -> Page[Cell]:
    """A page of memories, as `Memory.cells` says."""
    filters = filters_of(request, now=now)
    if filters.is_historical and request.status is not None:
        raise InputError(
            f"status {request.status} is of today, and a past moment is asked for: give one of the two"
        )
    reader, filters = reader.narrowed(filters)
    store = reader.current()
    if store is None:
        return Page[Cell](entries=[], total=0)
    where = said_condition(reader.settings.owner, filters)
    if request.status is not None:
        where &= col("status") == lit(request.status)
    if filters.entity is not None:
        where &= naming(store, reader.settings.owner, where, filters.entity, most=NAMED_MOST)
    if filters.is_historical:
        page = _page_of_the_past(store, where, filters, request)
    else:
        page = read_page(store, "cells", request, by="event_time", where=where, columns=CELL)
    entries = named_cells(store, page.rows)
    return Page[Cell](entries=entries, next_cursor=page.next_cursor, total=page.total)


def cell(reader: Reader, cell_id: str, *, now: datetime) -> Cell:
    """One memory, as `Memory.cell` says."""
    store = reader.require_store()
    (whole,) = whole_ids(store, [cell_id], owner=reader.settings.owner)
    return with_use(store, reader.settings.owner, store.by_key("cells", [whole]).row(0, named=True), now=now)


def with_use(store: Store, owner: ScopeSettings, row: Row, *, now: datetime) -> Cell:
    """A row of `cells`, also of a memory that left the store, with its use and the turns that it rests on."""
    (contradictions,) = store.find([side_by_side([row["cell_id"]])])
    return named_cells(
        store,
        [row],
        has_open_contradiction=any(one["status"] == "open" for one in contradictions),
        use=_use(store, row["cell_id"], now=now),
        **evidence_of(store, owner, row),
    )[0]


def _use(store: Store, cell_id: str, *, now: datetime) -> Use:
    """The use of a memory, with the uses that the next night counts."""
    usage = store.by_key("cell_usage", [cell_id])
    known = usage.row(0, named=True) if usage.height else {}
    waiting = (col("cell_id") == lit(cell_id)) & col("folded_at").is_null()
    fresh = store.rows("usage", ["usage_type"], waiting)["usage_type"].to_list()
    strength = store.by_key("cells", [cell_id]).join(usage, on="cell_id")
    left = strength.select(effective_confidence(now=now))
    core = store.by_key("core", [cell_id], ["cell_id", "line_rank"])
    return Use(
        effective_confidence=left.item() if left.height else None,
        confirmations=known.get("confirmations", 0),
        last_accessed=known.get("last_accessed"),
        core_rank=core["line_rank"][0] if core.height else None,
        **{name: known.get(name, 0) + fresh.count(kind) for name, kind in COUNTS.items()},
    )


def archived(reader: Reader, request: ArchivedRequest) -> list[Cell]:
    """Archived memories by their words, as `Memory.archived` says.

    Raises:
        InputError: the question is empty.
    """
    words = request.query.strip()
    if not words:
        raise InputError("the question is empty: say what to look for")
    store, owner = reader.current(), reader.settings.owner
    if store is None:
        return []
    where = scope_condition(owner) & (col("status") == lit("archived"))
    found = store.matching("cells", [words], request.limit, where=where)
    rows = found.join(store.by_key("cells", found["cell_id"], CELL), on="cell_id", maintain_order="left")
    return [cell_of(row, rank=Rank(score=row["match_score"])) for row in rows.iter_rows(named=True)]


def _page_of_the_past(store: Store, where: Expr, filters: Filters, request: CellsRequest) -> Listed:
    """The page among what held then: that no condition on rows can say, so all that was said by then is looked at."""
    columns = tuple(dict.fromkeys(("cell_id", "event_time", *PAST)))
    (said,) = store.find([RowsQuery("cells", columns, where)])
    later = followers(store, said)
    then = sorted(
        (row for row in said if held(row, later, filters)),
        key=lambda row: (EPOCH - row["event_time"], row["cell_id"]),
    )
    place = place_in("cells", "event_time", request.cursor)
    rest = [
        row for row in then if place is None or (row["event_time"], place[1]) < (place[0], row["cell_id"])
    ]
    shown = rest[: request.limit]
    rows = {
        row["cell_id"]: row for row in store.by_key("cells", [row["cell_id"] for row in shown]).to_dicts()
    }
    stood = [as_they_stood(rows[row["cell_id"]], later, filters) for row in shown]
    has_more = len(rest) > len(shown)
    last = cursor_of("cells", shown[-1]["event_time"], shown[-1]["cell_id"]) if has_more else ""
    return Listed(stood, last, len(then))


def followers(store: Store, cells: Iterable[Row]) -> dict[str, datetime]:
    """`event_time` of the memories that superseded some of these, by id; the latest possible one where unknown."""
    named = [row["superseded_by"] for row in cells if row["superseded_by"]]
    (found,) = store.find([RowsQuery("cells", ("cell_id", "event_time"), col("cell_id").isin(named))])
    return {row["cell_id"]: latest_of(row["event_time"]) for row in found}
