"""Results of `rederive`: its cost, the difference between two derivations, and what became of a person's edits."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from slowwave.schemas.refusals import Frozen
from slowwave.schemas.report import NightReport

RederiveAction = Literal["derive", "show", "switch", "drop"]
Difference = Literal["gained", "lost", "changed", "reworded"]
EditKind = Literal["remembered", "corrected", "confirmed", "settled", "deleted"]


class Estimate(Frozen):
    """Work that waits before a derivation is whole, and what it may cost."""

    turns: int = Field(ge=0, description="Turns that no page was made of yet.")
    pages: int = Field(ge=0, description="Pages that wait for the extractor.")
    least_tokens: int = Field(ge=0, description="Tokens that reading these pages takes at least.")
    likely_tokens: int | None = Field(
        description="Tokens in all, if each turn costs what the nights so far spent on one; null without such a night."
    )


class ChangedMemory(Frozen):
    """One memory that differs between the living memory and the derivation."""

    difference: Difference
    cell_type: str
    cell_id: str | None = Field(description="In the living memory.")
    before: str | None
    new_id: str | None = Field(description="In the derivation.")
    after: str | None
    why: str = Field(default="", description="What differs.")


class CarriedEdit(Frozen):
    """Something that a person said or did, and how it stands in the derivation."""

    edit: EditKind
    said: str = Field(description="The person's words, or the memory that the person spoke of.")
    cell_id: str = Field(description="In the living memory.")
    new_id: str | None = Field(default=None, description="In the derivation.")
    how: str


class DerivationDiff(Frozen):
    """The derivation beside the living memory: live memories that were gained, lost, changed, reworded or kept."""

    counts: dict[str, int]
    by_type: dict[str, tuple[int, int]] = Field(description="Live memories by type: before and after.")
    topics: tuple[int, int] = Field(description="Topics with memories: before and after.")
    gained_topics: list[str] = Field(default_factory=list)
    lost_topics: list[str] = Field(default_factory=list)
    memories: list[ChangedMemory] = Field(default_factory=list)
    edits: list[CarriedEdit] = Field(default_factory=list)


class Derivation(Frozen):
    """A derivation beside the living memory, and what was done to it."""

    action: RederiveAction
    derivation_id: str | None
    dry_run: bool = False
    started_at: datetime | None = None
    is_whole: bool = Field(
        default=False, description="No page waits, so that it can take the memory's place."
    )
    estimate: Estimate | None = None
    night: NightReport | None = Field(default=None, description="The work of this run.")
    diff: DerivationDiff | None = None
    file: str | None = Field(default=None, description="The whole difference as Markdown.")
    notes: list[str] = Field(default_factory=list)
