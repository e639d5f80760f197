"""Consolidate: write the summaries of topics that gained enough memories, or lost one."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.commit import commit
from tasks.consolidate import (
    ask_summaries,
    extract_summaries,
    find_cells_of,
    find_due_topics,
    plan_summaries,
)
from tasks.embed import embed_missing
from tasks.step import open_stage, run_name


@flow(name="consolidate", flow_run_name=run_name)
def consolidate(home: str = "", dry_run: bool = False) -> StageReport:
    """Write topic summaries from the active memories, never from the summary before.

    Reads the topics that are due, and their memories. The model writes the texts; without one, central sentences are
    quoted. Writes the summary of each topic, and a better name where the model has one.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model, but only show what would be written. Answers are kept for the real run.
    """
    with open_stage("consolidate", home=home, dry_run=dry_run) as run:
        topics = find_due_topics(run.reader, has_model=run.model is not None)
        if topics.is_empty():
            run.skip("no topic needs a new summary")
        else:
            cells = find_cells_of(run.reader, topics)
            if run.model is None:
                summaries = extract_summaries(run.reader, topics, cells)
            else:
                summaries = ask_summaries(run.model, topics, cells)
            commit(run, plan_summaries(topics, summaries))
        embed_missing(run)
    return run.report
