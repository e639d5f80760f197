"""Settings files of other programs, read and replaced whole.

A file is written beside itself, made durable and renamed over the old one, with its mode, its owner and, where it is a
link, in the place that the link names. A file that cannot be replaced so is refused before anything is written.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from slowwave.errors import InputError
from slowwave.schemas.refusals import Frozen
from slowwave.whole_file import PRIVATE, write_whole

BACKUP = ".slowwave-backup"
"""Ending of the copy that stands beside a file that was changed."""

LARGEST = 64_000_000
_BOM = "\ufeff"


class FileText(Frozen):
    """A text file as it was read: without its byte order mark, with its own line ends."""

    path: Path
    text: str
    is_there: bool
    has_mark: bool = Field(default=False, description="It begins with a byte order mark.")


def read_text(path: Path) -> FileText:
    """A file, or an empty one for a path at which nothing is.

    Raises:
        InputError: it is no text in UTF-8, no plain file, a link that leads nowhere, or cannot be read.
    """
    try:
        if not path.exists():
            if path.is_symlink():
                raise InputError(
                    f"{path} is a link to {path.readlink()}, which is not there: mend or remove it"
                )
            return FileText(path=path, text="", is_there=False)
        if not stat.S_ISREG(path.stat().st_mode) or path.stat().st_size > LARGEST:
            raise InputError(f"{path} is no settings file: it is no plain file, or larger than 64 MB")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no text in UTF-8 (byte {error.start + 1}): save it as UTF-8") from error
    has_mark = text.startswith(_BOM)
    return FileText(path=path, text=text.removeprefix(_BOM), is_there=True, has_mark=has_mark)


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be replaced with its mode and owner.

    Raises:
        InputError: it is read-only, somebody else's, or its folder cannot be written.
    """
    target = path.resolve()
    folder = next(parent for parent in target.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: {folder} is no folder of yours to write in")
    if not target.exists():
        return
    found = target.stat()
    if not found.st_mode & stat.S_IWUSR or not os.access(target, os.W_OK):
        raise InputError(f"{path} is read-only: make it writable, or add the entries where it is made from")
    if hasattr(os, "getuid") and os.getuid() not in (0, found.st_uid):
        raise InputError(f"{path} belongs to another user: connect as that user")


def write_text(file: FileText, text: str) -> None:
    """Put a text in the place of a file that was read, whole, with the folders that it needs.

    Raises:
        InputError: somebody changed the file since it was read, or it cannot be written.
    """
    if read_text(file.path) != file:
        raise InputError(f"{file.path} was changed by another program meanwhile: try again")
    target = file.path.resolve()
    data = ((_BOM if file.has_mark else "") + text).encode("utf-8")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, data, mode=PRIVATE, like=target)
    except OSError as error:
        raise InputError(f"{file.path} cannot be written: {error.strerror or error}") from error


def remove_file(path: Path) -> None:
    """Remove a file, if it is there.

    Raises:
        InputError: it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be removed: {error.strerror or error}") from error


def remove_folders(folders: Sequence[Path]) -> None:
    """Remove those of the folders, given outermost first, that hold nothing.

    Raises:
        InputError: one cannot be removed.
    """
    for folder in reversed(folders):
        try:
            if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
                folder.rmdir()
        except OSError as error:
            raise InputError(f"{folder} cannot be removed: {error.strerror or error}") from error


def backup_of(path: Path) -> Path:
    """The place of the copy beside a file."""
    return path.with_name(path.name + BACKUP)


def back_up(file: FileText, text: str) -> None:
    """Keep a text beside a file, with the mode of that file.

    Raises:
        InputError: the copy cannot be written.
    """
    place = backup_of(file.path)
    try:
        text_before = ((_BOM if file.has_mark else "") + text).encode("utf-8")
        write_whole(place, text_before, mode=PRIVATE, like=file.path.resolve())
    except OSError as error:
        raise InputError(f"{place} cannot be written: {error.strerror or error}") from error
