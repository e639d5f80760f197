"""Reconcile: new memories meet the old ones; what repeats is confirmed, what changed supersedes."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.stages.reconcile.contradictions import close_contradictions
from slowwave.stages.reconcile.find_candidates import find_candidates
from slowwave.stages.reconcile.judge import judge
from slowwave.stages.reconcile.reconcile import decide, find_new_cells, merge_exact, note_alone, note_unjudged
from slowwave.stages.reconcile.review import find_flagged, leave_flagged, review
from slowwave.stages.reconcile.scan import scan, waiting_pairs
from slowwave.stages.reconcile.settle import settle
from tasks.stage import run_name, stage


@flow(name="reconcile", flow_run_name=run_name)
def reconcile(home: str = "", dry_run: bool = False) -> StageReport:
    """Finds repetitions, updates, corrections and contradictions among memories. Nothing is ever dropped.

    New memories come first, then those that an earlier run marked for review, then pairs of older ones that nobody
    judged yet.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else data/home.
        dry_run: Ask the model, but only show what would change. Answers are kept for the real run.
    """
    with stage("reconcile", home=home, dry_run=dry_run) as run:
        new, flagged = find_new_cells(run), find_flagged(run)
        fresh = merge_exact(run, new)
        candidates = find_candidates(run, fresh)
        if run.workspace.llm is None:
            note_unjudged(run, fresh, candidates)
            leave_flagged(run, flagged)
        else:
            note_alone(run, fresh, candidates)
            decide(run, fresh, candidates)
            review(run, flagged)
            scan(run)
            settle(run, judge(run, *waiting_pairs(run)))
        close_contradictions(run)
        if new.is_empty() and not run.report.change_count and not run.report.ledger.total.call_count:
            run.skip("no memory is waiting")
    return run.report
