"""The state of a home: counts, waiting work, the last night, quarantine."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from slowwave.schemas.moments import Said
from slowwave.schemas.refusals import Frozen
from slowwave.schemas.report import Forgetting


class Stats(Frozen):
    """Counts of everything that a home holds of the owner that asks."""

    cells: int = 0
    by_status: dict[str, int] = Field(default_factory=dict)
    by_type: dict[str, int] = Field(default_factory=dict, description="Active memories.")
    by_origin: dict[str, int] = Field(default_factory=dict, description="Active memories.")
    by_age: dict[str, int] = Field(default_factory=dict, description="Active memories, by when it was said.")
    by_topic: dict[str, int] = Field(default_factory=dict, description="Active memories, the largest topics.")
    without_topic: int = 0
    protected: int = 0
    never_used: int = Field(default=0, description="Active memories that nobody retrieved or cited.")
    turns: int = 0
    topics: int = 0
    tombstones: int = 0
    erased_turns: int = 0
    open_contradictions: int = 0
    usage: dict[str, int] = Field(default_factory=dict, description="Uses counted in the store, by kind.")
    archived_events: int = Field(
        default=0, description="Times that a memory was archived, of the whole home."
    )
    revived_events: int = 0
    false_forgetting_rate: float | None = Field(
        default=None, description="Revived of archived; null at first."
    )
    journal_bytes: int = 0
    journal_segments: int = 0
    store_bytes: int = 0
    notes: list[str] = Field(default_factory=list)


class Pending(Frozen):
    """Work of the next runs, counted."""

    chunks: dict[str, int] = Field(default_factory=dict, description="Chunks by status.")
    segments: int = Field(default=0, description="Journal segments that the store does not hold yet.")
    unjudged_cells: int = 0
    unjudged_pairs: int = 0
    cells_to_review: int = 0
    judgements_in_quarantine: int = 0
    cells_without_topic: int = 0
    texts_without_vector: int = Field(default=0, description="0 where the store has no embedder.")
    open_contradictions: int = 0
    usage_not_folded: int = 0


class Night(Frozen):
    """The last night."""

    night_id: str
    started_at: datetime
    finished_at: datetime
    outcome: str
    has_llm: bool
    call_count: int
    token_count: int
    cost: float | None
    note: str | None


class Status(Frozen):
    """The state of one home. `rows` is by table; sizes are bytes on disk."""

    home: Path
    has_memory: bool
    embedder_id: str = Field(default="", description="Empty when the store holds no vectors.")
    pending: Pending = Pending()
    lost_segments: int = Field(
        default=0,
        description="Journal segments that are gone or cannot be read; `slowwave doctor` names them.",
    )
    last_night: Night | None = None
    forgetting: Forgetting = Forgetting()
    rows: dict[str, int] = Field(default_factory=dict)
    journal_bytes: int = 0
    store_bytes: int = 0
    cache_bytes: int = 0


class QuarantinedChunk(Frozen):
    """A chunk to extract, a conversation to tell or a memory to judge, and why it is in quarantine.

    `chunk_id` is the id of what waits, whatever it is: of a conversation that of its episode.
    """

    kind: Literal["chunk", "conversation", "memory"]
    chunk_id: str
    event_time: Said
    source_name: str
    attempts: int
    error: str | None
