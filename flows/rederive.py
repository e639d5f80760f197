"""Rederive: derive the memory again with today's prompts and models, compare, and switch to it."""

import time

from prefect import flow

from flows.cluster import cluster
from flows.compress import compress
from flows.consolidate import consolidate
from flows.extract import extract
from flows.forget import forget
from flows.link import link
from flows.promote import promote
from flows.reconcile import reconcile
from slowwave.schemas.derivation import SHOWN_LINES, Derivation, RederiveAction, page
from slowwave.schemas.report import plain
from tasks.nightly.night import maintain
from tasks.rederive.difference import find_matches
from tasks.rederive.rederive import drop, estimate, finish, is_read, open_derivation, show, switch
from tasks.rederive.replay import find_edits, replay_edits, replay_record
from tasks.step import call, publish_page, run_name

STAGES = (cluster, reconcile, consolidate, compress, link, forget, promote)


@flow(name="rederive", flow_run_name=run_name)
def rederive(home: str = "", action: RederiveAction = "derive", dry_run: bool = False) -> Derivation:
    """Derive the memory again in a home of its own, while the living one serves; then show, switch or drop it.

    Reads the raw record and the edits of persons; the stages of a night derive everything else. Writes into the
    derivation alone; only a switch changes the living memory, by one segment of its journal.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        action: Derive; show the difference; switch to the derivation; or drop it.
        dry_run: Only say what the action would do; for derive, what it would cost.
    """
    started = time.monotonic()
    if action == "show":
        found = show(home)
    elif action != "derive":
        found = (switch if action == "switch" else drop)(home, dry_run=dry_run)
    elif dry_run:
        found = estimate(home)
    else:
        with open_derivation(home) as work:
            replay_record(work)
            work.night.stages.append(call(extract, home=work.folder))
            if is_read(work):  # else a budget or an outage ended it, and the next run reads the rest
                replay_edits(work, find_edits(work), find_matches(work.living_store, work.store))
                for stage in STAGES:
                    work.night.stages.append(call(stage, home=work.folder, dry_run=False))
            maintain(work.night)
            found = finish(work, seconds=time.monotonic() - started)
    publish_page(page(found, safe=plain, most=SHOWN_LINES), key="rederive-report", headline=found.headline)
    return found
