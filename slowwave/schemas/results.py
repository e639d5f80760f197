"""Results that `Memory` returns: one shape each for a memory, a message, a topic and an entity, and what edits did.

A field that is required has the name of its column, so that a row of the table fills it; what only some calls know is a
field or a group with a default.
"""

from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, Field

from slowwave.schemas.choices import (
    CellStatus,
    CellType,
    CorrectionReason,
    EntityType,
    Origin,
    Relation,
    Resolution,
    SourceType,
)
from slowwave.schemas.moments import UNKNOWN, Ended, Said
from slowwave.schemas.refusals import Frozen
from slowwave.schemas.report import Forgetting
from slowwave.schemas.search import Excerpt, Intent, Scope

Entry = TypeVar("Entry", bound=BaseModel)
Told = Literal["whole", "in part", "no"]


@cache
def columns_of(result: type[BaseModel]) -> tuple[str, ...]:
    """The columns of its table that a result copies: its fields without a default."""
    return tuple(name for name, field in result.model_fields.items() if field.is_required())


class Page(Frozen, Generic[Entry]):
    """A page of a list. What is written meanwhile shows no entry twice."""

    entries: list[Entry]
    next_cursor: str = Field(default="", description="The cursor of the next page; empty on the last.")
    total: int = Field(ge=0, description="Entries that pass the filters now, on all pages.")
    notes: list[str] = Field(default_factory=list, description="What the reader should know.")


# What memory holds


class Rank(Frozen):
    """The place of a result in its answer: a score, the columns that it was computed from, and what is shown."""

    score: float = Field(
        ge=0, description="Comparable within one answer only (docs/ranking.md has the formula)."
    )
    why: dict[str, float] = Field(default_factory=dict, description="The columns of the score, by name.")
    text: str = Field(default="", description="What stands for it now: of an episode the form of its age.")
    excerpt: Excerpt | None = Field(default=None, description="What of `text` tells what the question asks.")


class Turn(Frozen):
    """A message of a conversation or a section of a file, word by word."""

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
        default="",
        description="Whose word what is shown is; empty where a person says it in own words. Of evidence: whose word "
        "the memory is there, said or only quoted.",
    )
    is_unread: bool = Field(
        default=False, description="No night has read it yet, so that it stands for itself."
    )
    told: Told | None = Field(
        default=None, description="Of evidence: how much of it a context may still quote as what holds."
    )
    rank: Rank | None = None


class Use(Frozen):
    """The uses of a memory, counted, and what they are worth."""

    effective_confidence: float | None = Field(
        default=None, description="After fading and use, where one memory is asked for."
    )
    confirmations: int = 0
    retrieval_count: int = 0
    citation_count: int = 0
    ignore_count: int = 0
    last_accessed: datetime | None = None
    fades_at: datetime | None = Field(
        default=None, description="When it is archived unless it is used, where that is asked."
    )
    core_rank: int | None = Field(default=None, description="Its line in core memory.")


class Step(Frozen):
    """The edge by which a chain of reasons reached a memory."""

    reached_from: str = Field(description="The memory before it in the chain.")
    depth: int = Field(ge=1)
    relation: Relation
    predicate: str | None = Field(description="How the one led to the other, where a model said so.")
    confidence: float


class FormerValue(Frozen):
    """A value that held once, and until when: a memory of the same property in few words, as there may be many."""

    cell_id: str
    value: str = Field(description="The value; the whole text where the memory names none.")
    content: str
    valid_from: Said
    valid_until: Ended = Field(description="Null for one that another memory still claims.")


class Cell(Frozen):
    """A memory."""

    cell_id: str
    cell_type: CellType
    content: str
    summary: str | None = Field(
        description='Its core in a few words; explained, the timeline: "now X; previously Y (until ...)".'
    )
    compressed: str | None = Field(description="One line, for a tight budget of tokens.")
    steps: list[str] = Field(description="Of a workflow: its steps in order.")
    template: str | None = Field(description="Of a pattern: the form that repeats.")
    subject: str | None
    attribute: str | None
    value: str | None
    entities: list[str] = Field(description="The names of people and things in it, as they were said.")
    artifacts: list[str]
    status: CellStatus
    superseded_by: str | None = Field(description="The memory that took its place.")
    superseded_at: datetime | None
    needs_review: bool
    protected: bool = Field(description="A person confirmed it.")
    salience: float
    confidence: float
    origin: Origin
    event_time: Said = Field(description="When it was last said.")
    valid_from: Said = Field(description="From when it holds, or when it happened.")
    valid_until: Ended = Field(description="Until when it held; null where it holds or nobody says.")
    recorded_at: datetime
    session_id: str
    source_type: SourceType
    source_name: str
    user_id: str
    project_id: str
    scope: Scope
    topic_id: str | None
    prompt_version: str
    topic_name: str | None = None
    whose: str = Field(default="", description="Whose word it is; empty where a person said or confirmed it.")
    turn_ids: list[str] = Field(default_factory=list, description="The turns that it rests on.")
    has_open_contradiction: bool = False
    rival: "Cell | None" = Field(
        default=None, description="The other side, where nobody decided which of the two is current."
    )
    echo: str | None = Field(
        default=None, description="What became of a former value that the text mentions, where it does."
    )
    history: list[FormerValue] = Field(
        default_factory=list, description="Other values of its subject and attribute, newest first."
    )
    rank: Rank | None = Field(default=None, description="In an answer to a question.")
    use: Use | None = Field(default=None, description="Where one memory, or one that fades, is asked for.")
    evidence: list[Turn] = Field(
        default_factory=list, description="The turns of `turn_ids`, word by word, where they are asked for."
    )
    missing_turns: list[str] = Field(
        default_factory=list, description="Turns that it rested on and that are no longer there."
    )
    life: "Life | None" = Field(default=None, description="In an explanation.")
    step: Step | None = Field(default=None, description="In a chain of reasons.")

    @property
    def was_taken_back(self) -> bool:
        """Return whether it never held: a person corrected it, or decided against it."""
        return (
            self.status == "superseded"
            and self.valid_until is not None
            and self.valid_until <= self.valid_from
        )


class Judged(Frozen):
    """A verdict on the memory and another one, and who gave it (a prompt version, or `person`)."""

    other_id: str
    verdict: str
    effect: str
    reason: str | None
    judged_at: datetime
    prompt_version: str | None
    model: str | None


class LifeEvent(Frozen):
    """One event of a memory's life, from the journal."""

    at: datetime
    kind: str
    told: str = Field(description="The change that the event made, in words.")


class Dispute(Frozen):
    """A contradiction with both of its memories; a side that left the store is null."""

    contradiction_id: str
    status: str
    subject: str | None
    attribute: str | None
    detected_at: datetime
    note: str | None = Field(description="Why the two cannot both hold.")
    resolution: Resolution | None
    resolved_at: datetime | None
    resolution_note: str | None
    a: Cell | None = None
    b: Cell | None = None


class Life(Frozen):
    """The reasons why a memory is there, and what became of it."""

    state: str = Field(
        description="Its status, or `pruned`, `deleted` or `replaced by another derivation`: then all of it comes from "
        "the journal."
    )
    chunk_id: str | None
    model: str | None
    core_reason: str = Field(description="The reason why core memory may hold it, or may not.")
    before: list[Cell] = Field(description="What it took the place of, nearest first.")
    after: list[Cell] = Field(description="What took its place, nearest first.")
    judgements: list[Judged]
    contradictions: list[Dispute]
    events: list[LifeEvent]
    notes: list[str]


class Topic(Frozen):
    """A topic with its summary."""

    topic_id: str
    name: str
    summary: str | None = Field(description="null as long as no night has summarized it.")
    cell_count: int
    updated_at: datetime
    project_id: str
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
    rank: Rank | None = None


class Neighbour(Frozen):
    """An entity that memories name together with this one."""

    entity_id: str
    name: str
    entity_type: EntityType | None
    shared_count: int = Field(ge=1, description="Memories that name both.")


class Entity(Frozen):
    """A person or thing; where one is asked for with everything that memory holds of it."""

    entity_id: str
    project_id: str
    name: str
    entity_type: EntityType | None
    aliases: list[str]
    summary: str | None = Field(description="Written by a model; null before.")
    needs_review: bool = Field(description="A memory behind the summary was superseded since.")
    mention_count: int
    first_at: Said = UNKNOWN
    last_at: Said = UNKNOWN
    facts: list[Cell] = Field(
        default_factory=list,
        description="Its properties as they hold now, with the values before: memories that name it as their subject.",
    )
    neighbours: list[Neighbour] = Field(default_factory=list)
    lately: list[Cell] = Field(default_factory=list, description="Live memories that name it, newest first.")


# Answers


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
    topics: list[Topic] = Field(default_factory=list)
    cells: list[Cell] = Field(default_factory=list)
    turns: list[Turn] = Field(
        default_factory=list,
        description="Messages that no night has read yet; at detail level `evidence` all that answer.",
    )
    reasons: list[Cell] = Field(
        default_factory=list,
        description="What led to the memories, nearest first, where a question asks why.",
    )


class EntityResult(Frozen):
    """Entities that a name stands for; several where it is the name of several."""

    name: str
    entities: list[Entity]
    notes: list[str] = Field(default_factory=list)


class Timeline(Frozen):
    """Dated memories in order, oldest first; superseded ones are marked."""

    title: str
    events: list[Cell]
    notes: list[str] = Field(default_factory=list)


# Edits


class Recorded(Frozen):
    """Messages that were recorded: they are in the journal and survive a kill.

    They are found with the next question; the next night makes memories of them.
    """

    turn_ids: list[str] = Field(description="Ids of the turns, in the order of the messages that became one.")
    new_count: int = Field(ge=0, description="Turns that were not known, or said something else.")
    known_count: int = Field(ge=0, description="Turns that were recorded before.")
    left_out: dict[str, int] = Field(default_factory=dict, description="What became no turn, by reason.")
    redacted: dict[str, int] = Field(
        default_factory=dict, description="Secrets that were taken out, by kind."
    )
    undated_count: int = Field(
        default=0, ge=0, description="New turns that were dated in the future: their day counts as unknown."
    )


class Done(Frozen):
    """The result of an edit, which is in the journal and survives a kill. `changed` counts events by kind."""

    cell_id: str = Field(
        default="", description="The memory that stands now, or the one that went; empty where two stand."
    )
    content: str = Field(default="", description="The text of a memory that was there before.")
    contradiction_id: str = Field(default="", description="The contradiction that was decided.")
    resolution: Resolution | None = Field(
        default=None, description="Its decision; null where that was taken back."
    )
    replaced: list[str] = Field(default_factory=list, description="Memories that it took the place of.")
    restored: list[str] = Field(default_factory=list, description="Memories that stand again.")
    changed: dict[str, int] = Field(default_factory=dict)
    rest: list[str] = Field(
        default_factory=list, description="Memories of what else a passage said, which stays."
    )
    left_out: list[str] = Field(
        default_factory=list, description="Statements of a passage that are told no longer, now that it went."
    )
    reason: CorrectionReason | None = Field(default=None, description="How a correction was taken.")
    since: datetime | None = Field(default=None, description="The day of a change.")
    is_searchable: bool = Field(
        default=True,
        description="False while someone else writes the store: it is found soon after that ended; a server finds it "
        "at once all the same.",
    )
    notes: list[str] = Field(
        default_factory=list,
        description="What has to wait, what was assumed, and secrets that were redacted.",
    )


class Erased(Frozen):
    """The rows that an erase took away, or would: `remaining` counts texts that are still there, by place."""

    dry_run: bool = False
    turn_ids: list[str] = Field(default_factory=list)
    cell_ids: list[str] = Field(default_factory=list)
    topic_ids: list[str] = Field(
        default_factory=list, description="Topics that lose their summary until the next one."
    )
    shown: list[str] = Field(
        default_factory=list, description="The first words of what goes (a dry run only)."
    )
    revived: list[str] = Field(
        default_factory=list, description="Of what is believed again without it (a dry run only)."
    )
    rewritten: dict[str, int] = Field(default_factory=dict, description="What was rewritten or removed.")
    searched_texts: int = Field(
        default=0, description="Texts that were looked for in every byte of the home."
    )
    short_texts: int = Field(default=0, description="Texts too short to be looked for; their rows are gone.")
    remaining: dict[str, int] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)

    @property
    def is_proven(self) -> bool:
        """Return whether the search over the whole home found nothing more."""
        return not self.dry_run and not self.remaining


# The home


class FoundSource(Frozen):
    """A place of a coding agent on this machine that holds something to read."""

    source: str = Field(description="The agent.")
    place: str = Field(description="Its folder.")
    file_count: int
    byte_count: int
    newest_at: datetime = Field(description="When the last of the files was changed.")
    paths: tuple[Path, ...] = Field(exclude=True, description="The files.")


class SecretPlace(Frozen):
    """A secret that redaction would take: where it begins, its kind, and its line without it."""

    file: str
    line: int = Field(ge=1, description="The first line is 1.")
    column: int = Field(ge=1, description="Characters, the first is 1.")
    kind: str
    rule: str
    shown: str = Field(description="What stands around it, with a mark in its place.")


class Stats(Frozen):
    """Counts of everything that a home holds of the owner that asks."""

    cells: int = 0
    turns: int = 0
    topics: int = 0
    by: dict[str, dict[str, int]] = Field(
        default_factory=dict,
        description="Memories by status; active ones by type, origin, age and largest topic; uses by kind.",
    )
    without_topic: int = 0
    protected: int = 0
    never_used: int = Field(default=0, description="Active memories that nobody retrieved or cited.")
    tombstones: int = 0
    erased_turns: int = 0
    open_contradictions: int = 0
    forgetting: Forgetting = Field(default=Forgetting(), description="Of the whole home.")
    journal_bytes: int = 0
    store_bytes: int = 0
    notes: list[str] = Field(default_factory=list)


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
    pending: dict[str, int] = Field(default_factory=dict, description="Work of the next runs, by its name.")
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
