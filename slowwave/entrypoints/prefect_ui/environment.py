"""Prefect's environment, set before Prefect is imported: a home of its own, no telemetry, quiet on screen.

Prefect reads its settings once, when it is imported, so a face that runs a flow calls `prepare_prefect`
first. What the caller's environment already says is kept.
"""

import http.client
import logging
import os
import re
import shutil
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from slowwave.errors import ConfigError, SlowwaveError, TransientError

STARTUP_SECONDS = 90
"""Longest start of a temporary server: about 10 s on an idle machine, far longer on a busy one."""

ROOM_BYTES = 32 * 1024**2
"""Least room on the disk for a temporary server, whose empty database takes 5 MB, and what a night writes itself."""

LOOPBACK = "127.0.0.1"
_HEALTH_SECONDS = 5.0


def prepare_prefect(home: Path) -> None:
    """Sets Prefect's environment for a home folder; without effect once Prefect was imported.

    Raises:
        ConfigError: the folder for Prefect's files cannot be made.
    """
    wanted = {
        "PREFECT_HOME": str(home.expanduser().resolve() / "prefect"),
        "PREFECT_SERVER_API_HOST": LOOPBACK,
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(STARTUP_SECONDS),
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    for name, value in wanted.items():
        if not os.environ.get(name):
            os.environ[name] = value
    folder = Path(os.environ["PREFECT_HOME"]).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)  # Prefect makes the last folder of the path only
    except OSError as error:
        raise ConfigError(f"Prefect's folder {folder} cannot be made: {error.strerror}") from error


def api_address() -> str | None:
    """Address of the Prefect server that the environment names; null means a temporary one."""
    return os.environ.get("PREFECT_API_URL", "").strip() or None


def check_server(address: str) -> tuple[bool, str]:
    """Return whether a Prefect server answers at `address`, and what to do when it does not."""
    parts, shown = urlsplit(address), _shown(address)
    cure = "Start it (`slowwave ui`), or unset PREFECT_API_URL."
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return False, f"PREFECT_API_URL={shown!r} is no address. Set one like http://127.0.0.1:4200/api."
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        connection = connect(parts.hostname, parts.port, timeout=_HEALTH_SECONDS)
        connection.request("GET", f"{parts.path.rstrip('/')}/health")
        status = connection.getresponse().status
        connection.close()
    except (OSError, ssl.SSLError, http.client.HTTPException, ValueError, socket.gaierror) as error:
        return False, f"no Prefect server answers at {shown} ({type(error).__name__}). {cure}"
    refused = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)  # it is there; Prefect itself knows the key
    if status not in (HTTPStatus.OK, *refused):
        return False, f"{shown}/health answers {status}: that is no Prefect API. {cure}"
    return True, f"{shown} answers"


def _shown(address: str) -> str:
    """An address without a name or a key in it."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


@contextmanager
def under_prefect() -> Iterator[None]:
    """A block that runs flows through Prefect: known errors without its tracebacks, its own failures as ours.

    Raises:
        TransientError: the Prefect server does not answer, no temporary one could be started, or it went away in the
            middle.
    """
    import httpx

    address = api_address()
    if address is not None:
        is_there, found = check_server(address)
        if not is_there:
            raise TransientError(found)
        where, cure = f"the Prefect server at {_shown(address)}", "Start it again (`slowwave ui`)"
    else:
        log = _start_temporary_server(Path(os.environ["PREFECT_HOME"]).expanduser())
        where, cure = "Prefect's temporary server", f"{log} may say why"
    quiet_errors()
    try:
        yield
    except httpx.HTTPError as error:
        raise TransientError(
            f"{where} stopped answering in the middle of the run ({type(error).__name__}): what was committed is "
            f"kept. {cure}; then run the flow again."
        ) from error


def _start_temporary_server(folder: Path) -> Path:
    """Start the server that Prefect then takes for this process; what it prints goes to the log that is returned.

    Prefect would start one by itself, and show a traceback for each of hundreds of attempts where its disk is full.
    """
    from slowwave.entrypoints.show.terminal import shown_bytes

    free = shutil.disk_usage(folder).free
    if free < ROOM_BYTES:
        raise TransientError(
            f"the disk of {folder} is full: a run needs {shown_bytes(ROOM_BYTES)}, and {shown_bytes(free)} are free. "
            "Make room, then run it again"
        )
    from prefect.server.api.server import SubprocessASGIServer

    log = folder / "temporary-server.log"
    try:
        with _printing_to(log):
            SubprocessASGIServer().start()
    except (RuntimeError, OSError) as error:
        raise TransientError(
            f"Prefect's server did not start or answer within {STARTUP_SECONDS} s ({log} may say why). Try again, or "
            "start one with `slowwave ui` and set PREFECT_API_URL."
        ) from error
    return log


@contextmanager
def _printing_to(log: Path) -> Iterator[None]:
    """A block in which the processes that start print to a file, for all of their life."""
    kept = [os.dup(number) for number in (1, 2)]
    try:
        with log.open("wb") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        yield
    finally:
        for number, own in enumerate(kept, start=1):
            os.dup2(own, number)
            os.close(own)


def stop_temporary_server() -> bool:
    """Ends the server that Prefect started for this process; says whether there was one."""
    module = sys.modules.get("prefect.server.api.server")
    servers = getattr(getattr(module, "SubprocessASGIServer", None), "_instances", {})
    processes = [server.server_process for server in list(servers.values()) if server.server_process]
    for process in processes:
        process.terminate()
    return bool(processes)


def quiet_errors() -> None:
    """Keeps our own errors off Prefect's console log: the face shows each as one line.

    Only console handlers are touched, so a server's page still gets the whole log, and unknown exceptions
    keep their traceback on screen.
    """
    import prefect.logging.configuration
    from prefect.logging.handlers import PrefectConsoleHandler

    prefect.logging.configuration.setup_logging()
    logging.raiseExceptions = (
        False  # or each batch of lines that misses a server which is gone prints two of its own
    )
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    handlers = {handler for logger in (logging.root, *loggers) for handler in logger.handlers}
    for handler in handlers:
        if isinstance(handler, PrefectConsoleHandler) and unexpected not in handler.filters:
            handler.addFilter(unexpected)


def unexpected(record: logging.LogRecord) -> bool:
    """Return whether a log record is about anything that the face does not tell: the filter behind `quiet_errors`."""
    import httpx

    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    if isinstance(error, SlowwaveError | KeyboardInterrupt | httpx.HTTPError):
        return False
    message = record.getMessage()
    if error is None and _SAID_BY_US.search(message):
        return False
    return not (error is None and re.search(rf"\b(?:{'|'.join(_error_names())})\b", message))


_SAID_BY_US = re.compile(
    r"KeyboardInterrupt|Execution was (aborted|cancelled)|Failed to write result|Unable to connect to|EventsWorker|"
    "Still processing items"
)
"""Lines of Prefect's about an end that the face tells, and about results and events that nobody reads."""


def _error_names(of: type[SlowwaveError] = SlowwaveError) -> list[str]:
    return [of.__name__, *(name for kind in of.__subclasses__() for name in _error_names(kind))]
