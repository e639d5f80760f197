"""Flows that the server starts: each in a process of its own, `python -m slowwave.interfaces.http.runs HOME RUN_ID`.

    home/server/runs/<run_id>.json    the record: flow and parameters, written before the process starts; then its end
    home/server/runs/<run_id>.lock    held by the process for as long as it lives

A run continues when the server stops, and the next server finds its record. A process that was killed leaves its run as
`lost`. Where `PREFECT_API_URL` names a Prefect server, or `slowwave ui` runs, the process runs the flow there, tagged
with the id of the run, and it can be cancelled on the server's page.
"""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from uuid import uuid4

from filelock import FileLock, Timeout
from pydantic import ValidationError

from flows.running import WITH_SOURCES, Parameters, place_of, run_flow
from slowwave.errors import BusyError, InputError, NotFoundError, SlowwaveError, TransientError
from slowwave.interfaces.http.address import SINGLE
from slowwave.schemas.choices import FlowName
from slowwave.schemas.runs import Failure, FlowRun
from slowwave.whole_file import PRIVATE, write_whole

RUN_ID = re.compile(r"[0-9A-Za-z_-]{8,64}")

MOST_RUNS, KEPT_RUNS = 2, 100
"""Flows that run at once for a server, and records that are kept, newest first."""

NICENESS = 10
"""Questions go before a flow: half of the steps that `nice` has."""


class FlowRuns:
    """The runs of one home, as its server starts them and reports them."""

    def __init__(self, home: Path) -> None:
        self._home, self._folder = home, home / "server" / "runs"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._guard = Lock()

    def start(
        self,
        flow: FlowName,
        *,
        run_id: str | None = None,
        dry_run: bool | None = None,
        force: bool = False,
        sources: tuple[str, ...] = (),
    ) -> FlowRun:
        """Start a flow; one of a run id that is known already is not started again.

        Raises:
            InputError: the flow takes no sources, cannot be forced, or the run of that id is another.
            BusyError: a run of this flow goes on.
            TransientError: too many flows of the server run already, or the process cannot be started.
        """
        if sources and flow not in WITH_SOURCES:
            raise InputError(f"this flow takes in nothing; {' and '.join(WITH_SOURCES)} do")
        if force and flow != "nightly":
            raise InputError("only nightly has a gate to pass by force")
        asked = FlowRun(
            run_id=run_id or uuid4().hex,
            flow=flow,
            where="prefect" if place_of(str(self._home)).api else "process",
            dry_run=dry_run,
            force=force,
            sources=list(sources),
            started_at=datetime.now(UTC),
            state="running",
        )
        with self._guard:
            if (known := self._read(asked.run_id)) is not None:
                _check_same(known, asked)
                return known
            self._check_free(flow)
            self._begin(asked)
            self._tidy()
        return asked

    def run(self, run_id: str) -> FlowRun:
        """A run with its current state.

        Raises:
            NotFoundError: there is no such run.
        """
        found = self._read(run_id)
        if found is None:
            raise NotFoundError("there is no such run: GET /v1/runs lists them")
        return found

    def runs(self) -> list[FlowRun]:
        """The runs that are kept, newest first."""
        found = [run for path in self._folder.glob("*.json") if (run := self._read(path.stem)) is not None]
        return sorted(found, key=lambda one: (one.started_at, one.run_id), reverse=True)

    def running_count(self) -> int:
        """Number of processes of this server that are at work."""
        return sum(one.poll() is None for one in self._processes.values())

    def leave(self) -> None:
        """Let go of the processes that are still at work: the next server finds their records."""
        for process in self._processes.values():
            if process.poll() is None:
                process.returncode = 0  # nobody waits for it here any more
        self._processes.clear()

    def _check_free(self, flow: FlowName) -> None:
        same = next((one for one in self.runs() if one.flow == flow and one.state == "running"), None)
        if same is not None:  # it would take the writer lock from it, or wait for it in vain
            raise BusyError(f"this flow runs already, as the run {same.run_id}: wait until it has ended")
        if (running := self.running_count()) >= MOST_RUNS:
            raise TransientError(f"{running} flows run already: ask again when one has ended")

    def _begin(self, asked: FlowRun) -> None:
        record = self._folder / f"{asked.run_id}.json"
        try:
            note(record, asked)
            self._processes[asked.run_id] = subprocess.Popen(  # noqa: S603 # our own module, our own interpreter
                [sys.executable, "-m", "slowwave.interfaces.http.runs", str(self._home), asked.run_id],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={name: value for name, value in os.environ.items() if name not in SINGLE},
            )
        except OSError as error:
            record.unlink(missing_ok=True)  # asked again, it is to start
            raise TransientError(f"the flow could not be started: {error.strerror}") from error

    def _read(self, run_id: str) -> FlowRun | None:
        if not RUN_ID.fullmatch(run_id):
            return None
        is_alive = self._is_alive(run_id)  # before its record is read: it may end between the two
        try:
            found = FlowRun.model_validate_json((self._folder / f"{run_id}.json").read_bytes())
        except (OSError, ValidationError):
            return None
        is_lost = found.state == "running" and not is_alive
        return found.model_copy(update={"state": "lost"}) if is_lost else found

    def _is_alive(self, run_id: str) -> bool:
        if (process := self._processes.get(run_id)) is not None:
            return process.poll() is None
        path = self._folder / f"{run_id}.lock"
        if path.exists():
            try:
                FileLock(path, timeout=0).acquire().lock.release()
            except Timeout:
                return True
        return False

    def _tidy(self) -> None:
        """Remove the records of runs beyond those that are kept; the last night is, for the schedule."""
        runs = self.runs()
        night = next((one for one in runs if one.flow == "nightly" and not one.dry_run), None)
        for one in runs[KEPT_RUNS:]:
            if one.state != "running" and one is not night:
                self._processes.pop(one.run_id, None)
                (self._folder / f"{one.run_id}.lock").unlink(missing_ok=True)
                (self._folder / f"{one.run_id}.json").unlink(missing_ok=True)


def _check_same(known: FlowRun, asked: FlowRun) -> None:
    """Raise an InputError where a run id is used again for another run."""
    if any(getattr(known, name) != getattr(asked, name) for name in ("flow", "dry_run", "force", "sources")):
        raise InputError(
            f"this run id belongs to a run of {known.flow} with other parameters: choose another id"
        )


def note(path: Path, run: FlowRun) -> None:
    """Write a record for this user alone, whole or not at all."""
    write_whole(path, run.model_dump_json(), mode=PRIVATE, is_durable=False)


def carry_out(home: Path, run_id: str) -> None:
    """Run the flow of a record in this process, and write its report or its error into the record."""
    path = home / "server" / "runs" / f"{run_id}.json"
    with FileLock(path.with_suffix(".lock"), timeout=0):
        run = FlowRun.model_validate_json(path.read_bytes())
        parameters: Parameters = {} if run.dry_run is None else {"dry_run": run.dry_run}
        parameters |= {"sources": run.sources} if run.sources else {}
        parameters |= {"force": True} if run.force else {}
        api = place_of(str(home)).api if run.where == "prefect" else None
        try:
            report = run_flow(run.flow, str(home), parameters, api=api, tags=("slowwave", run_id))
            end: dict[str, object] = {"state": "done", "report": report}
        except SlowwaveError as error:
            end = {"state": "failed", "failure": Failure(type=type(error).__name__, detail=str(error))}
        except BaseException as error:
            detail = "an error of Slowwave, or the run was stopped"
            end = {"state": "failed", "failure": Failure(type=type(error).__name__, detail=detail)}
            raise
        finally:
            note(path, run.model_copy(update={**end, "finished_at": datetime.now(UTC)}))


if __name__ == "__main__":
    os.umask(0o077)
    os.nice(NICENESS)
    carry_out(Path(sys.argv[1]), sys.argv[2])
