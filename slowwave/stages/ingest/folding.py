"""Folding what is committed into the store, for a writer that does not wait for its turn."""

import threading
from contextlib import suppress
from typing import Literal

from slowwave.errors import BusyError, ConfigError, OutputError, SlowwaveError, TransientError
from slowwave.home.lock import writing
from slowwave.home.workspace import Workspace, wall_clock, workspace_of
from slowwave.search import Reader

Folded = Literal["folded", "busy", "failed"]


def fold_committed(reader: Reader, *, patience_seconds: float) -> tuple[Folded, str]:
    """Apply everything committed, with vectors; return what became of it, and a note where something waits."""
    home = reader.home
    try:
        with writing(home, work="edit", patience_seconds=patience_seconds, makes_home=False):
            if reader.current() is None:
                workspace_of(home, clock=wall_clock)
            store = reader.current()  # opens the embedder too
            assert store is not None  # made above, under the lock
            work = Workspace(home, store, reader.embedder)
            work.apply_all()
            note = embed(work)
            work.store.catch_up()
            return "folded", note
    except BusyError as error:
        return "busy", f"recorded, and the next writer adds this memory: {error}"
    except (TransientError, ConfigError) as error:
        return "failed", f"recorded; the next writer makes it searchable: {error}"


def embed(work: Workspace) -> str:
    """Compute missing vectors; return a note where they have to wait, else an empty text."""
    try:
        work.refresh_vectors()
    except (TransientError, OutputError) as error:
        return f"found by full text alone until a vector is there: {error}"
    return ""


class Folding:
    """Folds what was committed some seconds later, in a thread beside: many records become one fold.

    While another process writes the store it tries again; what never comes to it is folded by the next writer.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def soon(self) -> None:
        """Say that something was committed."""
        settings = self._reader.settings.record
        with self._lock:
            if self._timer is None:
                self._start(settings.fold_seconds)

    def stop(self) -> None:
        """Leave what waits to the next writer."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None

    def _start(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._fold)
        self._timer.daemon = True
        self._timer.start()

    def _fold(self) -> None:
        with self._lock:
            mine = self._timer
            self._timer = None
        if mine is None:
            return
        with suppress(
            SlowwaveError
        ):  # a damaged store is told to whoever asks it; the journal has everything
            done, _ = fold_committed(self._reader, patience_seconds=0.0)
            with self._lock:
                if done == "busy" and self._timer is None:
                    self._start(self._reader.settings.record.retry_seconds)
