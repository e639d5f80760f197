"""Requests and answers of the read path: a search, an entity, a timeline."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Generic, Literal, TypedDict, TypeVar

from pydantic import AfterValidator, Field, model_validator

from slowwave.schemas.choices import CellStatus, CellType, EntityType, Origin, Relation, SourceType
from slowwave.schemas.moments import Ended, Said
from slowwave.schemas.refusals import CLEAN, Frozen, Request, Text, in_utc

DetailLevel = Literal["summary", "full", "evidence"]
Intent = Literal["why", "when", "who", "what", "general"]
Scope = Literal["user-private", "project-shared", "system"]
MAX_LIMIT = 25
MAX_QUERY_CHARACTERS = 100_000
"""Longest question: beyond it something else was passed by mistake."""


Moment = Annotated[datetime, AfterValidator(in_utc)]
Direction = Literal["back", "forward"]
"""`back` goes to causes and to what was there before, `forward` to effects and to what came after."""

Query = Annotated[str, Field(max_length=MAX_QUERY_CHARACTERS), CLEAN]
Time = TypeVar("Time")


FROM_WITHIN = (
    "Only what is of this project (its id, the beginning of that, or the path of a folder in it) or of the home's own "
    "(default: what is yours in all of them)."
)


class Narrowing(Request, Generic[Time]):
    """Filters of a search. None shows another user's private memories, or those of a project that is not asked for."""

    cell_types: tuple[CellType, ...] = Field(default=(), description="Only this type of memory.")
    source_type: SourceType | None = Field(default=None, description="Only from this kind of source.")
    entity: Text | None = Field(default=None, description="Only memories that name this person or thing.")
    after: Time | None = Field(
        default=None, description="Only from this time on: 2026-05-01, 2026-05, last_week, 3_days_ago."
    )
    before: Time | None = Field(default=None, description="Only from before this time.")
    as_of: Time | None = Field(
        default=None, description="What was true at the end of this time; nothing said later is shown."
    )
    known_at: Time | None = Field(
        default=None, description="What Slowwave had recorded by the end of this time."
    )
    scope: Scope | None = Field(default=None, description="Only memories of this scope.")
    project: Text | None = Field(default=None, description=FROM_WITHIN)


When = datetime | str
"""A moment, or the words for one ("2026-05-01", "last_week"); without a zone it is UTC."""


class SearchRequest(Narrowing[When]):
    """A question with what its answers must be. A time may be words, such as `last_week`."""

    query: Query = Field(description="A question, or a few words.")
    limit: int | None = Field(
        default=None,
        ge=1,
        le=MAX_LIMIT,
        description="The most summaries and memories to show together (default: the setting search.limit).",
    )
    detail_level: DetailLevel = Field(
        default="full",
        description="summary: topic summaries only; full: memories too; evidence: also the turns behind them.",
    )
    conversation_id: Text = Field(default="", description="The conversation in which the answer is used.")


class Filters(Narrowing[Moment]):
    """Filters of a search, with times as moments."""

    @property
    def is_narrow(self) -> bool:
        """Return whether only some of the memories are wanted that the asking owner may see."""
        return bool(self.narrowed_by)

    @property
    def narrowed_by(self) -> list[str]:
        """The filters that are set, by their options on the command line; not owner, scope and past state."""
        wanted = {
            "type": self.cell_types or None,
            "source": self.source_type,
            "entity": self.entity,
            "after": self.after,
            "before": self.before,
        }
        return [name for name, part in wanted.items() if part is not None]

    @model_validator(mode="after")
    def _has_a_time(self) -> "Filters":
        if self.after is not None and self.before is not None and self.after >= self.before:
            raise ValueError(
                f"after {self.after:%Y-%m-%d %H:%M} and before {self.before:%Y-%m-%d %H:%M} leave no time"
            )
        return self

    @property
    def is_historical(self) -> bool:
        """Return whether a past state is asked for."""
        return self.as_of is not None or self.known_at is not None

    @property
    def past_state(self) -> "Filters":
        """The same past state, without any other filter."""
        return Filters(as_of=self.as_of, known_at=self.known_at)


class FilterWords(TypedDict, total=False):
    """The fields of `Filters` as keywords of `Memory.search`."""

    cell_types: Sequence[CellType]
    source_type: SourceType | None
    entity: str | None
    after: When | None
    before: When | None
    scope: Scope | None
    project: str | None
    as_of: When | None
    known_at: When | None


Place = tuple[int, int]
"""Begin and end in a text, in characters; the end is the first that does not belong to it."""


class Excerpt(Frozen):
    """The parts of a text that tell what a question asks; a short text whole."""

    text: str = Field(description="The parts in their order, with `...` where something is left out.")
    parts: list[Place] = Field(description="Begin and end of each part in the text that it is taken from.")
    words: list[Place] = Field(
        description="Begin and end of each word of the question in the excerpt's `text`."
    )


class Hit(Frozen):
    """The score of a hit, which only orders hits of one answer, and the columns that it was computed from."""

    score: float = Field(
        ge=0, description="Comparable within one answer only (docs/ranking.md has the formula)."
    )
    why: dict[str, float] = Field(default_factory=dict, description="The columns of the score, by name.")
    excerpt: Excerpt | None = Field(
        default=None, description="What of its text tells what the question asks: of a memory its `text`."
    )


class TurnHit(Hit):
    """A raw turn: what was said, word by word."""

    turn_id: str
    session_id: str
    turn_index: int
    role: str
    speaker: str | None
    content: str
    origin: Origin
    event_time: Said
    source_name: str
    said_by: str = Field(
        default="",
        description="The name of who says what is shown, with the role of who is no person, and whether it is quoted.",
    )
    whose: str = Field(
        default="", description="Whose word what is shown is; empty where a person says it in own words."
    )
    is_unread: bool = Field(
        default=False, description="No night has read it yet, so that it stands for itself."
    )


class TopicHit(Hit):
    """A topic whose summary answers."""

    topic_id: str
    name: str
    summary: str
    updated_at: datetime
    cell_count: int
    whose: str = Field(
        default="", description="Whose word its memories are, by the most trusted; empty where a person's."
    )
    since: list[str] = Field(
        default_factory=list, description="Values that changed after the summary was written, as lines."
    )
    is_outdated: bool = Field(
        default=False,
        description="A memory behind the summary changed since: it is written anew with the next night.",
    )


class FormerValue(Frozen):
    """A value that held once, and until when."""

    cell_id: str
    value: str
    content: str
    valid_from: Said
    valid_until: Ended = Field(description="Null for one that another memory still claims.")


class CellHit(Hit):
    """A memory that answers."""

    cell_id: str
    cell_type: CellType
    content: str
    text: str = Field(
        description="What stands for it now: of an episode the form of its age, else the content."
    )
    steps: list[str] = Field(description="Of a workflow: its steps in order.")
    template: str | None = Field(description="Of a pattern: the form that repeats.")
    compressed: str | None = Field(description="One line, for a tight budget of tokens.")
    summary: str | None = Field(
        description='The timeline, where there is one: "now X; previously Y (until ...)"; of an episode its '
        "summary."
    )
    subject: str | None
    attribute: str | None
    value: str | None
    status: CellStatus = Field(description="Not `active` only in answers about the past.")
    salience: float
    confidence: float
    origin: Origin
    whose: str = Field(description="Whose word it is; empty where a person said or confirmed it.")
    event_time: Said
    valid_from: Said
    valid_until: Ended
    source_name: str
    session_id: str
    project_id: str
    topic_name: str | None
    confirmations: int
    has_open_contradiction: bool
    rival: FormerValue | None = Field(
        default=None, description="The other side, where nobody decided which of the two is current."
    )
    echo: str | None = Field(
        default=None, description="What became of a former value that the text mentions, where it does."
    )
    history: list[FormerValue] = Field(
        default_factory=list, description="Other values of its subject and attribute, newest first."
    )
    turn_ids: list[str] = Field(description="The turns that it rests on.")
    evidence: list[TurnHit] = Field(
        default_factory=list, description="Those turns, word by word, at detail level `evidence`."
    )


class ChainStep(Frozen):
    """A memory that a chain reaches, and the edge that led to it."""

    cell_id: str
    reached_from: str = Field(description="The memory before it in the chain.")
    depth: int = Field(ge=1)
    relation: Relation
    predicate: str | None = Field(description="How the one led to the other, where a model said so.")
    confidence: float
    content: str
    excerpt: Excerpt | None = Field(default=None, description="As of a memory that answers.")
    whose: str = Field(description="As of a memory that answers.")
    cell_type: CellType
    status: CellStatus
    event_time: Said
    source_name: str


class SearchResult(Frozen):
    """Both tiers, best first. `notes` say what the reader should know: no memory yet, full text only."""

    query: str
    intent: Intent = "general"
    after: datetime | None = Field(default=None, description="Begin of the time that was asked for.")
    before: datetime | None = Field(default=None, description="End of the time that was asked for.")
    lead: str = Field(default="", description="The current value, or what else answers best, in one line.")
    lead_ids: list[str] = Field(
        default_factory=list, description="The memories, or the message, that it rests on."
    )
    notes: list[str]
    topics: list[TopicHit]
    cells: list[CellHit]
    turns: list[TurnHit] = Field(
        default_factory=list,
        description="Messages that no night has read yet; at detail level `evidence` all that answer.",
    )
    reasons: list[ChainStep] = Field(
        default_factory=list,
        description="What led to the memories, nearest first, where a question asks why.",
    )


class Fact(Frozen):
    """A single-valued property of an entity as it holds now, with the values before."""

    cell_id: str
    attribute: str
    value: str
    content: str
    since: Said
    has_open_contradiction: bool
    history: list[FormerValue] = Field(description="Newest first.")


class Neighbour(Frozen):
    """An entity that memories name together with this one."""

    entity_id: str
    name: str
    entity_type: EntityType | None
    shared_count: int = Field(ge=1, description="Memories that name both.")


class TimelineEvent(Frozen):
    """A memory at its date."""

    cell_id: str
    at: Said = Field(description="From when it holds, or when it happened.")
    cell_type: CellType
    content: str
    whose: str = Field(description="Whose word it is; empty where a person said or confirmed it.")
    status: CellStatus
    until: Ended = Field(description="Until when it held; null where it holds or nobody says.")
    superseded_by: str | None = Field(description="The memory that took its place.")
    session_id: str
    source_name: str


class EntityPage(Frozen):
    """An entity, and everything that memory holds of it."""

    entity_id: str
    project_id: str
    name: str
    entity_type: EntityType | None
    aliases: list[str]
    summary: str | None = Field(description="Written by a model; null before.")
    needs_review: bool = Field(description="A memory behind the summary was superseded since.")
    mention_count: int
    first_at: Said
    last_at: Said
    facts: list[Fact] = Field(description="By attribute, where memories name it as their subject.")
    neighbours: list[Neighbour]
    lately: list[TimelineEvent] = Field(description="Live memories that name it, newest first.")


class EntityResult(Frozen):
    """Entities that a name stands for; several where it is the name of several."""

    name: str
    entities: list[EntityPage]
    notes: list[str] = Field(default_factory=list)


class Timeline(Frozen):
    """Dated memories in order, oldest first; superseded ones are marked."""

    title: str
    events: list[TimelineEvent]
    notes: list[str] = Field(default_factory=list)
