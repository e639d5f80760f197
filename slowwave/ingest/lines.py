"""Lines of a transcript, one in memory at a time, and the JSON objects on them."""

from collections.abc import Iterable, Iterator
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from slowwave.errors import InputError
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.counts import BLANK, LATE_LINE
from slowwave.ingest.fields import json_value
from slowwave.ingest.files import BLOCK_BYTES, Input, blocks_of, open_bytes, shown_path
from slowwave.schemas.report import several

COMPRESSED: Final = ".zst"

_FILE_START_BOM: Final = b"\xef\xbb\xbf"
_WIDE_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
_PADDING: Final = " \t\r\n\x00"


class Line(NamedTuple):
    """A line, or an object of an export: its number from 1, its bytes (null over the bound), its size, if it ended."""

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
        yield from _lines(chain([start], blocks), most=bounds.line_bytes)


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


def _lines(blocks: Iterable[bytes], *, most: int) -> Iterator[Line]:
    number = size = 0
    kept: list[bytes] = []
    for block in blocks:
        *ended, rest = block.split(b"\n")
        for piece in ended:
            number, size = number + 1, size + len(piece)
            yield Line(number, b"".join([*kept, piece]) if size <= most else None, size, is_ended=True)
            kept, size = [], 0
        size += len(rest)
        kept = [*kept, rest] if size <= most else []
    if size:
        yield Line(number + 1, b"".join(kept) if size <= most else None, size, is_ended=False)


def json_records(file: Input) -> Iterator[Record]:
    """Objects of a JSONL file, one line in memory at a time; each line is an entry, and other lines are counted.

    Raises:
        InputError: There are lines, and none of them is JSON.
    """
    counts = file.counts
    for record in objects_of(_taken(file), file, "line", most=("line_bytes", file.bounds.line_bytes)):
        counts.entry_count += 1
        yield record
    line_count = counts.entry_count - counts.skipped[BLANK] - counts.skipped[LATE_LINE]
    if (
        line_count
        and line_count == counts.skipped["unreadable line"] + counts.skipped["half-written last line"]
    ):
        raise InputError(
            f"{shown_path(file.path)} has {several(line_count, 'line')} and none is JSON: "
            "expected a transcript with one JSON object a line."
        )


def _taken(file: Input) -> Iterator[Line]:
    """The lines that are neither blank nor behind the last one that is taken."""
    counts, most = file.counts, file.bounds.file_lines
    for line in lines_of(file.path, file.bounds):
        if line.number > most:
            is_first = line.number == most + 1
            told = f"the lines from {line.number:,} on are left out: a transcript may have {most:,}"
            counts.leave_out(LATE_LINE, told if is_first else "")
        elif line.data is not None and not line.text:
            counts.leave_out(BLANK)
        else:
            yield line


def objects_of(pieces: Iterable[Line], file: Input, name: str, *, most: tuple[str, int]) -> Iterator[Record]:
    """The JSON objects among the pieces of a file; a piece of another kind is counted as an entry that is left out.

    `name` is what reports call a piece; `most` has the setting that bounds its bytes, and that bound.
    """
    counts = file.counts
    for piece in pieces:
        if piece.data is None:
            allowed = f"readers.{most[0]} allows {most[1]:,}"
            told = f"{name} {piece.number} has {piece.size:,} bytes and is left out: {allowed}"
            counts.leave_out(f"{name} over its bound", told)
            continue
        text = piece.text
        if "\ufffd" in text and b"\xef\xbf\xbd" not in piece.data:
            lost = f"{name} {piece.number} is not UTF-8, and letters of it are lost: save the file as UTF-8"
            counts.parts[f"{name} that is not UTF-8"] += 1
            counts.exceed(f"{name} that is not UTF-8", lost)
        value = json_value(text)
        if isinstance(value, dict):
            yield Record(piece.number, value)
        elif value is not None:
            counts.leave_out("not an object")
        else:
            counts.leave_out(f"unreadable {name}" if piece.is_ended else f"half-written last {name}")


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
