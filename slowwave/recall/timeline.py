"""Dated memories in order: of a person or thing, a subject, a topic or a conversation."""

from collections.abc import Iterable

import polars as pl

from slowwave.errors import InputError, NotFoundError
from slowwave.language.names import plain_name
from slowwave.recall.conditions import scope_condition
from slowwave.recall.graph import cells_naming, cells_saying
from slowwave.recall.reader import Reader
from slowwave.recall.results import CELL, cell_of
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.requests import TimelineRequest
from slowwave.schemas.results import Timeline
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Expr, Store, as_filter, col, lit

UNWORKED = (
    "`slowwave run nightly` makes them, and a search with `--detail evidence` finds what was said in it"
)


def timeline(reader: Reader, request: TimelineRequest) -> Timeline:
    """The newest `limit` dated memories of one thing, oldest first; superseded ones carry their end.

    One of `name` (a person, a thing or a subject), `topic` (its name or id) and `session` (an id, or a source's name).

    Raises:
        InputError: none or several of the three are given.
        NotFoundError: memory knows nothing of that name.
    """
    given = {kind: getattr(request, kind).strip() for kind in ("name", "topic", "session")}
    asked = [kind for kind, text in given.items() if text]
    if len(asked) != 1:
        raise InputError("say one thing: a name, a topic or a session")
    store = reader.require_store()
    owner, kind = reader.settings.owner, asked[0]
    cells = {"name": _of_name, "topic": _of_topic, "session": _of_session}[kind](store, owner, given[kind])
    if cells.is_empty():
        if kind == "session" and _has_turns(store, owner, given[kind]):
            raise NotFoundError(f"no memories were made of the session {given[kind]!r} yet: {UNWORKED}")
        raise NotFoundError(
            f"memory knows no {kind} {given[kind]!r}: `slowwave search` may find other words for it"
        )
    events = events_of(cells)
    most = request.limit
    notes = [f"the newest {most} of {len(events)}"] if len(events) > most else []
    told = [cell_of(row) for row in events.tail(most).iter_rows(named=True)]
    return Timeline(title=given[kind], events=told, notes=notes)


def events_of(cells: pl.DataFrame) -> pl.DataFrame:
    """The cells (columns of `cells`) that are events, oldest first.

    What was said twice stands once: a cell that was merged into another is no event of its own, nor is an episode that
    tells no more than a memory of its conversation. What was corrected never held, and is none either.
    """
    end = pl.col("valid_until")
    is_none = (pl.col("status") == "superseded") & (end.is_null() | (end <= pl.col("valid_from")))
    return _without_echoes(cells.filter(~is_none)).sort("valid_from", "event_time", "cell_id")


def _without_echoes(cells: pl.DataFrame) -> pl.DataFrame:
    """The cells without episodes that tell no more than one of the others of their conversation."""
    columns, is_episode = ("cell_id", "session_id", "content"), pl.col("cell_type") == EPISODE
    episodes, others = cells.filter(is_episode).select(columns), cells.filter(~is_episode).select(columns)
    said = others.group_by("session_id").agg(memories=pl.col("content"))
    beside = episodes.join(said, on="session_id", how="inner").select("cell_id", "content", "memories")
    echoes = [cell_id for cell_id, told, memories in beside.iter_rows() if _adds_nothing(told, memories)]
    return cells.filter(~pl.col("cell_id").is_in(echoes))


def _adds_nothing(episode: str, memories: Iterable[str]) -> bool:
    """Return whether one of the memories of a conversation has each line of its episode: one of a few messages does."""
    lines = [line.strip() for line in episode.splitlines()]
    return any(all(line in memory for line in lines) for memory in memories)


def told_cells(store: Store, owner: ScopeSettings, cell_ids: list[str]) -> pl.DataFrame:
    """The rows of these cells, as far as the asking owner may see them."""
    return store.by_key("cells", cell_ids, CELL).filter(as_filter(scope_condition(owner)))


def _of_name(store: Store, owner: ScopeSettings, name: str) -> pl.DataFrame:
    """Cells that name it; where no person or thing is called so, those of such a subject or attribute."""
    mine = scope_condition(owner)
    ids = sorted({*cells_naming(store, owner, name), *cells_saying(store, mine, name)})
    if not ids:
        about = store.rows("cells", ["cell_id", "subject", "attribute"], mine)
        said = pl.concat_str(pl.col("subject", "attribute").fill_null(""), separator=" ")
        wanted = plain_name(pl.lit(name))
        is_it = (" " + plain_name(said) + " ").str.contains(" " + wanted + " ", literal=True) & (wanted != "")
        ids = about.filter(is_it)["cell_id"].sort().to_list()
    return told_cells(store, owner, ids)


def _of_topic(store: Store, owner: ScopeSettings, name: str) -> pl.DataFrame:
    mine = scope_condition(owner)
    topics = store.rows("topics", ["topic_id", "name"], mine)
    wanted = name.lower()
    is_it = (pl.col("name").str.to_lowercase() == wanted) | (pl.col("topic_id") == wanted)
    ids = topics.filter(is_it)["topic_id"].to_list()
    return store.rows("cells", CELL, mine & col("topic_id").isin(ids or [""]))


def _of_session(store: Store, owner: ScopeSettings, session: str) -> pl.DataFrame:
    return store.rows("cells", CELL, scope_condition(owner) & _is_session(session))


def _has_turns(store: Store, owner: ScopeSettings, session: str) -> bool:
    return not store.rows("turns", ["turn_id"], scope_condition(owner) & _is_session(session)).is_empty()


def _is_session(session: str) -> Expr:
    return (col("session_id") == lit(session)) | (col("source_name") == lit(session))
