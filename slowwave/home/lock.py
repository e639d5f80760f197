"""The locks of a home: one thread of one process writes, and says which it is; one process at a time records."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from slowwave.errors import BusyError, ConfigError, TransientError
from slowwave.home.paths import Home

Work = Literal["run", "edit"]
"""Kind of work of a writer: a run takes minutes, an edit a moment."""

POLL_SECONDS = 0.05

RECORDING_SECONDS = 10.0
"""The longest that a recorder waits for the others, each of which needs some milliseconds."""

RECORDING_POLL_SECONDS = 0.002


@dataclass
class _Holder:
    """The thread of this process that holds a lock, and how often it took it."""

    lock: FileLock
    thread: int
    work: Work
    depth: int = 1


@dataclass(frozen=True)
class _Refusal:
    """A message that names the writer at work, and whether waiting for it makes sense."""

    message: str
    work: Work
    is_here: bool


_HELD: dict[Path, _Holder] = {}
"""The locks that this process holds. Guarded by `_GUARD`: a file lock keeps other processes out, and threads not."""

_GUARD = threading.Lock()


@contextmanager
def writing(
    home: Home,
    *,
    work: Work = "run",
    patience_seconds: float = 0.0,
    waits_for_runs: bool = False,
    makes_home: bool = True,
) -> Iterator[None]:
    """Holds the writer lock; a run may take it again in its own thread. A killed holder lets go at once.

    Waits up to `patience_seconds` for a person's edit to be written, and for a run of another process only where
    `waits_for_runs`. Edits that come while a run waits let it go first: many of them would keep it out.

    Raises:
        BusyError: someone else holds it; the message says who.
        ConfigError: the folder cannot be written.
        TransientError: there is no home, and without `makes_home` none is made.
    """
    if not makes_home and not home.root.is_dir():
        raise TransientError(f"the home folder {home.root} was moved or removed: put it back")
    key = home.root.resolve()
    deadline = time.monotonic() + patience_seconds
    with ExitStack() as waiting:
        while refusal := _take(home, key, work):
            is_short = refusal.work == "edit" or (waits_for_runs and not refusal.is_here)
            if not is_short or time.monotonic() >= deadline:
                raise BusyError(refusal.message)
            if work == "run":
                _go_first(home, waiting)
            time.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        _release(home, key)


@contextmanager
def recording(home: Home) -> Iterator[None]:
    """Holds the lock of those that record messages, for one commit to the journal; writers do not take it.

    So each knows what the others have committed before it gives a message its place. A killed holder lets go at once.

    Raises:
        TransientError: another process holds it for long, or the folder cannot be written.
    """
    lock = FileLock(home.recording_path, timeout=RECORDING_SECONDS, thread_local=False)
    try:
        home.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire(poll_interval=RECORDING_POLL_SECONDS)
    except Timeout as error:
        raise TransientError(
            f"another process has been recording to {home.root} for over {RECORDING_SECONDS:g} seconds; nothing was "
            "recorded. Try again; if it stays so, end that process."
        ) from error
    except OSError as error:
        raise TransientError(
            f"the home folder {home.root} cannot be written ({error.strerror}); nothing was recorded. "
            "Make room or mend the permissions, then try again."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _take(home: Home, key: Path, work: Work) -> _Refusal | None:
    """Takes the lock, or says who has it."""
    with _GUARD:
        held = _HELD.get(key)
        if held is not None and held.work == work == "run" and held.thread == threading.get_ident():
            held.depth += 1
            return None
        if held is not None:
            who = "a run" if held.work == "run" else "another edit"
            return _Refusal(
                f"{who} in this program is writing to {home.root}; try again later", held.work, True
            )
        if work == "edit" and _has_run_waiting(home):
            return _Refusal(f"a run waits to write to {home.root}; try again later", "run", False)
        lock = FileLock(home.root / "writer.lock", timeout=0, thread_local=False)
        try:
            home.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock.acquire()
            since = datetime.now(UTC).isoformat(timespec="seconds")
            said = json.dumps({"pid": os.getpid(), "since": since, "work": work})
            home.writer_path.write_text(said, encoding="utf-8")
        except Timeout:
            return _elsewhere(home)
        except OSError as error:
            lock.release()
            where = f" ({Path(error.filename).name})" if error.filename else ""
            raise ConfigError(
                f"the home folder {home.root} cannot be written{where}: {error.strerror}"
            ) from error
        _HELD[key] = _Holder(lock, threading.get_ident(), work)
    return None


def _go_first(home: Home, waiting: ExitStack) -> None:
    """Keeps edits from beginning for as long as this run waits; where another run does, that is done already."""
    with suppress(Timeout, OSError):
        waiting.enter_context(FileLock(home.next_path, timeout=0, thread_local=False))


def _has_run_waiting(home: Home) -> bool:
    if not home.next_path.exists():
        return False
    try:
        with FileLock(home.next_path, timeout=0, thread_local=False):
            return False
    except (Timeout, OSError):
        return True


def _release(home: Home, key: Path) -> None:
    with _GUARD:
        held = _HELD[key]
        held.depth -= 1
        if held.depth == 0:
            home.writer_path.unlink(missing_ok=True)
            del _HELD[key]
            held.lock.release()


def _elsewhere(home: Home) -> _Refusal:
    held = _written_by(home)
    work: Work = "run" if held.get("work") == "run" else "edit"  # for a moment the holder has not said yet
    who = f"process {held['pid']} since {held['since']}" if {"pid", "since"} <= held.keys() else "unknown"
    what = "an edit is being written" if held.get("work") == "edit" else "another run is writing"
    return _Refusal(f"{what} to {home.root} ({who}); this one left everything as it was", work, False)


def _written_by(home: Home) -> dict[str, object]:
    """The note that the holder of the writer lock left; empty where there is none."""
    try:
        held = json.loads(home.writer_path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def is_written_elsewhere(home: Home) -> bool:
    """Return whether another process writes the store; also for a while after one was killed."""
    return _written_by(home).get("pid", os.getpid()) != os.getpid()
