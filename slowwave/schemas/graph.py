"""What the graph answers: a person or thing, a timeline, a chain of causes."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from slowwave.schemas.choices import CellStatus, CellType, EntityType
from slowwave.schemas.search import FormerValue

Direction = Literal["back", "forward"]
"""`back` goes to causes and to what was there before, `forward` to effects and to what came after."""


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Fact(_Frozen):
    """A single-valued property of an entity as it holds now, with the values before."""

    cell_id: str
    attribute: str
    value: str
    content: str
    since: datetime
    has_open_contradiction: bool
    history: list[FormerValue] = Field(description="Newest first.")


class Neighbour(_Frozen):
    """An entity that memories name together with this one."""

    entity_id: str
    name: str
    entity_type: EntityType | None
    shared_count: int = Field(ge=1, description="Memories that name both.")


class TimelineEvent(_Frozen):
    """A memory at its date."""

    cell_id: str
    at: datetime = Field(description="From when it holds, or when it happened.")
    cell_type: CellType
    content: str
    status: CellStatus
    until: datetime | None = Field(description="Until when it held; null where it holds or nobody says.")
    superseded_by: str | None = Field(description="The memory that took its place.")
    session_id: str
    source_name: str


class EntityPage(_Frozen):
    """Who or what an entity is, and what memory holds of it."""

    entity_id: str
    name: str
    entity_type: EntityType | None
    aliases: list[str]
    summary: str | None = Field(description="Written by a model; null before.")
    needs_review: bool = Field(description="A memory behind the summary was superseded since.")
    mention_count: int
    first_at: datetime
    last_at: datetime
    facts: list[Fact] = Field(description="By attribute, where memories name it as their subject.")
    neighbours: list[Neighbour]
    lately: list[TimelineEvent] = Field(description="Live memories that name it, newest first.")


class EntityResult(_Frozen):
    """Entities that a name stands for; several where it is the name of several."""

    name: str
    entities: list[EntityPage]
    notes: list[str] = Field(default_factory=list)


class Timeline(_Frozen):
    """Dated memories in order, oldest first; superseded ones are marked."""

    title: str
    events: list[TimelineEvent]
    notes: list[str] = Field(default_factory=list)
