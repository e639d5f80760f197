"""The schedule within the server: `slowwave serve --nightly`, where no `slowwave ui` and no worker has one.

The records of the runs say when the last night was. One that was due while no server ran starts as soon as one does:
one night, however many were missed. One that was cut off, or that another run kept out, is started again.
"""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

from anyio.to_thread import run_sync

from flows.schedule import local_zone, next_night
from slowwave.errors import SlowwaveError
from slowwave.interfaces.http.runs import FlowRuns
from slowwave.schemas.runs import FlowRun

LOOK_SECONDS = 20.0
"""A machine that slept wakes with a clock that went on, so the wait for a night is cut into short ones."""

PAUSE = timedelta(minutes=30)
"""From the start of a night that has to be repeated to the next one."""

_log = logging.getLogger("slowwave.server")


async def keep_nights(runs: FlowRuns, home: Path, *, at: str) -> None:
    """Run a night each day at `at` (HH:MM, local time), until this is cancelled."""
    began = datetime.now(UTC)
    while True:
        try:
            if (home / "server").is_dir():  # it may be moved or removed, and is not made again
                await run_sync(start_due_night, runs, at, began, datetime.now(UTC))
        except (SlowwaveError, OSError) as error:
            _log.warning("the night waits: %s", error)
        await asyncio.sleep(LOOK_SECONDS)


def start_due_night(runs: FlowRuns, at: str, began: datetime, now: datetime) -> FlowRun | None:
    """Start a night if one is due; the run, or null. Before the first one the schedule `began`, and missed nothing.

    Raises:
        TransientError: too many flows run already, or the process cannot be started.
    """
    last = next((one for one in runs.runs() if one.flow == "nightly" and not one.dry_run), None)
    if last is not None and last.state == "running":
        return None
    due = next_night(last.started_at if last else began, at=at, zone=local_zone())
    was_kept_out = last is not None and last.failure is not None and last.failure.type == "BusyError"
    if last is not None and (last.state == "lost" or was_kept_out):
        due = last.started_at + PAUSE
    if due > now:
        return None
    started = runs.start("nightly")
    _log.info("the night runs as %s", started.run_id)
    return started
