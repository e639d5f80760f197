"""Results of writing: what was remembered, recorded, edited, settled or erased."""

from datetime import datetime

from pydantic import Field

from slowwave.schemas.choices import CellStatus, CorrectionReason, Resolution
from slowwave.schemas.moments import Said
from slowwave.schemas.refusals import Frozen


class Remembered(Frozen):
    """The result of a `remember`, which is in the journal and survives a kill.

    `is_searchable` is False where tables are too large for memory and someone else writes the store: it is found soon
    after that ended. `notes` say what has to wait, and how many secrets were redacted.
    """

    cell_id: str
    is_searchable: bool
    notes: tuple[str, ...] = ()


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
    """The result of an edit, which is in the journal and in the store. `changed` counts events by kind."""

    cell_id: str = Field(description="The memory that stands now, or the one that went.")
    content: str = Field(description="Its text.")
    replaced: list[str] = Field(default_factory=list, description="Memories that it took the place of.")
    changed: dict[str, int] = Field(default_factory=dict)
    rest: list[str] = Field(
        default_factory=list, description="Memories of what else a passage said, which stays."
    )
    left_out: list[str] = Field(
        default_factory=list, description="Statements of a passage that are told no longer, now that it went."
    )
    reason: CorrectionReason | None = Field(default=None, description="How a correction was taken.")
    since: datetime | None = Field(default=None, description="The day of a change.")
    notes: list[str] = Field(default_factory=list)


class Side(Frozen):
    """One side of a contradiction."""

    cell_id: str
    content: str
    value: str | None
    status: CellStatus
    origin: str
    protected: bool
    event_time: Said
    valid_from: Said
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
