"""Reembed: compute all vectors with another embedder; the old ones serve until the switch."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.rebuild import reembed_store
from tasks.step import publish, run_name


@flow(name="reembed", flow_run_name=run_name)
def reembed(home: str = "", dry_run: bool = False) -> StageReport:
    """Compute all vectors with the embedder that the settings name now, in a new store, and switch.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only say which embedder would serve and how much it would embed.
    """
    report = reembed_store(home, dry_run=dry_run)
    publish(report)
    return report
