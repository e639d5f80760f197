"""Filters as conditions on rows. Each starts from the rows that the asking owner may see."""

from collections.abc import Mapping
from datetime import datetime

from slowwave.schemas.choices import EPISODE
from slowwave.schemas.moments import FIRST_KNOWN, UNKNOWN, unknown_until
from slowwave.schemas.search import Filters
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Expr, Row, col, lit, owned_by
from slowwave.store.scopes import asking_in

UNFILTERED = Filters()


def cell_condition(owner: ScopeSettings, filters: Filters = UNFILTERED) -> Expr:
    """Cells that may be found: live ones, or for a question about the past those that were said by then."""
    where = said_condition(owner, filters)
    return where if filters.is_historical else where & (col("status") == lit("active"))


def said_condition(owner: ScopeSettings, filters: Filters = UNFILTERED) -> Expr:
    """Cells of whatever status that pass the filters but the entity; of the past those that were said by then."""
    where = _said(owner, filters)
    if filters.cell_types:
        where &= col("cell_type").isin(list(filters.cell_types))
    if filters.as_of is not None:
        where &= _by("event_time", filters.as_of) & _by("valid_from", filters.as_of)
    if filters.known_at is not None:
        where &= col("recorded_at") <= lit(filters.known_at)
    return where


def turn_condition(owner: ScopeSettings, filters: Filters = UNFILTERED) -> Expr:
    """Turns and passages that may be found."""
    where = _said(owner, filters)
    return where if filters.as_of is None else where & _by("event_time", filters.as_of)


def recorded_condition(owner: ScopeSettings, filters: Filters) -> Expr:
    """Turns that may be found, and were recorded by `known_at`; passages do not say when."""
    where = turn_condition(owner, filters)
    return where if filters.known_at is None else where & (col("recorded_at") <= lit(filters.known_at))


PAST = ("cell_type", "status", "superseded_by", "superseded_at", "valid_from", "valid_until")
"""Columns that say how a cell stood at a moment."""


def held(cell: Row, survivors: Mapping[str, datetime], filters: Filters) -> bool:
    """Return whether a cell that was said by then held at that moment and was not known to be outdated.

    `survivors` has when the cells that superseded some were said: what was merged into another counts only before that
    other one was. Both clocks are asked: `as_of` when it held, `known_at` what had been revised.
    """
    is_superseded = cell["status"] == "superseded"
    known_at = filters.known_at
    if known_at is not None and is_superseded and not _is_after(cell["superseded_at"], known_at):
        return False
    if filters.as_of is None:
        return True
    if is_superseded and cell["valid_until"] is None:
        survivor = survivors.get(cell["superseded_by"])
        return survivor is not None and survivor > filters.as_of
    # an episode stays true after its end date
    return cell["cell_type"] == EPISODE or _is_after(_end(cell, survivors), filters.as_of)


def _end(cell: Row, survivors: Mapping[str, datetime]) -> datetime | None:
    """The end of a cell as believed: not before its follower was said, so that one of them holds.

    A value that never held, because it was corrected, ends where it began.
    """
    end: datetime | None = cell["valid_until"]
    follower = survivors.get(cell["superseded_by"])
    if end is None or follower is None or end <= cell["valid_from"]:
        return end
    return max(end, follower)


def as_they_stood(cell: Row, survivors: Mapping[str, datetime], filters: Filters) -> Row:
    """A cell with what came later taken back: what was superseded after the moment asked for was live then."""
    revised_at, end = cell["superseded_at"], _end(cell, survivors)
    if end is None and cell["status"] == "superseded":
        end = survivors.get(
            cell["superseded_by"]
        )  # it lives on in a later one, and was live until that was said
    revised = filters.known_at is not None and revised_at and revised_at > filters.known_at
    ended = filters.as_of is not None and end and end > filters.as_of
    if cell["status"] == "superseded" and (revised or ended):
        return {**cell, "status": "active", "superseded_by": None, "superseded_at": None, "valid_until": None}
    return cell


def _is_after(end: datetime | None, moment: datetime) -> bool:
    """Return whether something ended after a moment, or has no end."""
    return end is None or end > moment


def _said(owner: ScopeSettings, filters: Filters) -> Expr:
    where = scope_condition(owner, filters)
    if filters.source_type is not None:
        where &= col("source_type") == lit(filters.source_type)
    if filters.after is not None or filters.before is not None:
        where &= within(filters.after, filters.before)
    return where


def within(start: datetime | None, end: datetime | None, column: str = "event_time") -> Expr:
    """Rows of a time, of which one side may be open; what has no day is of none."""
    where = (col(column) >= lit(FIRST_KNOWN)) | (col(column) < lit(UNKNOWN))
    if start is not None:
        where &= col(column) >= lit(start)
    return where if end is None else where & (col(column) < lit(end))


def _by(column: str, moment: datetime) -> Expr:
    """Rows whose time is not after a moment, whenever it was where nobody knows it."""
    is_dated = (col(column) >= lit(FIRST_KNOWN)) & (col(column) <= lit(moment))
    return is_dated | (col(column) <= lit(unknown_until(moment)))


def scope_condition(owner: ScopeSettings, filters: Filters = UNFILTERED) -> Expr:
    """Rows of whatever state that the asking owner may see, in the scope and the project asked for."""
    where = owned_by(owner if filters.project is None else asking_in(owner, filters.project))
    if filters.scope is not None:
        where &= col("scope") == lit(filters.scope)
    return where


def are_asked_for(filters: Filters) -> bool:
    """Return whether episodes are wanted as cells, by their type."""
    return EPISODE in filters.cell_types
