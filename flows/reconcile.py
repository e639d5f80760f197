"""Reconcile: compare new memories with old ones; repetitions confirm, changes supersede."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.commit import commit
from tasks.reconcile.reconcile import (
    ask_judgements,
    find_cells,
    find_neighbours,
    find_queue,
    find_round,
    index_texts,
    plan_judged,
    plan_moved,
    plan_pairs,
    plan_repetitions,
    plan_stated_values,
    propose_changed,
    propose_near,
)
from tasks.step import open_stage, run_name


@flow(name="reconcile", flow_run_name=run_name)
def reconcile(home: str = "", dry_run: bool = False) -> StageReport:
    """Find repetitions, updates, corrections and contradictions among memories. Nothing is ever dropped.

    Reads new memories and those near them, and queues them as pairs. The model judges the queue in rounds, a guard
    checks each verdict, dates order values. Writes confirmations, supersessions, contradictions, and what waits.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model once, but only show what would change. Answers are kept for the real run.
    """
    with open_stage("reconcile", home=home, dry_run=dry_run) as run:
        commit(run, plan_repetitions(run.reader))
        commit(run, plan_stated_values(run.reader))
        index_texts(run)
        cells = find_cells(run.reader)
        near = propose_near(run.reader, cells, find_neighbours(run.reader, cells))
        noted = plan_pairs(
            run.reader, cells, near, propose_changed(run.reader, cells), has_model=run.model is not None
        )
        commit(run, noted)
        commit(run, plan_moved(run.reader))
        queue = find_queue(run.reader, noted if dry_run else None)
        while run.model is not None and not queue.is_empty():
            pages, shown = find_round(run.reader, queue)
            answers = ask_judgements(run.model, pages, shown)
            commit(run, plan_judged(run.reader, queue, pages, answers))
            commit(run, plan_moved(run.reader))
            if dry_run or run.model.is_away:
                break  # the others wait for the next run
            queue = find_queue(run.reader)
        if not run.report.change_count and not run.report.ledger.total.call_count:
            run.skip("no memory is waiting")
    return run.report
