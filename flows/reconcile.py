"""Reconcile: new memories meet the old ones; what repeats is confirmed, what changed supersedes."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.stages.reconcile.contradictions import close_contradictions
from slowwave.stages.reconcile.find_candidates import find_candidates
from slowwave.stages.reconcile.new_memories import (
    find_new_cells,
    judge_new_memories,
    merge_exact,
    note_unjudged,
)
from slowwave.stages.reconcile.older_pairs import judge_older_pairs, note_older_pairs
from slowwave.stages.reconcile.review import find_flagged_cells, leave_flagged, review
from slowwave.stages.reconcile.stated_values import retire_former_values
from tasks.step import open_stage, run_name


@flow(name="reconcile", flow_run_name=run_name)
def reconcile(home: str = "", dry_run: bool = False) -> StageReport:
    """Finds repetitions, updates, corrections and contradictions among memories. Nothing is ever dropped.

    New memories come first, then those that an earlier run marked for review, then pairs of older ones that nobody
    judged yet.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model, but only show what would change. Answers are kept for the real run.
    """
    with open_stage("reconcile", home=home, dry_run=dry_run) as run:
        new, flagged = find_new_cells(run), find_flagged_cells(run)
        fresh = merge_exact(run, new)
        retire_former_values(run)
        candidates = find_candidates(run, fresh)
        if run.workspace.llm is None:
            note_unjudged(run, fresh, candidates)
            leave_flagged(run, flagged)
        else:
            judge_new_memories(run, fresh, candidates)
            review(run, flagged)
            note_older_pairs(run)
            judge_older_pairs(run)
        close_contradictions(run)
        if new.is_empty() and not run.report.change_count and not run.report.ledger.total.call_count:
            run.skip("no memory is waiting")
    return run.report
