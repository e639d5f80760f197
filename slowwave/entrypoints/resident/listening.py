"""The socket of a home in the hands of its server, which answers several callers at once from its own memory."""

import logging
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from slowwave.entrypoints.resident.answering import REQUEST_SECONDS, answered
from slowwave.entrypoints.resident.commands import Program
from slowwave.entrypoints.resident.place import HOME_GONE, Place
from slowwave.entrypoints.resident.waiting import Waiting, beating
from slowwave.entrypoints.resident.wire import (
    CONNECT_SECONDS,
    fingerprint,
    greet,
    has_left,
    receive,
    send,
    socket_path,
    take_request,
)
from slowwave.errors import TransientError
from slowwave.memory import Memory

TAKE_SECONDS = 10.0
"""So long a reader that stays may take to leave."""

LOOK_SECONDS = 0.5
_log = logging.getLogger("slowwave.server")


@contextmanager
def listening(
    folder: Path, memory: Memory, *, threads: int, program: Program | None = None
) -> Iterator[None]:
    """A block in which the home's socket is answered; a reader that stays makes way. Without the socket it goes on.

    With the command line (`program`) it runs whole commands, too.
    """
    path = socket_path(folder)
    lock = FileLock(path.with_suffix(".lock"))
    send_away(path)
    try:
        lock.acquire(timeout=TAKE_SECONDS)
    except Timeout:
        _log.warning("the command line is not answered: another process holds %s", path)
        yield
        return
    with lock, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        listener.listen(threads * 8)
        listener.settimeout(LOOK_SECONDS)
        own_print, is_over = fingerprint(folder), threading.Event()
        answer = partial(_answer, memory=memory, program=program, own_print=own_print, place=Place(folder))
        with beating() as waiting:
            loop = threading.Thread(
                target=_accept, args=(listener, answer, waiting, threads, is_over), daemon=True
            )
            loop.start()
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
                is_over.set()
                loop.join()


def send_away(path: Path) -> None:
    """Ask a reader that stays to leave: it does when it is asked by another program than its own."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(str(path))
        send(connection, {"print": "a server takes over"})
        receive(connection)


def _accept(
    listener: socket.socket,
    answer: Callable[[socket.socket, Waiting], None],
    waiting: Waiting,
    threads: int,
    is_over: threading.Event,
) -> None:
    with ThreadPoolExecutor(threads, thread_name_prefix="socket") as pool:
        while not is_over.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError as error:  # such as too many open files: who asks waits, and is answered after it
                _log.warning("the command line waits: %s", error.strerror)
                is_over.wait(LOOK_SECONDS)
                continue
            greet(connection)
            waiting.add(connection)
            pool.submit(answer, connection, waiting).add_done_callback(_tell)


def _tell(answered_call: "Future[None]") -> None:
    """Tell the log the place of an error that nobody foresaw; its text may quote what is stored."""
    if (error := answered_call.exception()) is not None:
        place = "".join(traceback.format_tb(error.__traceback__))
        _log.error("a call of the command line failed: %s\n%s", type(error).__name__, place)


def _answer(
    connection: socket.socket,
    waiting: Waiting,
    *,
    memory: Memory,
    program: Program | None,
    own_print: str,
    place: Place,
) -> None:
    with connection, waiting.until_left(connection), suppress(OSError):  # who asked may have left
        request = take_request(connection, REQUEST_SECONDS)
        if request is None:
            return
        if request.get("print") != own_print:
            waiting.answer(connection, {"stale": True, "stays": True})
            return
        if place.is_gone():
            waiting.answer(connection, {"error": TransientError.__name__, "message": HOME_GONE})
            return
        if has_left(connection):  # such as after Ctrl-C: what was not begun is not done
            return
        answer = answered(lambda: memory, request, program=program)
        if place.is_gone():  # while it was done: nobody is told that it was
            answer = {"error": TransientError.__name__, "message": HOME_GONE}
        waiting.answer(connection, answer)
