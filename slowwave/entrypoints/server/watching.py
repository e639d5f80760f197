"""Following transcripts while the server runs, as `slowwave watch` does, where `watch.with_server` says so."""

import logging
import threading
import traceback
from collections.abc import Sequence
from typing import Final

from slowwave.entrypoints.resident.place import Place
from slowwave.entrypoints.server.limits import Limits
from slowwave.errors import ContractError, SlowwaveError
from slowwave.memory import Memory
from slowwave.schemas.report import StageReport, several

RETRY_SECONDS: Final = 30.0
"""Seconds until a watch that was refused tries again: another process may follow the same, or a path be missing."""

_log = logging.getLogger("slowwave.server")


class _Ending(threading.Event):
    """Set when the server stops, and when its home is gone: what is taken in then would make another."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(timeout) or self._place.is_gone()


class Watching:
    """The watch of a server, and its thread."""

    def __init__(self, memory: Memory, sources: Sequence[str], limits: Limits, place: Place) -> None:
        self._memory, self._sources, self._stop_seconds = memory, sources, limits.stop_seconds
        self._stop = _Ending(place)
        self._turns, self._refused = 0, ""
        self._thread = threading.Thread(target=self._run, name="slowwave-watch", daemon=True)

    def does(self) -> str:
        """A line on what it does, for `/health/ready`; "" while it cannot."""
        what = "the files of watch.sources" if self._sources else "what coding agents write on this machine"
        return "" if self._refused else f"follows {what}: {several(self._turns, 'message')} taken in"

    def refused(self) -> str:
        """The reason why it does not follow anything; "" while it does."""
        return self._refused and f"watch.with_server is on, and it cannot follow: {self._refused}"

    def start(self) -> None:
        """Follow."""
        self._thread.start()

    def close(self) -> None:
        """End after the file that is being taken in."""
        self._stop.set()
        self._thread.join(self._stop_seconds)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
                return
            except SlowwaveError as error:
                if not self._refused:
                    _log.warning("transcripts are not followed: %s", type(error).__name__)
                self._refused = str(error)
            self._stop.wait(RETRY_SECONDS)

    def _follow(self) -> None:
        """Watch until the server stops.

        Raises:
            ContractError: names an error that nobody foresaw, whose text may quote what is stored.
        """
        try:
            self._memory.watch(self._sources, stop=self._stop, told=self._count, began=self._begin)
        except SlowwaveError:
            raise
        except Exception as error:
            place = "".join(traceback.format_tb(error.__traceback__))
            _log.error("the watch failed: %s\n%s", type(error).__name__, place)
            raise ContractError(
                f"it met a {type(error).__name__} that nobody foresaw: the log says where"
            ) from None

    def _begin(self) -> None:
        self._refused = ""

    def _count(self, report: StageReport) -> None:
        self._turns += report.counts.get("turn.recorded", 0)
