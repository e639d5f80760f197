"""The plan of an erase: written to `erase.json` before anything changes, and kept there until the proof is done."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from slowwave.erase.payloads import Erasure


class Place(BaseModel):
    """New place of a memory in its chain, as `cell.superseded` says it, or `cell.merged` without the last two."""

    model_config = ConfigDict(frozen=True)

    cell_id: str
    superseded_by: str
    superseded_at: datetime | None = None
    valid_until: datetime | None = None
    verdict: str | None = None


class ErasurePlan(BaseModel):
    """Ids and texts of everything that an erase removes or touches.

    `turns` and `cells` are payloads of the events that name them; `cells` may have left the store already.
    `lone_topic_ids` held nothing else, `topic_ids` lost some of their memories. `cut_ids` are memories whose timeline
    names erased ones, and chunks that hold more than erased turns. `waiting_chunk_ids` gave memories that rest on more
    than erased turns: they are extracted again. Episodes in `episode_ids` are written anew; entities in `entity_ids`,
    of `families`, are resolved anew. `superseded`, `merged`, `stranded` and `successors` are the `Bridges` of the
    chains. `texts` are masked and searched for; `short_count` texts are too short for that.
    """

    model_config = ConfigDict(frozen=True)

    turns: list[dict[str, Any]]
    cells: list[dict[str, Any]]
    chunk_ids: list[str]
    lone_topic_ids: list[str]
    topic_ids: list[str]
    cut_ids: list[str]
    waiting_chunk_ids: list[str]
    texts: list[str]
    short_count: int
    is_text: bool
    episode_ids: list[str] = []
    entity_ids: list[str] = []
    families: list[str] = []
    superseded: list[Place] = []
    merged: list[Place] = []
    stranded: list[str] = []
    successors: list[str] = []

    def erasure(self) -> Erasure:
        """The ids and texts by which the payloads of events change."""
        moved = [place.cell_id for place in (*self.superseded, *self.merged)]
        return Erasure(
            frozenset(row["turn_id"] for row in self.turns),
            frozenset(row["cell_id"] for row in self.cells),
            frozenset(self.chunk_ids),
            frozenset(self.lone_topic_ids),
            frozenset(self.cut_ids),
            tuple(self.texts),
            self.is_text,
            frozenset(self.episode_ids),
            frozenset(self.entity_ids),
            frozenset([*self.stranded, *moved]),
        )
