"""The socket of a home from the side of who asks: one line of JSON there, one back. The standard library alone.

Each command starts with it, so it imports nothing that takes long; `client.py` says who listens and what it answers.
"""

import hashlib
import json
import os
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import slowwave
from slowwave import errors

if TYPE_CHECKING:
    import subprocess

MOST_ASKED = 4_000_000
"""Bytes of a request that are read at most."""

DRAINED = 4
"""So many times as much is read of a line that is too long: who still sends does not hear why it is refused."""

MOST_ANSWERED = 64_000_000
"""Bytes of an answer that are read at most."""

LONGEST_SOCKET = 103
"""Bytes that a socket's path may have on macOS; Linux takes four more."""

HEARD = b"\n"
"""An empty line that whoever listens sends to each caller at once; the request comes after it. A server goes on sending
one every few seconds until it answers (`waiting.py`)."""

CONNECT_SECONDS, HEARD_SECONDS = 0.5, 5.0
"""So long it may take to connect, and to be heard: where it takes longer, the process that listens is stopped."""

SILENT_SECONDS = 60.0
"""So long a server that did not answer is not asked again by the same process."""

ANSWER_SECONDS = 30.0
WRITE_SECONDS = 900.0
"""So long an answer may take: of a question, and of what writes (an erase searches every byte of the home)."""

QUIET_SECONDS = 30.0
"""So long whoever works on an answer may be silent: where it takes longer, the process was stopped or hangs."""

START_SECONDS, LOOK_SECONDS = 30.0, 0.03
"""So long a reader that was started may take to listen, and so often it is looked whether it does."""

MAY_BE_DONE = "the server may do it all the same: look before you say it again"

_silent: dict[Path, float] = {}
"""Sockets whose server did not answer, with the time until which they are not asked again."""

PACKAGE = Path(slowwave.__file__).parent


def socket_path(folder: Path) -> Path:
    """The socket of a home's reader, in a folder of this user alone, since a home's own path may be too long.

    Raises:
        ConfigError: the folder belongs to somebody else or is open to others, or every path is too long.
    """
    name = f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:24]}.line"  # nobody listens: servers speak HTTP now
    for place in (os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), "/tmp"):  # noqa: S108 # short
        runtime = Path(place or "") / f"slowwave-{os.getuid()}"
        if not place or not os.path.isdir(place) or len(os.fsencode(runtime / name)) > LONGEST_SOCKET:  # noqa: PTH112
            continue
        with suppress(OSError):  # nothing can be made there: the next place
            runtime.mkdir(mode=0o700, exist_ok=True)
            break
    else:
        raise errors.ConfigError(
            "there is no folder with a short path for a socket: set XDG_RUNTIME_DIR to one"
        )
    found = runtime.lstat()
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077 or not stat.S_ISDIR(found.st_mode):
        raise errors.ConfigError(f"{runtime} is not a folder of this user alone: remove it, then ask again")
    return runtime / name


def fingerprint(folder: Path) -> str:
    """Hash of what a reader must share with its callers: the program's files, its settings file, the environment."""
    stamps = [*_stamps(str(PACKAGE))]
    path = folder / "slowwave.toml"
    if path.exists():
        stamps.append((str(path), path.stat().st_mtime_ns))
    settings = sorted(
        item
        for item in os.environ.items()
        if item[0].upper().startswith("SLOWWAVE_") and item[0].upper() != "SLOWWAVE_HOME"
    )
    return hashlib.sha256(repr((sys.version, stamps, settings)).encode()).hexdigest()


def _stamps(folder: str) -> Iterator[tuple[str, int]]:
    """Each Python file under a folder with the time of its last change, in an order of their own."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".py"):
            yield entry.path, entry.stat().st_mtime_ns
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _stamps(entry.path)


def request_of(folder: Path, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A request, with the fingerprint of who asks."""
    return {"print": fingerprint(folder), "ask": operation, "arguments": arguments}


def send(connection: socket.socket, document: dict[str, Any]) -> None:
    """One line of JSON."""
    connection.sendall(json.dumps(document).encode() + b"\n")


def receive(
    connection: socket.socket, *, most: int = MOST_ASKED, until: float | None = None
) -> dict[str, Any] | None:
    """The next line as JSON; None where the other side left or sent something else.

    Where `until` is given, a time of the monotonic clock, empty lines are passed over until then.

    Raises:
        InputError: the line is longer than `most` bytes; what is left of it was read, to a bound.
        TimeoutError: nothing came in time.
    """
    with connection.makefile("rb") as stream:
        line = stream.readline(most)
        while until is not None and line == HEARD:
            if time.monotonic() > until:
                raise TimeoutError
            line = stream.readline(most)
        if len(line) == most and not line.endswith(b"\n"):
            stream.readline(DRAINED * most)
            raise errors.InputError(
                f"what was asked or answered has over {most:,} bytes: ask for less at once"
            )
    try:
        document = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def greet(connection: socket.socket) -> None:
    """Tell a caller at once that it is heard."""
    with suppress(OSError):  # it may have left
        connection.sendall(HEARD)


def take_request(connection: socket.socket, seconds: float) -> dict[str, Any] | None:
    """The request of a caller; None where it left, sent something else, or asks too much, which it is told."""
    connection.settimeout(seconds)
    try:
        return receive(connection)
    except errors.InputError as error:
        send(connection, {"error": errors.InputError.__name__, "message": str(error)})
        return None


def has_left(connection: socket.socket) -> bool:
    """Return whether the other side closed the connection: nobody takes an answer any more."""
    before = connection.gettimeout()
    connection.settimeout(0)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:  # it waits for the answer
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(before)


def exchange(
    path: Path, request: dict[str, Any], seconds: float, *, is_once: bool = False
) -> dict[str, Any] | None:
    """The reply of the other side; None where nobody listens, or where it left and asking again harms nothing.

    Where whoever listens does not answer in time, the reply is that this process must do it.

    Raises:
        TransientError: it left without an answer or is silent, and `is_once` forbids to ask somebody else.
        KeyboardInterrupt: Ctrl-C while an answer was awaited; with `is_once` it says that it may be done all the same.
    """
    is_sent = False
    try:
        if time.monotonic() < _silent.get(path, 0.0):
            raise TimeoutError
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(CONNECT_SECONDS)
            connection.connect(str(path))
            connection.settimeout(HEARD_SECONDS)
            if connection.recv(1) != HEARD:
                return None
            connection.settimeout(min(seconds, QUIET_SECONDS))
            is_sent = True
            send(connection, request)
            said = receive(connection, most=MOST_ANSWERED, until=time.monotonic() + seconds)
    except TimeoutError:
        return _unanswered(path, is_once=is_once, is_sent=is_sent)
    except (OSError, AttributeError, errors.InputError):  # nobody listens, no such sockets, an endless answer
        said = None
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(*[MAY_BE_DONE] * (is_sent and is_once)) from stopped
    if said is None and is_sent and is_once:
        raise errors.TransientError(
            "the server left without an answer: look whether it was done, then say it again"
        )
    return said


def _unanswered(path: Path, *, is_once: bool, is_sent: bool) -> dict[str, Any]:
    """The reply for a server that is there and silent: who asks answers alone, and stderr says so once.

    Raises:
        TransientError: it was to write.
    """
    if is_once:
        outcome = MAY_BE_DONE if is_sent else "nothing was done: start it again, or stop it"
        raise errors.TransientError(f"the server of this home does not answer; {outcome}")
    now = time.monotonic()
    if _silent.get(path, 0.0) <= now:
        _silent[path] = now + SILENT_SECONDS
        if sys.stderr:
            sys.stderr.write("slowwave: the server of this home does not answer; answered without it\n")
    return {"stale": True, "stays": True}


def leave_reader(folder: Path) -> "subprocess.Popen[bytes] | None":
    """No reader: servers of a home speak HTTP (`slowwave/interfaces/client.py`), and this process answers itself."""
    return None


def _is_for_another(said: dict[str, Any] | None) -> bool:
    """Return whether nobody answered, or a reader that leaves: the next one may."""
    return said is None or bool(said.get("stale") and not said.get("stays"))


def ask(
    folder: Path, request: dict[str, Any], *, may_leave_reader: Callable[[], bool]
) -> dict[str, Any] | None:
    """The reply to a question of who listens, else of a reader that is started now, where one may be; None for none."""
    said = exchange(socket_path(folder), request, ANSWER_SECONDS)
    if not _is_for_another(said):
        return said
    return ask_new_reader(folder, request) if may_leave_reader() else None


def ask_new_reader(folder: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """The reply of a reader that is started now; None where it ends, does not listen in time, or nothing is stored."""
    process = leave_reader(folder)
    deadline = time.monotonic() + START_SECONDS
    while process is not None and time.monotonic() < deadline:
        has_ended = process.poll() is not None
        said = exchange(socket_path(folder), request, ANSWER_SECONDS)
        if has_ended or not _is_for_another(said):
            return said
        time.sleep(LOOK_SECONDS)
    return None
