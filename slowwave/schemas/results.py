"""Results that `Memory` returns, beside those of `search`, `context`, `entity` and `timeline`."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from slowwave.schemas.choices import CellStatus, Resolution
from slowwave.schemas.refusals import Frozen
from slowwave.schemas.report import Forgetting


class SecretPlace(Frozen):
    """A secret that redaction would take: where it begins, its kind, and its line without it."""

    file: str
    line: int = Field(ge=1, description="The first line is 1.")
    column: int = Field(ge=1, description="Characters, the first is 1.")
    kind: str
    rule: str
    shown: str = Field(description="What stands around it, with a mark in its place.")


class FoundSource(Frozen):
    """A place of a coding agent on this machine that holds something to read."""

    source: str = Field(description="The agent.")
    place: str = Field(description="Its folder.")
    file_count: int
    byte_count: int
    newest_at: datetime = Field(description="When the last of the files was changed.")
    paths: tuple[Path, ...] = Field(exclude=True, description="The files.")


class Remembered(Frozen):
    """The result of a `remember`, which is in the journal and survives a kill.

    `is_searchable` is False while someone else writes the store; the next writer, at the latest the next night,
    takes it in. `notes` say so, and how many secrets were redacted.
    """

    cell_id: str
    is_searchable: bool
    notes: tuple[str, ...] = ()


class Done(Frozen):
    """The result of an edit, which is in the journal and in the store. `changed` counts events by kind."""

    cell_id: str = Field(description="The memory that stands now, or the one that went.")
    content: str = Field(description="Its text.")
    replaced: list[str] = Field(default_factory=list, description="Memories that it took the place of.")
    changed: dict[str, int] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


class Side(Frozen):
    """One side of a contradiction."""

    cell_id: str
    content: str
    value: str | None
    status: CellStatus
    origin: str
    protected: bool
    event_time: datetime
    valid_from: datetime
    source_name: str


class Dispute(Frozen):
    """A contradiction with both of its memories; a side that left the store is null."""

    contradiction_id: str
    status: str
    subject: str | None
    attribute: str | None
    detected_at: datetime
    note: str | None = Field(description="Why the two cannot both hold.")
    resolution: Resolution | None = None
    resolved_at: datetime | None = None
    resolution_note: str | None = None
    a: Side | None
    b: Side | None


class Resolved(Frozen):
    """The changes of a resolution, or of taking it back."""

    contradiction_id: str
    resolution: Resolution | None = Field(description="Null after it was taken back.")
    winner_id: str | None = None
    superseded: list[str] = Field(default_factory=list)
    restored: list[str] = Field(default_factory=list)
    changed: dict[str, int] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


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


class Quote(Frozen):
    """A turn that a memory rests on, word by word."""

    turn_id: str
    speaker: str | None
    role: str
    content: str
    event_time: datetime
    source_name: str
    session_id: str
    origin: str
    whose: str = Field(description="Whose word the memory is there: said, or only quoted, and by whom.")


class Link(Frozen):
    """A memory before or after another in a chain of supersession."""

    cell_id: str
    content: str
    status: str
    valid_from: datetime
    valid_until: datetime | None
    superseded_at: datetime | None


class Judged(Frozen):
    """A verdict on the memory and another one, and who gave it (a prompt version, or `person`)."""

    other_id: str
    verdict: str
    effect: str
    reason: str | None
    judged_at: datetime
    prompt_version: str | None
    model: str | None


class Step(Frozen):
    """One event of a memory's life, from the journal."""

    at: datetime
    kind: str
    told: str = Field(description="The change that the event made, in words.")


class Explanation(Frozen):
    """Why a memory is there and what became of it.

    `state` is its status, or `pruned`, `deleted` or `replaced by another derivation`: then all of it comes from the
    journal.
    """

    cell_id: str
    state: str
    cell_type: str
    content: str
    summary: str | None
    subject: str | None
    attribute: str | None
    value: str | None
    salience: float
    confidence: float
    effective_confidence: float | None = Field(
        description="After fading and use; null once it left the store."
    )
    protected: bool
    origin: str
    event_time: datetime
    valid_from: datetime
    valid_until: datetime | None
    recorded_at: datetime
    source_name: str
    session_id: str
    chunk_id: str | None
    prompt_version: str
    model: str | None
    topic_name: str | None
    core_rank: int | None = Field(description="Its line in core memory.")
    core_reason: str = Field(description="The reason why core memory may hold it, or may not.")
    confirmations: int
    retrieval_count: int
    citation_count: int
    quotes: list[Quote]
    missing_turns: list[str] = Field(description="Turns that it rested on and that are no longer there.")
    before: list[Link] = Field(description="What it took the place of, nearest first.")
    after: list[Link] = Field(description="What took its place, nearest first.")
    judgements: list[Judged]
    contradictions: list[Dispute]
    steps: list[Step]
    notes: list[str] = Field(default_factory=list)


class Fading(Frozen):
    """A memory that will be archived if nobody uses it."""

    cell_id: str
    cell_type: str
    content: str
    event_time: datetime
    source_name: str
    whose: str = Field(description="Whose word it is; empty where a person said it.")
    effective_confidence: float
    last_accessed: datetime
    fades_at: datetime
    retrieval_count: int


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


class ForgottenCell(Frozen):
    """An archived memory that matches the words."""

    cell_id: str
    cell_type: str
    content: str
    subject: str | None
    attribute: str | None
    value: str | None
    match_score: float = Field(description="BM25, from 0, unbounded.")


class TopicSummary(Frozen):
    """A topic with its summary."""

    topic_id: str
    name: str
    summary: str | None = Field(description="null as long as no night has summarized it.")
    cell_count: int
    updated_at: datetime
    project_id: str


class Replacement(Frozen):
    """A memory that no longer holds, and the one that took its place."""

    old: str
    new: str
    timeline: str | None = Field(description="The values of its subject in order, where there is a timeline.")


class Recorded(Frozen):
    """Messages that were recorded: they are in the journal and survive a kill.

    They are found as soon as they are in the store, some seconds later; the next night makes memories of them.
    """

    turn_ids: list[str] = Field(description="Ids of the turns, in the order of the messages that became one.")
    new_count: int = Field(ge=0, description="Turns that were not known, or said something else.")
    known_count: int = Field(ge=0, description="Turns that were recorded before.")
    left_out: dict[str, int] = Field(default_factory=dict, description="What became no turn, by reason.")
    redacted: dict[str, int] = Field(
        default_factory=dict, description="Secrets that were taken out, by kind."
    )


class QuarantinedChunk(Frozen):
    """A chunk to extract, a conversation to tell or a memory to judge, and why it is in quarantine.

    `chunk_id` is the id of what waits, whatever it is: of a conversation that of its episode.
    """

    kind: Literal["chunk", "conversation", "memory"]
    chunk_id: str
    event_time: datetime
    source_name: str
    attempts: int
    error: str | None


class Calibration(Frozen):
    """Thresholds of an embedder, as measured. They are cosines by name; `path` is null in a dry run."""

    model: str
    memory_count: int
    before: dict[str, float]
    thresholds: dict[str, float]
    noise: float = Field(description="Cosine of unrelated pairs.")
    kin: float = Field(description="Cosine of close relatives.")
    path: Path | None


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
