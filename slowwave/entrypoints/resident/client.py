"""One call from outside to a memory: `slowwave serve` or a reader that stays answers it, else this process does.

Importing LanceDB and opening a store takes seconds, answering takes milliseconds. So a server of the home answers
every call of the command line from its warm memory (`slowwave serve`). Where none runs, the first question of a while
starts a reader, which answers it and the next ones: it listens on the same Unix socket, which only this user can open,
answers until nobody asked for `search.resident_minutes`, and leaves as soon as the program, the settings or the home
are other than the ones it started with. With `0` minutes none is started, and where none comes up the process that
asks reads itself. What writes never starts a reader, and is carried out here where no server runs.

One request is a line of JSON, and so is its answer: `{"print": ..., "ask": ..., "arguments": {...}}` gives
`{"answer": {...}}`, `{"error": class, "message": ...}`, or `{"stale": true}`, with `"stays": true` where whoever
listens goes on without answering: a server that was started with other settings, a reader that was asked to write.
"""

import hashlib
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter

import slowwave
from slowwave import errors

ENDLESS_LINE = 4_000_000
"""Bytes of a request or an answer that are read at most."""

LONGEST_SOCKET = 103
"""Bytes that a socket's path may have on macOS; Linux takes four more."""

CONNECT_SECONDS = 0.5
ANSWER_SECONDS = 30.0
WRITE_SECONDS = 900.0
"""So long an answer may take: of a question, and of what writes (an erase searches every byte of the home)."""

START_SECONDS, LOOK_SECONDS = 30.0, 0.03
"""So long a reader that was started may take to listen, and so often it is looked whether it does."""


PACKAGE = Path(slowwave.__file__).parent

Reading = Literal[
    "search", "context", "entity", "timeline", "explain", "weak", "archived", "stats", "status", "topics", "core",
    "replacements", "contradictions", "quarantine", "cell", "cells", "entities", "episodes",
]  # fmt: skip
"""Methods of `Memory` that change nothing but what was used; those that note it give a model with notes."""

Writing = Literal[
    "remember", "correct", "confirm", "forget", "erase", "resolve", "unresolve", "cite", "ignore", "settle", "record",
    "ingest", "release",
]  # fmt: skip
"""Methods of `Memory` that write: a server answers them, a reader that stays does not."""

Operation = Reading | Writing

Answer = TypeVar("Answer")


def read(home: str | None, operation: Reading, arguments: dict[str, Any], answer: type[Answer]) -> Answer:
    """Answer as `Memory` does, by who listens for this home, or a reader that is started now; else this process.

    Raises:
        SlowwaveError: what answering raised.
    """
    folder = home_folder(home)
    request = _request(folder, operation, arguments)
    said = _exchange(socket_path(folder), request, ANSWER_SECONDS)
    if said is None or (said.get("stale") and not said.get("stays")):
        said = _ask_new_resident(home, folder, request)
    if said is not None and not said.get("stale"):
        return _told(said, answer)
    found: Answer = _alone(home, operation, arguments)
    return found


def call(home: str | None, operation: Operation, arguments: dict[str, Any], answer: type[Answer]) -> Answer:
    """Do as `Memory` does, by the server of this home where one runs; else in this process. Starts no reader.

    Raises:
        TransientError: the server left while it was to write: it may have done what was asked, or not.
        SlowwaveError: what the operation raised.
    """
    said = ask_server(home, operation, arguments)
    return (
        _alone(home, operation, arguments) if said is None else TypeAdapter(answer).validate_python(said[0])
    )


def ask_server(home: str | None, operation: Operation, arguments: dict[str, Any]) -> tuple[Any] | None:
    """The answer of whoever listens for this home, alone in a tuple; None where nobody does that can answer.

    A question that was left without an answer may be asked again elsewhere; of a write that is an error, as of `call`.
    """
    folder, writes = home_folder(home), operation in get_args(Writing)
    seconds = WRITE_SECONDS if writes else ANSWER_SECONDS
    said = _exchange(socket_path(folder), _request(folder, operation, arguments), seconds, is_once=writes)
    return None if said is None or said.get("stale") else (_answer_of(said),)


def home_folder(home: str | None) -> Path:
    """The home that a command means, as `load_settings` takes it, without reading its settings."""
    return Path(home or os.environ.get("SLOWWAVE_HOME") or "data/home").expanduser().resolve()


def leave_resident(home: str | None) -> "subprocess.Popen[bytes] | None":
    """Start a reader of this home, detached from the terminal; None where nothing is stored."""
    if not hasattr(socket, "AF_UNIX") or not (home_folder(home) / "store" / "CURRENT").exists():
        return None
    return subprocess.Popen(  # noqa: S603 # our own module, with our own interpreter
        [sys.executable, "-m", "slowwave.entrypoints.resident.server", str(home_folder(home))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=PACKAGE.parent,
    )


def socket_path(folder: Path) -> Path:
    """The socket of a home's reader, in a folder of this user alone, since a home's own path may be too long.

    Raises:
        ConfigError: the folder belongs to somebody else or is open to others, or every path is too long.
    """
    name = f"{hashlib.sha256(str(folder).encode()).hexdigest()[:24]}.sock"
    for place in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108 # short
        runtime = Path(place or "") / f"slowwave-{os.getuid()}"
        if place and os.path.isdir(place) and len(os.fsencode(runtime / name)) <= LONGEST_SOCKET:  # noqa: PTH112
            break
    else:
        raise errors.ConfigError(
            "there is no folder with a short path for a socket: set XDG_RUNTIME_DIR to one"
        )
    runtime.mkdir(mode=0o700, exist_ok=True)
    found = runtime.lstat()
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077 or not stat.S_ISDIR(found.st_mode):
        raise errors.ConfigError(f"{runtime} is not a folder of this user alone: remove it, then ask again")
    return runtime / name


def fingerprint(folder: Path) -> str:
    """Hash of what a reader must share with its callers: the program's files, its settings file, the environment."""
    files = [*sorted(PACKAGE.rglob("*.py")), folder / "slowwave.toml", folder / "calibration.json"]
    stamps = [(str(path), path.stat().st_mtime_ns) for path in files if path.exists()]
    settings = sorted(
        item
        for item in os.environ.items()
        if item[0].upper().startswith("SLOWWAVE_") and item[0].upper() != "SLOWWAVE_HOME"
    )
    return hashlib.sha256(repr((sys.version, stamps, settings)).encode()).hexdigest()


def send(connection: socket.socket, document: dict[str, Any]) -> None:
    """One line of JSON."""
    connection.sendall(json.dumps(document).encode() + b"\n")


def receive(connection: socket.socket) -> dict[str, Any] | None:
    """The next line as JSON; None where the other side left or sent something else."""
    with connection.makefile("rb") as stream:
        line = stream.readline(ENDLESS_LINE)
    try:
        document = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _ask_new_resident(home: str | None, folder: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """The reply of a reader that is started now; None where none is wanted, it ends, or does not listen in time."""
    from slowwave.settings.tree import load_settings

    if load_settings(home).search.resident_minutes == 0:
        return None
    process = leave_resident(home)
    deadline = time.monotonic() + START_SECONDS
    while process is not None and time.monotonic() < deadline:
        has_ended = process.poll() is not None
        said = _exchange(socket_path(folder), request, ANSWER_SECONDS)
        if (said is not None and not said.get("stale")) or has_ended:
            return said
        time.sleep(LOOK_SECONDS)
    return None


def _alone(home: str | None, operation: Operation, arguments: dict[str, Any]) -> Any:
    """The answer of this process."""
    from slowwave.memory import Memory

    with Memory(home) as memory:
        result = getattr(memory, operation)(**arguments)
        try:
            memory.flush()
        except errors.TransientError as error:
            result = _with_note(result, f"its use is not noted: {error}")
    return result


def _request(folder: Path, operation: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"print": fingerprint(folder), "ask": operation, "arguments": arguments}


def _with_note(result: Any, note: str) -> Any:
    """An answer that has notes with one more; any other as it is."""
    if isinstance(result, BaseModel) and "notes" in type(result).model_fields:
        notes = [*result.model_dump(include={"notes"})["notes"], note]
        return result.model_copy(update={"notes": notes})
    return result


def _told(said: dict[str, Any], answer: type[Answer]) -> Answer:
    return TypeAdapter(answer).validate_python(_answer_of(said))


def _answer_of(said: dict[str, Any]) -> Any:
    if "error" in said:
        raise getattr(errors, said["error"])(said["message"])
    return said["answer"]


def _exchange(
    path: Path, request: dict[str, Any], seconds: float, *, is_once: bool = False
) -> dict[str, Any] | None:
    """The reply of the other side; None where nobody listens, or where it left and asking again harms nothing.

    Raises:
        TransientError: it left without an answer, and `is_once` forbids to ask somebody else.
    """
    is_sent = False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(CONNECT_SECONDS)
            connection.connect(str(path))
            connection.settimeout(seconds)
            is_sent = True
            send(connection, request)
            said = receive(connection)
    except (OSError, AttributeError):  # nobody listens, or this system has no such sockets
        said = None
    if said is None and is_sent and is_once:
        raise errors.TransientError(
            "the server left without an answer: look whether it was done, then say it again"
        )
    return said
