"""Link: resolve names to people and things, link causes with effects, describe entities."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.commit import commit
from tasks.embed import embed_missing
from tasks.link.causes import ask_causes, choose_cause_pages, find_linked_cells, plan_causes
from tasks.link.entities import find_changed_cells, find_gone_cells, plan_identities, plan_links, plan_renamed
from tasks.link.people import ask_people, find_people_page, plan_people
from tasks.link.profiles import ask_profiles, find_cells_of_entities, find_due_entities, plan_profiles
from tasks.step import open_stage, run_name


@flow(name="link", flow_run_name=run_name)
def link(home: str = "", dry_run: bool = False) -> StageReport:
    """Resolve the names of new memories; with a model also describe entities, and link causes with effects.

    Reads memories that are new, said again, superseded or gone. Rules resolve the names; the model says which people
    are one, describes entities with enough mentions, and names causes. Writes entities, mentions, artifacts and edges.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model, but only show what would change. Answers are kept for the real run.
    """
    with open_stage("link", home=home, dry_run=dry_run) as run:
        changed, gone = find_changed_cells(run.reader), find_gone_cells(run.reader)
        commit(run, plan_identities(run.reader))
        commit(run, plan_links(run.reader, changed, gone))
        if run.model is None:
            run.note("without a language model no entity gets a summary and no cause is inferred")
        else:
            people = find_people_page(run.reader)
            if not people.is_empty():
                commit(run, plan_people(people, ask_people(run.model, people)))
                commit(run, plan_renamed(run.reader))
            due = find_due_entities(run.reader)
            naming = find_cells_of_entities(run.reader, due)
            commit(run, plan_profiles(due, naming, ask_profiles(run.model, due, naming)))
            cells = find_linked_cells(run.reader)
            pages = choose_cause_pages(cells)
            causes = ask_causes(run.model, pages)
            commit(run, plan_causes(cells, pages, causes))
        if not run.report.counts:
            run.skip("every memory has its place in the graph")
        embed_missing(run)
    return run.report
