"""Episodes among the answers: they tell of the same things as the memories that they were made from.

So no episode takes the place of what it tells of; a filter by the type `episode` gives them as memories.
"""

from collections.abc import Iterable

from slowwave.schemas.choices import EPISODE
from slowwave.schemas.search import Filters
from slowwave.store import Expr, col, lit


def are_asked_for(filters: Filters) -> bool:
    """Return whether episodes are wanted as cells, by their type."""
    return EPISODE in filters.cell_types


def without_episodes(where: Expr, filters: Filters) -> Expr:
    """The condition, without episodes unless they are asked for."""
    return where if are_asked_for(filters) else where & (col("cell_type") != lit(EPISODE))


def adds_nothing(episode: str, memories: Iterable[str]) -> bool:
    """Return whether one of the memories of a conversation has each line of its episode: one of a few messages does."""
    lines = [line.strip() for line in episode.splitlines()]
    return any(all(line in memory for line in lines) for memory in memories)
