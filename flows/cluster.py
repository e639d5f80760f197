"""Cluster: give every memory a topic."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.cluster.by_model import ask_groups, ask_parts, find_nearest_topics, find_pages
from tasks.cluster.by_vector import file_left_over, find_threshold
from tasks.cluster.cluster import (
    find_members,
    find_oversize,
    find_topics,
    find_unassigned,
    left_over,
    plan_counts,
    plan_filed,
    plan_merges,
    plan_split,
)
from tasks.commit import commit
from tasks.embed import embed_missing
from tasks.step import open_stage, run_name


@flow(name="cluster", flow_run_name=run_name)
def cluster(home: str = "", dry_run: bool = False) -> StageReport:
    """Give new memories their topics, and merge topics of one name. The model splits those that outgrew a summary.

    Reads memories without a topic. The model files them page by page; names and vectors file the rest, and all of them
    without a model. Writes new topics, the topic of each memory, and the counts of topics.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model, but only show what would change. Answers are kept for the real run.
    """
    with open_stage("cluster", home=home, dry_run=dry_run) as run:
        embed_missing(run)
        cells = find_unassigned(run.reader)
        if run.model is not None:
            for page in find_pages(run.reader, cells):
                topics = find_topics(run.reader)
                shown = find_nearest_topics(run.reader, page, topics)
                filed = ask_groups(run.model, page, shown, topics)
                commit(run, plan_filed(page, filed, otherwise="filed without the model"))
                cells = left_over(cells, filed)
                embed_missing(run)  # the centroids by which the next page and the rest are placed
        if not cells.is_empty():
            threshold = find_threshold(run.workspace.embedder)
            filed = file_left_over(run.reader, cells, find_topics(run.reader), threshold=threshold)
            commit(run, plan_filed(cells, filed, otherwise="waits for its vector"))
        commit(run, plan_merges(run.reader, find_topics(run.reader)))
        if run.model is not None:
            for topic in find_oversize(run.reader, find_topics(run.reader)):
                members, topics = find_members(run.reader, topic), find_topics(run.reader)
                parts = ask_parts(run.model, members, topics)
                commit(run, plan_split(run.reader, topic, parts))
        commit(run, plan_counts(run.reader))
        if not run.report.counts and not run.report.rejected:
            run.skip("every memory has its topic")
        embed_missing(run)
    return run.report
