"""The lists and frames of `Memory`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Unpack

import polars as pl

from slowwave.recall.conditions import scope_condition
from slowwave.recall.entity import ENTITY, entity_of
from slowwave.recall.lists import cells, frames
from slowwave.recall.lists.paging import Listed, read_page
from slowwave.recall.reader import Reader
from slowwave.schemas.choices import EPISODE, CellStatus
from slowwave.schemas.refusals import clean_text, moment_of, request_of
from slowwave.schemas.requests import CellsRequest, ProjectPageRequest
from slowwave.schemas.results import Cell, Entity, Entry, Page, Topic, columns_of
from slowwave.schemas.search import FilterWords
from slowwave.store import Expr, col, lit


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
    ) -> Page[Cell]:
        """A page of the memories that pass all filters (`CellsRequest`), newest first, whatever their status.

        `next_cursor` of a page is the `cursor` of the next one. What is written meanwhile shows no memory twice.

        Raises:
            InputError: a keyword or the cursor is not possible.
        """
        request = request_of(CellsRequest, {**locals(), **words})
        return self._noted(cells.cells(self._reader, request, now=moment_of(now)), request.project)

    def cell(self, cell_id: str, *, project: str | None = None, now: datetime | None = None) -> Cell:
        """One memory with its fields, its use, and the turns that it rests on: whose word it is in each.

        Raises:
            NotFoundError: no memory of this owner has that id.
            InputError: it is no id, or several begin so.
        """
        return cells.cell(self._reader.within(project), clean_text(cell_id), now=moment_of(now))

    def entities(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> Page[Entity]:
        """A page of the people and things that memories name, most mentioned first (`ProjectPageRequest`)."""
        return self._noted(entities(self._reader, request_of(ProjectPageRequest, locals())), project)

    def episodes(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> Page[Cell]:
        """A page of the conversations that were told, newest first (`ProjectPageRequest`)."""
        return self.cells(cell_types=(EPISODE,), project=project, limit=limit, cursor=cursor)

    def topics(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> Page[Topic]:
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


def _page(
    reader: Reader, request: ProjectPageRequest, table: str, by: str, where: Expr, columns: tuple[str, ...]
) -> Listed:
    """A page of a table that the asker may see, highest `by` first; an empty one where there is no store yet."""
    store = reader.current()
    if store is None:
        return Listed([], "", 0)
    mine = scope_condition(reader.within(request.project).settings.owner)
    return read_page(store, table, request, by=by, where=mine & where, columns=columns)


def entities(reader: Reader, request: ProjectPageRequest) -> Page[Entity]:
    """A page of people and things that memories name, most mentioned first."""
    named = col("mention_count") > lit(0)
    page = _page(reader, request, "entities", "mention_count", named, ENTITY)
    rows = [entity_of(row) for row in page.rows]
    return Page[Entity](entries=rows, next_cursor=page.next_cursor, total=page.total)


def topics(reader: Reader, request: ProjectPageRequest) -> Page[Topic]:
    """A page of the topics, largest first."""
    columns = columns_of(Topic)
    page = _page(reader, request, "topics", "cell_count", col("merged_into").is_null(), columns)
    rows = [Topic(**{name: row[name] for name in columns}) for row in page.rows]
    return Page[Topic](entries=rows, next_cursor=page.next_cursor, total=page.total)
