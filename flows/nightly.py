"""Nightly: run the whole night, stage by stage."""

import time
from collections.abc import Sequence

from prefect import flow

from flows.cluster import cluster
from flows.compress import compress
from flows.consolidate import consolidate
from flows.decay import decay
from flows.extract import extract
from flows.forget import forget
from flows.ingest import ingest
from flows.link import link
from flows.promote import promote
from flows.reconcile import reconcile
from slowwave.schemas.report import NightReport
from tasks.nightly.night import is_gate_closed, maintain, open_night, record
from tasks.step import call, publish, run_name

STAGES = (extract, cluster, reconcile, consolidate, compress, link, decay, forget)
LLM_STAGES = {extract, cluster, reconcile, consolidate, compress, link}
"""Stages that wait when the gate is closed; core memory then only drops lines that no longer hold."""


@flow(name="nightly", flow_run_name=run_name)
def nightly(
    sources: Sequence[str] = (), home: str = "", force: bool = False, dry_run: bool = False
) -> NightReport:
    """Take in what is new and consolidate it, one night at a time.

    A second night started by hand says so and leaves; a second one in the worker waits.

    Args:
        sources: Files and folders to take in first; empty means night.sources of the settings. Write full paths
            if the worker was not started by slowwave ui.
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        force: Do the model's work even if the last night was a short while ago or little is new.
        dry_run: Only show what each stage would change, given what is stored now.
    """
    started = time.monotonic()
    with open_night(home, dry_run=dry_run) as night:
        night.stages.append(call(ingest, sources=sources, home=home, dry_run=dry_run))
        closed = is_gate_closed(night, force=force)
        for flow_of_stage in STAGES:
            if closed and flow_of_stage in LLM_STAGES:
                continue
            night.stages.append(call(flow_of_stage, home=home, dry_run=dry_run))
        night.stages.append(call(promote, home=home, is_choosing=not closed, dry_run=dry_run))
        maintain(night)
        report = record(night, seconds=time.monotonic() - started)
        publish(report)
    return report
