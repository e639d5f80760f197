"""The writer lock of a home: one process writes, and says which it is."""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from slowwave.errors import BusyError, ConfigError
from slowwave.home.paths import Home

Work = Literal["run", "word"]
"""What a writer does: a run takes minutes, a person's word a moment."""


POLL_SECONDS = 0.05


@contextmanager
def writing(home: Home, *, work: Work = "run", patience_seconds: float = 0.0) -> Iterator[None]:
    """Holds the writer lock; within one process it may be taken again. A killed holder lets go at once.

    Waits up to `patience_seconds` for a person's word to be written, and never for a run.

    Raises:
        BusyError: another process holds it.
        ConfigError: the folder cannot be written.
    """
    path, holder = home.root / "writer.lock", home.writer_path
    deadline = time.monotonic() + patience_seconds
    try:
        home.root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=0, is_singleton=True, thread_local=False)
        while True:
            try:
                lock.acquire()
                break
            except Timeout as error:
                held = _holder_of(holder)
                if held.get("work", "word") != "word" or time.monotonic() >= deadline:
                    raise _busy(home, held) from error
                time.sleep(POLL_SECONDS)
    except OSError as error:
        raise ConfigError(f"the home folder {home.root} cannot be written: {error.strerror}") from error
    try:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        holder.write_text(json.dumps({"pid": os.getpid(), "since": since, "work": work}), encoding="utf-8")
        yield
    finally:
        if lock.lock_counter == 1:
            holder.unlink(missing_ok=True)
        lock.release()


def _holder_of(path: Path) -> dict[str, object]:
    """What the holder of the writer lock says of itself; empty where nobody does."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _busy(home: Home, held: Mapping[str, object]) -> BusyError:
    who = f"process {held['pid']} since {held['since']}" if {"pid", "since"} <= held.keys() else "unknown"
    what = "a person's word is being written" if held.get("work") == "word" else "another run is writing"
    return BusyError(f"{what} to {home.root} ({who}); this one left everything as it was")


APPLYING = threading.Lock()
"""Held by the thread that writes the store: the writer lock keeps other processes out, and threads of this one not."""


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """The writer lock for one thread of one process, waited for as long as `edits.lock_seconds`.

    Raises:
        BusyError: someone else holds it for longer.
    """
    deadline = time.monotonic() + home.settings.edits.lock_seconds
    if not APPLYING.acquire(timeout=max(home.settings.edits.lock_seconds, 0.0)):
        raise BusyError(f"another word is written to {home.root} just now; try again")
    try:
        with ExitStack() as held:
            while True:
                if is_held_here(home):
                    raise BusyError(f"a run in this program is writing to {home.root}; try again later")
                try:
                    held.enter_context(writing(home, work="word"))
                    break
                except BusyError:
                    if time.monotonic() >= deadline:
                        raise
                    time.sleep(POLL_SECONDS)
            yield
    finally:
        APPLYING.release()


def is_held_here(home: Home) -> bool:
    """Whether this process holds the writer lock: then another thread of it, or the caller, is at work."""
    lock = FileLock(home.root / "writer.lock", timeout=0, is_singleton=True, thread_local=False)
    return bool(lock.is_locked)


def is_written_elsewhere(home: Home) -> bool:
    """Whether another process writes the store; also for a while after one was killed."""
    return _holder_of(home.writer_path).get("pid", os.getpid()) != os.getpid()
