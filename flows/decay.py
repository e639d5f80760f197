"""Decay: count how memories were used. Retention itself is computed where it is read."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.commit import commit
from tasks.decay import find_uncounted_usage, find_usage_of, plan_usage
from tasks.step import open_stage, run_name


@flow(name="decay", flow_run_name=run_name)
def decay(home: str = "", dry_run: bool = False) -> StageReport:
    """Count how memories were used since the last run. Skipping a night or running twice changes nothing.

    Reads the records of use (retrieved, cited, ignored). Writes the counts of each memory, and revives archived ones
    that were found again.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only show what would change.
    """
    with open_stage("decay", home=home, dry_run=dry_run) as run:
        usage = find_uncounted_usage(run.reader)
        if usage.is_empty():
            run.skip("no use of a memory to count")
        else:
            commit(run, plan_usage(usage, find_usage_of(run.reader, usage)))
    return run.report
