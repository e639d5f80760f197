"""Atomic replacement of files: a reader finds the old file or the new one, never a part."""

import errno
import os
import shutil
import stat
import threading
from collections.abc import Iterable
from io import BufferedReader
from itertools import takewhile
from pathlib import Path

DRAFTS = ".*.draft"
"""Names of the files that killed writers leave behind."""

PRIVATE = 0o600


def open_plain(path: Path) -> BufferedReader:
    """Open a file to read its bytes.

    Raises:
        OSError: it cannot be read, or is a pipe, for whose writer one would wait without end.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb")
    if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is a pipe", str(path))
    return file


def read_plain(path: Path) -> bytes:
    """The bytes of a file. Raises as `open_plain`."""
    with open_plain(path) as file:
        return file.read()


def write_whole(
    path: Path,
    data: bytes | str | Iterable[str],
    *,
    mode: int = 0o666,
    is_durable: bool = True,
    like: Path | None = None,
) -> None:
    """Replaces a file by way of a draft beside it, and makes its folders, for this user alone.

    `data` may come in parts, which are written one after the other.

    When this returns the file survives a power cut too, unless `is_durable` is False, which is faster. It has the mode,
    attributes and owner of the file `like`, where that one is there, else `mode`.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    new_folders = list(takewhile(lambda folder: not folder.exists(), path.parents))
    for folder in reversed(new_folders):
        folder.mkdir(mode=0o700, exist_ok=True)
    # several threads and processes may write the same file
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.draft")
    opened = PRIVATE if like is not None and like.exists() else mode
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, opened), "wb") as file:
            parts = [data] if isinstance(data, bytes | str) else data
            file.writelines(part.encode() if isinstance(part, str) else part for part in parts)
            if like is not None and like.exists():
                _resemble(draft, like)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    for folder in {path.parent, *(folder.parent for folder in new_folders)} if is_durable else ():
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_drafts(path: Path) -> None:
    """Removes what killed writers of this file left beside it."""
    for draft in path.parent.glob(f".{path.name}.*.draft"):
        draft.unlink(missing_ok=True)


def _resemble(draft: Path, like: Path) -> None:
    """Give a new file the mode, attributes and owner of another."""
    found = like.stat()
    shutil.copystat(like, draft)
    os.utime(draft)
    if (draft.stat().st_uid, draft.stat().st_gid) != (found.st_uid, found.st_gid):
        os.chown(draft, found.st_uid, found.st_gid)
