"""Flows that the server starts: each in a process of its own, with a record in the home to ask after.

    home/server/runs/<run_id>.json         flow, parameters, start; written before the process starts
    home/server/runs/<run_id>.lock         held by the process for as long as it lives
    home/server/runs/<run_id>.done.json    its report, or its error

A run continues when the server stops, and the next server finds it again. A process that was killed leaves its run as
`lost`. Where `PREFECT_API_URL` names a Prefect server, or `slowwave ui` runs, the process runs the flow there: the run
is on its pages too, tagged with its id, and can be cancelled there.
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
from pydantic import BaseModel, ValidationError

from flows.running import WITH_SOURCES, place_of
from slowwave.errors import BusyError, InputError, NotFoundError, TransientError
from slowwave.interfaces.http.address import SINGLE
from slowwave.schemas.choices import FlowName
from slowwave.schemas.runs import Ended, FlowRun, RunState, Started
from slowwave.whole_file import PRIVATE, write_whole

PROCESS = "slowwave.interfaces.http.run_process"
"""The module that the process of a run executes."""

RUN_ID = re.compile(r"[0-9A-Za-z_-]{8,64}")

MOST_RUNS, KEPT_RUNS = 2, 100
"""Flows that run at once for a server, and reports that are kept, newest first."""

NICENESS = 10
"""A flow gives way to questions: half of the steps that `nice` has."""


class FlowRuns:
    """The runs of one home, as its server starts them and asks after them."""

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
        with self._guard:
            asked = Started(
                run_id=run_id or uuid4().hex,
                flow=flow,
                where="prefect" if place_of(str(self._home)).api else "process",
                dry_run=dry_run,
                force=force,
                sources=list(sources),
                started_at=datetime.now(UTC),
            )
            known = self._read(asked.run_id)
            if known is not None:
                _check_same(known, asked)
                return known
            self._check_free(flow)
            self._begin(asked)
            self._tidy()
        return self.run(asked.run_id)

    def run(self, run_id: str) -> FlowRun:
        """A run as it stands now.

        Raises:
            NotFoundError: there is no such run.
        """
        found = self._read(run_id)
        if found is None:
            raise NotFoundError("there is no such run: GET /v1/runs lists them")
        return found

    def runs(self) -> list[FlowRun]:
        """The runs that are kept, newest first."""
        names = [path.stem for path in self._folder.glob("*.json") if not path.name.endswith(".done.json")]
        found = [one for one in map(self._read, names) if one is not None]
        return sorted(found, key=lambda one: (one.started_at, one.run_id), reverse=True)

    def is_pending(self) -> bool:
        """Return whether a run of this server is at work."""
        return self._running() > 0

    def leave(self) -> None:
        """Let go of the processes that are still at work: the next server asks after them by their records."""
        for process in self._processes.values():
            if process.poll() is None:
                process.returncode = 0  # nobody waits for it here any more
        self._processes.clear()

    def _running(self) -> int:
        return sum(one.poll() is None for one in self._processes.values())

    def _check_free(self, flow: FlowName) -> None:
        same = next((one for one in self.runs() if one.flow == flow and one.state == "running"), None)
        if same is not None:  # it would take the writer lock from it, or wait for it in vain
            raise BusyError(f"this flow runs already, as the run {same.run_id}: ask after that one")
        if (running := self._running()) >= MOST_RUNS:
            raise TransientError(f"{running} flows run already: ask again when one has ended")

    def _begin(self, started: Started) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            note(self._folder / f"{started.run_id}.json", started)
            self._processes[started.run_id] = subprocess.Popen(  # noqa: S603 # our own module, our own interpreter
                [sys.executable, "-m", PROCESS, str(self._home), started.run_id],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={name: value for name, value in os.environ.items() if name not in SINGLE},
            )
        except OSError as error:
            (self._folder / f"{started.run_id}.json").unlink(missing_ok=True)  # asked again, it is to start
            raise TransientError(f"the flow could not be started: {error.strerror}") from error

    def _read(self, run_id: str) -> FlowRun | None:
        if not RUN_ID.fullmatch(run_id):
            return None
        is_alive = self._is_alive(run_id)  # before its report is looked for: it may end between the two
        try:
            started = Started.model_validate_json((self._folder / f"{run_id}.json").read_bytes())
        except (OSError, ValidationError):
            return None
        try:
            ended = Ended.model_validate_json((self._folder / f"{run_id}.done.json").read_bytes())
        except (OSError, ValidationError):
            return FlowRun(**started.model_dump(), state="running" if is_alive else "lost")
        state: RunState = "done" if ended.report is not None else "failed"
        return FlowRun(**{**dict(started), **dict(ended)}, state=state)

    def _is_alive(self, run_id: str) -> bool:
        process = self._processes.get(run_id)
        return process.poll() is None if process is not None else is_held(self._folder / f"{run_id}.lock")

    def _tidy(self) -> None:
        """Remove the records of runs beyond those that are kept."""
        for one in self.runs()[KEPT_RUNS:]:
            if one.state != "running":
                self._processes.pop(one.run_id, None)
                for end in ("done.json", "lock", "json"):
                    (self._folder / f"{one.run_id}.{end}").unlink(missing_ok=True)


def _check_same(known: Started, asked: Started) -> None:
    """Raise an InputError where a run id is used again for another run."""
    if any(getattr(known, name) != getattr(asked, name) for name in ("flow", "dry_run", "force", "sources")):
        raise InputError(
            f"this run id belongs to a run of {known.flow} with other parameters: choose another id"
        )


def is_held(path: Path) -> bool:
    """Return whether a living process holds this lock."""
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True


def note(path: Path, document: BaseModel) -> None:
    """Write a record for this user alone, whole or not at all."""
    write_whole(path, document.model_dump_json(), mode=PRIVATE, is_durable=False)
