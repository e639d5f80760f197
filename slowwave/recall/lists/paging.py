"""One page of a table in a fixed order, and the cursor that says where the next one begins.

The cursor holds the place of the last entry that was shown, and the next page begins behind that place: what is written
meanwhile makes no entry come twice. A page reads its own rows and no more, however long the list is.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from slowwave.errors import InputError
from slowwave.schemas.refusals import clean_text
from slowwave.schemas.requests import PageRequest
from slowwave.schemas.tables import KEYS, TIMESTAMP, frame_schema
from slowwave.store import Expr, FirstQuery, Row, Store, col, lit

_CURSOR = re.compile(r"(?P<table>[a-z_]+)\.(?P<number>-?[0-9]{1,16})\.(?P<key>.+)", re.DOTALL)
"""A cursor: the list, the value by which it is ordered (of a time its microseconds), and the key."""

EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


@dataclass(frozen=True)
class Listed:
    """One page of rows, the cursor of the next one (empty on the last), and the number of rows on all pages."""

    rows: list[Row]
    next_cursor: str
    total: int


Place = tuple[datetime | int, str]
"""The value and the key of an entry: the next page begins behind it."""

WRONG = "the cursor is not one of this list: begin with the first page, without a cursor"


def read_page(
    store: Store, table: str, request: PageRequest, *, by: str, where: Expr, columns: tuple[str, ...]
) -> Listed:
    """The page of a table that a request asks for: highest `by` (a time or a count) first, ties by key.

    Raises:
        InputError: the cursor is not one of this list.
    """
    key, place = KEYS[table], place_in(table, by, request.cursor)
    rest = where
    if place is not None:
        value, last = lit(place[0]), lit(place[1])
        rest &= (col(by) < value) | ((col(by) == value) & (col(key) > last))
    query = FirstQuery(table, by, request.limit + 1, rest, tuple(dict.fromkeys((key, by, *columns))))
    (rows,) = store.find([query])
    shown = rows[: request.limit]
    has_more = len(rows) > len(shown)
    next_cursor = cursor_of(table, shown[-1][by], shown[-1][key]) if has_more else ""
    total = len(shown) if place is None and not has_more else store.count(table, where)
    return Listed(shown, next_cursor, total)


def cursor_of(table: str, value: datetime | int, key: str) -> str:
    """The cursor behind an entry."""
    number = (value - EPOCH) // MICROSECOND if isinstance(value, datetime) else value
    return f"{table}.{number}.{key}"


def place_in(table: str, by: str, cursor: str) -> Place | None:
    """The place that a cursor names; None for the empty one.

    Raises:
        InputError: it is not a cursor of this table.
    """
    if not cursor:
        return None
    found = _CURSOR.fullmatch(clean_text(cursor))
    if found is None or found["table"] != table:
        raise InputError(WRONG)
    number = int(found["number"])
    is_time = frame_schema(table)[by] == TIMESTAMP
    return EPOCH + number * MICROSECOND if is_time else number, found["key"]
