"""Settings files of other programs: read, replaced whole and copied.

A file is written next to itself, made durable and renamed over the old one, with its mode, its owner and, if it is a
link, at the target of the link. A file that cannot be replaced so is refused before anything is written.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count, takewhile
from pathlib import Path

from slowwave.errors import InputError
from slowwave.whole_file import PRIVATE, read_plain, write_whole

BACKUP = ".slowwave-backup"
"""Ending of the copy next to a file; further ones, after an earlier copy that stayed, have a number."""


def read_text(path: Path) -> str | None:
    """A file with its own line ends, None if there is none.

    Raises:
        InputError: it is not text in UTF-8, or cannot be read.
    """
    with _refused(path, "read"):
        return read_plain(path).decode("utf-8") if path.exists() else None


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be replaced.

    Raises:
        InputError: it or its folder is read-only.
    """
    target = path.resolve()
    folder = next(parent for parent in target.parents if parent.exists())
    for place in (target, folder) if target.exists() else (folder,):
        # the administrator may write everything, so the mode is looked at as well
        if not os.access(place, os.W_OK) or not place.stat().st_mode & stat.S_IWUSR or not folder.is_dir():
            raise InputError(f"{path} cannot be written: {place} is read-only. Nothing is changed")


def replace(path: Path, before: str | None, after: str | None, *, copy: Path | None = None) -> None:
    """Put a text in place of the one that was read, after a copy of that one if a place for it is named.

    Without a new text the file is removed, and its folder if that is empty then.

    Raises:
        InputError: another program has changed the file since it was read, or it cannot be written.
    """
    if read_text(path) != before:
        raise InputError(f"{path} was changed by another program meanwhile: try again")
    target = path.resolve()
    with _refused(path, "written"):
        if copy and before is not None:
            write_whole(copy, before.encode(), mode=PRIVATE, like=target)
        if after is not None:
            write_whole(target, after.encode(), mode=PRIVATE, like=target)
            return
        path.unlink()
        with suppress(OSError):
            path.parent.rmdir()


def copies_of(path: Path) -> list[Path]:
    """The copies next to a file, oldest first."""
    return list(takewhile(os.path.lexists, _copy_names(path)))


def next_copy(path: Path) -> Path:
    """The place of the next copy: one that is there may be the user's only one, and is never replaced."""
    return next(name for name in _copy_names(path) if not os.path.lexists(name))


def _copy_names(path: Path) -> Iterator[Path]:
    for number in count(1):
        yield path.with_name(f"{path.name}{BACKUP}{f'-{number}' if number > 1 else ''}")


@contextmanager
def _refused(path: Path, done: str) -> Iterator[None]:
    """Errors of the file system, or of text that is not UTF-8, as one line for the user."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start + 1}): save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path} cannot be {done}: {error.strerror or error}") from error
