"""The JSON texts of an export, and the objects in their arrays, one in memory at a time.

An export is the text itself, or members of a ZIP archive, which is read and never unpacked to disk. The arrays are
split here and not by ijson (3.6, its C backend): one text of 40 MB takes that 15 s and 128 MB, one of 200 MB 280 s and
590 MB, against 1.5 s and 7 s here; it writes "?" for half a surrogate, and loses all that follows one bad byte.
"""

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from slowwave.errors import InputError
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.files import Input, blocks_of, open_bytes, shown_path
from slowwave.ingest.lines import Line, Record, objects_of

_BOM: Final = b"\xef\xbb\xbf"
_ARCHIVES: Final = (b"PK\x03\x04", b"PK\x05\x06")
"""How a ZIP archive begins: with a member, or with its directory where it has none."""

_CONVERSATIONS: Final = re.compile(r"(?:[^/\\]+/){0,2}conversations(?:-\d{1,6})?\.json", re.IGNORECASE)
"""Names of the members that hold conversations. No member is ever written to a path."""


def start_of(path: Path, *, bounds: Bounds) -> tuple[bytes, bool]:
    """The first bytes of an export's text that are not blank, and whether they are from an archive.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is a ZIP archive without conversations.
    """
    is_archive = False
    for number, block in _texts(path, bounds):
        is_archive = number > 0
        if start := block.removeprefix(_BOM).lstrip():
            return start, is_archive
    return b"", is_archive


def _texts(path: Path, bounds: Bounds) -> Iterator[tuple[int, bytes]]:
    """The bytes of an export's JSON texts in blocks, each with the number of its member, 0 without an archive."""
    with open_bytes(path, bounds) as (file, size):
        if not file.peek(len(_ARCHIVES[0])).startswith(_ARCHIVES):
            yield from ((0, block) for block in blocks_of(file, size))
            return
        with _archive_errors(path), ZipFile(file) as archive:
            for number, member in enumerate(_members(path, archive, bounds), start=1):
                with archive.open(member) as opened:
                    yield from ((number, block) for block in blocks_of(opened, member.file_size))


@contextmanager
def _archive_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise InputError(
            f"{shown_path(path)} is no whole ZIP archive, or has a password ({type(error).__name__}): "
            "download the export again, or unpack it and name its conversations.json."
        ) from error


def _members(path: Path, archive: ZipFile, bounds: Bounds) -> list[ZipInfo]:
    named = [member for member in archive.infolist() if _CONVERSATIONS.fullmatch(member.filename)]
    if not named:
        raise InputError(
            f"{shown_path(path)} is a ZIP archive without a conversations.json: name the export of ChatGPT or "
            "Claude.ai as it was downloaded, or an unpacked file."
        )
    size = sum(member.file_size for member in named)
    if size > bounds.file_bytes:
        raise InputError(
            f"{shown_path(path)} has {size:,} bytes unpacked and is not read: a file may have {bounds.file_bytes:,}."
        )
    return sorted(named, key=lambda member: (len(member.filename), member.filename))


def objects_in_export(file: Input, name: str, *, most: tuple[str, int]) -> Iterator[Record]:
    """The objects in the arrays of an export, numbered through all of its texts, as `objects_of` has them.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, holds no conversations, or has more than `file_bytes` unpacked.
    """
    texts = groupby(_texts(file.path, file.bounds), key=itemgetter(0))
    split_texts = (split((block for _, block in blocks), most=most[1]) for _, blocks in texts)
    numbered = enumerate(chain.from_iterable(split_texts), start=1)
    return objects_of((one._replace(number=number) for number, one in numbered), file, name, most=most)


def conversations_of(file: Input) -> Iterator[Record]:
    """The conversations of a chat's export that can be read; the others are counted, an entry each."""
    bound = "conversation_bytes"
    return objects_in_export(file, "conversation", most=(bound, file.bounds.conversation_bytes))


_SIGN: Final = re.compile(rb'["{}\[\]]|\\.', re.DOTALL)
"""A quotation mark, a bracket, or an escape, which is no quotation mark."""

_ABOVE: Final = (b"[", b"{[")
"""The brackets above an element: of an array that is the whole text, or a field of the whole object."""


class _Open:
    """An object that has begun: its size so far, and its bytes until they are over the bound."""

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[bytes] = []

    def add(self, piece: bytes, most: int) -> None:
        self.size += len(piece)
        self._pieces.append(piece)
        if self.size > most:
            self._pieces.clear()

    def ended(self, number: int, most: int, *, is_ended: bool) -> Line:
        data = b"".join(self._pieces) if self.size <= most else None
        return Line(number, data, self.size, is_ended)


def split(blocks: Iterable[bytes], *, most: int) -> Iterator[Line]:
    """The objects of the array in a JSON text: the text itself, or a field of the object that the text is.

    Elements of more than `most` bytes are counted and not kept. What is between the elements is not parsed.
    """
    above, depth, number = b"", 0, 0  # of the brackets above only the first two are kept
    element, outside = _Open(), -1  # the depth outside the open element; -1 where none is open
    is_text, rest = False, b""
    for given in blocks:
        block, start = rest + given, 0
        rest = b"\\" if (len(block) - len(block.rstrip(b"\\"))) % 2 else b""  # the block cuts an escape
        block = block.removesuffix(rest)
        for found in _SIGN.finditer(block):
            sign, place = found[0], found.start()
            is_text ^= sign == b'"'
            if is_text or sign not in b"{}[]":
                continue
            if sign in b"{[":
                if sign == b"{" and outside < 0 and depth == len(above) and above in _ABOVE:
                    element, outside, start = _Open(), depth, place
                above += sign if depth == len(above) < 2 else b""  # noqa: PLR2004 - see _ABOVE
                depth += 1
                continue
            depth = max(depth - 1, 0)
            above = above[:depth]
            if depth == outside:
                element.add(block[start : place + 1], most)
                number, outside = number + 1, -1
                yield element.ended(number, most, is_ended=True)
        if outside >= 0:
            element.add(block[start:], most)
    if outside >= 0:
        yield element.ended(number + 1, most, is_ended=False)
