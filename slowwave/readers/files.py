"""Files on disk, and the texts and times of a record's fields, for the readers of all formats.

Readers touch the file system only here, where its errors become ours.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path

from slowwave.errors import InputError, NotFoundError
from slowwave.ingest.redact.names import safe_path
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import FIRST_YEAR_TOO_LATE, clean_text

LONGEST_LABEL = 1_000
"""Characters of an id, a speaker or a folder's name in a record: a longer one is no name."""

DATABASE_SUFFIX = ".db"

_LATEST_EPOCH_SECOND = 1e11


@contextmanager
def open_bytes(
    path: Path, *, most_bytes: int, bound: str = "file_bytes"
) -> Iterator[tuple[BufferedReader, int]]:
    """A regular file, open for reading, and its size in bytes.

    Raises:
        NotFoundError: Nothing is there.
        InputError: It is not a regular file, may not be read, or has more than `most_bytes`, which is the
            setting `bound` of the readers.
    """
    try:
        if not path.exists():
            raise NotFoundError(f"There is no file {shown_path(path)}: check the path.")
        if not path.is_file():
            raise InputError(f"{shown_path(path)} is {_kind_of(path)}, not a regular file: name a file.")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > most_bytes:
                raise InputError(
                    f"{shown_path(path)} has {size:,} bytes and is not read: "
                    f"readers.{bound} allows {most_bytes:,}."
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


def _kind_of(path: Path) -> str:
    """The kind of a thing in the file system that is no regular file."""
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(path.stat().st_mode), "something else")


def state_of(path: Path) -> tuple[int, int]:
    """Size and time of last change of a file, in bytes and nanoseconds: other numbers tell that it was written.

    What a database keeps beside itself counts with it.
    """
    found = []
    for part in (path, wal_of(path)) if path.suffix.lower() == DATABASE_SUFFIX else (path,):
        with suppress(OSError):
            found.append(part.stat())
    return sum(part.st_size for part in found), max((part.st_mtime_ns for part in found), default=0)


def wal_of(path: Path) -> Path:
    """The file in which SQLite keeps what it has not written into a database yet."""
    return path.with_name(f"{path.name}-wal")


def small_text(path: Path) -> str | None:
    """The first line of a small file beside a transcript; null where there is none, or it cannot be read."""
    try:
        if not path.is_file():  # to open a pipe would wait for whoever writes into it
            return None
        with path.open("rb") as file:
            head = file.read(4 * LONGEST_LABEL)
    except OSError:
        return None
    return clean_text(head.decode("utf-8", "replace").partition("\n")[0]).strip() or None


def shown_path(path: Path) -> str:
    """The path as it stands in a message."""
    return repr(named(str(path)))


def named(name: str) -> str:
    """The name of a file, or a path, as it is stored and told: as text, without secrets."""
    return safe_path(path_text(name))


def path_text(name: str) -> str:
    """A name in the file system as text that can be stored: bytes that are no UTF-8 as escapes."""
    return clean_text(name.encode("utf-8", "backslashreplace").decode())


def object_of(value: object) -> Mapping[str, object]:
    """A JSON object; empty where it is another value."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[object]:
    """A JSON list; empty where it is another value."""
    return value if isinstance(value, list) else []


def text_of(record: Mapping[str, object], *names: str) -> str | None:
    """The first of the fields that holds text or a number, as text without blanks around it; else null."""
    for name in names:
        value = record.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
            return str(value)
        if isinstance(value, str) and (cleaned := clean_text(value).strip()):
            return cleaned
    return None


def id_of(record: Mapping[str, object], *names: str) -> str | None:
    """The first of the fields that holds text or a number, as an id; one that is too long for a name as its hash."""
    given = text_of(record, *names)
    return stable_id("id", given) if given is not None and len(given) > LONGEST_LABEL else given


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
