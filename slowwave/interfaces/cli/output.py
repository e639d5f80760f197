"""Output of the command line: results on stdout, notes and errors on stderr, each error in one line.

A pipe that its reader closed (`| head -1`) is no error: the command ends quietly with exit code 0. Output that cannot
be written, as on a full disk, ends it with one line and exit code 74.
"""

import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

NOT_WRITTEN = 74
"""`EX_IOERR` of sysexits.h."""

DIM, PLAIN = "\x1b[2m", "\x1b[0m"


def prepare() -> None:
    """Make both streams take every text: one in ASCII shows question marks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def emit(text: str) -> None:
    """Write a result to stdout at once.

    Raises:
        SystemExit: nobody takes it (code 0), or it cannot be written (code 74).
    """
    try:
        _write(sys.stdout, text if text.endswith("\n") or not text else f"{text}\n")
    except OSError as error:
        _close()
        if isinstance(error, BrokenPipeError):
            raise SystemExit(0) from None
        fail(f"the output could not be written ({error.strerror}): it is incomplete")
        raise SystemExit(NOT_WRITTEN) from None


def emit_json(document: object) -> None:
    """Write one JSON document in ASCII, which no terminal and no encoding can be hurt by."""
    emit(json.dumps(document, indent=2, ensure_ascii=True, default=str))


def remark(notes: Iterable[str]) -> None:
    """Write notes to stderr, a line each, dimmed on a terminal; notes that nobody takes are dropped."""
    is_dim = sys.stderr is not None and sys.stderr.isatty() and "NO_COLOR" not in os.environ
    for note in notes:
        _to_stderr(f"{DIM}{note}{PLAIN}" if is_dim else note)


def fail(message: str) -> None:
    """Write an error to stderr in one line."""
    _to_stderr("slowwave: " + " ".join(message.split()))


def _to_stderr(text: str) -> None:
    with suppress(OSError):
        _write(sys.stderr, f"{text}\n")


def _write(stream: TextIO | None, text: str) -> None:
    """Write at once; a stream that is closed takes it silently. Click would write UTF-8 where ASCII is named."""
    if stream is not None:
        stream.write(text)
        stream.flush()


def _close() -> None:
    """Keep Python from writing the rest at its end, which would fail again."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
