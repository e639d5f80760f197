"""Blocks: what every result is rendered to before it becomes text.

`answers.py`, `cells.py`, `home.py` and `runs.py` make blocks of results; `text.py` and `agents.py` make text of blocks.
Stored text enters a block as it is: only the two writers know what a terminal or an agent would obey, and they spell it
out there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Style = Literal["", "bold", "dim", "alert"]


@dataclass(frozen=True)
class Span:
    """A piece of a line in one style."""

    text: str
    style: Style = ""


@dataclass(frozen=True)
class Heading:
    """The title of what follows."""

    text: str


@dataclass(frozen=True)
class Line:
    """One line, however narrow the terminal; `indent` counts steps of two spaces."""

    spans: tuple[Span, ...]
    indent: int = 0


@dataclass(frozen=True)
class Table:
    """Rows under named columns; `numbers` are the positions of columns that are aligned to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Page:
    """Text that is a page already (`context`, core memory): it keeps its lines."""

    text: str


@dataclass(frozen=True)
class Note:
    """A remark on the answer; a terminal shows it on stderr, so that a pipe holds results alone."""

    text: str


Block: TypeAlias = Heading | Line | Table | Page | Note


def line(*spans: str | Span, indent: int = 0) -> Line:
    """A line of plain texts and styled spans."""
    return Line(tuple(one if isinstance(one, Span) else Span(one) for one in spans), indent)


def notes(texts: Iterable[str]) -> list[Note]:
    """A note for each text."""
    return [Note(text) for text in texts]
