"""Blocks: what every result is rendered to before it becomes text.

`answers.py`, `cells.py`, `home.py` and `runs.py` make blocks of results; `text.py` and `agents.py` make text of blocks.
Stored text enters a block as it is: only the two writers know what a terminal or an agent would obey, and they spell it
out there. Within a line stored text comes last, behind ids, dates and sources, so that it cannot forge any of them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from slowwave.interfaces.rendering.view import View

Style = Literal["", "bold", "dim", "alert"]


@dataclass(frozen=True)
class Span:
    """A piece of a line in one style."""

    text: str
    style: Style = ""


@dataclass(frozen=True)
class Opening:
    """A line of ours on the result: it never holds stored text, so an agent reads it outside the fence."""

    text: str


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
class Quote:
    """A stored text by itself: a terminal keeps its line breaks, an agent reads one marked line."""

    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Table:
    """Rows under named columns; `numbers` are the positions of columns that are aligned to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Page:
    """Text that is a page already (`context`, core memory): it keeps its lines; `is_fenced` where it has its fence."""

    text: str
    is_fenced: bool = False


@dataclass(frozen=True)
class Note:
    """A remark on the answer; a terminal shows it on stderr, so that a pipe holds results alone."""

    text: str


@dataclass(frozen=True)
class Cursor:
    """Cursor of the next page; not shown if entries of this page had to be left out."""

    text: str


@dataclass(frozen=True)
class Entry:
    """Lines that belong together: shown whole, or left out and counted."""

    blocks: tuple[Heading | Line | Quote, ...]


Block: TypeAlias = Opening | Heading | Line | Quote | Table | Page | Note | Cursor | Entry

Render: TypeAlias = Callable[[Any, View], Sequence[Block]]
"""A function that makes the blocks of one type of result."""


def line(*spans: str | Span, indent: int = 0) -> Line:
    """A line of plain texts and styled spans."""
    return Line(tuple(one if isinstance(one, Span) else Span(one) for one in spans), indent)


def quote(text: str) -> Quote:
    """A stored text by itself."""
    return Quote((Span(text),))


def table(
    found: Iterable[Any],
    columns: Mapping[str, Callable[[Any], str]],
    nothing: str = "Nothing is on this page.",
    *,
    numbers: Collection[str] = (),
) -> list[Block]:
    """A row for each of what was found, a column for each name; or that there is nothing."""
    rows = tuple(tuple(column(one) for column in columns.values()) for one in found)
    places = frozenset(place for place, name in enumerate(columns) if name in numbers)
    return [Table(tuple(columns), rows, places)] if rows else [Opening(nothing)]


def notes(texts: Iterable[str]) -> list[Note]:
    """A note for each text."""
    return [Note(text) for text in texts]
