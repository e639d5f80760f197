"""Progress of long work: workers report, subscribers show it, and without a subscriber it is silent."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]
"""Gets the name of the work, how much is done and how much there is."""

_listeners: list[Listener] = []


def progress(work: str, done: int, total: int) -> None:
    """Says that `done` of `total` parts of `work` are done."""
    for listener in _listeners:
        listener(work, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Calls `listener` for all progress within the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
