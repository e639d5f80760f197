"""Episodes among the answers. They tell of the same things as the cells that they were made from.

Where a question asks when, or for anything, the best episodes take the place of as many topic summaries; cells and
raw turns are found as if there were none, so that no episode takes the place of what it tells of. A filter by
the type `episode` gives them as cells.
"""

from datetime import datetime

from slowwave.decay.retention import days_ago
from slowwave.schemas.episode_type import EPISODE
from slowwave.schemas.search import CellHit, Filters, Intent
from slowwave.settings.groups import EpisodeSettings
from slowwave.settings.tree import Settings
from slowwave.store import Expr, RowsQuery, TextQuery, col, lit

INTENTS: tuple[Intent, ...] = ("when", "general")
"""Questions that a whole conversation can answer."""

EPISODE_LIST = "episode"
"""The list that finds them."""

_IS_EPISODE = col("cell_type") == lit(EPISODE)


def are_asked_for(filters: Filters) -> bool:
    """Whether episodes are wanted as cells, by their type."""
    return EPISODE in filters.cell_types


def without_episodes(where: Expr, filters: Filters) -> Expr:
    """The condition, without episodes unless they are asked for."""
    return where if are_asked_for(filters) else where & (col("cell_type") != lit(EPISODE))


def episode_queries(
    words: str, where: Expr, filters: Filters, intent: Intent, settings: Settings, *, columns: tuple[str, ...]
) -> dict[str, TextQuery]:
    """The list of episodes by full text; none for other questions, and none where cells of some type are wanted.

    None for the past either: an episode is told anew when a memory of it is superseded, and then tells what came later.
    """
    most = settings.search.episodes
    if intent not in INTENTS or not _can_be_told(filters, settings):
        return {}
    return {EPISODE_LIST: TextQuery("cells", words, most, where & _IS_EPISODE, columns=columns)}


def episodes_of(
    where: Expr, filters: Filters, settings: Settings, *, columns: tuple[str, ...]
) -> dict[str, RowsQuery]:
    """The list of all episodes that a condition holds for, where `episode_queries` has any."""
    if not _can_be_told(filters, settings):
        return {}
    return {EPISODE_LIST: RowsQuery("cells", ("cell_id", *columns), where & _IS_EPISODE)}


def _can_be_told(filters: Filters, settings: Settings) -> bool:
    return not filters.cell_types and not filters.is_historical and settings.search.episodes > 0


def shown_by_age(cells: list[CellHit], settings: EpisodeSettings, *, now: datetime) -> list[CellHit]:
    """The hits with what stands for each now in `text`: of an episode the form of its age, else the content."""

    def text(cell: CellHit) -> str:
        if cell.cell_type != EPISODE:
            return cell.content
        return told_by_age(
            cell.content, cell.summary, cell.compressed, cell.event_time, now=now, settings=settings
        )

    return [cell.model_copy(update={"text": text(cell)}) for cell in cells]


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
