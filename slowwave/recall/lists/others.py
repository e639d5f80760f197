"""Lists of people and things, of conversations and of topics."""

from slowwave.errors import InputError
from slowwave.recall.conditions import scope_condition
from slowwave.recall.lists.paging import read_page
from slowwave.recall.reader import Reader
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.lists import EntityRow, EpisodeRow, Page
from slowwave.schemas.requests import ArchivedRequest, ProjectPageRequest
from slowwave.schemas.results import ForgottenCell, TopicSummary
from slowwave.store import Expr, col, lit

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
    found = store.matching("cells", [words], request.limit, where=where)
    cells = store.by_key("cells", found["cell_id"], COLUMNS)
    hits = found.join(cells, on="cell_id", how="inner", maintain_order="left")
    return [ForgottenCell(**row) for row in hits.select(*COLUMNS, "match_score").iter_rows(named=True)]
