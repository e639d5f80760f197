"""Following transcripts as they grow: a look at the files again and again, and an ingest of those that changed.

An ingest knows what is stored: a file that grew adds its new turns, one that was cut, renamed, compressed or copied
adds none twice, and one that went away takes nothing with it. So nothing is kept from one watch to the next.
"""

import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from slowwave.errors import NotFoundError, TransientError
from slowwave.home.lock import alone
from slowwave.home.paths import Home
from slowwave.home.stage import optimize
from slowwave.home.workspace import Clock, open_workspace, wall_clock
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.files import state_of
from slowwave.ingest.sources import files_of, find_sources, known_places
from slowwave.recording.ingest import ingest
from slowwave.recording.turns import ERASED
from slowwave.schemas.report import UNREADABLE, StageReport, WatchReport
from slowwave.schemas.results import FoundSource
from slowwave.settings.tree import Settings

Told = Callable[[StageReport], None]

TOLD = (UNREADABLE, ERASED)
"""Reasons that a watch counts; what is no turn in a file would be counted at each of its changes."""

MOST_NOTES = 100
"""Notes of a watch that its report has."""

WATCH_SECONDS = 5.0
"""Seconds between two looks at the files that are followed."""

SETTLE_SECONDS, LONGEST_WAIT_SECONDS = 2.0, 60.0
"""Seconds that a file must be unchanged before it is taken in, and after which it is although it goes on changing."""

MOST_SHARE = 0.2
"""Most of its time that a watch spends on taking in; after a look that took long, the next one comes later."""

COMPACT_INGESTS = 20
"""Ingests after which the store is compacted: each adds a fragment a table, which every read opens."""


@dataclass
class _File:
    """A file as it was looked at last, when it changed last, and since when it waits to be taken in, if it does."""

    state: tuple[int, int]
    changed_at: float
    waits_since: float | None


@dataclass
class _Watch:
    """The files that are followed, and what became of them so far."""

    home: Home
    settings: Settings
    files: dict[Path, _File] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)

    def look(self, sources: Sequence[Path], now: float) -> None:
        """Note which files are new, changed, shorter or gone."""
        is_first = not self.files and not self.counts["looks"]
        self.counts["looks"] += 1
        found = {path: state_of(path) for path in _paths(sources, self.settings)}
        for path, state in found.items():
            known = self.files.get(path)
            if known is None:
                self.files[path] = _File(state, -math.inf if is_first else now, now)
            elif known.state != state:
                self.counts["cut"] += state[0] < known.state[0]
                known.state, known.changed_at = state, now
                known.waits_since = now if known.waits_since is None else known.waits_since
        for path in [*self.files]:
            if path not in found:
                del self.files[path]
                self.counts["gone"] += 1

    def due(self, now: float) -> list[Path]:
        """The files that wait and have settled, or have waited for long enough."""
        return [
            path
            for path, file in self.files.items()
            if file.waits_since is not None
            and (now - file.changed_at >= SETTLE_SECONDS or now - file.waits_since >= LONGEST_WAIT_SECONDS)
        ]

    def take(self, paths: Sequence[Path], clock: Clock) -> StageReport | None:
        """Take in these files; where that has to wait, as while a night writes, they wait for the next look."""
        try:
            names = [str(path) for path in paths]
            report = ingest(self.home, names, dry_run=False, are_found=True, clock=clock)
        except NotFoundError:  # one of them went away just now: the next look knows
            return None
        except TransientError as error:
            self.note(str(error))
            return None
        for path in paths:
            self.files[path].waits_since = None
        self.counts["turns"] += report.counts.get("turn.recorded", 0)
        self.counts["files"] += report.counts.get("source.recorded", 0)
        self.rejected.update({why: report.rejected[why] for why in TOLD if why in report.rejected})
        for note in report.notes:
            self.note(note)
        self.counts["ingests"] += 1
        if self.counts["ingests"] % COMPACT_INGESTS == 0:
            self._compact(clock)
        return report

    def _compact(self, clock: Clock) -> None:
        try:
            with open_workspace(self.home, clock=clock) as workspace:
                optimize(workspace)
        except TransientError as error:
            self.note(str(error))

    def note(self, text: str) -> None:
        """Keep a sentence for the report, once."""
        if len(self.notes) < MOST_NOTES:
            self.notes[text] = None

    def report(self, seconds: float) -> WatchReport:
        """The report, after so many seconds."""
        return WatchReport(
            seconds=round(seconds, 3),
            followed_count=len(self.files),
            taken_count=self.counts["files"],
            turn_count=self.counts["turns"],
            cut_count=self.counts["cut"],
            gone_count=self.counts["gone"],
            waiting_count=sum(file.waits_since is not None for file in self.files.values()),
            rejected=dict(self.rejected),
            notes=[*self.notes],
        )


def discover(environment: Mapping[str, str] | None = None, user: Path | None = None) -> list[FoundSource]:
    """The places of agents that hold something to read, in a fixed order, with their files."""
    found = []
    for place, folder in known_places(
        os.environ if environment is None else environment, user or Path.home()
    ):
        paths, sizes, newest = [], 0, 0.0
        for path in files_of(place, folder):
            with suppress(OSError):
                state = path.stat()
                paths.append(path)
                sizes, newest = sizes + state.st_size, max(newest, state.st_mtime)
        if paths:
            found.append(
                FoundSource(
                    source=place.source,
                    place=str(folder),
                    file_count=len(paths),
                    byte_count=sizes,
                    newest_at=datetime.fromtimestamp(newest, UTC),
                    paths=tuple(paths),
                )
            )
    return found


def watch(
    home: Home,
    sources: Sequence[Path],
    *,
    stop: threading.Event,
    clock: Clock,
    told: Told | None = None,
    began: Callable[[], None] | None = None,
) -> WatchReport:
    """Follow files and folders, or where none is named what `discover` finds, until `stop` is set or Ctrl-C.

    `told` gets the report of each ingest; `began` is called once nothing refuses the watch any more.

    Raises:
        NotFoundError: a named path does not exist.
        BusyError: another watch follows files into this home.
    """
    started = time.monotonic()
    busy = f"another watch follows files into {home.root}: one is enough"
    with alone(home.root / "watch.lock", taken=lambda: busy, folder="home folder"):
        find_sources(sources)
        if began:
            began()
        state = _Watch(home, home.settings)
        try:
            while True:
                now = time.monotonic()
                state.look(sources, now)
                if (due := state.due(now)) and (report := state.take(due, clock)) is not None and told:
                    told(report)
                if stop.wait(_pause(time.monotonic() - now)):
                    break
        except KeyboardInterrupt:
            state.note("stopped by Ctrl-C; what was committed is kept")
        return state.report(time.monotonic() - started)


def _pause(spent: float) -> float:
    """Seconds until the next look, after one that took so many."""
    return max(WATCH_SECONDS, spent / MOST_SHARE - spent)


def _paths(sources: Sequence[Path], settings: Settings) -> list[Path]:
    if not sources:
        return [path for found in discover() for path in found.paths]
    there = [source for source in sources if source.exists()]
    return find_sources(there, bounds=Bounds.of(settings.readers)).paths


class Sources:
    """The methods of `Memory` for what agents keep on this machine: found, and followed as it grows."""

    _home: Home

    def discover(self) -> list[FoundSource]:
        """The places of coding agents on this machine that hold something to read, with their files; reads none."""
        return discover()

    def watch(
        self,
        sources: Sequence[str | Path] = (),
        *,
        stop: threading.Event | None = None,
        told: Told | None = None,
        began: Callable[[], None] | None = None,
    ) -> WatchReport:
        """Follow files and folders as they grow, or else what `discover` finds, until `stop` is set or Ctrl-C.

        Changed files are taken in once they have settled (settings `watch`); `told` gets the report of each ingest.
        While someone else writes the store, they wait. `began` is called once nothing refuses the watch any more.

        Raises:
            NotFoundError: a named path does not exist.
            BusyError: another watch follows files into this home.
        """
        paths = [Path(source) for source in sources]
        return watch(
            self._home, paths, stop=stop or threading.Event(), clock=wall_clock, told=told, began=began
        )
