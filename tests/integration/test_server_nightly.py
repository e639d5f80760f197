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


@pytest.fixture
def runs(tmp_path: Path) -> Recorded:
    (tmp_path / "server").mkdir()
    return Recorded(tmp_path)


def at(moment: datetime) -> str:
    """The time of a moment by the clock of this machine."""
    return f"{moment.astimezone(local_zone()):%H:%M}"


def missed(home: Path, days: int) -> datetime:
    """Now, on a home whose schedule did its duty this many days ago."""
    now = datetime.now(UTC)
    (home / "server" / "last-night").write_text((now - days * DAY).isoformat(), encoding="utf-8")
    return now


def test_the_first_start_of_the_schedule_has_missed_nothing(runs: Recorded, tmp_path: Path):
    now = datetime.now(UTC)
    assert start_due_night(runs, tmp_path, at(now - timedelta(hours=1)), now) is None


def test_nights_that_were_missed_are_made_up_for_once(runs: Recorded, tmp_path: Path):
    now = missed(tmp_path, days=5)
    started = start_due_night(runs, tmp_path, at(now), now)
    assert started is not None
    assert (started.flow, started.force) == ("nightly", False)
    runs.end(started.run_id)
    assert start_due_night(runs, tmp_path, at(now), now + timedelta(minutes=2)) is None
    assert start_due_night(runs, tmp_path, at(now), now + timedelta(hours=12)) is None
    assert start_due_night(runs, tmp_path, at(now), now + DAY + timedelta(minutes=2)) is not None


@pytest.mark.parametrize("failure", [None, Failure(type="BusyError", detail="another run is writing")])
def test_a_night_that_was_cut_off_or_kept_out_is_repeated_after_a_pause(
    runs: Recorded, tmp_path: Path, failure: Failure | None
):
    now = missed(tmp_path, days=1)
    started = start_due_night(runs, tmp_path, at(now), now)
    assert started is not None
    if failure is not None:
        runs.end(started.run_id, failure)
    assert start_due_night(runs, tmp_path, at(now), now + PAUSE / 2) is None
    assert start_due_night(runs, tmp_path, at(now), now + PAUSE + timedelta(minutes=1)) is not None


def test_a_night_that_failed_for_another_reason_waits_for_the_next(runs: Recorded, tmp_path: Path):
    now = missed(tmp_path, days=1)
    started = start_due_night(runs, tmp_path, at(now), now)
    assert started is not None
    runs.end(started.run_id, Failure(type="ConfigError", detail="no language model is named"))
    assert start_due_night(runs, tmp_path, at(now), now + 2 * PAUSE) is None


def test_a_home_that_was_removed_is_not_made_again(tmp_path: Path):
    runs = Recorded(tmp_path / "gone")
    assert start_due_night(runs, tmp_path / "gone", "03:00", datetime.now(UTC)) is None
    assert not (tmp_path / "gone").exists()


@pytest.mark.processes
def test_a_server_with_the_schedule_runs_the_night_that_was_missed_and_lists_it(tmp_path: Path):
    (tmp_path / "server").mkdir()
    missed(tmp_path, days=2)
    with serving(tmp_path, nightly=True) as client:
        deadline = time.monotonic() + 120
        while not (runs := client.get("/v1/runs").json()["entries"]) or runs[0]["state"] == "running":
            assert time.monotonic() < deadline, runs
            time.sleep(0.2)
    [run] = runs
    assert (run["flow"], run["state"]) == ("nightly", "done"), run
    assert run["report"]["stages"][0]["stage"] == "ingest"
