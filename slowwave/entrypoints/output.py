"""Output that nobody takes: one rule for every command, wherever it runs. The standard library alone.

A pipe that its reader closed (`| head -1`) is no error: the command ends quietly, with exit code 0. Output that cannot
be written, as on a full disk, is told in one line, with exit code 74. Lost notes on stderr end nothing.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

CLOSED = 0
NOT_WRITTEN = 74
"""`EX_IOERR` of sysexits.h."""


class LostOutputError(BaseException):
    """Nobody takes the output any more, for the reason that is its cause: an `OSError`.

    It is none of the errors that programs handle, since none is meant to go on after it.
    """


class _Descriptor(io.FileIO):
    """Stdout or stderr, which remembers why it could not be written, and then takes no more."""

    def __init__(self, descriptor: int, *, ends_the_command: bool) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.lost: OSError | None = None
        self.ends_the_command = ends_the_command

    def write(self, data: Any, /) -> int:
        """Writes bytes, or drops them where some were lost before.

        Raises:
            LostOutputError: nobody takes them, which ends the command.
        """
        size = memoryview(data).nbytes
        if self.lost is not None:
            return size
        try:
            return super().write(data)
        except OSError as error:
            self.lost = error
            if self.ends_the_command:
                raise LostOutputError from error
            return size


@contextmanager
def checked_output() -> Iterator[None]:
    """Hold the rule for all that is written in the block, and end the process by it where output was lost.

    A character that a stream cannot show becomes a question mark. A stream that is closed from the start takes
    everything and shows nothing.
    """
    before = sys.stdout, sys.stderr
    try:
        numbers = _number(sys.stdout, 1), _number(sys.stderr, 2)
    except io.UnsupportedOperation:  # the output stays within this process
        yield
        return
    if isinstance(getattr(getattr(sys.stdout, "buffer", None), "raw", None), _Descriptor):
        yield  # a block around this one holds it
        return
    out = _Descriptor(numbers[0], ends_the_command=True)
    sys.stdout = _text(out, sys.stdout)
    sys.stderr = _text(_Descriptor(numbers[1], ends_the_command=False), sys.stderr)
    try:
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            sys.stdout, sys.stderr = before
    except LostOutputError as error:
        out.lost = out.lost or _cause(error)
    except BaseException:
        if out.lost is not None:
            sys.exit(_told(out.lost))
        raise
    if out.lost is not None:
        sys.exit(_told(out.lost))


def _cause(error: LostOutputError) -> OSError:
    return error.__cause__ if isinstance(error.__cause__, OSError) else OSError("it is closed")


def _told(lost: OSError) -> int:
    """The exit code of a command whose output was lost, after its line."""
    if isinstance(lost, BrokenPipeError):
        return CLOSED
    with suppress(OSError):
        sys.stderr.write(f"slowwave: the output could not be written ({lost.strerror}): it is not whole\n")
        sys.stderr.flush()
    return NOT_WRITTEN


def _number(stream: TextIO | None, number: int) -> int:
    """The descriptor of a stream; of one that is not open, one that takes everything."""
    if stream is None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        return number
    return stream.fileno()


def _text(descriptor: _Descriptor, stream: TextIO | None) -> TextIO:
    """The text of a descriptor; whole lines leave at once where somebody looks on, and notes always."""
    return io.TextIOWrapper(
        io.BufferedWriter(descriptor),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="replace",
        line_buffering=descriptor.isatty() or not descriptor.ends_the_command or _is_unbuffered(stream),
    )


def _is_unbuffered(stream: TextIO | None) -> bool:
    """Return whether Python was told to keep nothing back."""
    return isinstance(stream, io.TextIOWrapper) and stream.write_through
