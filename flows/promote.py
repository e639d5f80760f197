"""Promote: choose the few memories that are in every prompt, `MEMORY.md`."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.commit import commit
from tasks.promote.promote import (
    ask_choice,
    choose_by_use_alone,
    find_best,
    find_candidates,
    find_core,
    find_core_projects,
    has_news,
    ingest_edits,
    plan_core,
    plan_outdated_lines,
    write_core_memory,
)
from tasks.step import open_stage, run_name


@flow(name="promote", flow_run_name=run_name)
def promote(home: str = "", is_choosing: bool = True, dry_run: bool = False) -> StageReport:
    """Choose what is always in the prompt, for each project. What leaves core memory stays in the store.

    Reads edits of `MEMORY.md`, its lines, and the memories worth most that a person stated. The model chooses; without
    one, use and salience do. Writes the lines that enter, move and leave, and the file.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        is_choosing: Choose anew; else only what is no longer current leaves, without a model.
        dry_run: Ask the model, but only show what would change. Answers are kept for the real run.
    """
    with open_stage("promote", home=home, dry_run=dry_run) as run:
        ingest_edits(run)
        for project in find_core_projects(run.reader):
            commit(run, plan_outdated_lines(run.reader, project))
            if is_choosing:
                core = find_core(run.reader, project)
                best = find_best(run.reader, project, core, has_model=run.model is not None)
                candidates = find_candidates(run.reader, best)
                settings = run.settings.promote
                if run.model is not None and not has_news(core, candidates):
                    continue  # the lines stay, and no question is paid for
                chosen = (
                    ask_choice(run.model, candidates, settings)
                    if run.model is not None
                    else choose_by_use_alone(candidates, settings)
                )
                plan = plan_core(run.reader, core, candidates, chosen, has_model=run.model is not None)
                commit(run, plan)
        write_core_memory(run)
        if not run.report.counts:
            run.skip("core memory stays as it is")
    return run.report
