"""Callers that wait for their answer: each hears every few seconds that whoever answers still works.

So a caller tells a long write from a process that is stopped: that one is silent.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from slowwave.entrypoints.resident.wire import HEARD, send

BEAT_SECONDS = 5.0


class Waiting:
    """The connections that have no answer yet."""

    def __init__(self) -> None:
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    def add(self, connection: socket.socket) -> None:
        """Let a caller wait."""
        with self._lock:
            self._connections.add(connection)

    @contextmanager
    def until_left(self, connection: socket.socket) -> Iterator[None]:
        """A block after which a caller waits no longer, answered or not."""
        try:
            yield
        finally:
            self._leave(connection)

    def answer(self, connection: socket.socket, document: dict[str, Any]) -> None:
        """Send a caller its answer, which no further line may part."""
        self._leave(connection)
        send(connection, document)

    def beat(self) -> None:
        """Tell all that wait that they are heard."""
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):  # it left, or does not listen
                    connection.send(HEARD, socket.MSG_DONTWAIT)

    def _leave(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)


@contextmanager
def beating() -> Iterator[Waiting]:
    """A block in which those that wait hear it from a thread."""
    waiting, is_over = Waiting(), threading.Event()

    def beat() -> None:
        while not is_over.wait(BEAT_SECONDS):
            waiting.beat()

    thread = threading.Thread(target=beat, name="beats", daemon=True)
    thread.start()
    try:
        yield waiting
    finally:
        is_over.set()
        thread.join()
