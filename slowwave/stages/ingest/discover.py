"""The search of this machine for what coding agents keep on it."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from slowwave.readers.places import files_of, known_places
from slowwave.schemas.results import FoundSource


def discover(environment: Mapping[str, str] | None = None, user: Path | None = None) -> list[FoundSource]:
    """The places of agents that hold something to read, in a fixed order, with their files."""
    found = []
    for place in known_places(os.environ if environment is None else environment, user or Path.home()):
        paths, sizes, newest = [], 0, 0.0
        for path in files_of(place):
            with suppress(OSError):
                state = path.stat()
                paths.append(path)
                sizes, newest = sizes + state.st_size, max(newest, state.st_mtime)
        if paths:
            found.append(
                FoundSource(
                    source=place.source,
                    place=str(place.folder),
                    file_count=len(paths),
                    byte_count=sizes,
                    newest_at=datetime.fromtimestamp(newest, UTC),
                    paths=tuple(paths),
                )
            )
    return found
