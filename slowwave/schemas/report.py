"""What a stage says about its run: the form of every report, artifact and exit."""

from pydantic import BaseModel, ConfigDict, Field

from slowwave.schemas.ledger import Ledger

UNREADABLE = "file that cannot be read"
"""The reason under which ingest counts files that no reader could read."""


class StageReport(BaseModel):
    """One stage's run in numbers and a few examples that a person can read."""

    model_config = ConfigDict(extra="forbid")

    stage: str
    dry_run: bool = False
    is_skipped: bool = Field(
        default=False, description="Nothing was to be done, or a gate said no; `notes` say why."
    )
    rows_in: int = Field(default=0, ge=0, description="Rows that the stage looked at as its work.")
    counts: dict[str, int] = Field(default_factory=dict, description="What the stage did, by name.")
    rejected: dict[str, int] = Field(
        default_factory=dict, description="What was left out or failed, by reason."
    )
    notes: list[str] = Field(default_factory=list)
    examples: list[str] = Field(default_factory=list, description="A few of the changes, one line each.")
    ledger: Ledger = Ledger()
    seconds: float = Field(default=0.0, ge=0)

    @property
    def change_count(self) -> int:
        """How many changes the stage committed or, in a dry run, would commit."""
        return sum(self.counts.values())


class NightReport(BaseModel):
    """All stages of one night."""

    model_config = ConfigDict(extra="forbid")

    night_id: str
    dry_run: bool = False
    has_llm: bool
    stages: list[StageReport]
    notes: list[str] = Field(default_factory=list)
    seconds: float = Field(default=0.0, ge=0)

    @property
    def ledger(self) -> Ledger:
        """Calls, tokens and cost of all stages."""
        return sum((stage.ledger for stage in self.stages), Ledger())

    @property
    def change_count(self) -> int:
        """Changes of all stages."""
        return sum(stage.change_count for stage in self.stages)
