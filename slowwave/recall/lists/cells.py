"""Lists of memories, and one memory with the turns that it rests on."""

from collections.abc import Iterable
from datetime import datetime

from slowwave.errors import InputError
from slowwave.home.ids import whole_ids
from slowwave.lifecycle.retention import effective_confidence
from slowwave.recall.conditions import PAST, as_they_stood, held, said_condition
from slowwave.recall.lists.paging import EPOCH, Listed, cursor_of, place_in, read_page
from slowwave.recall.lists.quotes import quotes_of
from slowwave.recall.question import naming
from slowwave.recall.reader import Reader
from slowwave.recall.search import filters_of
from slowwave.schemas.lists import CellDetail, CellRow, Page
from slowwave.schemas.moments import latest_of
from slowwave.schemas.requests import CellsRequest
from slowwave.schemas.search import Filters
from slowwave.store import Expr, Row, RowsQuery, Store, col, lit
from slowwave.store.chains import side_by_side

OTHERWISE_NAMED = {"turn_ids": "evidence", "topic_name": "topic_id"}
"""Fields of a memory in a list that a column of another name tells."""

COLUMNS = tuple(dict.fromkeys(OTHERWISE_NAMED.get(name, name) for name in CellRow.model_fields))
NAMED_MOST = 100_000
"""Memories without a place in the graph yet that are looked at for a name: a list has all of them."""

COUNTS = ("confirmations", "retrieval_count", "citation_count", "ignore_count")


def cells(reader: Reader, request: CellsRequest, *, now: datetime) -> Page[CellRow]:
    """A page of memories, as `Memory.cells` says."""
    filters = filters_of(request, now=now)
    if filters.is_historical and request.status is not None:
        raise InputError(
            f"status {request.status} is of today, and a past moment is asked for: give one of the two"
        )
    reader, filters = reader.narrowed(filters)
    store = reader.current()
    if store is None:
        return Page[CellRow](entries=[], total=0)
    where = said_condition(reader.settings.owner, filters)
    if request.status is not None:
        where &= col("status") == lit(request.status)
    if filters.entity is not None:
        where &= naming(store, reader.settings.owner, where, filters.entity, most=NAMED_MOST)
    if filters.is_historical:
        page = _page_of_the_past(store, where, filters, request)
    else:
        page = read_page(store, "cells", request, by="event_time", where=where, columns=COLUMNS)
    return Page[CellRow](entries=_told(store, page.rows), next_cursor=page.next_cursor, total=page.total)


def cell(reader: Reader, cell_id: str, *, now: datetime) -> CellDetail:
    """One memory, as `Memory.cell` says."""
    store = reader.require_store()
    (whole,) = whole_ids(store, [cell_id], owner=reader.settings.owner)
    row = store.by_key("cells", [whole]).row(0, named=True)
    usage = store.by_key("cell_usage", [whole])
    counts = usage.row(0, named=True) if usage.height else {}
    strength = store.by_key("cells", [whole]).join(usage, on="cell_id")
    left = strength.select(effective_confidence(now=now))
    core = store.by_key("core", [whole], ["cell_id", "line_rank"])
    contradictions = store.find([side_by_side([whole])])[0]
    evidence, missing = quotes_of(store, reader.settings.owner, row)
    return CellDetail(
        **_told(store, [row])[0].model_dump(),
        effective_confidence=left.item() if left.height else row["confidence"],
        **{name: counts.get(name, 0) for name in COUNTS},
        has_open_contradiction=any(one["status"] == "open" for one in contradictions),
        core_rank=core["line_rank"][0] if core.height else None,
        evidence=evidence,
        missing_turns=missing,
    )


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


def _told(store: Store, rows: list[Row]) -> list[CellRow]:
    """Rows of `cells` as a list shows them, with the names of their topics."""
    named = sorted({row["topic_id"] for row in rows if row["topic_id"] is not None})
    topics = store.by_key("topics", named, ["topic_id", "name"])
    names = dict(zip(topics["topic_id"], topics["name"], strict=True))
    told = [name for name in CellRow.model_fields if name not in OTHERWISE_NAMED]
    return [
        CellRow(
            **{name: row[name] for name in told},
            topic_name=names.get(row["topic_id"]),
            turn_ids=row["evidence"],
        )
        for row in rows
    ]
