"""The way to a home's server: HTTP over a Unix socket that this user alone can open. The standard library alone.

The command line, hooks and the MCP bridge are clients of one server a home. It starts on demand, and it leaves when
nobody asked for a while. Every request says with which program and settings it was made (`Slowwave-Print`): a server
with others answers 409 and leaves if it was started on demand, so that the next one takes its place.
"""

import hashlib
import http.client
import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import slowwave
from slowwave.errors import ConfigError, TransientError

PACKAGE = Path(slowwave.__file__).parent
SERVER = "slowwave.interfaces.http.serve"
"""The module that a server on demand runs: `python -m` with the home as its argument."""

PRINT = "Slowwave-Print"
STALE = "Slowwave-Stale"
"""A header of the answer 409: `leaves`, another server may be started; or `stays`, somebody keeps that one running."""

VIEW = "Slowwave-View"
"""A header of a request: how its sender wants to see the answer (`rendering/view.py`)."""
NOTES, EXIT = "Slowwave-Notes", "Slowwave-Exit"
"""Headers of an answer: remarks on it, percent-encoded; the exit code that its error has."""

LONGEST_SOCKET = 103
"""Bytes that a socket's path may have on macOS; Linux takes four more."""

CONNECT_SECONDS = 0.5
ANSWER_SECONDS = 60.0
WRITE_SECONDS = 900.0
"""Timeouts of an answer: of a question, and of a write (an erase searches every byte of the home)."""

START_SECONDS, LOOK_SECONDS = 30.0, 0.03
"""How long a server may take to listen once it was started, and the pause between two looks."""

MAY_BE_DONE = "the server may still do it: look before you repeat it"


@dataclass(frozen=True)
class Reply:
    """An answer of the server: status, headers in lower case, body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__("slowwave", timeout=seconds)
        self._path, self._seconds = path, seconds

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONNECT_SECONDS)
        self.sock.connect(os.fspath(self._path))
        self.sock.settimeout(self._seconds)


def has_sockets() -> bool:
    """Return whether this system has Unix sockets; elsewhere every command answers in its own process."""
    return hasattr(socket, "AF_UNIX")


def socket_path(folder: Path) -> Path:
    """The socket of a home's server, in a folder of this user alone, since a home's own path may be too long.

    Raises:
        ConfigError: the folder belongs to somebody else or is open to others, or every path is too long.
    """
    name = f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:24]}.sock"
    for place in (os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), "/tmp"):  # noqa: S108 # short
        runtime = Path(place or "") / f"slowwave-{os.getuid()}"
        if not place or not os.path.isdir(place) or len(os.fsencode(runtime / name)) > LONGEST_SOCKET:  # noqa: PTH112
            continue
        with suppress(OSError):  # nothing can be made there: the next place
            runtime.mkdir(mode=0o700, exist_ok=True)
            break
    else:
        raise ConfigError("there is no folder with a short path for a socket: set XDG_RUNTIME_DIR to one")
    found = runtime.lstat()
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077 or not stat.S_ISDIR(found.st_mode):
        raise ConfigError(f"{runtime} is not a folder of this user alone: remove it, then ask again")
    return runtime / name


def fingerprint(folder: Path) -> str:
    """Hash of what a server must share with its clients: the program's files, the settings file, the environment."""
    places = [(place, name) for place, _, names in os.walk(PACKAGE) for name in names if name.endswith(".py")]
    files = [*sorted(f"{place}/{name}" for place, name in places), *map(str, folder.glob("slowwave.toml"))]
    stamps = [(path, os.stat(path).st_mtime_ns) for path in files]  # noqa: PTH116 # pathlib takes its time
    settings = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.upper().startswith("SLOWWAVE_") and name.upper() != "SLOWWAVE_HOME"
    )
    return hashlib.sha256(repr((sys.version, stamps, settings)).encode()).hexdigest()


def ask(
    folder: Path,
    method: str,
    path: str,
    *,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    writes: bool = False,
    may_start: bool = True,
    read: Callable[[http.client.HTTPResponse], bytes] = http.client.HTTPResponse.read,
) -> Reply | None:
    """The server's answer, or None where this process must answer itself.

    That is so where no server runs and none may or can start, and where the one that somebody keeps running has other
    settings. `folder` is the resolved home. A write is sent at most once.

    Raises:
        TransientError: the server does not answer, or left in the middle of a write, which may be done or not.
        KeyboardInterrupt: Ctrl-C; after a write was sent, its argument says that it may be done all the same.
    """
    if not has_sockets():
        return None
    address = socket_path(folder)
    content, kind = encoded(body)
    request = (method, path, content, {PRINT: fingerprint(folder), **kind, **(headers or {})})
    process, has_ended, deadline = None, False, time.monotonic() + START_SECONDS
    while True:
        reply = exchange(address, request, writes=writes, read=read)
        stale = "leaves" if reply is None else reply.headers.get(STALE.lower())
        if stale is None:
            if process is not None:
                process.returncode = 0  # it goes on, and nobody waits for it here
            return reply
        if stale != "leaves" or has_ended or not may_start or time.monotonic() > deadline:
            return None
        if process is None:
            process = start_server(folder)
        # one that came second, beside another command's, ends by itself: the first is asked once more
        has_ended = process.poll() is not None
        time.sleep(LOOK_SECONDS)


def start_server(folder: Path) -> "subprocess.Popen[bytes]":
    """Start a server of a home on demand, detached from the terminal."""
    return subprocess.Popen(  # noqa: S603 # our own module, with our own interpreter
        [sys.executable, "-m", SERVER, str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=PACKAGE.parent,
    )


def exchange(
    address: Path,
    request: tuple[str, str, bytes | None, Mapping[str, str]],
    *,
    writes: bool,
    read: Callable[[http.client.HTTPResponse], bytes] = http.client.HTTPResponse.read,
) -> Reply | None:
    """One request and its answer; None where nobody listens, or where the server left a question unanswered."""
    connection = _Connection(address, WRITE_SECONDS if writes else ANSWER_SECONDS)
    try:
        connection.connect()
    except OSError:
        connection.close()
        return None
    try:
        method, path, body, headers = request
        connection.request(method, path, body=body, headers=dict(headers))
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, named, read(answer))
    except TimeoutError as error:
        rest = MAY_BE_DONE if writes else "stop it (`slowwave serve` or its process), then ask again"
        raise TransientError(f"the server of this home does not answer; {rest}") from error
    except (OSError, http.client.HTTPException) as error:
        if writes:
            raise TransientError(f"the server left in the middle; {MAY_BE_DONE}") from error
        return None
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(*[MAY_BE_DONE] * writes) from stopped
    finally:
        connection.close()


def encoded(body: Mapping[str, Any] | None) -> tuple[bytes | None, dict[str, str]]:
    """A body as JSON in UTF-8, and the header that says so; neither without a body."""
    return (None, {}) if body is None else (json.dumps(body).encode(), {"Content-Type": "application/json"})
