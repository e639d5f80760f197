"""The schedule within the server: `slowwave serve --nightly`, where no `slowwave ui` and no worker has one.

    home/server/last-night      until when the schedule has done its duty (ISO 8601)

A night that was due while no server ran starts as soon as one does: one night, however many were missed. One that was
cut off, or that another run kept out, is started again.
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
from slowwave.whole_file import PRIVATE, write_whole

LOOK_SECONDS = 20.0
"""A machine that slept wakes with a clock that went on, so the wait for a night is cut into short ones."""

PAUSE = timedelta(minutes=30)
"""From the start of a night that has to be repeated to the next one."""

_log = logging.getLogger("slowwave.server")


async def keep_nights(runs: FlowRuns, home: Path, *, at: str) -> None:
    """Run a night each day at `at` (HH:MM, local time), until this is cancelled."""
    while True:
        try:
            await run_sync(start_due_night, runs, home, at, datetime.now(UTC))
        except (SlowwaveError, OSError) as error:
            _log.warning("the night waits: %s", error)
        await asyncio.sleep(LOOK_SECONDS)


def start_due_night(runs: FlowRuns, home: Path, at: str, now: datetime) -> FlowRun | None:
    """Start a night if one is due, and none was run or runs since then; the run, or null.

    Raises:
        TransientError: too many flows run already, or the process cannot be started.
    """
    if not (home / "server").is_dir():  # it was moved or removed
        return None
    path = home / "server" / "last-night"
    if not path.exists():  # the first start of the schedule has missed nothing
        _note(path, now)
    due = next_night(datetime.fromisoformat(path.read_text(encoding="utf-8")), at=at, zone=local_zone())
    if due > now:
        return None
    since = (
        one for one in runs.runs() if one.flow == "nightly" and not one.dry_run and one.started_at >= due
    )
    last = next(since, None)
    if last is None or (_is_to_repeat(last) and now - last.started_at >= PAUSE):
        started = runs.start("nightly")
        _log.info("the night runs as %s", started.run_id)
        return started
    if last.state != "running" and not _is_to_repeat(last):
        _note(path, now)
    return None


def _is_to_repeat(run: FlowRun) -> bool:
    was_kept_out = run.failure is not None and run.failure.type == "BusyError"
    return run.state == "lost" or was_kept_out


def _note(path: Path, now: datetime) -> None:
    write_whole(path, now.isoformat(), mode=PRIVATE, is_durable=False)
