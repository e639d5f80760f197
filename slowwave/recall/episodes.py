"""Episodes among the answers. They tell of the same things as the cells that they were made from.

Where a question asks when, or for anything, the best episodes take the place of as many topic summaries; cells and
raw turns are found as if there were none, so that no episode takes the place of what it tells of. A filter by
the type `episode` gives them as cells.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from slowwave.decay.retention import days_ago
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.search import CellHit, Filters, Intent
from slowwave.settings.groups import EpisodeSettings
from slowwave.settings.tree import Settings
from slowwave.store import Expr, Query, RowsQuery, TextQuery, col, lit

INTENTS: tuple[Intent, ...] = ("when", "general")
"""Questions that a whole conversation can answer."""

EPISODE_LIST = "episode"


def are_asked_for(filters: Filters) -> bool:
    """Return whether episodes are wanted as cells, by their type."""
    return EPISODE in filters.cell_types


def without_episodes(where: Expr, filters: Filters) -> Expr:
    """The condition, without episodes unless they are asked for."""
    return where if are_asked_for(filters) else where & (col("cell_type") != lit(EPISODE))


def episode_list(
    where: Expr, filters: Filters, settings: Settings, *, words: str | None, columns: tuple[str, ...]
) -> dict[str, Query]:
    """The list of episodes that full text finds; without words, of all for which the condition holds.

    None where cells of some type are wanted. None for the past either: an episode is told anew when a memory of it is
    superseded, and then tells what came later.
    """
    most, where = settings.search.episodes, where & (col("cell_type") == lit(EPISODE))
    if filters.cell_types or filters.is_historical or most == 0:
        return {}
    if words is None:
        return {EPISODE_LIST: RowsQuery("cells", ("cell_id", *columns), where)}
    return {EPISODE_LIST: TextQuery("cells", words, most, where, columns=columns)}


def shown_by_age(cells: list[CellHit], settings: EpisodeSettings, *, now: datetime) -> list[CellHit]:
    """The hits with what stands for each now in `text`: of an episode the form of its age, else the content."""

    def text(cell: CellHit) -> str:
        if cell.cell_type != EPISODE:
            return cell.content
        forms = (cell.content, cell.summary, cell.compressed)
        return told_by_age(*forms, cell.event_time, now=now, settings=settings)

    return [cell.model_copy(update={"text": text(cell)}) for cell in cells]


def adds_nothing(episode: str, memories: Iterable[str]) -> bool:
    """Return whether one of the memories of a conversation has each line of its episode: one of a few messages does."""
    lines = [line.strip() for line in episode.splitlines()]
    return any(all(line in memory for line in lines) for memory in memories)


def without_echoes(episodes: Sequence[CellHit], cells: Sequence[CellHit]) -> list[CellHit]:
    """The episodes that tell more than a memory of the same conversation among these cells."""
    said: dict[str, list[str]] = {}
    for cell in cells:
        said.setdefault(cell.session_id, []).append(cell.content)
    return [hit for hit in episodes if not adds_nothing(hit.content, said.get(hit.session_id, ()))]


def told_by_age(
    content: str,
    summary: str | None,
    compressed: str | None,
    event_time: datetime,
    *,
    now: datetime,
    settings: EpisodeSettings,
) -> str:
    """The form of an episode at its age: its text, after `summary_days` its summary, after `compressed_days` one line.

    Where a form was never written, the next longer one is taken.
    """
    age_days = days_ago(event_time, now=now)
    if age_days >= settings.compressed_days and compressed:
        return compressed
    if age_days >= settings.summary_days and summary:
        return summary
    return content
