"""Forget: faded memories are archived, long superseded ones may be pruned, deleted ones stay out."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.commit import commit
from tasks.forget import find_leaving, plan_archive, plan_deleted_again, plan_prune, preview_fading
from tasks.step import open_stage, run_name


@flow(name="forget", flow_run_name=run_name)
def forget(home: str = "", dry_run: bool = True) -> StageReport:
    """Lets go of what nobody needs. Archived memories can be revived; nothing is deleted silently.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only show what would leave; on by default.
    """
    with open_stage("forget", home=home, dry_run=dry_run) as run:
        cells = find_leaving(run.reader)
        commit(run, plan_deleted_again(run.reader, cells))
        commit(run, plan_archive(run.reader, cells))
        commit(run, plan_prune(run.reader, cells))
        commit(run, preview_fading(run.reader))
        if not run.report.counts:
            run.skip("nothing has faded")
    return run.report
