"""Output on a terminal: results on stdout, progress and notes on stderr.

Stored text is data. It reaches the screen as plain `Text` without control characters, never as Rich
markup, so that a memory cannot colour, hide or move anything. Nothing here opens a store.
"""

import json
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleDimensions
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from slowwave.entrypoints.caller import CALLER, Caller, Stream
from slowwave.progress import listening
from slowwave.schemas.moments import DAY_UNKNOWN, day_of, is_unknown
from slowwave.schemas.report import several

PIPE_WIDTH = 120
"""Columns when the output is no terminal and COLUMNS does not say."""

_KILO = 1024.0
_DAY = 86_400.0
_UNITS = (
    (_DAY * 365.25, "year"),
    (_DAY * 30.44, "month"),
    (_DAY, "day"),
    (3_600.0, "hour"),
    (60.0, "minute"),
)


# Text that is safe on a terminal


def visible(text: object) -> str:
    """Text without what a terminal would obey: control, direction and other invisible characters spelled out.

    Line breaks and tabs stay.
    """
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in str(text)
    )


def flat(text: object) -> str:
    """`visible` text in one line."""
    return " ".join(visible(" ".join(str(text).split())).split())


def ago(moment: datetime, now: datetime) -> str:
    """`3 days ago`, `just now`, `in 2 hours`: the largest whole unit; or that nobody knows."""
    if is_unknown(moment):
        return DAY_UNKNOWN
    seconds = (now - moment).total_seconds()
    for length, unit in _UNITS:
        count = int(abs(seconds) // length)
        if count:
            amount = several(count, unit)
            return f"{amount} ago" if seconds > 0 else f"in {amount}"
    return "just now"


def until(end: datetime | None) -> str:
    """` until 2026-05-01`, or nothing."""
    return f" until {day_of(end)}" if end else ""


# Where it goes


def results() -> Console:
    """The console of results: stdout, coloured only on a terminal and never under NO_COLOR."""
    return _console(stderr=False)


def messages() -> Console:
    """The console of notes and progress: stderr."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    caller = CALLER.get()
    if caller is None:
        console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    else:
        console = _console_of(caller, which=int(stderr))
    if not console.is_terminal and console.width < PIPE_WIDTH and "COLUMNS" not in console._environ:
        console.width = PIPE_WIDTH
    return console


def _console_of(caller: Caller, which: int) -> Console:
    """The console of a caller elsewhere, as it would be there."""
    terminal = caller.terminal
    console = Console(
        file=Stream(caller, which), markup=False, emoji=False, highlight=False, _environ=terminal.environ
    )
    if not console.is_dumb_terminal:
        console.size = ConsoleDimensions(
            _whole(terminal.environ, "COLUMNS") or terminal.columns,
            _whole(terminal.environ, "LINES") or terminal.lines,
        )
    return console


def _whole(environ: Mapping[str, str], name: str) -> int:
    """A variable that is a number; 0 where it is none."""
    given = environ.get(name, "")
    return int(given) if given.isdigit() else 0


def write(text: str) -> None:
    """Text on stdout as it is."""
    caller = CALLER.get()
    (sys.stdout if caller is None else Stream(caller, 0)).write(text)


def show_json(document: BaseModel | Sequence[BaseModel] | dict[str, object]) -> None:
    """One JSON document on stdout, in ASCII, so that no terminal and no encoding can be hurt by it."""
    plain = to_jsonable_python(document)
    write(json.dumps(plain, indent=2, ensure_ascii=True, default=str) + "\n")


def tell(text: str) -> None:
    """One line of a result, however narrow the terminal is."""
    results().print(Text(text), soft_wrap=True)


def tell_notes(notes: Sequence[str]) -> None:
    """Notes of a result, a line each, indented under it."""
    for note in notes:
        tell(f"  {flat(note)}")


def show_error(message: str) -> None:
    """`slowwave: <message>` as one line on stderr, however narrow the terminal is."""
    messages().print(Text(f"slowwave: {flat(message)}"), soft_wrap=True)


def say(message: str) -> None:
    """A sentence on stderr."""
    messages().print(Text(flat(message), style="dim"), soft_wrap=True)


def table(*columns: str | Column) -> Table:
    """A table whose cells fold instead of being cut, so that an id is never shown in part."""
    made = [column if isinstance(column, Column) else Column(column) for column in columns]
    for column in made:
        column.overflow = "fold"
    return Table(*made, box=SIMPLE_HEAD, show_edge=False)


def number(name: str) -> Column:
    """A column of numbers."""
    return Column(name, justify="right")


def counts_table(title: str, counts: dict[str, int], *, heading: str = "how many") -> Table:
    """A table of counts by name."""
    made = table(title, number(heading))
    for name, count in counts.items():
        made.add_row(flat(name), str(count))
    return made


@contextmanager
def progress_bars() -> Iterator[None]:
    """Bars for all work that reports progress within the block; only on a terminal."""
    console = messages()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    known: dict[str, TaskID] = {}

    def told(work: str, done: int, total: int) -> None:
        if work not in known:
            known[work] = bars.add_task(flat(work), total=total)
        bars.update(known[work], completed=done, total=total)

    with bars, listening(told):
        yield


def shown_bytes(size: float) -> str:
    """`3.4 MiB`."""
    for unit in ("B", "KiB", "MiB"):
        if size < _KILO:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= _KILO
    return f"{size:.1f} GiB"
