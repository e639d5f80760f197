"""Decay: usage records are folded into cell usage. Retention itself is computed where it is read."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.stages.forgetting.count_usage import find_usage, fold_in, take_in_spool
from tasks.stage import run_name, stage


@flow(name="decay", flow_run_name=run_name)
def decay(home: str = "", dry_run: bool = False) -> StageReport:
    """Counts how memories were used since the last run. Skipping a night or running twice changes nothing.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else data/home.
        dry_run: Only show what would change.
    """
    with stage("decay", home=home, dry_run=dry_run) as run:
        take_in_spool(run)
        usage = find_usage(run)
        if usage.is_empty():
            run.skip("no use of a memory to count")
        else:
            fold_in(run, usage)
    return run.report
