"""The life of one memory: what it rests on, what it replaced, and every step."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from slowwave.schemas.moments import Ended, Said
from slowwave.schemas.refusals import Frozen
from slowwave.schemas.results.edits import Dispute

Told = Literal["whole", "in part", "no"]


class Quote(Frozen):
    """A turn that a memory rests on, word by word."""

    turn_id: str
    speaker: str | None
    role: str
    content: str
    event_time: Said
    source_name: str
    session_id: str
    origin: str
    whose: str = Field(description="Whose word the memory is there: said, or only quoted, and by whom.")
    told: Told = Field(description="How much of the turn a context may still quote as what holds.")


def is_taken_back(status: str, valid_from: datetime, valid_until: datetime | None) -> bool:
    """Return whether a memory never held: a person corrected it, or decided against it."""
    return status == "superseded" and valid_until is not None and valid_until <= valid_from


class Link(Frozen):
    """A memory before or after another in a chain of supersession."""

    cell_id: str
    content: str
    status: str
    valid_from: Said
    valid_until: Ended
    superseded_at: datetime | None

    @property
    def was_taken_back(self) -> bool:
        """Return whether it never held."""
        return is_taken_back(self.status, self.valid_from, self.valid_until)


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
    event_time: Said
    valid_from: Said
    valid_until: Ended
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

    @property
    def was_taken_back(self) -> bool:
        """Return whether it never held."""
        return is_taken_back(self.state, self.valid_from, self.valid_until)
