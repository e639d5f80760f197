"""The schedule within the server, on the records of real runs."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flows.schedule import local_zone
from slowwave.interfaces.http.nightly import PAUSE, start_due_night
from slowwave.interfaces.http.runs import FlowRuns, note
from slowwave.schemas.report import NightReport
from slowwave.schemas.runs import Failure, FlowRun
from tests.serving import serving

DAY = timedelta(days=1)


class Recorded(FlowRuns):
    """Runs whose process is never started: each is `lost` until a test writes its end."""

    def _begin(self, asked: FlowRun) -> None:
        note(self._folder / f"{asked.run_id}.json", asked)

    def end(self, run_id: str, failure: Failure | None = None) -> None:
        """Write the end of a run: a report, or this failure."""
        report = NightReport(night_id="2026-11-27-aaaaaa", has_llm=False, stages=[])
        end = {"state": "failed", "failure": failure} if failure else {"state": "done", "report": report}
        note(self._folder / f"{run_id}.json", self.run(run_id).model_copy(update=end))

    def past(self, days: int) -> datetime:
        """Now, with a night that was done this many days ago."""
        now = datetime.now(UTC)
        night = FlowRun(
            run_id=f"{days}-days-ago",
            flow="nightly",
            where="process",
            started_at=now - days * DAY,
            state="done",
        )
        note(self._folder / f"{night.run_id}.json", night)
        return now


@pytest.fixture
def runs(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def at(moment: datetime) -> str:
    """The time of a moment by the clock of this machine."""
    return f"{moment.astimezone(local_zone()):%H:%M}"


def test_the_first_start_of_the_schedule_has_missed_nothing_and_runs_the_next_night(runs: Recorded):
    began = datetime.now(UTC)
    an_hour_ago = at(began - timedelta(hours=1))
    assert start_due_night(runs, an_hour_ago, began, began) is None
    assert start_due_night(runs, an_hour_ago, began, began + DAY) is not None


def test_nights_that_were_missed_are_made_up_for_once(runs: Recorded):
    now = runs.past(days=5)
    started = start_due_night(runs, at(now), now, now)
    assert started is not None
    assert (started.flow, started.force) == ("nightly", False)
    runs.end(started.run_id)
    assert start_due_night(runs, at(now), now, now + timedelta(minutes=2)) is None
    assert start_due_night(runs, at(now), now, now + timedelta(hours=12)) is None
    assert start_due_night(runs, at(now), now, now + DAY + timedelta(minutes=2)) is not None


@pytest.mark.parametrize("failure", [None, Failure(type="BusyError", detail="another run is writing")])
def test_a_night_that_was_cut_off_or_kept_out_is_repeated_after_a_pause(
    runs: Recorded, failure: Failure | None
):
    now = runs.past(days=1)
    started = start_due_night(runs, at(now), now, now)
    assert started is not None
    if failure is not None:
        runs.end(started.run_id, failure)
    assert start_due_night(runs, at(now), now, now + PAUSE / 2) is None
    assert start_due_night(runs, at(now), now, now + PAUSE + timedelta(minutes=1)) is not None


def test_a_night_that_failed_for_another_reason_waits_for_the_next(runs: Recorded):
    now = runs.past(days=1)
    started = start_due_night(runs, at(now), now, now)
    assert started is not None
    runs.end(started.run_id, Failure(type="ConfigError", detail="no language model is named"))
    assert start_due_night(runs, at(now), now, now + 2 * PAUSE) is None


@pytest.mark.processes
def test_a_server_with_the_schedule_runs_the_night_that_was_missed_and_lists_it(tmp_path: Path):
    Recorded(tmp_path).past(days=2)
    with serving(tmp_path, nightly=True) as client:
        deadline = time.monotonic() + 120
        while (runs := client.get("/v1/runs").json()["entries"])[0]["state"] in ("running", "lost") or len(
            runs
        ) < 2:
            assert time.monotonic() < deadline, runs
            time.sleep(0.2)
    assert (runs[0]["flow"], runs[0]["state"]) == ("nightly", "done"), runs
    assert runs[0]["report"]["stages"][0]["stage"] == "ingest"
