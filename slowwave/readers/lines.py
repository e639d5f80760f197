"""Lines of a transcript, one in memory at a time, and the JSON objects that stand on them."""

import json
from collections.abc import Iterable, Iterator
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import InputError
from slowwave.readers.bounds import BLANK, LATE_LINE, LONG_LINE, Counts
from slowwave.readers.compressed import COMPRESSED_SUFFIX, blocks_of_compressed
from slowwave.readers.files import open_bytes, shown_path
from slowwave.settings.readers import ReaderSettings

_BLOCK = 1 << 20
_FILE_START_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")
_PADDING = " \t\r\n\x00"


GARBLED_LINE = "line that is not UTF-8"


class Line(NamedTuple):
    """A line: its number from 1, its bytes (null where it is over the bound), its size, and whether it ended."""

    number: int
    data: bytes | None
    size: int
    is_ended: bool


def lines_of(path: Path, bounds: ReaderSettings) -> Iterator[Line]:
    """The lines of a file as it was when it was opened, without their ends; what is written meanwhile waits.

    Lines end with a line feed, or with a carriage return where the file's first block has no line feed.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, is over `readers.file_bytes` (unpacked, where it is compressed), or is UTF-16.
    """
    with open_bytes(path, most_bytes=bounds.file_bytes) as (file, size):
        if path.suffix.lower() == COMPRESSED_SUFFIX:
            blocks = blocks_of_compressed(path, file, most_bytes=bounds.file_bytes)
        else:
            blocks = _blocks(file, size)
        start = next(blocks, b"")
        if start.startswith(_WIDE_BOMS):
            raise InputError(f"{shown_path(path)} is UTF-16 or UTF-32: save it as UTF-8.")
        end = b"\r" if b"\n" not in start and b"\r" in start else b"\n"
        yield from _lines(chain([start], blocks), end=end, most=bounds.line_bytes)


def _blocks(file: BufferedReader, left: int) -> Iterator[bytes]:
    while left > 0 and (block := file.read(min(_BLOCK, left))):
        left -= len(block)
        yield block


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


class Record(NamedTuple):
    """A JSON object and the number of its line."""

    line: int
    fields: dict[str, object]


def json_records(path: Path, counts: Counts, bounds: ReaderSettings) -> Iterator[Record]:
    """Objects of a JSONL file, one line in memory at a time; other lines are counted in `counts`.

    Raises:
        InputError: There are lines, and none of them is JSON.
    """
    line_count = unreadable_count = 0
    for line in lines_of(path, bounds):
        counts.entry_count += 1
        if line.number > bounds.file_lines:
            _skip_late(line, counts, bounds)
        elif line.data is None:
            _skip_long(line, counts, bounds)
            line_count += 1
        elif not (text := _text(line, line.data)):
            counts.skip(BLANK)
        else:
            line_count += 1
            if "\ufffd" in text and b"\xef\xbf\xbd" not in line.data:
                told = f"line {line.number} is not UTF-8, and letters of it are lost: save the file as UTF-8"
                counts.exceed(GARBLED_LINE, told, most=bounds.shown_places)
            record = _parsed(text)
            if record is None:
                unreadable_count += 1
                counts.skip("unreadable line" if line.is_ended else "half-written last line")
            elif isinstance(record, dict):
                yield Record(line.number, record)
            else:
                counts.skip("not an object")
    if line_count and line_count == unreadable_count:
        raise InputError(
            f"{shown_path(path)} has {line_count} lines and none is JSON: "
            "expected a transcript with one JSON object a line."
        )


def _text(line: Line, data: bytes) -> str:
    bare = data.removeprefix(_FILE_START_BOM) if line.number == 1 else data
    return bare.decode("utf-8", "replace").strip(_PADDING)


def _parsed(text: str) -> object:
    """The JSON value of a line; null where it is none, or the value null."""
    try:
        value: object = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if value is not None else ()


def _skip_long(line: Line, counts: Counts, bounds: ReaderSettings) -> None:
    counts.skip(LONG_LINE)
    counts.exceed(
        LONG_LINE,
        f"line {line.number} has {line.size:,} bytes and is left out: "
        f"readers.line_bytes allows {bounds.line_bytes:,}",
        most=bounds.shown_places,
    )


def _skip_late(line: Line, counts: Counts, bounds: ReaderSettings) -> None:
    counts.skip(LATE_LINE)
    if line.number == bounds.file_lines + 1:
        told = (
            f"the lines from {line.number:,} on are left out: readers.file_lines allows {bounds.file_lines:,}"
        )
        counts.exceed(LATE_LINE, told, most=bounds.shown_places)
