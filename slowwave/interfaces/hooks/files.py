"""Settings files of other programs: read, replaced whole and copied."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count, takewhile
from pathlib import Path
from typing import Literal, NamedTuple

from slowwave.errors import InputError
from slowwave.whole_file import PRIVATE, read_plain, write_whole

BACKUP = ".slowwave-backup"
"""Ending of the copy next to a file; further ones, after an earlier copy that stayed, have a number."""

Did = Literal["made", "changed", "kept", "removed"]


class Change(NamedTuple):
    """A file before, None where there is none, and after, "" where there is none then.

    `copy` is the copy to make of it, or under `restores` the one whose text comes back.
    """

    path: Path
    before: str | None
    after: str
    copy: Path | None = None
    restores: bool = False

    @property
    def did(self) -> Did:
        """The outcome for the file."""
        if (self.before or "") == self.after and not self.restores:
            return "kept"
        return "made" if self.before is None else "changed" if self.after or self.restores else "removed"


def read_text(path: Path) -> str | None:
    """A file with its own line ends, None if there is none.

    Raises:
        InputError: it is not text in UTF-8, or cannot be read.
    """
    with _refused(path, "read"):
        return read_plain(path).decode("utf-8") if path.exists() else None


def carry_out(plan: Sequence[Change]) -> None:
    """Write all files, after a look at whether each of them can be written.

    Raises:
        InputError: one cannot, or another program has changed it since it was read; nothing is changed then.
    """
    changes = [one for one in plan if one.did != "kept"]
    for one in changes:
        _check(one)
    for one in changes:
        target = one.path.resolve()
        with _refused(one.path, "written"):
            if one.copy and not one.restores:
                write_whole(one.copy, (one.before or "").encode(), mode=PRIVATE, like=target)
            if one.did == "removed":
                one.path.unlink()
                with suppress(OSError):
                    one.path.parent.rmdir()
            else:
                write_whole(target, one.after.encode(), mode=PRIVATE, like=target)
            if one.copy and one.restores:
                one.copy.unlink()


def copies_of(path: Path) -> tuple[Path | None, Path]:
    """The newest copy of a file, and the place of the next one: a copy is never replaced."""
    names = (path.with_name(f"{path.name}{BACKUP}{f'-{number}' * (number > 1)}") for number in count(1))
    there = [*takewhile(os.path.lexists, names)]
    number = len(there) + 1
    return (there[-1] if there else None), path.with_name(f"{path.name}{BACKUP}{f'-{number}' * (number > 1)}")


def _check(change: Change) -> None:
    if read_text(change.path) != change.before:
        raise InputError(f"{change.path} was changed by another program meanwhile: try again")
    target = change.path.resolve()
    folder = next(parent for parent in target.parents if parent.exists())
    for place in (target, folder) if target.exists() else (folder,):
        # the administrator may write everything, so the mode is looked at as well
        if not os.access(place, os.W_OK) or not place.stat().st_mode & stat.S_IWUSR or not folder.is_dir():
            raise InputError(f"{change.path} cannot be written: {place} is read-only. Nothing is changed")


@contextmanager
def _refused(path: Path, done: str) -> Iterator[None]:
    """Errors of the file system, or of text that is not UTF-8, as one line for the user."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start + 1}): save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path} cannot be {done}: {error.strerror or error}") from error
