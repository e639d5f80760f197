"""From bytes on disk to clean text, JSON records and times, for the readers of all formats.

Readers touch the file system only here, where its errors become ours.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path

from slowwave.errors import InputError, NotFoundError
from slowwave.schemas.refusals import FIRST_YEAR_TOO_LATE, clean_text

_FILE_START_BOM = b"\xef\xbb\xbf"
_LATEST_EPOCH_SECOND = 1e11


@contextmanager
def open_bytes(path: Path) -> Iterator[BufferedReader]:
    """A regular file, open for reading.

    Raises:
        NotFoundError: Nothing is there.
        InputError: It is not a regular file, or may not be read.
    """
    try:
        if not path.exists():
            raise NotFoundError(f"There is no file {shown_path(path)}: check the path.")
        if not path.is_file():
            raise InputError(
                f"{shown_path(path)} is not a regular file: name a file, or list a folder with find_sources."
            )
        with path.open("rb") as file:
            yield file
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no file {shown_path(path)}: it went away while it was read."
        ) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(
            f"{shown_path(path)} cannot be read ({reason}): check its permissions and its disk."
        ) from error


def shown_path(path: Path) -> str:
    """The path as it stands in a message."""
    return repr(clean_text(str(path)))


def json_records(path: Path, skipped: Counter[str]) -> Iterator[dict[str, object]]:
    """Objects of a JSONL file, one line in memory at a time; other lines are counted in `skipped`.

    Raises:
        InputError: There are lines, and none of them is JSON.
    """
    line_count = unreadable_count = 0
    with open_bytes(path) as file:
        for line in file:
            bare = line.removeprefix(_FILE_START_BOM) if line_count == 0 else line
            if not (text := bare.decode("utf-8", "replace").strip(" \t\r\n\x00")):
                continue
            line_count += 1
            try:
                record: object = json.loads(text, strict=False)
            except (ValueError, RecursionError):
                unreadable_count += 1
                skipped["unreadable line" if line.endswith(b"\n") else "half-written last line"] += 1
                continue
            if isinstance(record, dict):
                yield record
            else:
                skipped["not an object"] += 1
    if line_count and line_count == unreadable_count:
        raise InputError(
            f"{shown_path(path)} has {line_count} lines and none is JSON: "
            "expected a transcript with one JSON object a line."
        )


def text_of(record: dict[str, object], *names: str) -> str | None:
    """The first of the fields that holds text or a number, as text without blanks around it; else null."""
    for name in names:
        value = record.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
            return str(value)
        if isinstance(value, str) and (cleaned := clean_text(value).strip()):
            return cleaned
    return None


def time_of(record: Mapping[str, object], skipped: Counter[str]) -> datetime | None:
    """The time in a record's `timestamp`; null, and counted, where that is no time."""
    said = record.get("timestamp")
    time = parse_time(said)
    if said is not None and time is None:
        skipped["time that is none: taken as the one before"] += 1
    return time


def parse_time(value: object) -> datetime | None:
    """A UTC time from ISO 8601 text or epoch seconds, milli-, micro- or nanoseconds; null where it is none.

    A time without a zone is UTC; a year from `FIRST_YEAR_TOO_LATE` on is no time that anybody spoke at.
    """
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(value, str):
            value = value.strip()
            if re.fullmatch(r"\d{9,19}(?:\.\d{1,9})?", value):
                return _from_epoch(float(value))
            moment = datetime.fromisoformat(value)
            return _plausible((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _from_epoch(float(value))
    return None


def _from_epoch(value: float) -> datetime | None:
    if not value > 0:
        return None
    for unit in (1, 1e3, 1e6, 1e9):
        if value / unit < _LATEST_EPOCH_SECOND:
            return _plausible(datetime.fromtimestamp(value / unit, UTC))
    return None


def _plausible(moment: datetime) -> datetime | None:
    return moment if moment.year < FIRST_YEAR_TOO_LATE else None


def file_time(path: Path) -> datetime:
    """The file's time of last change."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(f"{shown_path(path)} has no time of change ({error}): check the file.") from error
