"""Link: names become people and things, and memories get edges to what they belong to."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.stages.graph.causes import infer_causes
from slowwave.stages.graph.descriptions import enrich
from slowwave.stages.graph.link import draw_edges, find_changes, link_cells, none_changed
from slowwave.stages.graph.people import match_people
from tasks.step import open_stage, run_name


@flow(name="link", flow_run_name=run_name)
def link(home: str = "", dry_run: bool = False) -> StageReport:
    """Resolves the names of new memories, counts them, and draws edges in time, by entity, cause and evidence.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model, but only show what would change. Answers are kept for the real run.
    """
    with open_stage("link", home=home, dry_run=dry_run) as run:
        changes = find_changes(run)
        link_cells(run, changes)
        draw_edges(run, changes)
        if run.workspace.llm is None:
            run.note("without a language model no entity gets a summary and no cause is inferred")
        else:
            if match_people(run):
                link_cells(run, none_changed(changes))
            enrich(run)
            infer_causes(run)
        if not run.report.counts:
            run.skip("every memory has its place in the graph")
        run.refresh_vectors()
    return run.report
