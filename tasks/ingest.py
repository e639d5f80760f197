"""Ingest as steps of a flow. Commands take files in without Prefect, so the work is in `slowwave/recording`."""

from collections.abc import Sequence

from slowwave.home import vector_space
from slowwave.recording import ingest
from tasks.step import StageRun, step


@step
def ingest_sources(run: StageRun, sources: Sequence[str]) -> None:
    """Commits the new turns of files and folders, part by part."""
    ingest.ingest_sources(run, sources)


@step
def compute_vectors(run: StageRun) -> None:
    """Embeds what lacks a vector, and fits the home's vector space anew where it has grown enough."""
    vector_space.compute_vectors(run)


@step
def index_new_turns(run: StageRun) -> None:
    """Takes what came in into the full-text index."""
    ingest.index_new_turns(run)
