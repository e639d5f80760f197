"""`slowwave ui`: Prefect's server with the deployments of prefect.yaml, for one home on this machine.

    slowwave ui        starts the two below, watches them, stops them
    |-- server         `prefect server start` on the loopback; it is not given the keys of the models
    `-- runner         serves the deployments: schedule, page and cancelling; each run is a process below it

Both read their standard input, which ends with `slowwave ui`, however that ends: then they stop, so a killed one leaves
nothing behind. A team that has a Prefect server uses prefect.yaml with a worker instead (docs/operations.md).
"""

import asyncio
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import yaml

from flows.running import API_NOTE, LOCK, note_api
from flows.schedule import local_zone
from slowwave.errors import BusyError, ConfigError, TransientError
from slowwave.home.lock import alone, leasing
from slowwave.home.paths import Home, open_home

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

DEPLOYMENTS = Path(__file__).with_name("prefect.yaml")
"""A link to the file at the top of a checkout; a package holds a copy."""

HOST = "127.0.0.1"
PORTS = range(4200, 4220)
"""Prefect's own port, and the next ones where it is taken."""

START_SECONDS = 180.0
"""The first start makes the database and unpacks the pages: 15 s on two cores, longer on a busy machine."""

STOP_SECONDS = 20.0
QUERY_SECONDS = 3.0

FOREIGN = ("PREFECT_",)
"""Settings of another Prefect, which would send this one's runs and logs there."""

PRIVATE = ("SLOWWAVE_", "OPENAI_", "OLLAMA_")
"""Settings that only runs need."""


def serve_ui(home: str | None, *, say: Callable[[str], object], port: int | None = None) -> None:
    """Serve Prefect's pages and the schedule until Ctrl-C, SIGTERM or SIGHUP.

    Raises:
        BusyError: the pages of this home are served already.
        ConfigError: the port is taken, or there is no prefect.yaml.
        TransientError: the server or the runner ended, or did not come up.
    """
    if not DEPLOYMENTS.is_file():
        raise ConfigError(f"there is no {DEPLOYMENTS}: `slowwave ui` needs it; install Slowwave again")
    opened = open_home(home)
    folder = opened.root.resolve() / "prefect"
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    try:
        with alone(folder / LOCK, taken=lambda: _taken(folder)), ExitStack() as running:
            (folder / API_NOTE).unlink(missing_ok=True)  # a killed one left it
            running.callback((folder / API_NOTE).unlink, missing_ok=True)
            address = f"http://{HOST}:{_free_port(port)}"
            say("starting Prefect's server and the deployments (some 20 seconds) ...")
            own = _environment(opened.root.resolve(), address)
            children = {"server": running.enter_context(_child("server", _without(own, PRIVATE), folder))}
            _await(children, folder, is_up=lambda: _answers(address))
            children["runner"] = running.enter_context(_child("runner", own, folder))
            _await(children, folder, is_up=(folder / API_NOTE).exists)
            say(_welcome(address, folder, at=opened.settings.night.at))
            _await(children, folder, is_up=lambda: False, seconds=float("inf"))
    except KeyboardInterrupt:
        say("stopped")


def _taken(folder: Path) -> str:
    note = folder / API_NOTE
    where = f" at {note.read_text().removesuffix('/api')}" if note.exists() else ""
    return f"the pages of this home are served already{where}"


def _welcome(address: str, folder: Path, *, at: str) -> str:
    return "\n".join(
        [
            f"Prefect's pages: {address}",
            "  run a night    Deployments, nightly, Run, Quick run (Custom run: other sources, a dry run)",
            f"  read it        {address}/v2/artifacts/key/nightly-report, or a run's tab Artifacts",
            f"  every night    at {at} ({local_zone()}) while this runs; a missed night runs at the next start",
            f"  logs           a run's Logs tab; {folder / 'runner.log'}",
            "Ctrl-C stops it.",
        ]
    )


def _free_port(port: int | None) -> int:
    """The port itself, or the first free one of `PORTS`.

    Raises:
        ConfigError: it is taken, or all are.
    """
    wanted = PORTS if port is None else [port]
    for number in wanted:
        with socket.socket() as trial, suppress(OSError):
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((HOST, number))
            return number
    shown = " to ".join(str(number) for number in dict.fromkeys((wanted[0], wanted[-1])))
    raise ConfigError(f"port {shown} is taken by another program: choose another with --port")


def _environment(root: Path, address: str) -> dict[str, str]:
    """The environment of the server and the runner; the runs inherit the runner's."""
    port = address.rpartition(":")[2]
    return _without(dict(os.environ), FOREIGN) | {
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
        # a folder named `flows` or `tasks` in the current folder must not hide ours
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
    }


def _without(environment: dict[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(prefixes)}


@contextmanager
def _child(name: str, environment: dict[str, str], folder: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A part in a session of its own: Ctrl-C reaches `slowwave ui` alone, which stops the parts in order."""
    log = folder / f"{name}.log"
    if log.exists():
        log.replace(folder / f"{name}.log.1")
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "flows.serve", name],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield child
    finally:
        if child.stdin is not None:
            child.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            child.wait(STOP_SECONDS)
        with suppress(
            ProcessLookupError, PermissionError
        ):  # what did not stop, and runs of a runner that crashed
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _await(
    children: "dict[str, subprocess.Popen[bytes]]",
    folder: Path,
    *,
    is_up: Callable[[], bool],
    seconds: float = START_SECONDS,
) -> None:
    """Wait until a part is up.

    Raises:
        TransientError: it is not in time, or a part ended.
    """
    deadline = time.monotonic() + seconds
    while not is_up():
        for name, child in children.items():
            if child.poll() is not None:
                raise TransientError(
                    f"the part `{name}` of slowwave ui ended; {folder / name}.log says why. Start it again."
                )
        if time.monotonic() > deadline:
            raise TransientError(f"no answer within {seconds:.0f} s; the logs are in {folder}")
        time.sleep(0.3)


def _answers(address: str) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"{address}/api/health", trust_env=False, timeout=5).is_success
    return False


# The parts, each in its process


def _end_with_parent() -> None:
    """Stop this process once its standard input ends."""

    def wait() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def _serve_server() -> None:
    sys.argv = ["prefect", "server", "start"]
    runpy.run_module("prefect", run_name="__main__")


def _serve_runs() -> None:
    from prefect.runner import Runner

    home = open_home(None)
    _close_runs(home)
    runner = Runner(name="slowwave", limit=1, query_seconds=QUERY_SECONDS, pause_on_shutdown=False)
    for deployment in deployments(at=home.settings.night.at, zone=str(local_zone())):
        runner.add_deployment(deployment)
    note_api(home.root.resolve(), os.environ["PREFECT_API_URL"])
    asyncio.run(runner.start())


def deployments(*, at: str, zone: str) -> "list[RunnerDeployment]":
    """Every deployment of prefect.yaml, without its work pool; what is scheduled there runs daily at `at` (HH:MM)."""
    from prefect.client.schemas.actions import DeploymentScheduleCreate
    from prefect.client.schemas.objects import ConcurrencyLimitConfig
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.deployments.runner import RunnerDeployment
    from prefect.types.entrypoint import EntrypointType

    hour, minute = at.split(":")
    daily = CronSchedule(cron=f"{int(minute)} {int(hour)} * * *", timezone=zone)
    made = []
    for listed in yaml.safe_load(DEPLOYMENTS.read_text(encoding="utf-8"))["deployments"]:
        module, _, name = listed["entrypoint"].rpartition(".")
        limit = listed.get("concurrency_limit")
        # without `active`, which would turn on again what a person turned off on the page
        schedules = [
            DeploymentScheduleCreate(schedule=daily, slug=one["slug"]) for one in listed.get("schedules", ())
        ]
        made.append(
            RunnerDeployment.from_flow(
                getattr(import_module(module), name),
                name=listed["name"],
                description=listed["description"],
                tags=listed["tags"],
                parameters=listed.get("parameters"),
                concurrency_limit=ConcurrencyLimitConfig(**limit) if limit else None,
                schedules=schedules,
                entrypoint_type=EntrypointType.MODULE_PATH,
            )
        )
    return made


def _close_runs(home: Home) -> None:
    """Close runs that a crash left open; while another process works on the home, one may live: all stay."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter
    from prefect.client.schemas.objects import StateType
    from prefect.states import Crashed

    going_on = {"state": {"type": {"any_": [StateType.PENDING, StateType.RUNNING, StateType.CANCELLING]}}}
    message = "It was cut off when slowwave ui was stopped. What it committed is kept; run it again."
    with suppress(BusyError), leasing(home), get_client(sync_client=True) as client:
        for run in client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(going_on)):
            client.set_flow_run_state(run.id, Crashed(message=message), force=True)


if __name__ == "__main__":
    _end_with_parent()
    {"server": _serve_server, "runner": _serve_runs}[sys.argv[1]]()
