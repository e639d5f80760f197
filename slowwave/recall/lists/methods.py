"""The lists and frames of `Memory`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Unpack

import polars as pl

from slowwave.errors import InputError
from slowwave.recall.conditions import scope_condition
from slowwave.recall.lists import cells, frames
from slowwave.recall.lists.paging import read_page
from slowwave.recall.reader import Reader
from slowwave.schemas.choices import EPISODE, CellStatus
from slowwave.schemas.lists import CellDetail, CellRow, EntityRow, Entry, EpisodeRow, Page
from slowwave.schemas.refusals import clean_text, moment_of, request_of
from slowwave.schemas.requests import ArchivedRequest, CellsRequest, ProjectPageRequest
from slowwave.schemas.results import ForgottenCell, TopicSummary
from slowwave.schemas.search import FilterWords
from slowwave.store import Expr, SearchQuery, col, lit


class Lists:
    """The methods of `Memory` that list what there is, by the page or as a frame, and show one memory whole."""

    _reader: Reader

    def cells(
        self,
        *,
        status: CellStatus | None = None,
        limit: int = 50,
        cursor: str = "",
        now: datetime | None = None,
        **words: Unpack[FilterWords],
    ) -> Page[CellRow]:
        """A page of the memories that pass all filters (`CellsRequest`), newest first, whatever their status.

        `next_cursor` of a page is the `cursor` of the next one. What is written meanwhile shows no memory twice.

        Raises:
            InputError: a keyword or the cursor is not possible.
        """
        request = request_of(CellsRequest, {**locals(), **words})
        return self._noted(cells.cells(self._reader, request, now=moment_of(now)), request.project)

    def cell(self, cell_id: str, *, project: str | None = None, now: datetime | None = None) -> CellDetail:
        """One memory with its fields, its use, and the turns that it rests on: whose word it is in each.

        Raises:
            NotFoundError: no memory of this owner has that id.
            InputError: it is no id, or several begin so.
        """
        return cells.cell(self._reader.within(project), clean_text(cell_id), now=moment_of(now))

    def entities(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> Page[EntityRow]:
        """A page of the people and things that memories name, most mentioned first (`ProjectPageRequest`)."""
        return self._noted(entities(self._reader, request_of(ProjectPageRequest, locals())), project)

    def episodes(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> Page[EpisodeRow]:
        """A page of the conversations that were told, newest first (`ProjectPageRequest`)."""
        return self._noted(episodes(self._reader, request_of(ProjectPageRequest, locals())), project)

    def topics(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> Page[TopicSummary]:
        """A page of the topics, largest first, also of those without a summary yet (`ProjectPageRequest`)."""
        return self._noted(topics(self._reader, request_of(ProjectPageRequest, locals())), project)

    def frame(
        self,
        table: str,
        *,
        columns: Sequence[str] | None = None,
        where: pl.Expr | None = None,
        project: str | None = None,
    ) -> pl.DataFrame:
        """The rows of a table that you may see, typed as `docs/tables.md` lists it, in the order of their key.

        `where` is a Polars expression over the table's columns. It is computed on your rows alone, so that no condition
        reaches or measures anybody else's.

        Raises:
            InputError: no such table or column (the message names those there are), or `where` does not fit them.
            NotFoundError: there is no memory yet, or an older version made the store and nothing rebuilt it yet.
        """
        return frames.frame(self._reader.within(project), table, columns, where)

    def _noted(self, page: Page[Entry], project: str | None) -> Page[Entry]:
        return page.model_copy(update={"notes": self._reader.notes(project)})


ENTITY = ("entity_id", "canonical_name", "entity_type", "aliases", "summary", "mention_count", "project_id")
EPISODE_CELL = (
    "cell_id", "session_id", "content", "summary", "status", "source_name", "event_time", "project_id",
)  # fmt: skip
STATE = ("turn_count", "written_at")


def entities(reader: Reader, request: ProjectPageRequest) -> Page[EntityRow]:
    """A page of people and things that memories name, most mentioned first."""
    store = reader.current()
    if store is None:
        return Page[EntityRow](entries=[], total=0)
    where = _mine(reader, request) & (col("mention_count") > lit(0))
    page = read_page(store, "entities", request, by="mention_count", where=where, columns=ENTITY)
    told = [{**row, "name": row["canonical_name"], "aliases": row["aliases"] or []} for row in page.rows]
    rows = [EntityRow(**{name: row[name] for name in EntityRow.model_fields}) for row in told]
    return Page[EntityRow](entries=rows, next_cursor=page.next_cursor, total=page.total)


def episodes(reader: Reader, request: ProjectPageRequest) -> Page[EpisodeRow]:
    """A page of the conversations that were told, newest first."""
    store = reader.current()
    if store is None:
        return Page[EpisodeRow](entries=[], total=0)
    where = _mine(reader, request) & (col("cell_type") == lit(EPISODE))
    page = read_page(store, "cells", request, by="event_time", where=where, columns=EPISODE_CELL)
    states = store.by_key("episodes", [row["cell_id"] for row in page.rows], ["cell_id", *STATE])
    state_of = {row["cell_id"]: row for row in states.to_dicts()}
    none = dict.fromkeys(STATE)
    rows = [
        EpisodeRow(**{name: row[name] for name in EPISODE_CELL}, **{
            name: state_of.get(row["cell_id"], none)[name] for name in STATE
        })
        for row in page.rows
    ]  # fmt: skip
    return Page[EpisodeRow](entries=rows, next_cursor=page.next_cursor, total=page.total)


def topics(reader: Reader, request: ProjectPageRequest) -> Page[TopicSummary]:
    """A page of the topics, largest first."""
    store = reader.current()
    if store is None:
        return Page[TopicSummary](entries=[], total=0)
    where = _mine(reader, request) & col("merged_into").is_null()
    columns = tuple(TopicSummary.model_fields)
    page = read_page(store, "topics", request, by="cell_count", where=where, columns=columns)
    rows = [TopicSummary(**{name: row[name] for name in columns}) for row in page.rows]
    return Page[TopicSummary](entries=rows, next_cursor=page.next_cursor, total=page.total)


def _mine(reader: Reader, request: ProjectPageRequest) -> Expr:
    return scope_condition(reader.within(request.project).settings.owner)


COLUMNS = ("cell_id", "cell_type", "content", "subject", "attribute", "value")


def find_forgotten(reader: Reader, request: ArchivedRequest) -> list[ForgottenCell]:
    """Archived memories that the asking owner may see, by their words, best first; none where there is no store yet.

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
    (found,) = store.find([SearchQuery("cells", words, None, request.limit, where, COLUMNS[1:])])
    return [
        ForgottenCell(match_score=row["text_score"], **{name: row[name] for name in COLUMNS})
        for row in sorted(found, key=lambda row: (-row["text_score"], row["cell_id"]))
    ]
