"""Pages of lists that `Memory` returns, and one memory with everything that it rests on."""

from datetime import datetime
from typing import Generic, TypeVar

from pydantic import BaseModel, Field

from slowwave.schemas.choices import CellStatus, CellType, EntityType, Origin, SourceType
from slowwave.schemas.moments import Ended, Said
from slowwave.schemas.refusals import Frozen
from slowwave.schemas.results import Quote
from slowwave.schemas.search import Scope

Entry = TypeVar("Entry", bound=BaseModel)


class Page(Frozen, Generic[Entry]):
    """A page of a list. What is written meanwhile shows no entry twice."""

    entries: list[Entry]
    next_cursor: str = Field(default="", description="The cursor of the next page; empty on the last.")
    total: int = Field(ge=0, description="Entries that pass the filters now, on all pages.")
    notes: list[str] = Field(default_factory=list, description="What the reader should know.")


class CellRow(Frozen):
    """A memory with its fields, as a list shows it."""

    cell_id: str
    cell_type: CellType
    content: str
    summary: str | None
    compressed: str | None
    steps: list[str] = Field(description="Of a workflow: its steps in order.")
    template: str | None
    subject: str | None
    attribute: str | None
    value: str | None
    entities: list[str] = Field(description="The names of people and things in it, as they were said.")
    artifacts: list[str]
    status: CellStatus
    superseded_by: str | None
    needs_review: bool
    protected: bool
    salience: float
    confidence: float
    origin: Origin
    event_time: Said = Field(description="When it was last said.")
    valid_from: Said
    valid_until: Ended
    recorded_at: datetime
    session_id: str
    source_type: SourceType
    source_name: str
    user_id: str
    project_id: str
    scope: Scope
    topic_id: str | None
    topic_name: str | None
    turn_ids: list[str] = Field(description="The turns that it rests on.")


class CellDetail(CellRow):
    """One memory: its fields, the turns that it rests on and whose word it is there, and its use."""

    effective_confidence: float = Field(description="After fading and use.")
    confirmations: int
    retrieval_count: int
    citation_count: int
    ignore_count: int
    has_open_contradiction: bool
    core_rank: int | None = Field(description="Its line in core memory.")
    evidence: list[Quote]
    missing_turns: list[str] = Field(description="Turns that it rested on and that are no longer there.")


class EntityRow(Frozen):
    """A person or thing, as a list shows it."""

    entity_id: str
    name: str
    entity_type: EntityType | None
    aliases: list[str]
    summary: str | None
    mention_count: int
    project_id: str


class EpisodeRow(Frozen):
    """A conversation, as the memory tells it that was made of it."""

    cell_id: str
    session_id: str
    content: str
    summary: str | None
    status: CellStatus
    source_name: str
    event_time: Said = Field(description="When its last message was said.")
    turn_count: int | None
    written_at: datetime | None
    project_id: str
