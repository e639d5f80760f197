"""Learning at once: after a conversation has ended, the server starts the flow `learn` in a process of its own.

A conversation has ended when its harness says so, when another one of the same harness begins, or when nothing was said
for `watch.quiet_minutes`. What waits to be read is in the store, so a server that was killed in between starts it too.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Literal, Protocol

from slowwave.errors import SlowwaveError
from slowwave.memory import Memory
from slowwave.settings.tree import Settings

RETRY_SECONDS = 15.0
"""Pause while another run is at work."""

START_SECONDS = 5.0
"""Pause after a server began: its first questions come before."""

_log = logging.getLogger("slowwave.server")


class Runs(Protocol):
    """The flows that a server starts."""

    def start(self, flow: Literal["learn"]) -> object:
        """Start a flow in a process of its own."""
        ...


class Learner:
    """A thread that starts learning when a conversation has ended, where something waits to be read."""

    def __init__(
        self, *, quiet_seconds: float, is_waiting: Callable[[], bool], begin: Callable[[], object]
    ) -> None:
        self._quiet_seconds, self._is_waiting, self._begin = quiet_seconds, is_waiting, begin
        self._due: float | None = None
        self._changed = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="slowwave-learner", daemon=True)

    def start(self) -> None:
        """Begin, with what an earlier server left unread."""
        self._due = time.monotonic() + START_SECONDS
        self._thread.start()

    def close(self) -> None:
        """End; a run that was started goes on by itself."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def taken_in(self, *, is_over: bool) -> None:
        """Hear that messages came in, and whether their conversation has ended."""
        with self._changed:
            later = time.monotonic() + (0.0 if is_over else self._quiet_seconds)
            self._due = min(self._due, later) if is_over and self._due is not None else later
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                left = None if self._due is None else self._due - time.monotonic()
                if self._is_closing:
                    return
                if left is None or left > 0:
                    self._changed.wait(left)
                    continue
                self._due = None
            try:
                if self._is_waiting():
                    self._begin()
            except SlowwaveError as error:  # a run is at work, or the store cannot be read just now
                _log.info("learning waits: %s", error)
                self._try_again()

    def _try_again(self) -> None:
        with self._changed:
            if self._due is None:
                self._due = time.monotonic() + RETRY_SECONDS


def learner_of(memory: Memory, runs: Runs, settings: Settings) -> Learner:
    """The learner of a server; one without a language model, or whose settings say so, never starts anything."""
    is_on = settings.night.learn_at_once and settings.llm.provider != "none"
    return Learner(
        quiet_seconds=60.0 * settings.watch.quiet_minutes,
        is_waiting=lambda: is_on and memory.status().pending.chunks.get("pending", 0) > 0,
        begin=lambda: runs.start("learn"),
    )
