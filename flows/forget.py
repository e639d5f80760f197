"""Forget: faded memories are archived, long superseded ones may be pruned, deleted ones stay out."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.stages.forgetting.archive import archive, delete_again, find_leaving, preview_fading, prune
from tasks.stage import run_name, stage


@flow(name="forget", flow_run_name=run_name)
def forget(home: str = "", dry_run: bool = True) -> StageReport:
    """Lets go of what nobody needs. Archived memories can be revived; nothing is deleted silently.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only show what would leave; on by default.
    """
    with stage("forget", home=home, dry_run=dry_run) as run:
        cells = find_leaving(run)
        delete_again(run, cells)
        archive(run, cells)
        prune(run, cells)
        preview_fading(run)
        if not run.report.counts:
            run.skip("nothing has faded")
    return run.report
