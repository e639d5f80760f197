"""Forget: archive what faded, prune what was superseded long ago, keep out what was deleted."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.commit import commit
from tasks.forget import find_leaving, plan_archive, plan_deleted_again, plan_prune
from tasks.step import open_stage, run_name


@flow(name="forget", flow_run_name=run_name)
def forget(home: str = "", dry_run: bool = True) -> StageReport:
    """Archive what nobody needs. Archived memories can be revived; nothing is deleted silently.

    Reads memories that were not used for long. Retention decides, without a model. Writes archived memories, flags the
    topics that they leave, and prunes long superseded ones where the settings allow it.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only show what would leave; on by default.
    """
    with open_stage("forget", home=home, dry_run=dry_run) as run:
        cells = find_leaving(run.reader)
        commit(run, plan_deleted_again(run.reader, cells))
        commit(run, plan_archive(run.reader, cells))
        commit(run, plan_prune(run.reader, cells))
        if not run.report.counts:
            run.skip("nothing has faded")
    return run.report
