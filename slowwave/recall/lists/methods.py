"""The lists of `Memory`."""

from datetime import datetime
from typing import TypeVar, Unpack

from slowwave.recall.lists import cells, others
from slowwave.recall.reader import Reader
from slowwave.schemas.choices import CellStatus
from slowwave.schemas.lists import CellDetail, CellPage, EntitiesPage, EpisodePage, Page, TopicPage
from slowwave.schemas.refusals import clean_text, moment_of, request_of
from slowwave.schemas.requests import CellsRequest, ProjectPageRequest
from slowwave.schemas.search import FilterWords

AnyPage = TypeVar("AnyPage", bound=Page)


class Lists:
    """The methods of `Memory` that list what there is, a page at a time, and show one memory whole."""

    _reader: Reader

    def cells(
        self,
        *,
        status: CellStatus | None = None,
        limit: int = 50,
        cursor: str = "",
        now: datetime | None = None,
        **words: Unpack[FilterWords],
    ) -> CellPage:
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

    def entities(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> EntitiesPage:
        """A page of the people and things that memories name, most mentioned first (`ProjectPageRequest`)."""
        return self._noted(others.entities(self._reader, request_of(ProjectPageRequest, locals())), project)

    def episodes(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> EpisodePage:
        """A page of the conversations that were told, newest first (`ProjectPageRequest`)."""
        return self._noted(others.episodes(self._reader, request_of(ProjectPageRequest, locals())), project)

    def topics(self, *, project: str | None = None, limit: int = 50, cursor: str = "") -> TopicPage:
        """A page of the topics, largest first, also of those without a summary yet (`ProjectPageRequest`)."""
        return self._noted(others.topics(self._reader, request_of(ProjectPageRequest, locals())), project)

    def _noted(self, page: AnyPage, project: str | None) -> AnyPage:
        return page.model_copy(update={"notes": self._reader.notes(project)})
