"""The follower: takes in what is new in transcripts, and says when a conversation has ended. Transcripts are the truth.

    a look now and then, and a hook that names a transcript -> it waits until it is left unchanged for a moment
      -> Memory.ingest, many files at once -> Memory.settle of the conversation that a hook named
      -> learning, once, after a conversation ended: its agent said so, another one began, or nothing came for a while

An ingest knows what is stored, so a file that is taken in twice adds nothing. What waits is in
`<home>/hooks/follower.json`, with the time of the last look: a server that was killed loses nothing of it.
"""

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from pydantic import BaseModel, Field

from slowwave.errors import ContractError, SlowwaveError, TransientError
from slowwave.memory import Memory
from slowwave.schemas.report import StageReport, several
from slowwave.whole_file import PRIVATE, write_whole

SUFFIXES = frozenset({".jsonl", ".json"})
"""Endings of transcripts; nothing else is read because a hook names it."""

SETTLE_SECONDS = 1.0
"""How long a file must be left unchanged: Claude Code writes the last lines of an answer a moment after its hook."""

LONGEST_SECONDS = 60.0
"""How long a file waits at most that goes on changing."""

BUSY_SHARE = 0.1
"""Share of the time for one transcript while its conversation goes on: each time it is read from its beginning, which
takes seconds for a long one."""

LOOK_SECONDS, FOLLOW_SECONDS = 60.0, 5.0
"""Between two looks of a server, which hooks tell sooner what changed, and of `ingest --follow`, which nobody tells. A
look at 10,000 files takes .1 s."""

RETRY_SECONDS = 5.0
"""Until what had to wait is tried again, such as while a night writes."""

START_SECONDS = 5.0
"""Until a server learns what an earlier one left unread: its first questions come before."""

MOST_WAITING = 10_000

NOTHING = (0, 0)
"""State of a file that is not there."""

_log = logging.getLogger("slowwave.server")


class Kept(BaseModel):
    """`<home>/hooks/follower.json`, names and times alone: it loses nothing to a kill, and the doctor reads it."""

    looked_at: float = Field(default=0.0, description="Start of the last look, in epoch seconds.")
    answered: dict[str, str] = Field(
        default_factory=dict, description="When hooks were answered, by agent; ISO 8601."
    )
    waiting: dict[str, dict[str, bool]] = Field(
        default_factory=dict,
        description="Files that wait, with their conversations and whether these are over.",
    )


@dataclass
class _Waiting:
    """A file that waits, or a conversation that ended without one; whether each conversation in it is over."""

    since: float
    not_before: float
    sessions: dict[str, bool] = field(default_factory=dict)


class Follower:
    """The files that are followed, those that wait, and the thread of a server that does it.

    `look` names the files that are followed; `learn` starts learning if anything waits to be read; `told` hears of each
    ingest. Without a file for it (`kept`) what waits is not kept.
    """

    def __init__(
        self,
        memory: Memory,
        look: Callable[[], Iterable[Path]],
        *,
        look_seconds: float = LOOK_SECONDS,
        quiet_seconds: float = inf,
        learn: Callable[[], object] | None = None,
        told: Callable[[StageReport], None] | None = None,
        kept: Path | None = None,
    ) -> None:
        self.turn_count = 0
        self.answered = dict[str, str]()
        """When each agent's hooks were last answered, for `slowwave doctor`: ISO 8601."""
        self._memory, self._look, self._learn, self._told, self._kept = memory, look, learn, told, kept
        self._look_seconds, self._quiet_seconds = look_seconds, quiet_seconds
        self._waiting, self._known = dict[str, _Waiting](), dict[str, tuple[int, int]]()
        self._rests = dict[str, float]()
        """The time (monotonic) until which a transcript rests; a long one takes seconds each time."""
        self._next_look, self._looked_at = 0.0, 0.0
        self._learn_at = inf if learn is None else time.monotonic() + START_SECONDS
        self._changed, self._is_closing = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, name="slowwave-follower", daemon=True)

    def start(self) -> None:
        """Begin, in a thread, with what an earlier server left."""
        left = read_kept(self._kept) if self._kept else Kept()
        self.answered = {**left.answered}
        for key, sessions in left.waiting.items():
            self._wait(key, sessions)
        self._thread.start()

    def close(self, seconds: float = 10.0) -> None:
        """End after what is being taken in, or after some seconds; what waits is done by the next server."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join(seconds)
        with self._changed, suppress(TransientError):
            self._keep()

    def hear(self, session: str, transcript: str | None, *, is_over: bool) -> None:
        """Hear of a conversation at a hook: its transcript grew, or it is over. It is on disk when this returns.

        Raises:
            TransientError: too much waits already, or it cannot be kept.
        """
        is_file = transcript is not None and _is_transcript(Path(transcript))
        if not (is_file or is_over):
            return
        with self._changed:
            if len(self._waiting) >= MOST_WAITING:
                raise TransientError("too many transcripts are waiting to be read: try again later")
            self._wait(str(transcript) if is_file else f"conversation {session}", {session: is_over})
            self._keep()
            self._changed.notify_all()

    def hear_begin(self) -> None:
        """Hear that a conversation begins: that before is over, though perhaps nobody said so."""
        with self._changed:
            if self._learn_at < inf:
                self._learn_at = time.monotonic()
                self._changed.notify_all()

    def is_pending(self) -> bool:
        """Return whether something waits to be taken in or learned from: a server on demand stays for it."""
        with self._changed:
            return self._has_home() and (bool(self._waiting) or self._learn_at < inf)

    def does(self) -> str:
        """A line on what it does, for `/health/ready`."""
        return f"follows the transcripts of connected agents: {several(self.turn_count, 'message')} taken in"

    def step(self) -> float:
        """Do what is due; returns the seconds until more is.

        Raises:
            TransientError: what waits cannot be kept.
        """
        if not self._has_home():
            return RETRY_SECONDS
        if time.monotonic() >= self._next_look:
            self._look_around()
        with self._changed:
            due = {key: one for key, one in self._waiting.items() if _is_due(key, one)}
        if due:
            self._take(due)
        if time.monotonic() >= self._learn_at:
            self._begin_learning()
        with self._changed:
            now = time.monotonic()
            waits = [max(one.not_before, now + SETTLE_SECONDS) for one in self._waiting.values()]
            return max(min([self._next_look, self._learn_at, *waits]) - now, 0.0)

    def followed_count(self) -> int:
        """Files that were there at the last look."""
        return len(self._known)

    def _run(self) -> None:
        while not self._is_closing:
            try:
                with _foreseen():
                    seconds = self.step()
            except SlowwaveError as error:  # such as a full disk
                _log.warning("transcripts wait: %s", error)
                seconds = RETRY_SECONDS
            with self._changed:
                if not self._is_closing:
                    self._changed.wait(seconds)

    def _has_home(self) -> bool:
        """Return whether the home is still there: what is taken in then would make another."""
        return self._kept is None or self._kept.parent.parent.is_dir()

    def _look_around(self) -> None:
        """Find the files that are new or were changed since the last look, or since they were taken in."""
        now = time.time()
        found = {str(path): _state_of(path) for path in self._look()}
        with self._changed:
            for key, state in found.items():
                if self._known.get(key) != state:
                    self._wait(key, {})
            self._known, self._looked_at = found, now
            self._keep()
        self._next_look = time.monotonic() + self._look_seconds

    def _wait(self, key: str, sessions: dict[str, bool]) -> None:
        one = self._waiting.setdefault(key, _Waiting(time.monotonic(), 0.0))
        for name, is_over in sessions.items():
            one.sessions[name] = is_over or one.sessions.get(name, False)
        one.not_before = 0.0 if any(one.sessions.values()) else self._rests.get(key, 0.0)

    def _take(self, due: dict[str, _Waiting]) -> None:
        """Take in what is due; an error that nobody foresaw costs no other file anything."""
        began, states = time.monotonic(), {key: _state_of(Path(key)) for key in due}
        try:
            with _foreseen():
                self._ingest(due, [key for key, state in states.items() if state != NOTHING])
        except TransientError as error:
            _log.info("transcripts wait: %s", error)
            for one in due.values():
                one.not_before = time.monotonic() + RETRY_SECONDS
            return
        except SlowwaveError as error:
            if len(due) > 1:
                for key, one in due.items():
                    self._take({key: one})
                return
            _log.error("a transcript was given up: %s", error)
        now = time.monotonic()
        rest_until = now + (now - began) / len(due) * (1.0 / BUSY_SHARE - 1.0)
        with self._changed:
            for key, one in due.items():
                self._rests[key] = rest_until
                self._finish(key, one, states[key])
            self._keep()

    def _ingest(self, due: dict[str, _Waiting], paths: list[str]) -> None:
        if paths:
            report = self._memory.ingest([*paths], are_found=True)
            self.turn_count += report.counts.get("turn.recorded", 0)
            if self._told is not None:
                self._told(report)
        for one in due.values():
            for session, is_over in one.sessions.items():
                self._memory.settle(session, reads_answers=True, is_over=is_over)

    def _finish(self, key: str, one: _Waiting, state: tuple[int, int]) -> None:
        """Forget what was done; a file that changed meanwhile waits on, for as long as it rests."""
        if self._learn is not None:
            now = time.monotonic()
            is_over = any(one.sessions.values())
            self._learn_at = min(self._learn_at, now) if is_over else now + self._quiet_seconds
        del self._waiting[key]
        self._known[key] = state
        if _state_of(Path(key)) != state:
            self._wait(key, one.sessions)

    def _begin_learning(self) -> None:
        self._learn_at = inf
        try:
            if self._learn is not None:
                self._learn()
        except SlowwaveError as error:  # a run is at work, or the store cannot be read just now
            _log.info("learning waits: %s", error)
            self._learn_at = time.monotonic() + 3 * RETRY_SECONDS

    def _keep(self) -> None:
        if self._kept is None:
            return
        waiting = {key: one.sessions for key, one in self._waiting.items()}
        known = Kept(looked_at=self._looked_at, answered=self.answered, waiting=waiting)
        try:
            self._kept.parent.mkdir(mode=0o700, exist_ok=True)  # a home that was moved away is not made anew
            write_whole(self._kept, known.model_dump_json(), mode=PRIVATE, is_durable=False)
        except OSError as error:
            raise TransientError(f"{self._kept} cannot be written: {error.strerror}") from error


def follow(
    memory: Memory,
    sources: Sequence[str | Path] | None = None,
    *,
    stop: threading.Event,
    told: Callable[[StageReport], None],
) -> Follower:
    """Follow files and folders as they grow, or what agents keep on this machine, until `stop` is set or Ctrl-C.

    `told` gets the report of each ingest. While someone else writes the store, what changed waits.

    Raises:
        NotFoundError: a named path does not exist.
    """
    memory.discover(sources)

    def look() -> list[Path]:
        there = None if sources is None else [one for one in sources if Path(one).exists()]
        return [path for found in memory.discover(there) for path in found.paths]

    follower = Follower(memory, look, look_seconds=FOLLOW_SECONDS, told=told)
    with suppress(KeyboardInterrupt):
        while not stop.wait(follower.step()):
            pass
    return follower


def read_kept(path: Path) -> Kept:
    """The file of a follower; nothing where there is none or it is damaged."""
    try:
        return Kept.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        return Kept()


def _is_due(key: str, one: _Waiting) -> bool:
    """Return whether a file has rested, and was left unchanged for a moment or waits for long."""
    now, unchanged = time.monotonic(), time.time() - _state_of(Path(key))[1] / 1e9
    return now >= one.not_before and (unchanged >= SETTLE_SECONDS or now - one.since >= LONGEST_SECONDS)


def _is_transcript(path: Path) -> bool:
    return path.is_absolute() and path.suffix in SUFFIXES and _state_of(path) != NOTHING


def _state_of(path: Path) -> tuple[int, int]:
    """Size and time of a file, with the log that SQLite keeps beside a database; zeros where there is none."""
    found = []
    for one in (path, path.with_name(f"{path.name}-wal")):
        with suppress(OSError, ValueError):
            found += [one.stat()] * one.is_file()
    return sum(one.st_size for one in found), max((one.st_mtime_ns for one in found), default=0)


@contextmanager
def _foreseen() -> Iterator[None]:
    """Turn an error that nobody foresaw into one that names its kind and place: its text may quote what is stored.

    Raises:
        ContractError: there was one.
    """
    try:
        yield
    except SlowwaveError:
        raise
    except Exception as error:
        place = "".join(traceback.format_tb(error.__traceback__))
        raise ContractError(f"{type(error).__name__}\n{place}") from None
