"""Flows: a night or one stage of it, started and asked after."""

import asyncio
import time
from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from flows.running import WITH_SOURCES
from slowwave.interfaces.http.accept import Rendered
from slowwave.interfaces.http.bodies import page_of
from slowwave.interfaces.http.lanes import Ask
from slowwave.interfaces.http.routes.record import usable_sources
from slowwave.schemas.choices import FlowName
from slowwave.schemas.context import Path as FilePath
from slowwave.schemas.refusals import Request, Switch
from slowwave.schemas.report import NightReport, StageReport
from slowwave.schemas.requests import PageRequest
from slowwave.schemas.results import Page
from slowwave.schemas.runs import Consolidated, FlowRun, RunId

router = APIRouter(prefix="/v1", tags=["flows"], route_class=Rendered)

LOOK_SECONDS = 0.2
OwnId = Annotated[
    RunId | None,
    Field(
        description="An id of your own for the run: a request that is repeated with it starts nothing twice."
    ),
]
AskedId = Annotated[str, Path(pattern=r"^[0-9A-Za-z_-]{8,64}$", description="The id of a run.")]


class RunBody(Request):
    """The parameters of a run."""

    run_id: OwnId = None
    dry_run: Switch | None = Field(
        default=None,
        description="Show what would change, and change nothing; the default for forget.",
    )
    force: Switch = Field(default=False, description="Nightly: ask the model even if little is new.")
    sources: tuple[FilePath, ...] = Field(
        default=(),
        max_length=100,
        description=f"Absolute paths to take in first ({' and '.join(WITH_SOURCES)}).",
    )


class ConsolidateBody(Request):
    """A night by hand."""

    dry_run: Switch = Field(default=True, description="Show what would change, and change nothing.")
    force: Switch = Field(default=False, description="Ask the model even if little is new.")
    wait_seconds: float = Field(default=60.0, ge=0, le=600, description="So long its end is waited for.")
    run_id: OwnId = None


class ReindexBody(Request):
    """A new store from the journal."""

    clear_existing: Switch = Field(
        default=True,
        description="true: make the whole store anew; false: only compute all vectors anew.",
    )
    run_id: OwnId = None


@router.post("/flows/{flow}/runs", status_code=202)
async def start(flow: FlowName, asked: RunBody, ask: Ask) -> FlowRun:
    """Start a flow in a process beside the server, or through the Prefect server that is configured."""
    sources = await ask.read(usable_sources, asked.sources, ask.home)
    return await ask.write(
        ask.runs.start,
        flow,
        run_id=asked.run_id,
        dry_run=asked.dry_run,
        force=asked.force,
        sources=tuple(sources),
    )


@router.get("/runs")
async def runs(asked: Annotated[PageRequest, Query()], ask: Ask) -> Page[FlowRun]:
    """Runs of flows that this server started, newest first; also those of before its last start."""
    found = await ask.read(ask.runs.runs)
    return page_of(Page[FlowRun], found, lambda one: one.run_id, asked)


@router.get("/runs/{run_id}")
async def run(run_id: AskedId, ask: Ask) -> FlowRun:
    """A run with its state, and its report once it is done."""
    return await ask.read(ask.runs.run, run_id)


@router.post("/consolidate", responses={202: {"model": Consolidated, "description": "It runs still."}})
async def consolidate(asked: ConsolidateBody, ask: Ask, response: Response) -> Consolidated:
    """Run a night now and say what it changed or would change; where it takes longer, ask for `run_id`."""
    found = await ask.write(
        ask.runs.start, "nightly", run_id=asked.run_id, dry_run=asked.dry_run, force=asked.force
    )
    deadline = time.monotonic() + asked.wait_seconds
    while found.state == "running" and time.monotonic() < deadline:
        await asyncio.sleep(LOOK_SECONDS)
        found = await ask.read(ask.runs.run, found.run_id)
    if found.state == "running":
        response.status_code = 202
    return consolidated(found)


@router.post("/memory/reindex", status_code=202)
async def reindex(asked: ReindexBody, ask: Ask) -> FlowRun:
    """Make the store again from the journal; nothing of the journal changes, and it answers meanwhile."""
    flow: FlowName = "rebuild" if asked.clear_existing else "reembed"
    return await ask.write(ask.runs.start, flow, run_id=asked.run_id, dry_run=False)


def consolidated(found: FlowRun) -> Consolidated:
    """A night's run in four numbers."""
    night = Consolidated(run_id=found.run_id, state=found.state, dry_run=bool(found.dry_run))
    if found.failure is not None:
        return night.model_copy(update={"notes": [found.failure.detail]})
    if not isinstance(found.report, NightReport):
        return night
    counts = _counts(found.report.stages)
    return night.model_copy(
        update={
            "deduped": counts["cell.merged"],
            "compressed": counts["episode.written"] + counts["cell.labelled"],
            "forgotten": counts["cell.archived"] + counts["cell.pruned"],
            "contradictions_found": counts["contradiction.opened"],
            "notes": found.report.notes,
        }
    )


def _counts(stages: list[StageReport]) -> Counter[str]:
    found: Counter[str] = Counter()
    for stage in stages:
        found.update(stage.counts)
    return found
