"""Episodes among the answers. They tell of the same things as the cells that they were made from.

Where a question asks when, or for anything, the best episodes take the place of as many topic summaries; cells and
raw turns are found as if there were none, so that no episode takes the place of what it tells of. Who filters by the
type `episode` gets them as cells.
"""

from datetime import datetime

from slowwave.schemas.search import CellHit, Filters, Intent
from slowwave.setting_groups import EpisodeSettings
from slowwave.settings import Settings
from slowwave.store import Expr, TextLeg, col, lit
from slowwave.transforms.episodes import EPISODE, told_by_age

INTENTS: tuple[Intent, ...] = ("when", "general")
"""Questions that a whole conversation can answer."""

EPISODE_LIST = "episode"
"""The list that finds them."""


def are_asked_for(filters: Filters) -> bool:
    """Whether episodes are wanted as cells, by their type."""
    return EPISODE in filters.cell_types


def without_episodes(where: Expr, filters: Filters) -> Expr:
    """The condition, without episodes unless they are asked for."""
    return where if are_asked_for(filters) else where & (col("cell_type") != lit(EPISODE))


def episode_legs(
    words: str, where: Expr, filters: Filters, intent: Intent, settings: Settings, *, columns: tuple[str, ...]
) -> dict[str, TextLeg]:
    """The list of episodes by full text; none for other questions, and none where cells of some type are wanted.

    None for the past either: an episode is told anew when a memory of it is superseded, and then tells what came later.
    """
    most = settings.search.episodes
    if intent not in INTENTS or filters.cell_types or filters.is_historical or most == 0:
        return {}
    only = where & (col("cell_type") == lit(EPISODE))
    return {EPISODE_LIST: TextLeg("cells", words, most, only, columns=columns)}


def shown_by_age(cells: list[CellHit], settings: EpisodeSettings, *, now: datetime) -> list[CellHit]:
    """The hits with what stands for each now in `text`: of an episode the form of its age, else the content."""
    return [
        cell.model_copy(
            update={
                "text": told_by_age(
                    cell.content, cell.summary, cell.compressed, cell.event_time, now=now, settings=settings
                )
                if cell.cell_type == EPISODE
                else cell.content
            }
        )
        for cell in cells
    ]
