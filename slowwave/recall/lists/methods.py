"""The lists and frames of `Memory`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Unpack

import polars as pl

from slowwave.recall.lists import cells, frames, others
from slowwave.recall.reader import Reader
from slowwave.schemas.choices import CellStatus
from slowwave.schemas.lists import CellDetail, CellRow, EntityRow, Entry, EpisodeRow, Page
from slowwave.schemas.refusals import clean_text, moment_of, request_of
from slowwave.schemas.requests import CellsRequest, ProjectPageRequest
from slowwave.schemas.results import TopicSummary
from slowwave.schemas.search import FilterWords


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
        return self._noted(others.entities(self._reader, request_of(ProjectPageRequest, locals())), project)

    def episodes(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> Page[EpisodeRow]:
        """A page of the conversations that were told, newest first (`ProjectPageRequest`)."""
        return self._noted(others.episodes(self._reader, request_of(ProjectPageRequest, locals())), project)

    def topics(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> Page[TopicSummary]:
        """A page of the topics, largest first, also of those without a summary yet (`ProjectPageRequest`)."""
        return self._noted(others.topics(self._reader, request_of(ProjectPageRequest, locals())), project)

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
