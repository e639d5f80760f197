"""Results and progress of work in this process, rendered as the server renders them.

Imported late: with the renderers come Rich and Polars, and a question needs none of them.
"""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from flows.running import let_ctrl_c_through
from slowwave.interfaces.cli import output
from slowwave.interfaces.cli.client import view_header
from slowwave.interfaces.rendering.answers import blocks_of
from slowwave.interfaces.rendering.blocks import Block
from slowwave.interfaces.rendering.text import flat, terminal
from slowwave.interfaces.rendering.view import View, view_of
from slowwave.progress import listening

INTERRUPTED = 130
STOP_SECONDS = 10.0
"""Seconds that requests in flight may take to end after Ctrl-C: a model may be silent for minutes, and a kill loses
nothing."""
STOPPING = b"slowwave: stopping; what was committed is kept. Ctrl-C again leaves at once\n"


def show_result(found: BaseModel | Sequence[BaseModel], *, as_json: bool) -> None:
    """Print a result: rendered for this terminal, or as one JSON document."""
    if as_json:
        output.emit_json(to_jsonable_python(found))
        return
    view = own_view()
    show_blocks(blocks_of(found, view), view)


def show_blocks(blocks: Sequence[Block], view: View | None = None) -> None:
    """Print blocks for this terminal: results on stdout, notes on stderr."""
    text, notes = terminal(blocks, view or own_view())
    if text:
        output.emit(text)
    output.remark(notes)


def own_view() -> View:
    """The view of this terminal."""
    return view_of(view_header(explain=False))


@contextmanager
def progress_bars() -> Iterator[None]:
    """Bars for all work that reports progress within the block; only on a terminal."""
    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    known: dict[str, TaskID] = {}

    def advance(work: str, done: int, total: int) -> None:
        if work not in known:
            known[work] = bars.add_task(flat(work), total=total)
        bars.update(known[work], completed=done, total=total)

    with bars, listening(advance):
        yield


@contextmanager
def stopping_in_order() -> Iterator[None]:
    """A block that Ctrl-C ends in order, which waits for requests in flight; a second Ctrl-C leaves at once."""
    before = signal.signal(signal.SIGINT, _first)
    let_ctrl_c_through()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _first(_: int, __: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.write(2, STOPPING)
    leaving = threading.Timer(STOP_SECONDS, os._exit, [INTERRUPTED])
    leaving.daemon = True
    leaving.start()
    raise KeyboardInterrupt
