"""Recording: transcripts are taken in behind the answers of the hooks, one at a time, by one thread.

    accept -> accepted.json -> (a moment, since harnesses write late) -> Memory.ingest -> Memory.settle, at the end

What is accepted is on disk before the hook is answered, and is done again after a kill: taking a transcript in twice
adds nothing. Events that found no server are caught up on at the start and with the next hook that comes.
"""

import logging
import threading
import time
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from slowwave.entrypoints.harness.state import (
    Work,
    has_missed,
    read_accepted,
    set_missed_aside,
    writable,
    write_accepted,
)
from slowwave.errors import InputError, NotFoundError, SlowwaveError, TransientError
from slowwave.memory import Memory


class TakenIn(Protocol):
    """Hears that messages of a conversation came in, and whether it has ended."""

    def __call__(self, *, is_over: bool) -> None:
        """Hear it."""
        ...


SUFFIXES = frozenset({".jsonl", ".json"})
"""Endings of transcripts; nothing else is read because a payload names it."""

UNCHANGED_SECONDS = 1.0
"""Seconds that a transcript must be left unchanged before it is taken in: an agent writes a turn in several lines."""

BUSY_SHARE = 0.1
"""Share of the time that taking in one transcript may take while its conversation goes on; its end never waits."""

TRY_AGAIN_SECONDS, MOST_TRIES = 5.0, 30
"""Pause until a transcript is tried again, such as while a night writes, and how often one is that fails."""

WAITING_TRANSCRIPTS = 1_000
"""Transcripts that may wait to be taken in."""

CLOSING_SECONDS = 10.0
"""Seconds that a server which stops waits for the transcript that it is taking in."""

_log = logging.getLogger("slowwave.server")


@dataclass(frozen=True)
class _Waiting:
    """A piece of work, with the time (monotonic) from which it is due, the file as it was, and its attempts."""

    work: Work
    due: float
    state: tuple[int, int] | None
    attempts: int = 0


class _Broken(Exception):  # noqa: N818 # it is named for what it says of the work
    """A piece of work met an error of ours."""


class Recorder:
    """The work of one home that waits, and the thread that does it."""

    def __init__(self, memory: Memory, home: Path, *, taken_in: TakenIn | None = None) -> None:
        self._memory, self._home = memory, home
        self._taken_in = taken_in
        self._waiting: dict[str, _Waiting] = {}
        self._rests: dict[str, float] = {}
        """The time (monotonic) until which a transcript rests; a long one takes seconds each time."""
        self._changed = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="slowwave-recorder", daemon=True)

    def start(self) -> None:
        """Begin with what an earlier server promised, and what found none."""
        for work in read_accepted(self._home):
            self._queue(work)
        self._thread.start()

    def close(self) -> None:
        """End after the transcript that is being taken in; what waits is done by the next server."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join(CLOSING_SECONDS)

    def accept(self, work: Work) -> None:
        """Promise to do it; it is on disk when this returns.

        Raises:
            TransientError: too much waits already, or it cannot be kept.
        """
        with self._changed:
            if len(self._waiting) >= WAITING_TRANSCRIPTS and work.key not in self._waiting:
                raise TransientError("too many transcripts wait to be taken in: try again later")
            self._queue(work)
            self._keep()
            self._changed.notify_all()

    def catch_up(self) -> None:
        """Have the thread look for events that found no server."""
        if has_missed(self._home):
            with self._changed:
                self._changed.notify_all()

    def waiting_count(self) -> int:
        """Transcripts that wait, and the one being taken in."""
        with self._changed:
            return len(self._waiting)

    def _queue(self, work: Work) -> None:
        before = self._waiting.get(work.key)
        joined = before.work.joined(work) if before else work
        due = time.monotonic() + UNCHANGED_SECONDS
        if not joined.ends:
            due = max(due, self._rests.get(work.key, 0.0))
        self._waiting[work.key] = _Waiting(joined, due, _state_of(joined))

    def _keep(self) -> None:
        write_accepted(self._home, [entry.work for entry in self._waiting.values()])

    def _run(self) -> None:
        is_first = True
        while True:
            try:
                if is_first or has_missed(self._home):
                    self._take_missed()
                is_first = False
                if not self._do_next():
                    return
            except TransientError as error:  # such as a full disk
                _log.warning("transcripts wait: %s", error)
                time.sleep(TRY_AGAIN_SECONDS)

    def _take_missed(self) -> None:
        """Queue what missed events leave to do, also those that a killed server had set aside."""
        works, paths = set_missed_aside(self._home)
        with self._changed:
            for work in works:
                self._queue(work)
            if works:
                self._keep()
                _log.info("catching up on %d transcripts of hooks that found no server", len(works))
        for path in paths:
            with writable(path):
                path.unlink(missing_ok=True)

    def _do_next(self) -> bool:
        """Do what is due first, or wait; returns whether to go on."""
        with self._changed:
            if self._is_closing:
                return False
            entry = min(self._waiting.values(), key=lambda entry: entry.due, default=None)
            left = None if entry is None else entry.due - time.monotonic()
            if entry is None or left is None or left > 0:
                self._changed.wait(left)
                return True
        try:
            later = self._tried(entry)
        except _Broken as broken:  # the next event of the conversation tries again
            _log.error("a transcript was given up: %s", broken)
            later = None
        with self._changed:
            again = self._waiting.get(entry.work.key, entry)
            todo = later if again is entry else again  # or it came again meanwhile
            if todo is None:
                del self._waiting[entry.work.key]
            else:
                rests = 0.0 if todo.work.ends else self._rests.get(entry.work.key, 0.0)
                self._waiting[entry.work.key] = replace(todo, due=max(todo.due, rests))
            self._keep()
        return True

    def _rest(self, key: str, seconds: float) -> None:
        """Let a transcript rest, so that taking it in takes no more than its share of the time."""
        now = time.monotonic()
        with self._changed:
            self._rests = {name: until for name, until in self._rests.items() if until > now}
            self._rests[key] = now + seconds * (1.0 / BUSY_SHARE - 1.0)

    def _tried(self, entry: _Waiting) -> _Waiting | None:
        """Do a piece of work as `_done`; an error that nobody foresaw does not end the thread.

        Raises:
            _Broken: names the error by its place: its text may quote what is stored.
        """
        try:
            return self._done(entry)
        except Exception as error:
            place = "".join(traceback.format_tb(error.__traceback__))
            raise _Broken(f"{type(error).__name__}\n{place}") from None

    def _done(self, entry: _Waiting) -> _Waiting | None:
        """Do a piece of work; returns what is left of it for later, if anything."""
        state = _state_of(entry.work)
        if state != entry.state and entry.attempts < MOST_TRIES:  # it is still being written
            return self._again(entry, UNCHANGED_SECONDS)
        began = time.monotonic()
        try:
            if state is not None:
                self._memory.ingest([str(entry.work.transcript_path)], are_found=True)
                self._rest(entry.work.key, time.monotonic() - began)
            if _state_of(entry.work) != state:
                return self._again(entry, UNCHANGED_SECONDS)
            self._memory.settle(entry.work.session_id, reads_answers=True, is_over=entry.work.ends)
            if self._taken_in is not None:
                self._taken_in(is_over=entry.work.ends)
        except (InputError, NotFoundError) as error:  # nothing that could be taken in
            _log.warning("a transcript of %s was left out: %s", entry.work.harness, type(error).__name__)
        except SlowwaveError as error:
            if not isinstance(error, TransientError) and entry.attempts >= MOST_TRIES:
                _log.error("a transcript of %s was given up: %s", entry.work.harness, type(error).__name__)
                return None
            return self._again(entry, TRY_AGAIN_SECONDS)
        return None

    def _again(self, entry: _Waiting, seconds: float) -> _Waiting:
        due = time.monotonic() + seconds
        return replace(entry, due=due, state=_state_of(entry.work), attempts=entry.attempts + 1)


def _state_of(work: Work) -> tuple[int, int] | None:
    """Size and time of the transcript; None where it is none that may be read."""
    if work.transcript_path is None:
        return None
    path = Path(work.transcript_path)
    try:
        if not path.is_absolute() or path.suffix not in SUFFIXES or not path.is_file():
            return None
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns
