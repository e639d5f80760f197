"""Cluster: every memory gets a topic; topics that became one are merged, incoherent ones split."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.stages.topics.cluster import (
    assign,
    count_topics,
    find_miscounted,
    find_unassigned,
    merge,
    rename,
    split,
)
from tasks.stage import run_name, stage


@flow(name="cluster", flow_run_name=run_name)
def cluster(home: str = "", dry_run: bool = False) -> StageReport:
    """Gives new memories their topics and keeps the topics apart. Topic ids stay stable.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else data/home.
        dry_run: Only show what would change.
    """
    with stage("cluster", home=home, dry_run=dry_run) as run:
        run.refresh_vectors()
        cells = find_unassigned(run)
        miscounted = find_miscounted(run)
        if cells.is_empty() and not miscounted:
            run.skip("every memory has its topic")
        else:
            touched = assign(run, cells) | miscounted
            run.refresh_vectors()
            touched |= merge(run, touched)
            touched |= split(run, touched)
            rename(run, touched)
            count_topics(run, touched)
            run.refresh_vectors()
    return run.report
