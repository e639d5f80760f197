"""Files on disk. Readers touch the file system only here, where its errors become ours."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import IO, Final, Literal

from slowwave.errors import InputError, NotFoundError
from slowwave.ingest.bounds import DEFAULTS, Bounds
from slowwave.ingest.counts import Counts
from slowwave.ingest.redact.names import safe_path
from slowwave.schemas.refusals import clean_text

DATABASE_SUFFIX: Final = ".db"
BLOCK_BYTES: Final = 1 << 20
"""Bytes of a file that are held at a time."""


@dataclass(frozen=True)
class Input:
    """A file to read: its absolute path, the bounds, and the counts of what its reader leaves out."""

    path: Path
    bounds: Bounds
    counts: Counts

    @property
    def name(self) -> str:
        """The session's name where its records have none: the file's, without its ending."""
        return path_text(self.path.stem)

    def again(self) -> "Input":
        """The same file for a reading that counts nothing."""
        return replace(self, counts=Counts())


def input_of(path: Path, bounds: Bounds = DEFAULTS) -> Input:
    """A file with new counts."""
    return Input(path.absolute(), bounds, Counts())


@contextmanager
def open_bytes(
    path: Path,
    bounds: Bounds,
    bound: Literal["file_bytes", "document_bytes", "conversation_bytes"] = "file_bytes",
) -> Iterator[tuple[BufferedReader, int]]:
    """A regular file, open for reading, and its size in bytes.

    Raises:
        NotFoundError: Nothing is there.
        InputError: It is not a regular file, may not be read, or has more bytes than `bound` allows.
    """
    try:
        if not path.exists():
            raise NotFoundError(f"There is no file {shown_path(path)}: check the path.")
        if not path.is_file():
            raise InputError(f"{shown_path(path)} is not a regular file: name a file.")
        with path.open("rb") as file:
            size, most = os.fstat(file.fileno()).st_size, getattr(bounds, bound)
            if size > most:
                kind = bound.removesuffix("_bytes")
                allowed = f"readers.{bound} allows" if kind == "conversation" else f"a {kind} may have"
                raise InputError(
                    f"{shown_path(path)} has {size:,} bytes and is not read: {allowed} {most:,}."
                )
            yield file, size
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no file {shown_path(path)}: it went away while it was read."
        ) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(
            f"{shown_path(path)} cannot be read ({reason}): check its permissions and its disk."
        ) from error


def blocks_of(file: IO[bytes], left: int) -> Iterator[bytes]:
    """The first `left` bytes of a file, as it was when it was opened, in blocks."""
    while left > 0 and (block := file.read(min(BLOCK_BYTES, left))):
        left -= len(block)
        yield block


def source_hash(path: Path, *, bounds: Bounds = DEFAULTS) -> str:
    """SHA-256 of the file's bytes, in hex, with a database's write-ahead log.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read.
    """
    with open_bytes(path, bounds) as (file, _):
        digest = hashlib.file_digest(file, "sha256")
    wal = wal_of(path)
    if path.suffix.lower() == DATABASE_SUFFIX and wal.exists():
        with open_bytes(wal, bounds) as (file, _):
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def wal_of(path: Path) -> Path:
    """The file in which SQLite keeps what it has not written into a database yet."""
    return path.with_name(f"{path.name}-wal")


def file_time(path: Path) -> datetime:
    """The file's time of last change.

    Raises:
        InputError: It has none.
    """
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(f"{shown_path(path)} has no time of change ({error}): check the file.") from error


def absolute(path: Path) -> str:
    """The absolute path in POSIX form, without following symbolic links."""
    return Path(os.path.abspath(path)).as_posix()  # noqa: PTH100 - resolve() would follow links


def shown_path(path: Path) -> str:
    """The path as messages show it."""
    return repr(named(str(path)))


def named(name: str) -> str:
    """The name of a file, or a path, as it is stored and shown: as text, without secrets."""
    return safe_path(path_text(name))


def path_text(name: str) -> str:
    """A name in the file system as text that can be stored: bytes that are no UTF-8 as escapes."""
    return clean_text(name.encode("utf-8", "backslashreplace").decode())
