"""The files that coding agents keep on this machine, with their sizes and times; none is opened."""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from slowwave.ingest.bounds import Bounds
from slowwave.ingest.sources import files_of, find_sources, known_places
from slowwave.schemas.results import FoundSource


def discover(bounds: Bounds, sources: Sequence[str | Path] | None = None) -> list[FoundSource]:
    """The places that hold something to read, in a fixed order: those of agents, or the ones that are named.

    Raises:
        NotFoundError: a named path does not exist.
    """
    if sources is None:
        places = [
            (place.source, folder, files_of(place, folder))
            for place, folder in known_places(os.environ, Path.home())
        ]
    else:
        named = [Path(source) for source in sources]
        places = [("", path, find_sources([path]).paths) for path in named]
    return [found for place in places if (found := _found(*place)) is not None]


def _found(source: str, folder: Path, files: Sequence[Path]) -> FoundSource | None:
    paths, size, newest = [], 0, 0.0
    for path in files:
        with suppress(OSError):
            state = path.stat()
            paths.append(path)
            size, newest = size + state.st_size, max(newest, state.st_mtime)
    if not paths:
        return None
    return FoundSource(
        source=source,
        place=str(folder),
        file_count=len(paths),
        byte_count=size,
        newest_at=datetime.fromtimestamp(newest, UTC),
        paths=tuple(paths),
    )
