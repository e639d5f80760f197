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
from slowwave.stages.topics.grouping import group
from tasks.step import open_stage, run_name


@flow(name="cluster", flow_run_name=run_name)
def cluster(home: str = "", dry_run: bool = False) -> StageReport:
    """Gives new memories their topics and keeps the topics apart. Topic ids stay stable.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only show what would change.
    """
    with open_stage("cluster", home=home, dry_run=dry_run) as run:
        run.refresh_vectors()
        cells = find_unassigned(run)
        miscounted = find_miscounted(run)
        if cells.is_empty() and not miscounted:
            run.skip("every memory has its topic")
        else:
            filed = group(run, cells)
            touched = assign(run, cells.join(filed, on="cell_id", how="anti")) | miscounted
            run.refresh_vectors()
            touched |= merge(run, touched)
            touched |= split(run, touched | set(filed["topic_id"]))
            rename(run, touched)
            count_topics(run, touched | set(filed["topic_id"]))
            run.refresh_vectors()
    return run.report
