"""The only writer of the night: a plan becomes one segment of the journal, which is then folded into the store."""

from slowwave.journal.plan import Plan
from tasks.step import StageRun, step


@step
def commit(run: StageRun, plan: Plan) -> None:
    """Commits a plan as one segment, and adds it to the report of the run. A dry run only counts it.

    Never retried: the segment is the commit point, and folding it again is what the next writer does anyway.
    """
    run.report.rows_in += plan.rows_in
    for note in plan.notes:
        run.note(note)
    for reason, ids in plan.rejected.items():
        run.reject(reason, len(ids))
    run.show(plan.examples)
    run.commit(plan.events)
