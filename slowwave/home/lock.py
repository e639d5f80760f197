"""The locks of a home: a lease for one run at a time, and the writer lock for one change of the store at a time.

    run (a night, a stage, an ingest)   lease for its whole time; writer lock for each commit
    edit of a person                    writer lock, from its look at the store to its commit
    rebuild, erase, redact              both, for their whole time
    recording a message                 none: it is one segment more in the journal

So an edit beside a night waits for one commit at most. A killed holder lets go of all of them at once.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from slowwave.errors import BusyError, ConfigError, TransientError
from slowwave.home.paths import Home, unwritable

Work = Literal["run", "edit"]
"""Kind of work of a writer."""

LEASE, WRITER = "run.json", "writer.json"
"""Notes that name the process of the run at work, and of the writer. A killed one leaves its note behind."""

POLL_SECONDS = 0.05

COMMIT_SECONDS = 300.0
"""Longest wait of a run for the edits that are being written: each takes a moment, and a night must not end for one."""


@contextmanager
def leasing(home: Home, *, flow: str = "", patience_seconds: float = 0.0) -> Iterator[None]:
    """Holds the lease of a run: one run of a home at a time. Its thread may take it again.

    Raises:
        BusyError: another run is at work; the message says which flow, where it was named, and which process.
        ConfigError: the folder cannot be written.
    """
    with _holding(home, home.root / LEASE, "run", flow=flow, patience_seconds=patience_seconds):
        yield


@contextmanager
def writing(
    home: Home, *, work: Work = "edit", patience_seconds: float = 0.0, makes_home: bool = True
) -> Iterator[None]:
    """Holds the writer lock for one change of the store. A run's thread may take it again, and within an edit.

    Raises:
        BusyError: someone else holds it for longer than `patience_seconds`; the message says who.
        ConfigError: the folder cannot be written.
        TransientError: there is no home, and without `makes_home` none is made.
    """
    if not makes_home and not home.root.is_dir():
        raise TransientError(f"the home folder {home.root} was moved or removed: put it back")
    with _holding(home, home.root / WRITER, work, patience_seconds=patience_seconds):
        yield


@contextmanager
def rewriting(home: Home, *, patience_seconds: float = 0.0) -> Iterator[None]:
    """Holds lease and writer lock, for work that nobody else may write beside.

    Raises:
        BusyError: a run or an edit is at work for longer than `patience_seconds`.
    """
    with (
        leasing(home, patience_seconds=patience_seconds),
        writing(home, work="run", patience_seconds=max(patience_seconds, COMMIT_SECONDS)),
    ):
        yield


@contextmanager
def alone(
    path: Path, *, taken: Callable[[], str], folder: str = "folder", patience_seconds: float = 0.0
) -> Iterator[FileLock]:
    """Holds a lock for work that happens once at a time. Its thread may take it again.

    Raises:
        BusyError: another process or thread holds it for longer than `patience_seconds`; `taken` says so.
        ConfigError: its folder, as it is called to the user, cannot be written.
    """
    # each thread has a count and an open file of its own, so that threads keep each other out as processes do
    lock = FileLock(path, is_singleton=True)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # all poll alike: among six writers that never rest, a run waits for two seconds at most
        lock.acquire(timeout=patience_seconds, poll_interval=POLL_SECONDS)
    except Timeout as error:
        raise BusyError(taken()) from error
    except OSError as error:
        raise ConfigError(f"the {folder} {path.parent} cannot be written: {error.strerror}") from error
    try:
        yield lock
    finally:
        lock.release()


@contextmanager
def _holding(
    home: Home, note: Path, work: Work, *, patience_seconds: float, flow: str = ""
) -> Iterator[None]:
    path = note.resolve().with_suffix(".lock")
    if work == "edit" and FileLock(path, is_singleton=True).is_locked:
        raise BusyError(_refusal(home, note))  # it would change what its own thread is looking at
    with alone(
        path, taken=lambda: _refusal(home, note), folder="home folder", patience_seconds=patience_seconds
    ) as lock:
        if is_first := lock.lock_counter == 1:
            since = datetime.now(UTC).isoformat(timespec="seconds")
            held = json.dumps({"pid": os.getpid(), "since": since, "work": work, "flow": flow})
            try:
                note.write_text(held, encoding="utf-8")
            except OSError as error:
                raise unwritable(home, error) from error
        try:
            yield
        finally:
            if is_first:
                with suppress(OSError):  # the note says who it was: the lock alone keeps others out
                    note.unlink(missing_ok=True)


def _refusal(home: Home, note: Path) -> str:
    """Message that names the holder of a lock."""
    held = _holder_of(note)
    what = "an edit is being written" if held.get("work") == "edit" else "another run is writing"
    who = f"process {held.get('pid', 'unknown')} since {held.get('since', 'unknown')}"
    if held.get("pid") == os.getpid():
        who = "in this program"
    flow = f"{held['flow']}, " if held.get("flow") else ""
    return f"{what} to {home.root} ({flow}{who}); this one left everything as it was"


def _holder_of(note: Path) -> dict[str, object]:
    """The note that the holder of a lock left; empty where there is none."""
    try:
        held = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def is_written_elsewhere(home: Home) -> bool:
    """Return whether another process runs over the store or writes it; also for a while after one was killed."""
    mine = os.getpid()
    return any(_holder_of(note).get("pid", mine) != mine for note in (home.root / LEASE, home.root / WRITER))
