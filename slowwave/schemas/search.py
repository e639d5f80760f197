"""What a search answers."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class Hit(BaseModel):
    """What every hit has: a score that only orders hits of one answer, and the lists that found it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    score: float = Field(
        ge=0, description="Fused rank score times the prior; comparable within one answer only."
    )
    text_rank: int | None = Field(
        default=None, ge=1, description="Place in the full-text list; null if not there."
    )
    vector_rank: int | None = Field(
        default=None, ge=1, description="Place in the vector list; null if not there."
    )


class TopicHit(Hit):
    """A topic whose summary answers."""

    topic_id: str
    name: str
    summary: str
    updated_at: datetime
    cell_count: int


class CellHit(Hit):
    """A memory that answers."""

    cell_id: str
    cell_type: str
    content: str
    summary: str | None = Field(
        description='The timeline, where there is one: "now X; previously Y (until ...)".'
    )
    salience: float
    event_time: datetime
    source_name: str
    topic_name: str | None
    confirmations: int
    has_open_contradiction: bool


class SearchResult(BaseModel):
    """Both tiers, best first. `notes` say what the reader should know: no memory yet, full text only."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: str
    notes: list[str]
    topics: list[TopicHit]
    cells: list[CellHit]
