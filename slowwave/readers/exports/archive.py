"""The JSON texts of an export: the file itself, or members of a ZIP archive, which is read and never unpacked."""

import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from slowwave.errors import InputError
from slowwave.readers.files import open_bytes, shown_path
from slowwave.settings.readers import ReaderSettings

ARCHIVE_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")
"""How a ZIP archive begins: with a member, or with its directory where it has none."""

_CONVERSATIONS: Final = re.compile(r"(?:[^/\\]+/){0,2}conversations(?:-\d{1,6})?\.json", re.IGNORECASE)
"""Names of the members that hold conversations. No member is ever written to a path."""

_BLOCK: Final = 1 << 20
_END_BYTES: Final = 1 << 17
"""Bytes at the end of an archive that say where its directory is: a comment has half of it at most."""

_MOST_DIRECTORY: Final = 16_000_000
"""Bytes of an archive's directory, which takes some twenty times its size in memory."""

_IN_LONG_RECORD: Final = 0xFFFFFFFF
"""The size in the plain record that says: see the long one."""


def blocks_of(path: Path, *, bounds: ReaderSettings) -> Iterator[tuple[int, bytes]]:
    """The bytes of an export's JSON texts, each block with the number of its text, in the order of their names.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, holds no conversations, or has more than `readers.file_bytes` unpacked.
    """
    with open_bytes(path, most_bytes=bounds.file_bytes) as (file, size):
        if not file.peek(len(ARCHIVE_STARTS[0])).startswith(ARCHIVE_STARTS):
            yield from ((0, block) for block in _blocks(file, size))
            return
        with _archive_errors(path):
            _refuse_large_directory(path, file, size)
            with ZipFile(file) as archive:
                for number, member in enumerate(_members(path, archive, bounds)):
                    with archive.open(member) as opened:
                        yield from ((number, block) for block in _blocks(opened, member.file_size))


def _blocks(file: IO[bytes], left: int) -> Iterator[bytes]:
    """The bytes of a file as it was when it was opened."""
    while left > 0 and (block := file.read(min(_BLOCK, left))):
        left -= len(block)
        yield block


@contextmanager
def _archive_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise InputError(
            f"{shown_path(path)} is no whole ZIP archive, or has a password ({type(error).__name__}): "
            "download the export again, or unpack it and name its conversations.json."
        ) from error


def _members(path: Path, archive: ZipFile, bounds: ReaderSettings) -> list[ZipInfo]:
    named = [member for member in archive.infolist() if _CONVERSATIONS.fullmatch(member.filename)]
    if not named:
        raise InputError(
            f"{shown_path(path)} is a ZIP archive without a conversations.json: name the export of ChatGPT or "
            "Claude.ai as it was downloaded, or an unpacked file."
        )
    size = sum(member.file_size for member in named)
    if size > bounds.file_bytes:
        raise InputError(
            f"{shown_path(path)} has {size:,} bytes unpacked and is not read: readers.file_bytes allows "
            f"{bounds.file_bytes:,}."
        )
    return sorted(named, key=lambda member: (len(member.filename), member.filename))


def _refuse_large_directory(path: Path, file: BufferedReader, size: int) -> None:
    """Refuses an archive whose directory, which is read whole, says that it is larger than any export's.

    Both records of its end are looked at, since either may count.
    """
    file.seek(max(size - _END_BYTES, 0))
    end = file.read(_END_BYTES)
    file.seek(0)
    plain, long = end.rfind(b"PK\x05\x06"), end.rfind(b"PK\x06\x06")
    sizes = [
        int.from_bytes(end[place + start : place + start + width], "little")
        for place, start, width in ((plain, 12, 4), (long, 40, 8))
        if place >= 0
    ]
    if any(_MOST_DIRECTORY < found != _IN_LONG_RECORD for found in sizes):
        raise InputError(
            f"{shown_path(path)} is a ZIP archive of too many files: unpack it and name its conversations.json."
        )
