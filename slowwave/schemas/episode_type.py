"""The cell type of an episode."""

from typing import Final

EPISODE: Final = "episode"
"""`cell_type` of what this file makes."""
