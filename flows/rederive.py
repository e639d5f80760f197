"""Rederive: today's prompts and models over the raw record, beside the living memory, to compare and switch to."""

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
from slowwave.rederive.act import act
from slowwave.rederive.beside import open_derivation
from slowwave.rederive.carry import carry_edits
from slowwave.rederive.derive import finish, is_read, tell_cost
from slowwave.rederive.pages import SHOWN_LINES, headline, markdown
from slowwave.rederive.record import take_record
from slowwave.schemas.derivation import Derivation, RederiveAction
from slowwave.stages.night.night import maintain
from tasks.step import call, publish_page, run_name, steps

STAGES = (cluster, reconcile, consolidate, compress, link, forget, promote)


@flow(name="rederive", flow_run_name=run_name)
def rederive(home: str = "", action: RederiveAction = "derive", dry_run: bool = False) -> Derivation:
    """Derives the memory again beside the living one, which serves meanwhile; then shows, switches or drops it.

    A run that was stopped, killed or out of budget goes on where it stood when it is started again.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        action: Derive, or go on and take in what is new; show the difference; switch to the derivation; or drop it.
        dry_run: Only say what the action would do; for derive, what it would cost.
    """
    started = time.monotonic()
    if action != "derive" or dry_run:
        found = act(home, action, dry_run=dry_run)
    else:
        with open_derivation(home, steps=steps()) as work:
            waits = tell_cost(work)
            take_record(work)
            work.night.stages.append(call(extract, home=work.folder))
            edits = carry_edits(work) if is_read(work) else []
            for flow_of_stage in STAGES if is_read(work) else ():
                work.night.stages.append(call(flow_of_stage, home=work.folder, dry_run=False))
            edits = carry_edits(work) if is_read(work) else edits  # episodes are told by now
            maintain(work.night)
            found = finish(work, edits, waits, seconds=time.monotonic() - started)
    publish_page(markdown(found, most=SHOWN_LINES), key="rederive-report", headline=headline(found))
    return found
