"""Redact: secrets that older rules let in are taken out of everything that the home holds."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.sweep.sweep import carry_out, end_cut_off, find_secrets, open_sweep, plan_sweep
from tasks.step import publish, run_name


@flow(name="redact", flow_run_name=run_name)
def redact(home: str = "", dry_run: bool = False) -> StageReport:
    """Takes out what the rules of today find: from the journal, the store, caches and logs; a scan proves it.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only say what would be taken out, by kind, place, source and day.
    """
    with open_sweep(home, dry_run=dry_run) as run:
        end_cut_off(run)
        secrets = find_secrets(run)
        plan = plan_sweep(run, secrets)
        carry_out(run, plan)
    publish(run.report)
    return run.report
