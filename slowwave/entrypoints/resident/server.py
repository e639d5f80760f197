"""The reader that stays: answers questions from a memory that is warm, and leaves when nobody asks any more."""

import socket
import threading
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from filelock import FileLock, Timeout

from slowwave.entrypoints.resident.answering import READS, REQUEST_SECONDS, answered
from slowwave.entrypoints.resident.commands import Program
from slowwave.entrypoints.resident.waiting import Waiting, beating
from slowwave.entrypoints.resident.wire import fingerprint, greet, socket_path, take_request
from slowwave.errors import TransientError
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
            callers = SimpleQueue[socket.socket]()
            with beating() as waiting:
                threading.Thread(target=_hear, args=(listener, callers, waiting), daemon=True).start()
                with suppress(Empty), Memory(folder) as memory:
                    if callers.empty():  # who started it may ask already
                        memory.warm()
                    while _answer_one(callers.get(timeout=minutes * 60), waiting, memory, program, own_print):
                        with suppress(TransientError):  # the uses wait for the next time
                            memory.flush()
        finally:
            path.unlink(missing_ok=True)


def _hear(listener: socket.socket, callers: "SimpleQueue[socket.socket]", waiting: Waiting) -> None:
    """Tell each caller at once that it is heard, also while another is answered, and let it wait for its turn."""
    with suppress(OSError):  # the listener is closed: nobody is to come any more
        while True:
            connection, _ = listener.accept()
            greet(connection)
            waiting.add(connection)
            callers.put(connection)


def _answer_one(
    connection: socket.socket, waiting: Waiting, memory: Memory, program: Program, own_print: str
) -> bool:
    """Return whether to go on: a question from another program, other settings or for a home that is gone ends it."""
    with connection, waiting.until_left(connection), suppress(OSError):  # who asked may have left
        request = take_request(connection, REQUEST_SECONDS)
        if request is None:
            return True
        if request.get("print") != own_print:
            with suppress(OSError):
                waiting.answer(connection, {"stale": True})
            return False
        waiting.answer(connection, answered(lambda: memory, request, operations=READS, program=program))
    return True
