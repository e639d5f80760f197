"""One run of a flow from the command line or the server: on a Prefect server where there is one, else as plain calls.

Prefect without a server would start one for each run, in ten seconds, and throw its page away. This module itself
stays quick to import: Prefect comes with the flow.
"""

import logging
import os
import signal
import threading
from contextlib import suppress
from contextvars import copy_context
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast, get_args
from urllib.parse import urlsplit

from slowwave.errors import BusyError, CancelledError, ConfigError, TransientError
from slowwave.schemas.choices import FlowName

if TYPE_CHECKING:
    from uuid import UUID

    from prefect import Flow
    from prefect.client.schemas.objects import FlowRun, State

    from slowwave.schemas.report import NightReport, StageReport

R = TypeVar("R")

FLOWS: tuple[str, ...] = get_args(FlowName)
WITH_SOURCES = ("ingest", "nightly")
Report: TypeAlias = "StageReport | NightReport"
Parameters = dict[str, str | bool | list[str] | None]

LOCK = "ui.lock"
"""Below `<home>/prefect`: held by `slowwave ui` for as long as it runs."""

API_NOTE = "api"
"""Below `<home>/prefect`: the address of the API of that `slowwave ui`."""

HEALTH_SECONDS = 5.0
LOOK_SECONDS = 2.0
"""Seconds between two looks whether somebody cancelled the run."""

OWN: dict[str, Any] = {}
"""Settings of a client: with them Prefect makes one, instead of lending the flow's, which is closed with the flow."""


class Place(NamedTuple):
    """Place of a run: the API of a Prefect server, or null for plain calls in this process; a line says why."""

    api: str | None
    line: str


def place_of(home: str | None) -> Place:
    """The place of the next run of this home."""
    from slowwave.settings.tree import load_settings

    if named := os.environ.get("PREFECT_API_URL", "").strip():
        return Place(named, f"Running on the Prefect server of PREFECT_API_URL, {shown(named)}.")
    if api := _api_of_ui(load_settings(home).home.resolve()):
        return Place(api, f"Running on the Prefect server of `slowwave ui`, {shown(api)}.")
    return Place(
        None,
        "Running without Prefect: PREFECT_API_URL is not set and `slowwave ui` of this home does not run.",
    )


def note_api(home: Path, api: str) -> None:
    """Let runs of this home find the server of `slowwave ui`."""
    (home / "prefect" / API_NOTE).write_text(api, encoding="utf-8")


def _api_of_ui(home: Path) -> str | None:
    from slowwave.home.lock import alone

    note = home / "prefect" / API_NOTE
    if note.exists():
        try:
            with alone(note.with_name(LOCK), taken=lambda: ""):
                return None  # a killed one left its note
        except BusyError:
            return note.read_text(encoding="utf-8")
    return None


def shown(api: str) -> str:
    """An address without a name or a key in it."""
    parts = urlsplit(api)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def check_server(api: str) -> tuple[bool, str]:
    """Return whether a Prefect server answers at `api`, and what to do when it does not."""
    import httpx

    cure = "Start it (`slowwave ui`), or unset PREFECT_API_URL."
    try:
        status = httpx.get(f"{api.rstrip('/')}/health", timeout=HEALTH_SECONDS).status_code
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        return False, f"PREFECT_API_URL={shown(api)!r} is no address. Set one like http://127.0.0.1:4200/api."
    except httpx.HTTPError as error:
        return False, f"no Prefect server answers at {shown(api)} ({type(error).__name__}). {cure}"
    if status not in (
        httpx.codes.OK,
        httpx.codes.UNAUTHORIZED,
        httpx.codes.FORBIDDEN,
    ):  # Prefect itself knows the key
        return False, f"{shown(api)}/health answers {status}: that is no Prefect API. {cure}"
    return True, f"{shown(api)} answers"


def run_plain(name: str, home: str | None, parameters: Parameters | None = None) -> object:
    """The report of a flow, run as plain calls in this process; `name` is that of its file."""
    folder = _prepare(home)
    return _flow(name).fn(home=str(folder), **(parameters or {}))


def run_flow(
    name: FlowName,
    home: str | None,
    parameters: Parameters | None = None,
    *,
    api: str | None,
    tags: tuple[str, ...] = (),
) -> "Report":
    """The report of a flow; it runs on the Prefect server at `api` with these tags, or as plain calls without one.

    Raises:
        TransientError: the server does not answer, or went away in the middle.
        CancelledError: somebody cancelled the run on the server's page.
    """
    report: Report
    if api is None:
        return cast("Report", run_plain(name, home, parameters))
    is_there, found = check_server(api)
    if not is_there:
        raise TransientError(found)
    os.environ["PREFECT_API_URL"] = api
    folder = _prepare(home)
    logging.raiseExceptions = False  # or log lines that miss a server which is gone print two of their own
    import httpx
    from prefect import tags as tagged
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    try:
        # nothing of ours listens to heartbeats, and the end of each stage would wait a second for its own
        with tagged(*tags), temporary_settings(updates={PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
            report = run_cancellable(_flow(name), {"home": str(folder), **(parameters or {})})
    except httpx.HTTPError as error:
        raise TransientError(
            f"the Prefect server at {shown(api)} stopped answering in the middle of the run ({type(error).__name__}): "
            "what was committed is kept. Start it again (`slowwave ui`); then run the flow again."
        ) from error
    return report


def _prepare(home: str | None) -> Path:
    """The home folder, whole; Prefect's settings, which it reads once when it is imported, are set for it.

    Raises:
        ConfigError: the folder for Prefect's files cannot be made.
    """
    from slowwave.settings.tree import load_settings

    folder = load_settings(home).home.resolve()
    wanted = {
        "PREFECT_HOME": str(folder / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        # the page gets the whole log; on screen each error is one line of the caller's
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    }
    for name, value in wanted.items():
        if not os.environ.get(name):
            os.environ[name] = value
    own = Path(os.environ["PREFECT_HOME"]).expanduser()
    try:
        own.mkdir(parents=True, exist_ok=True)  # Prefect makes the last folder of the path only
    except OSError as error:
        raise ConfigError(f"Prefect's folder {own} cannot be made: {error.strerror}") from error
    return folder


def _flow(name: str) -> "Flow[..., Any]":
    """The flow, imported."""
    found: Flow[..., Any] = getattr(import_module(f"flows.{name}"), name)
    let_ctrl_c_through()
    return found


def let_ctrl_c_through() -> None:
    """Let Ctrl-C reach Python again, which LanceDB's import takes away.

    Its runtime installs a handler with SA_RESTART, under which the main thread never wakes from a lock.
    """
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


# Cancelling: Prefect's runner ends the runs that it started; a run of this process ends itself


def run_cancellable(flow: "Flow[..., R]", parameters: dict[str, Any]) -> R:
    """The report of a flow that runs in the main thread, on the Prefect server of the environment.

    Raises:
        CancelledError: somebody cancelled it on Prefect's page.
    """
    from prefect.states import Cancelled, Completed

    run_ids: list[UUID] = []
    has_ended, was_cancelled = threading.Event(), threading.Event()

    def look() -> None:
        while not has_ended.wait(LOOK_SECONDS):
            if _is_cancelling(run_ids[0]):
                was_cancelled.set()
                os.kill(os.getpid(), signal.SIGUSR1)  # once more next time: some code swallows it

    def begin(flow: "Flow[..., Any]", flow_run: "FlowRun", state: "State[Any]") -> None:
        run_ids.append(flow_run.id)
        threading.Thread(target=copy_context().run, args=(look,), name="cancelling", daemon=True).start()

    def interrupt(*_: object) -> None:
        if not has_ended.is_set():
            raise KeyboardInterrupt

    signal.signal(signal.SIGUSR1, interrupt)  # it wakes a main thread that waits; Ctrl-C has its own way
    try:
        report: R = flow.with_options(on_running=[begin])(**parameters)
    except KeyboardInterrupt:
        has_ended.set()
        if not was_cancelled.is_set():
            raise
        _settle(run_ids[0], Cancelled(message="Cancelled on this page. What it had committed is kept."))
        raise CancelledError(
            "the run was cancelled on Prefect's page; what it had committed is kept"
        ) from None
    finally:
        has_ended.set()
    if _is_cancelling(run_ids[0]):  # too late, and nobody else would end the cancelling
        _settle(run_ids[0], Completed(message="It was done before it could be cancelled."))
    return report


def _is_cancelling(run_id: "UUID") -> bool:
    """Return whether somebody cancelled the run; false while the server does not say so."""
    import httpx
    from prefect.client.orchestration import get_client
    from prefect.exceptions import PrefectException

    with suppress(httpx.HTTPError, PrefectException), get_client(OWN, sync_client=True) as client:
        state = client.read_flow_run(run_id).state
        return state is not None and state.is_cancelling()
    return False


def _settle(run_id: "UUID", state: "State[Any]") -> None:
    """Give the run its last state, as far as the server can be reached."""
    import httpx
    from prefect.client.orchestration import get_client

    with suppress(httpx.HTTPError), get_client(OWN, sync_client=True) as client:
        client.set_flow_run_state(run_id, state, force=True)
