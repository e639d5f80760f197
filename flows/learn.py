"""Learn: make memories of a conversation right after it ended; the night does the rest."""

import time

from prefect import flow

from flows.cluster import cluster
from flows.extract import extract
from flows.reconcile import reconcile
from slowwave.home.paths import open_home
from slowwave.schemas.report import NightReport
from tasks.learn import cut_recorded_turns, within_budget
from tasks.nightly.night import open_night, record
from tasks.step import call, publish, run_name


@flow(name="learn", flow_run_name=run_name)
def learn(home: str = "", dry_run: bool = False) -> NightReport:
    """Extract, cluster and reconcile what came in since, within the tokens of a day (`night.learn_tokens`).

    A server starts it after a conversation has ended. Summaries, the graph, forgetting and core memory wait for the
    night.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Only show what each stage would change.
    """
    started = time.monotonic()
    limited = within_budget(open_home(home))
    with open_night(limited, dry_run=dry_run, is_learning=True) as night:
        night.stages.append(cut_recorded_turns(home, dry_run=dry_run))
        for flow_of_stage in (extract, cluster, reconcile):
            night.stages.append(call(flow_of_stage, home=home, dry_run=dry_run))
        report = record(night, seconds=time.monotonic() - started)
        publish(report)
    return report
