"""Promote: the few highest-value memories become core memory, `MEMORY.md`."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.stages.core.hand_edits import ingest_hand_edits
from slowwave.stages.core.promote import (
    choose_lines,
    commit_choice,
    core_projects,
    drop_outdated_lines,
    find_core_candidates,
    write_core,
)
from tasks.stage import run_name, stage


@flow(name="promote", flow_run_name=run_name)
def promote(home: str = "", is_choosing: bool = True, dry_run: bool = False) -> StageReport:
    """Chooses what is always in the prompt, for each project. What leaves core memory stays in the store.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        is_choosing: Choose anew; else only what no longer holds leaves, without a model.
        dry_run: Ask the model, but only show what would change. Answers are kept for the real run.
    """
    with stage("promote", home=home, dry_run=dry_run) as run:
        ingest_hand_edits(run)
        for project in core_projects(run):
            drop_outdated_lines(run, project)
            if is_choosing:
                chosen = choose_lines(run, find_core_candidates(run, project), project)
                if chosen is not None:
                    commit_choice(run, chosen, project)
        write_core(run)
        if not run.report.counts:
            run.skip("core memory stays as it is")
    return run.report
