"""Ingest: take transcripts and files in as turns and chunks."""

from collections.abc import Sequence

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.ingest import compute_vectors, index_new_turns, ingest_sources
from tasks.step import open_stage, run_name


@flow(name="ingest", flow_run_name=run_name)
def ingest(sources: Sequence[str] = (), home: str = "", dry_run: bool = False) -> StageReport:
    """Take in transcripts and files; what did not change is skipped, what grew adds its new turns.

    Reads the sources, and redacts secrets before anything is stored. Writes turns, chunks and the state of each source;
    refits the vector space where it has grown enough.

    Args:
        sources: Files and folders to take in; empty means night.sources of the settings. Write full paths
            if the worker was not started by slowwave ui.
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only show what would be taken in.
    """
    with open_stage("ingest", home=home, dry_run=dry_run) as run:
        ingest_sources(run, sources)
        compute_vectors(run)
        index_new_turns(run)
    return run.report
