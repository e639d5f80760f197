"""Rebuild: make the store again from the journal alone, without a call of a model."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.rebuild import rebuild_store
from tasks.step import publish, run_name


@flow(name="rebuild", flow_run_name=run_name)
def rebuild(home: str = "", dry_run: bool = False) -> StageReport:
    """Fold the whole journal into a new store next to the living one, and switch at the end.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only say how the new store would differ from the living one.
    """
    report = rebuild_store(home, dry_run=dry_run)
    publish(report)
    return report
