"""The locks of a home: a lease for one run at a time, and the writer lock for one change of the store at a time.

    run (a night, a stage, an ingest)   lease for its whole time; writer lock for each commit
    edit of a person                    writer lock, from its look at the store to its commit
    rebuild, erase, redact              both, for their whole time
    recording a message                 none: it is one segment more in the journal

So an edit beside a night waits for one commit at most. A killed holder lets go of all of them at once.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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


@dataclass
class _Holder:
    """The thread of this process that holds a lock, and how often it took it."""

    lock: FileLock
    thread: int
    depth: int = 1


_HELD: dict[Path, _Holder] = {}
"""The locks that this process holds, by their note. A file lock keeps other processes out, and threads not."""

_GUARD = threading.Lock()


@contextmanager
def leasing(home: Home, *, patience_seconds: float = 0.0) -> Iterator[None]:
    """Holds the lease of a run: one run of a home at a time. Its thread may take it again.

    Raises:
        BusyError: another run is at work; the message says which process.
        ConfigError: the folder cannot be written.
    """
    with _holding(home, home.root / LEASE, "run", patience_seconds=patience_seconds):
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
def alone(path: Path, *, taken: Callable[[], str], folder: str = "folder") -> Iterator[None]:
    """Holds a lock of its own for a long work that happens once at a time, and for which nobody waits.

    Raises:
        BusyError: another process holds it; `taken` says so.
        ConfigError: its folder, as it is called to the user, cannot be written.
    """
    lock = FileLock(path, timeout=0, thread_local=False)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise BusyError(taken()) from error
    except OSError as error:
        raise ConfigError(f"the {folder} {path.parent} cannot be written: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _holding(home: Home, note: Path, work: Work, *, patience_seconds: float) -> Iterator[None]:
    key = note.resolve()
    deadline = time.monotonic() + patience_seconds
    # all poll alike: among six writers that never rest, a run waits for two seconds at most
    while refusal := _take(home, key, work):
        if time.monotonic() >= deadline:
            raise BusyError(refusal)
        time.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        _release(key)


def _take(home: Home, key: Path, work: Work) -> str:
    """Takes the lock beside a note, or says who has it."""
    with _GUARD:
        held = _HELD.get(key)
        if held is not None and work == "run" and held.thread == threading.get_ident():
            held.depth += 1
            return ""
        if held is not None:
            return _refusal(home, key)
        lock = FileLock(key.with_suffix(".lock"), timeout=0, thread_local=False)
        try:
            home.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock.acquire()
            since = datetime.now(UTC).isoformat(timespec="seconds")
            key.write_text(json.dumps({"pid": os.getpid(), "since": since, "work": work}), encoding="utf-8")
        except Timeout:
            return _refusal(home, key)
        except OSError as error:
            lock.release()
            raise unwritable(home, error) from error
        _HELD[key] = _Holder(lock, threading.get_ident())
    return ""


def _release(key: Path) -> None:
    with _GUARD:
        held = _HELD[key]
        held.depth -= 1
        if held.depth == 0:
            del _HELD[key]
            with suppress(OSError):  # the note says who it was: the lock alone keeps others out
                key.unlink(missing_ok=True)
            held.lock.release()


def _refusal(home: Home, key: Path) -> str:
    """Message that names the holder of a lock."""
    held = _holder_of(key)
    what = "an edit is being written" if held.get("work") == "edit" else "another run is writing"
    who = f"process {held.get('pid', 'unknown')} since {held.get('since', 'unknown')}"
    if held.get("pid") == os.getpid():
        who = "in this program"
    return f"{what} to {home.root} ({who}); this one left everything as it was"


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
