"""Redact: take secrets that earlier rules missed out of everything that the home holds."""

import time

from prefect import flow

from slowwave.rewrite.redact import find_secrets, open_redaction, plan_redaction, redact_home
from slowwave.schemas.report import StageReport
from tasks.step import publish, run_name


@flow(name="redact", flow_run_name=run_name)
def redact(home: str = "", dry_run: bool = False) -> StageReport:
    """Take out what today's rules find: from the journal, the store, caches and logs; a scan proves it.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only say what would be taken out, by kind, place and source.
    """
    started = time.monotonic()
    with open_redaction(home, dry_run=dry_run) as work:
        secrets = find_secrets(work.home)
        plan = plan_redaction(work, secrets)
        report = redact_home(work, plan, dry_run=dry_run)
    report.rows_in = secrets.event_count
    report.seconds = round(time.monotonic() - started, 3)
    publish(report)
    return report
