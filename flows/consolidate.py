"""Consolidate: topics that gathered enough new memories, or lost one, get a new summary."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.stages.topics.consolidate import (
    find_live_cells,
    find_topics,
    summarize,
    summarize_by_extraction,
)
from tasks.stage import run_name, stage


@flow(name="consolidate", flow_run_name=run_name)
def consolidate(home: str = "", dry_run: bool = False) -> StageReport:
    """Writes topic summaries from the live memories, never from the summary before.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model, but only show what would be written. Answers are kept for the real run.
    """
    with stage("consolidate", home=home, dry_run=dry_run) as run:
        topics = find_topics(run)
        if topics.is_empty():
            run.skip("no topic needs a new summary")
        else:
            cells = find_live_cells(run, topics)
            if run.workspace.llm is None:
                summarize_by_extraction(run, topics, cells)
            else:
                summarize(run, topics, cells)
        run.refresh_vectors()
    return run.report
