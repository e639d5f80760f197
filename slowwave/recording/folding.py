"""Folding what is committed into the store, for a writer that does not wait for its turn."""

import threading
from contextlib import suppress
from datetime import datetime
from typing import Literal

from slowwave.errors import BusyError, ConfigError, OutputError, SlowwaveError, TransientError
from slowwave.home.core_memory import ingest_hand_edits, write_core
from slowwave.home.lock import writing
from slowwave.home.stated_values import retire_at_once
from slowwave.home.workspace import Workspace, vectors_or_none, wall_clock, workspace_of
from slowwave.recall.reader import Reader

Folded = Literal["folded", "busy", "failed"]

NO_VECTOR_YET = "found by full text alone until a vector is there"

FOLD_SECONDS = 2.0
"""Seconds after which recorded messages are folded, many together: each fold adds a version to the tables it writes."""


def fold_committed(
    reader: Reader, *, patience_seconds: float, now: datetime | None = None
) -> tuple[Folded, str]:
    """Apply everything committed, with vectors, and retire the values that a stated one outdates.

    What a person changed in `MEMORY.md` is taken in with it.

    Returns what became of it, and a note where something waits.
    """
    home = reader.home
    try:
        with writing(home, patience_seconds=patience_seconds, makes_home=False):
            if reader.current() is None:
                workspace_of(home, clock=wall_clock)
            store = reader.current()  # opens the embedder too
            assert store is not None  # made above, under the lock
            clock = wall_clock if now is None else lambda: now
            work = Workspace(home, store, reader.embedder, clock=clock, is_short=True)
            work.apply_all()
            retire_at_once(work)
            if ingest_hand_edits(work):
                write_core(work)
            return "folded", embed(work)
    except BusyError:
        return "busy", "recorded; it is found soon after the run or edit that is writing now has ended"
    except (TransientError, ConfigError) as error:
        return "failed", f"recorded; it is found once it can be written to the store: {error}"


def show_committed(reader: Reader) -> tuple[bool, str]:
    """Let this process's questions find what is committed by its vector, too, before it is in the store.

    Returns whether they find it at all, and a note where vectors have to wait. The caller sees to it that it is folded
    soon.
    """
    store, notes = reader.current(), list[str]()
    if store is None:
        return False, ""
    if reader.embedder is not None:
        store.embed_new(vectors_or_none(reader.embedder, notes))
    return store.shows("cells"), f"{NO_VECTOR_YET}: {notes[0]}" if notes else ""


def embed(work: Workspace) -> str:
    """Compute missing vectors; return a note where they have to wait, else an empty text."""
    try:
        work.refresh_vectors()
    except (TransientError, OutputError) as error:
        return f"{NO_VECTOR_YET}: {error}"
    return ""


class Folding:
    """Folds what was committed some seconds later, in a thread beside: many records become one fold.

    While another process writes the store it tries again; what never comes to it is folded by the next `Memory`.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._has_work = False
        self.has_time = False
        """Whether this process stays, as a server does: others fold before a write is answered."""

    def show(self) -> tuple[bool, str]:
        """Let questions find what was committed before it is folded (`show_committed`)."""
        shown = show_committed(self._reader)
        if shown[0]:
            self.soon()
        return shown

    def now(self) -> None:
        """Fold what waits; beside a run as soon as it can be."""
        if self._fold(0.0) == "busy":
            self.soon()

    def soon(self) -> None:
        """Say that something was committed."""
        with self._lock:
            self._has_work = True
            if self._timer is None:
                self._timer = threading.Timer(FOLD_SECONDS, self._fold_in_time)
                self._timer.daemon = True
                self._timer.start()

    def finish(self, *, most_seconds: float) -> None:
        """Fold what waits now, in at most so long; a run that writes is waited for as an edit waits for it."""
        with self._lock:
            has_work = self._has_work or self._timer is not None
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
        if has_work:
            patience = self._reader.home.settings.edits.lock_seconds
            last = threading.Thread(target=self._fold, args=(patience,), daemon=True)
            last.start()
            last.join(most_seconds)

    def _fold_in_time(self) -> None:
        with self._lock:
            if self._timer is None:
                return
            self._timer = None
        if self._fold(0.0) == "busy":
            self.soon()

    def _fold(self, patience_seconds: float) -> Folded:
        done: Folded = "failed"
        # a damaged store is told to whoever asks it; the journal has everything
        with suppress(SlowwaveError):
            done, _ = fold_committed(self._reader, patience_seconds=patience_seconds)
        with self._lock:
            self._has_work = done == "busy"
        return done
