"""The reader that stays: answers questions from a memory that is warm, and leaves when nobody asks any more."""

import select
import socket
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from slowwave.entrypoints.resident.answering import READS, REQUEST_SECONDS, answered
from slowwave.entrypoints.resident.commands import Program
from slowwave.entrypoints.resident.wire import fingerprint, receive, send, socket_path
from slowwave.errors import InputError, TransientError
from slowwave.memory import Memory
from slowwave.settings.tree import load_settings


def serve(folder: Path, program: Program) -> None:
    """Answers until nobody asked for a while, or who asks needs another program; one reader a home."""
    own_print = fingerprint(folder)
    minutes = load_settings(folder).search.resident_minutes
    path = socket_path(folder)
    lock = FileLock(path.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return
    with lock, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        try:
            listener.listen()
            listener.settimeout(minutes * 60)
            with suppress(TimeoutError), Memory(folder) as memory:
                if not select.select([listener], [], [], 0)[0]:  # who started it may ask already
                    memory.warm()
                while _answer_one(listener, memory, program, own_print):
                    with suppress(TransientError):  # the uses wait for the next time
                        memory.flush()
        finally:
            path.unlink(missing_ok=True)


def _answer_one(listener: socket.socket, memory: Memory, program: Program, own_print: str) -> bool:
    """Return whether to go on: a question from another program, other settings or for a home that is gone ends it."""
    connection, _ = listener.accept()
    with connection, suppress(OSError):  # who asked may have left
        connection.settimeout(REQUEST_SECONDS)
        try:
            request = receive(connection)
        except InputError as error:
            send(connection, {"error": InputError.__name__, "message": str(error)})
            return True
        if request is None:
            return True
        if request.get("print") != own_print:
            with suppress(OSError):
                send(connection, {"stale": True})
            return False
        send(connection, answered(lambda: memory, request, operations=READS, program=program))
    return True
