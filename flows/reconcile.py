"""Reconcile: new memories meet the old ones; what repeats is confirmed, what changed supersedes."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.reconcile import find_candidates, find_work, judge, merge_exact, note_unjudged, settle
from tasks.stage import run_name, stage


@flow(name="reconcile", flow_run_name=run_name)
def reconcile(home: str = "", dry_run: bool = False) -> StageReport:
    """Finds repetitions, updates, corrections and contradictions among memories. Nothing is ever dropped.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else data/home.
        dry_run: Ask the model, but only show what would change. Answers are kept for the real run.
    """
    with stage("reconcile", home=home, dry_run=dry_run) as run:
        new = find_work(run)
        if new.is_empty():
            run.skip("no memory is waiting")
        else:
            new = merge_exact(run, new)
            candidates = find_candidates(run, new)
            if run.workspace.llm is None:
                note_unjudged(run, new, candidates)
            else:
                for page in judge(run, new, candidates):
                    settle(run, page)
    return run.report
