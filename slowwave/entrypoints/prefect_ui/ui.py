"""`slowwave ui`: Prefect's pages on one person's machine: a server, the deployments and one worker.

Everything of Prefect's own lies in `<home>/prefect`, so that another Prefect of the same person is neither
read nor changed. The server hears this machine alone. Nothing here reads a memory; a team that has a server
already uses `prefect.yaml` and a worker instead (docs/operations.md).
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import slowwave
from slowwave.errors import BusyError, ConfigError, TransientError
from slowwave.home.lock import alone, leasing
from slowwave.home.paths import Home, open_home

PROJECT = Path(slowwave.__file__).resolve().parents[1]
HOST = "127.0.0.1"
PORT = 4200
PORTS_TRIED = 20
POOL = "slowwave"
START_SECONDS = 180.0
"""The first start makes the database and unpacks the pages: 15 s on two cores, longer on a busy machine."""
STOP_SECONDS = 20.0

FOREIGN = ("PREFECT_",)
"""Settings of another Prefect, which would send this one's runs and logs there."""
PRIVATE = ("SLOWWAVE_", "OPENAI_", "OLLAMA_")
"""Settings that only the worker needs: the server is not given the keys of the models."""


@dataclass(frozen=True)
class Pages:
    """A server and a worker that run."""

    address: str
    folder: Path
    server: subprocess.Popen[bytes]
    worker: subprocess.Popen[bytes]


def serve_ui(home: str | None, *, port: int | None = None) -> None:
    """Serves Prefect's pages until Ctrl-C or SIGTERM, then stops the worker and the server.

    Raises:
        BusyError: the pages of this home are served already.
        ConfigError: the port is taken, or prefect.yaml is not there or not usable.
        TransientError: the server or the worker ended, or did not come up.
    """
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with prefect_pages(home, port=port) as pages:
            print(_welcome(pages), flush=True)
            _wait(pages)
    except KeyboardInterrupt:
        print("stopped", flush=True)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def prefect_pages(home: str | None, *, port: int | None = None) -> Iterator[Pages]:
    """A Prefect server with every deployment and one worker; both are gone when the block ends.

    Without a `port` it is 4200 or the next one that is free. Raises as `serve_ui`.
    """
    if not (PROJECT / "prefect.yaml").is_file():
        raise ConfigError(
            f"there is no prefect.yaml in {PROJECT}: `slowwave ui` needs a checkout of Slowwave"
        )
    opened = open_home(home)
    root = opened.root.resolve()
    folder = root / "prefect"
    with _alone(folder):
        chosen = _free_port(port)
        address = f"http://{HOST}:{chosen}"
        environment = _environment(root, address)
        running: list[subprocess.Popen[bytes]] = []
        try:
            print("starting Prefect's server, its deployments and a worker (some 20 seconds) ...", flush=True)
            running.append(_start("server", ["server", "start"], _without(environment, PRIVATE), folder))
            _note(folder, address, running)
            _await_health(address, running[0], folder)
            _make_pool(address)
            _close_runs(address, opened)
            _deploy(environment, folder)
            worker = ["worker", "start", "--pool", POOL, "--name", "slowwave", "--limit", "1"]
            running.append(_start("worker", worker, environment, folder))
            _note(folder, address, running)
            yield Pages(address, folder, *running)
        finally:
            for process in reversed(running):
                _stop(process)
            (folder / "running.json").unlink(missing_ok=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _welcome(pages: Pages) -> str:
    return "\n".join(
        [
            f"Prefect's pages: {pages.address}",
            "  run a night    Deployments, nightly, Run, Quick run (Custom run: other sources, a dry run)",
            f"  read it        {pages.address}/v2/artifacts/key/nightly-report, or a run's tab Artifacts",
            "  every night    at 03:00 UTC while this runs; a switch on the page of the deployment nightly",
            f"  logs           a run's Logs tab; {pages.folder / 'worker.log'}",
            "Ctrl-C stops it.",
        ]
    )


def _wait(pages: Pages) -> None:
    while True:
        for name, process in (("server", pages.server), ("worker", pages.worker)):
            if process.poll() is not None:
                raise TransientError(
                    f"Prefect's {name} ended; {pages.folder / name}.log says why. Start it again."
                )
        time.sleep(0.5)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One `slowwave ui` a home; what a killed one left running is named, since two workers would compete."""
    with alone(
        folder / "ui.lock",
        taken=lambda: f"the pages of this home are served already: {_noted(folder)['address']}",
    ):
        left = [pid for pid in _noted(folder)["pids"] if _is_prefect(pid)]
        if left:
            numbers = " ".join(str(pid) for pid in left)
            raise BusyError(
                f"an earlier `slowwave ui` was killed and left processes: `kill {numbers}`, then start again"
            )
        yield


def _note(folder: Path, address: str, running: list[subprocess.Popen[bytes]]) -> None:
    noted = {"address": address, "pids": [process.pid for process in running]}
    (folder / "running.json").write_text(json.dumps(noted), encoding="utf-8")


def _noted(folder: Path) -> dict[str, list[int]]:
    try:
        noted: dict[str, list[int]] = json.loads((folder / "running.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"address": [], "pids": []}
    return noted


def _is_prefect(pid: int) -> bool:
    """Return whether the process lives and is Prefect's: a number may have gone to another program since."""
    try:
        shown = subprocess.run(  # noqa: S603
            ["/bin/ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return "prefect" in shown.stdout


def _free_port(port: int | None) -> int:
    """The port itself, or the first free one from 4200 on.

    Raises:
        ConfigError: it is taken, or all are.
    """
    wanted = [port] if port is not None else list(range(PORT, PORT + PORTS_TRIED))
    for number in wanted:
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((HOST, number))
            except OSError:
                continue
        if port is None and number != PORT:
            print(f"port {PORT} is taken by another program; this is {number}", flush=True)
        return number
    if port is not None:
        raise ConfigError(
            f"port {port} is taken by another program: stop that one, or choose another with --port"
        )
    raise ConfigError(f"the ports {PORT} to {PORT + PORTS_TRIED - 1} are all taken: choose one with --port")


def _environment(root: Path, address: str) -> dict[str, str]:
    """The environment of the server and the worker; the flow runs inherit the worker's."""
    port = address.rpartition(":")[2]
    owner = {
        "SLOWWAVE_HOME": str(root),
        "PREFECT_HOME": str(root / "prefect"),
        "PREFECT_API_URL": f"{address}/api",
        "PREFECT_SERVER_API_HOST": HOST,
        "PREFECT_SERVER_API_PORT": port,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        # no page of another site may read the reports through the person's browser
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"{address},http://localhost:{port}",
        "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(root / "prefect" / "pages"),
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        # in memory, a lease is lost with the server, and the night's one place stays taken for ever
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
        "PREFECT_WORKER_QUERY_SECONDS": "3",
        # a folder named `flows` or `tasks` where the person stands must not hide ours
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
    }
    return _without(dict(os.environ), FOREIGN) | owner


def _without(environment: dict[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(prefixes)}


def _start(
    name: str, arguments: list[str], environment: dict[str, str], folder: Path
) -> subprocess.Popen[bytes]:
    """Starts a command of Prefect in its own process group: Ctrl-C reaches us alone, and we stop in order."""
    log = folder / f"{name}.log"
    if log.exists():
        log.replace(folder / f"{name}.log.1")
    with log.open("wb") as output:
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "prefect", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _await_health(address: str, server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise TransientError(f"Prefect's server did not start; {folder / 'server.log'} says why")
        try:
            with direct.open(f"{address}/api/health", timeout=5) as answer:
                if answer.status == 200:  # noqa: PLR2004
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.3)
    raise TransientError(
        f"Prefect's server did not answer in {START_SECONDS:.0f} s; look at {folder / 'server.log'}"
    )


def _make_pool(address: str) -> None:
    """The work pool; its runs stand where the person stands, so that a path in a form means the same file."""
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
    from prefect.workers.process import ProcessWorker

    template = ProcessWorker.get_default_base_job_template()
    template["variables"]["properties"]["working_dir"]["default"] = str(Path.cwd())
    about = "Runs Slowwave's flows on this machine, one at a time."
    with SyncPrefectClient(f"{address}/api") as client:
        client.create_work_pool(WorkPoolCreate(name=POOL, type="process", description=about), overwrite=True)
        client.update_work_pool(POOL, WorkPoolUpdate(base_job_template=template))


def _close_runs(address: str, home: Home) -> None:
    """Closes runs that a crash left open; while another process writes to the home, one may live: all stay."""
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.filters import FlowRunFilter
    from prefect.client.schemas.objects import StateType
    from prefect.states import Crashed

    going_on = {"state": {"type": {"any_": [StateType.PENDING, StateType.RUNNING, StateType.CANCELLING]}}}
    message = "It was cut off when its worker was stopped. What it committed is kept; run it again."
    with suppress(BusyError), leasing(home), SyncPrefectClient(f"{address}/api") as client:
        for run in client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(going_on)):
            client.set_flow_run_state(run.id, Crashed(message=message), force=True)


def _deploy(environment: dict[str, str], folder: Path) -> None:
    """Deploys all of prefect.yaml; deploying again changes what differs and doubles nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"],
        env=environment,
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    (folder / "deploy.log").write_bytes(done.stdout)
    if done.returncode:
        raise ConfigError(f"prefect.yaml could not be deployed; {folder / 'deploy.log'} says why")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and what it started: politely, then firmly.

    A flow run has a session of its own, and the worker ends it; if the worker cannot, it is ended here.
    """
    started = _descendants(process.pid)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for group in (process.pid, *started):
            with suppress(ProcessLookupError, PermissionError):
                if group == process.pid or number == signal.SIGKILL:
                    os.killpg(group, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)


def _descendants(pid: int) -> list[int]:
    """Processes that a process started, directly or not."""
    try:
        shown = subprocess.run(["/bin/ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=False)
    except OSError:
        return []
    pairs = [tuple(map(int, line.split())) for line in shown.stdout.splitlines()]
    found = [pid]
    for parent in found:
        found += [child for child, its_parent in pairs if its_parent == parent]
    return found[1:]
