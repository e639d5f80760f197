"""The methods of `Memory` that find and follow what coding agents keep on a machine."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from slowwave.home.paths import Home
from slowwave.home.workspace import wall_clock
from slowwave.schemas.report import WatchReport
from slowwave.schemas.results import FoundSource
from slowwave.stages.ingest import watch
from slowwave.stages.ingest.discover import discover


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
        told: watch.Told | None = None,
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
        return watch.watch(
            self._home, paths, stop=stop or threading.Event(), clock=wall_clock, told=told, began=began
        )
