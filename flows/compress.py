"""Compress: a conversation that is over becomes one episode, and every memory gets its short forms."""

from prefect import flow

from slowwave.schemas.report import StageReport
from slowwave.stages.episodes.compress import label_cells, write_episodes
from slowwave.stages.episodes.find_sessions import find_sessions
from tasks.step import open_stage, run_name


@flow(name="compress", flow_run_name=run_name)
def compress(home: str = "", dry_run: bool = False) -> StageReport:
    """Tells conversations that are over as episodes, and tells again those that grew or rest on what changed.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model, but only show what would be written. Answers are kept for the real run.
    """
    with open_stage("compress", home=home, dry_run=dry_run) as run:
        due = find_sessions(run)
        if due.is_empty():
            run.skip("no conversation waits to be told")
        else:
            write_episodes(run, due)
        label_cells(run)
        run.refresh_vectors()
    return run.report
