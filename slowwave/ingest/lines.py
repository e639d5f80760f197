"""Lines of a transcript, one in memory at a time, and the JSON objects on them."""

import json
from collections.abc import Iterable, Iterator
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from slowwave.errors import InputError
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.counts import BLANK, LATE_LINE, LONG_LINE
from slowwave.ingest.files import BLOCK_BYTES, Input, blocks_of, open_bytes, shown_path

COMPRESSED: Final = ".zst"
GARBLED_LINE: Final = "line that is not UTF-8"

_FILE_START_BOM: Final = b"\xef\xbb\xbf"
_WIDE_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
_PADDING: Final = " \t\r\n\x00"


class Line(NamedTuple):
    """A line: its number from 1, its bytes (null where it is over the bound), its size, and whether it ended."""

    number: int
    data: bytes | None
    size: int
    is_ended: bool

    @property
    def text(self) -> str:
        """The line without padding; empty where it is over the bound."""
        bare = (self.data or b"").removeprefix(_FILE_START_BOM if self.number == 1 else b"")
        return bare.decode("utf-8", "replace").strip(_PADDING)


class Record(NamedTuple):
    """A JSON object and the number of its line."""

    line: int
    fields: dict[str, object]


def lines_of(path: Path, bounds: Bounds) -> Iterator[Line]:
    """The lines of a file as it was when it was opened, without their ends.

    Lines end with a line feed, or with a carriage return where the file's first block has no line feed.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, is over `file_bytes` (unpacked, where it is compressed), or is UTF-16.
    """
    with open_bytes(path, bounds) as (file, size):
        is_packed = path.suffix.lower() == COMPRESSED
        blocks = _unpacked(path, file, bounds.file_bytes) if is_packed else blocks_of(file, size)
        start = next(blocks, b"")
        if start.startswith(_WIDE_BOMS):
            raise InputError(f"{shown_path(path)} is UTF-16 or UTF-32: save it as UTF-8.")
        end = b"\r" if b"\n" not in start and b"\r" in start else b"\n"
        yield from _lines(chain([start], blocks), end=end, most=bounds.line_bytes)


def _unpacked(path: Path, file: BufferedReader, most_bytes: int) -> Iterator[bytes]:
    """The blocks of a file that is compressed with zstd, unpacked one at a time."""
    if not file.peek(1):
        return
    size, block = 0, bytearray(BLOCK_BYTES)
    try:
        stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
        while length := stream.readinto(block):  # `read` never frees its block where it raises an error
            size += length
            if size > most_bytes:
                raise InputError(
                    f"{shown_path(path)} has more than {most_bytes:,} bytes unpacked, and the rest is not read."
                )
            yield bytes(block[:length])
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{shown_path(path)} is damaged, or not compressed to its end yet: try again, or unpack it."
        ) from error


def _lines(blocks: Iterable[bytes], *, end: bytes, most: int) -> Iterator[Line]:
    number = size = 0
    kept: list[bytes] = []
    for block in blocks:
        *ended, rest = block.split(end)
        for piece in ended:
            number, size = number + 1, size + len(piece)
            yield Line(number, b"".join([*kept, piece]) if size <= most else None, size, is_ended=True)
            kept, size = [], 0
        size += len(rest)
        kept = [*kept, rest] if size <= most else []
    if size:
        yield Line(number + 1, b"".join(kept) if size <= most else None, size, is_ended=False)


def json_records(file: Input) -> Iterator[Record]:
    """Objects of a JSONL file, one line in memory at a time; other lines are counted.

    Raises:
        InputError: There are lines, and none of them is JSON.
    """
    line_count = unreadable_count = 0
    for line in lines_of(file.path, file.bounds):
        file.counts.entry_count += 1
        if line.number > file.bounds.file_lines:
            _skip_late(line, file)
            continue
        if not (text := line.text) and line.data is not None:
            file.counts.skip(BLANK)
            continue
        line_count += 1
        if line.data is None:
            _skip_long(line, file)
            continue
        if "\ufffd" in text and b"\xef\xbf\xbd" not in line.data:
            lost = f"line {line.number} is not UTF-8, and letters of it are lost: save the file as UTF-8"
            file.counts.exceed(GARBLED_LINE, lost)
        value = json_value(text)
        if isinstance(value, dict):
            yield Record(line.number, value)
        elif value is not None:
            file.counts.skip("not an object")
        else:
            unreadable_count += 1
            file.counts.skip("unreadable line" if line.is_ended else "half-written last line")
    if line_count and line_count == unreadable_count:
        raise InputError(
            f"{shown_path(file.path)} has {line_count} lines and none is JSON: "
            "expected a transcript with one JSON object a line."
        )


def first_line_of(path: Path, bounds: Bounds) -> Line | None:
    """The first line that is not blank; null where there is none."""
    return next((line for line in lines_of(path, bounds) if line.data is None or line.text), None)


def json_value(text: str) -> object:
    """The JSON value of a text, `()` for JSON's null; null where it is none."""
    try:
        value: object = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if value is not None else ()


def json_object(file: Input) -> dict[str, object]:
    """The JSON object that a whole file is, in memory; empty where the file is empty, or another JSON value.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, is no JSON, or is over `readers.conversation_bytes`.
    """
    with open_bytes(file.path, file.bounds, "conversation_bytes") as (opened, size):
        text = opened.read(size).decode("utf-8-sig", "replace").strip(_PADDING)
    if not text:
        return {}
    if (found := json_value(text)) is None:
        raise InputError(f"{shown_path(file.path)} is no JSON, or not whole yet: name a whole file.")
    return found if isinstance(found, dict) else {}


def _skip_long(line: Line, file: Input) -> None:
    allowed = f"readers.line_bytes allows {file.bounds.line_bytes:,}"
    file.counts.skip(
        LONG_LINE, excess=f"line {line.number} has {line.size:,} bytes and is left out: {allowed}"
    )


def _skip_late(line: Line, file: Input) -> None:
    allowed = f"a transcript may have {file.bounds.file_lines:,}"
    is_first = line.number == file.bounds.file_lines + 1
    excess = f"the lines from {line.number:,} on are left out: {allowed}" if is_first else ""
    file.counts.skip(LATE_LINE, excess=excess)
