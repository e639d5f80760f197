"""The reading of one file as a whole, for tests."""

from dataclasses import dataclass
from pathlib import Path

from slowwave.ingest.bounds import DEFAULTS, Bounds
from slowwave.ingest.formats import find_format, read_parts
from slowwave.ingest.turns import Reading


@dataclass(frozen=True)
class WholeFile(Reading):
    """The turns of a file and the name of its form."""

    kind: str

    @property
    def redacted(self) -> dict[str, int]:
        return dict(self.counts.redacted)


def read_path(path: Path, *, bounds: Bounds = DEFAULTS) -> WholeFile:
    form = find_format(path, bounds=bounds)
    (reading,) = read_parts(path, form, bounds=bounds.in_one_part())
    return WholeFile(reading.turns, reading.counts, form.name)
