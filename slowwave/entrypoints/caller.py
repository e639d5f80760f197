"""Whoever called a command, where it runs in another process: its folder, its terminal, and a memory that is warm.

`slowwave serve` and the reader that stays run the commands of `resident/handed.py` for the process in which they were
typed. What a command asks of its surroundings it asks here.
"""

import io
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slowwave.memory import Memory


class HereOnlyError(Exception):
    """Only the process in which the command was typed can go on."""


@dataclass(frozen=True)
class Terminal:
    """A terminal as the caller sees it: whether output goes there, its encoding and size, and variables about it."""

    are_terminals: tuple[bool, bool]
    encodings: tuple[str, str]
    columns: int
    lines: int
    environ: Mapping[str, str]


@dataclass(frozen=True)
class Caller:
    """The process in which a command was typed."""

    memory: "Callable[[], Memory]"
    operations: tuple[str, ...]
    home: str | None
    folder: Path
    terminal: Terminal
    output: list[tuple[int, str]] = field(default_factory=list)
    """What was written so far: 0 for stdout, 1 for stderr, with the text."""


class Stream(io.StringIO):
    """Stdout (0) or stderr (1) of the caller."""

    def __init__(self, caller: Caller, which: int) -> None:
        super().__init__()
        self._caller, self._which = caller, which

    @property
    def encoding(self) -> str:  # type: ignore[override] # of a text in memory it is None
        """The caller's."""
        return self._caller.terminal.encodings[self._which]

    def isatty(self) -> bool:
        """Return whether the caller has a terminal there."""
        return self._caller.terminal.are_terminals[self._which]

    def write(self, text: str) -> int:
        """Keep a text for the caller."""
        self._caller.output.append((self._which, text))
        return len(text)


CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""None in the process in which the command was typed."""


def current_folder() -> Path:
    """The folder in which the command was typed."""
    caller = CALLER.get()
    return Path.cwd() if caller is None else caller.folder


def memory_for(home: str | None, operation: str) -> "Memory | None":
    """The warm memory of who runs the command for a caller elsewhere; None in the caller's own process.

    Raises:
        HereOnlyError: the command means another home, or asks what is not answered there.
    """
    caller = CALLER.get()
    if caller is None:
        return None
    if home != caller.home or operation not in caller.operations:
        raise HereOnlyError
    return caller.memory()
