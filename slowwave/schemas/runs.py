"""Runs of flows that a server started, as their records have them and as an answer shows them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from slowwave.schemas.choices import FlowName
from slowwave.schemas.refusals import Frozen
from slowwave.schemas.report import NightReport, StageReport

RunState = Literal["running", "done", "failed", "lost"]
RunId = Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{8,64}$")]


class Failure(BaseModel):
    """The error that ended a run."""

    type: str
    detail: str


class FlowRun(BaseModel):
    """A run of a flow. A `lost` one went without a report: its process was killed; what it committed is kept."""

    run_id: str
    flow: FlowName
    where: Literal["process", "prefect"] = Field(
        description="`prefect`: on the Prefect server of PREFECT_API_URL or `slowwave ui`; else by the process alone."
    )
    dry_run: bool | None = Field(
        default=None, description="As it was asked for; null for the flow's default."
    )
    force: bool = False
    sources: list[str] = Field(default_factory=list)
    started_at: datetime
    state: RunState
    finished_at: datetime | None = None
    report: StageReport | NightReport | None = None
    failure: Failure | None = None


class Consolidated(Frozen):
    """The changes that a night made, or would make; while it runs only `run_id` and `state` are known."""

    run_id: str
    state: RunState
    dry_run: bool
    deduped: int | None = Field(default=None, description="Memories that were merged into others.")
    compressed: int | None = Field(default=None, description="Episodes and short forms that were written.")
    forgotten: int | None = Field(default=None, description="Memories that were archived or pruned.")
    contradictions_found: int | None = None
    notes: list[str] = Field(default_factory=list)
