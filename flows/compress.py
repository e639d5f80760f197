"""Compress: write the episode of each conversation that is over, and the short forms of memories."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.commit import commit
from tasks.compress.compress import ask_episodes, plan_episodes
from tasks.compress.extract import extract_episodes
from tasks.compress.pages import find_cells, find_turns
from tasks.compress.sessions import find_due_sessions, find_sessions, plan_orphans, split_due
from tasks.compress.short_forms import find_unlabelled_cells, plan_short_forms
from tasks.embed import embed_missing
from tasks.step import open_stage, run_name


@flow(name="compress", flow_run_name=run_name)
def compress(home: str = "", dry_run: bool = False) -> StageReport:
    """Write the episodes of conversations that are over, and again those that grew or rest on what changed.

    Reads such conversations, their turns and memories. The model writes the texts; without one, the most central turns
    are quoted. Writes episodes, and the index labels and compressed lines that memories lack.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model, but only show what would be written. Answers are kept for the real run.
    """
    with open_stage("compress", home=home, dry_run=dry_run) as run:
        sessions = find_sessions(run.reader)
        commit(run, plan_orphans(run.reader, sessions))
        due = find_due_sessions(run.reader, sessions, has_model=run.model is not None)
        run.report.rows_in = due.height
        for batch in split_due(due):
            turns, cells = find_turns(run.reader, batch), find_cells(run.reader, batch)
            if run.model is None:
                episodes = extract_episodes(run.reader, turns)
            else:
                episodes = ask_episodes(run.model, batch, turns, cells, run.settings)
            commit(run, plan_episodes(run.reader, batch, turns, cells, episodes))
            if run.model is not None and run.model.is_away:
                break  # the others wait for the next run
        if due.is_empty():
            run.skip("no conversation waits to be told")
        elif run.model is None:
            run.note("episodes are the conversations' most central turns; a language model would tell them")
        commit(run, plan_short_forms(find_unlabelled_cells(run.reader)))
        embed_missing(run)
    return run.report
