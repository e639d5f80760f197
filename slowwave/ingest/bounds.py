"""Bounds of what is read. What is over one is named with its place in the report, and counted.

Some are settings, since a file of somebody's may be larger and still worth its memory; the others keep one damaged or
foreign file from filling the memory or the disk, and no file of a person comes near them.
"""

import sys
from typing import Final, Self

from slowwave.settings.groups import ReaderSettings


class Bounds(ReaderSettings):
    """The bounds of one reading: those of the settings, and those that nobody tunes."""

    document_bytes: int = 4_000_000
    """Bytes of a document, which is read as a whole: some 600,000 words; a longer one is not read."""
    file_bytes: int = 4_000_000_000
    """Bytes of a file, unpacked where it is compressed; a longer one is not read."""
    file_lines: int = 500_000
    """Lines of a transcript that are taken; those behind them are counted."""
    part_turns: int = 5_000
    """Turns that are stored together, so that memory stays bounded and a kill loses little."""
    part_characters: int = 4_000_000
    """Characters of turns that are stored together, about."""

    @classmethod
    def of(cls, settings: ReaderSettings) -> Self:
        """The bounds that a home's settings give."""
        return cls(**settings.model_dump())

    def in_one_part(self) -> Self:
        """The same bounds for messages that are stored together, however many there are."""
        return self.model_copy(update={"part_turns": sys.maxsize, "part_characters": sys.maxsize})


DEFAULTS: Final = Bounds()
