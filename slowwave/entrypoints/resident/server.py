"""The process of the reader that stays: `python -m slowwave.entrypoints.resident.server HOME`."""

import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from slowwave.entrypoints.resident.client import fingerprint, receive, send, socket_path
from slowwave.errors import SlowwaveError
from slowwave.home.paths import open_home
from slowwave.home.usage import Usage
from slowwave.schemas.search import Filters
from slowwave.search import Reader, ask, open_reader

REQUEST_SECONDS = 10
"""How long a request may take to arrive, and its answer to be taken."""


def serve(folder: Path) -> None:
    """Answers until nobody asked for a while, or who asks needs another program; one reader a home."""
    own_print = fingerprint(folder)
    home = open_home(folder)
    minutes = home.settings.search.resident_minutes
    path = socket_path(folder)
    lock = FileLock(path.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return
    with lock, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        usage = Usage(home)
        try:
            reader = open_reader(home)
            _warm(reader)
            listener.listen()
            listener.settimeout(minutes * 60)
            while _answer_one(listener, reader, usage, own_print):
                pass
        except TimeoutError:
            pass
        finally:
            usage.flush()
            path.unlink(missing_ok=True)


def _answer_one(listener: socket.socket, reader: Reader, usage: Usage, own_print: str) -> bool:
    """Whether to go on: a question from another program, other settings or for a home that is gone ends it."""
    connection, _ = listener.accept()
    with connection, suppress(OSError):  # who asked may have left
        connection.settimeout(REQUEST_SECONDS)
        request = receive(connection)
        if request is None:
            return True
        if request.get("print") != own_print:
            with suppress(OSError):
                send(connection, {"stale": True})
            return False
        send(connection, _answered(reader, usage, request))
    return True


def _answered(reader: Reader, usage: Usage, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": OPERATIONS[str(request.get("ask"))](reader, usage, request["arguments"])}
    except SlowwaveError as error:
        return {"error": type(error).__name__, "message": str(error)}


def _search(reader: Reader, usage: Usage, arguments: dict[str, Any]) -> dict[str, Any]:
    filters = Filters.model_validate(arguments.pop("filters"))
    answer = ask(reader, filters=filters, **arguments)
    usage.note([hit.cell_id for hit in answer.cells], "retrieved", at=datetime.now(UTC))
    return answer.model_dump(mode="json")


OPERATIONS: dict[str, Callable[[Reader, Usage, dict[str, Any]], dict[str, Any]]] = {"search": _search}


def _warm(reader: Reader) -> None:
    """One question to nobody, so that the first real one finds all loaded."""
    if reader.current() is not None:
        ask(reader, "warm")


if __name__ == "__main__":
    os.umask(0o077)
    serve(Path(sys.argv[1]))
