"""Extract: chunks become typed memories, page by page in their order; without a model they become raw cells."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.stages.extract.extract import extract_pages, extract_raw, find_chunks
from tasks.step import open_stage, run_name


@flow(name="extract", flow_run_name=run_name)
def extract(home: str = "", dry_run: bool = False) -> StageReport:
    """Turns pending chunks into memories. Failed chunks are tried again on later runs and block nothing.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model, but only show what would be stored. Answers are kept for the real run, which asks again
            about pages that are shown what others gave.
    """
    with open_stage("extract", home=home, dry_run=dry_run) as run:
        chunks = find_chunks(run)
        if chunks.is_empty():
            run.skip("no chunk is waiting")
        elif run.workspace.llm is None:
            extract_raw(run, chunks)
        else:
            extract_pages(run, chunks)
        run.refresh_vectors()
    return run.report
