"""Ingest by itself, as a plain function, for whoever asks `Memory`; the flow of the same name does it under Prefect."""

import time
from collections.abc import Sequence

from slowwave.home.paths import Home
from slowwave.home.stage import Stage
from slowwave.home.workspace import Clock, open_workspace
from slowwave.schemas.report import StageReport
from slowwave.stages.ingest.ingest import index_new_turns, ingest_sources
from slowwave.stages.ingest.vector_space import compute_vectors


def ingest_alone(
    home: Home, sources: Sequence[str], *, dry_run: bool, clock: Clock, are_found: bool = False
) -> StageReport:
    """Take in files and folders, as `Memory.ingest` says."""
    started = time.monotonic()
    with open_workspace(home, clock=clock) as workspace:
        run = Stage("ingest", workspace, dry_run=dry_run)
        run.introduce()
        ingest_sources(run, sources, are_found=are_found)
        compute_vectors(run)
        index_new_turns(run)
    run.report.seconds = round(time.monotonic() - started, 3)
    return run.report
