"""Transcripts compressed with zstd (`.jsonl.zst`), read as a stream: one block of them is in memory at a time."""

from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final

import pyarrow as pa

from slowwave.errors import InputError
from slowwave.readers.files import shown_path

COMPRESSED_SUFFIX: Final = ".zst"
_BLOCK: Final = 1 << 20


def blocks_of_compressed(path: Path, file: BufferedReader, *, most_bytes: int) -> Iterator[bytes]:
    """The blocks of a compressed file as they were before.

    Raises:
        InputError: It is damaged, or not whole yet, or holds more than `most_bytes`, which is `readers.file_bytes`.
    """
    if not file.peek(1):
        return
    size, block = 0, bytearray(_BLOCK)
    try:
        stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
        while length := stream.readinto(block):  # `read` never frees its block where it raises an error
            size += length
            if size > most_bytes:
                raise InputError(
                    f"{shown_path(path)} has more than {most_bytes:,} bytes unpacked, and the rest is not read: "
                    "readers.file_bytes allows no more."
                )
            yield bytes(block[:length])
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{shown_path(path)} is damaged, or not compressed to its end yet: try again, or unpack it."
        ) from error
