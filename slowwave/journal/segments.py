"""The journal: immutable segments of events, the one truth about what came in and what was decided.

A segment is `journal/YYYY/MM/DD/<ulid>.jsonl`, written whole (temporary file, fsync, rename, fsync of the
folder) and never changed. Its first line is a header with the number of events and their hash, so that a torn
or foreign file is recognised, reported and skipped. It also names the segment that was the last one before, so that
a lost one is missed. Events name their segment, so that a copy under another name is not read twice. Any number of
processes may commit at once: names never collide, and no lock is taken. This file knows nothing of tables.

    {"segment": "slowwave", "format": 1, "event_count": 2, "sha256": "...", "after": "01J..."}
    {"event_id": "01J....0", "kind": "turn.recorded", "version": 1, "recorded_at": "...", "payload": {...}}
    {"event_id": "01J....1", ...}
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path

import polars as pl
from ulid import ULID

from slowwave.errors import ConfigError, ContractError, NotFoundError, TransientError
from slowwave.journal.catalogue import CATALOGUE, DEAD_KINDS, FORMER_KINDS, ISO, SCAN_SCHEMA, from_iso
from slowwave.whole_file import open_plain, read_plain, write_whole

FORMAT = 1

PORTION_SEGMENTS, PORTION_BYTES = 200, 16_000_000
"""Segments, and their bytes, that are folded together: enough to be fast, few enough to bound memory."""

# a higher first digit would be a year past 9999
_SEGMENT_NAME = re.compile(r"^[0-6][0-9A-HJKMNP-TV-Z]{25}\.jsonl$")


@dataclass(frozen=True)
class Problem:
    """A file in the journal folder that is not a whole segment of ours, why, and what a person can do.

    `is_loss` says that events are left out which no other file holds.
    """

    path: Path
    reason: str
    advice: str = "It is passed by and may be removed."
    is_loss: bool = False


@dataclass(frozen=True)
class Scan:
    """Events of whole segments (`SCAN_SCHEMA`, segment order) and the files that were skipped."""

    events: pl.DataFrame
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Journal:
    """The journal below one folder."""

    root: Path

    def commit(self, events: pl.DataFrame, *, now: datetime) -> str | None:
        """Write events as one segment: when this returns, they survive a kill and a power cut.

        `events` has `kind` and `payload` (JSON text), in order, as `slowwave.journal.catalogue.encode` makes them.
        Events that are copied from another segment also have the `version` and the `recorded_at` (UTC) that they had
        there. Returns the id of the segment, which sorts by the time of the commit; None, and nothing is written, when
        there is no event.

        Raises:
            ContractError: a kind is not in the catalogue.
            TransientError: the disk is full or the folder cannot be written.
        """
        if events.is_empty():
            return None
        unknown = set(events["kind"].unique()) - set(CATALOGUE)
        if unknown:
            raise ContractError(f"events of unknown kind {sorted(unknown)} cannot be committed")
        try:
            last = self.last_id() or ""
            segment_id = _next_id(last, now)
            body = _body(segment_id, events, now)
            write_whole(self.path_of(segment_id), _header(events.height, body, after=last) + body)
        except OSError as error:
            raise TransientError(
                f"the journal at {self.root} could not be written ({error.strerror}); nothing was recorded. "
                "Make room or mend the permissions, then run again."
            ) from error
        return segment_id

    def lines(self, segment_id: str) -> list[str] | None:
        """The event lines of a whole segment as they stand in the file; None where the file is torn or foreign."""
        found = _whole_lines(self.path_of(segment_id))
        return None if isinstance(found, str) else list(found)

    def rewrite(self, segment_id: str, lines: Sequence[str]) -> None:
        """Put other event lines in the place of a segment's; a kill leaves the old or the new file.

        For `erase` and `redact` alone.

        Without any line the header alone stays, so that nobody takes the segment for lost.

        Raises:
            TransientError: the disk is full or the folder cannot be written; the segment is as it was.
        """
        body = "".join(f"{line}\n" for line in lines).encode()
        path = self.path_of(segment_id)
        try:
            write_whole(path, _header(len(lines), body, after=named_before(path) or "") + body)
        except OSError as error:
            raise TransientError(
                f"segment {segment_id} could not be written anew ({error.strerror}); make room or mend the "
                "permissions, then start this again"
            ) from error

    def path_of(self, segment_id: str) -> Path:
        """The file of a segment, below the folder of the day in its id."""
        day = ULID.from_str(segment_id).datetime
        return self.root / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}" / f"{segment_id}.jsonl"

    def segment_ids(self) -> list[str]:
        """Ids of all files that are named and placed like segments, in the order in which they fold."""
        return self.listing()[0]

    def names(self) -> set[str]:
        """Names without their ending of all files below the folder, wherever they lie: faster than a listing."""
        return {name.removesuffix(".jsonl") for _, _, names in os.walk(self.root) for name in names}

    def segment_ids_after(self, segment_id: str) -> list[str]:
        """Ids of the segments after this one, in their order, without a look at older days."""
        first = self.path_of(segment_id).parent
        days = takewhile(lambda day: day >= first, _newest_first(self.root, depth=3))
        return sorted(found for day in days for found in self._ids_in(day, after=segment_id))

    def listing(self) -> tuple[list[str], list[Problem]]:
        """`segment_ids`, and the other files of the folder, leftovers of a kill among them, from one walk."""
        segment_ids, foreign, errors = list[str](), list[Problem](), list[OSError]()
        for name_of_folder, folders, names in os.walk(self.root, onerror=errors.append):
            folder = Path(name_of_folder)
            first, past = _ids_of_day(folder.relative_to(self.root))
            for name in names:
                if _SEGMENT_NAME.match(name) and first <= name < past:
                    segment_ids.append(name.removesuffix(".jsonl"))
                else:
                    foreign.append(Problem(folder / name, _FOREIGN[name.startswith(".")]))
            foreign += (
                Problem(folder / name, _FOREIGN[False]) for name in folders if _SEGMENT_NAME.match(name)
            )
        foreign += (_unlisted(error) for error in errors if not isinstance(error, FileNotFoundError))
        return sorted(segment_ids), sorted(foreign, key=lambda problem: problem.path)

    def missing(self) -> list[str]:
        """Ids of segments that others name and that are gone; of several in a row the last one is named."""
        segment_ids = self.segment_ids()
        named = {named_before(self.path_of(one)) for one in segment_ids}
        return sorted(name for name in named - {*segment_ids} if name)

    def portions(self, segment_ids: Sequence[str]) -> Iterator[list[str]]:
        """The named segments in their order, in portions that can be folded together in bounded memory."""
        portion: list[str] = []
        size = 0
        for segment_id in segment_ids:
            path = self.path_of(segment_id)
            more = path.stat().st_size if path.exists() else 0
            if portion and (len(portion) >= PORTION_SEGMENTS or size + more > PORTION_BYTES):
                yield portion
                portion, size = [], 0
            portion.append(segment_id)
            size += more
        if portion:
            yield portion

    def read(self, segment_ids: Iterable[str]) -> Scan:
        """Events of the named segments in their order; what is torn is skipped and named.

        Raises:
            NotFoundError: a segment is not there.
            ConfigError: a whole segment holds an event that a newer Slowwave wrote.
        """
        frames: list[pl.DataFrame] = []
        problems: list[Problem] = []
        for segment_id in segment_ids:
            path = self.path_of(segment_id)
            try:
                lines = _whole_lines(path)
            except FileNotFoundError as error:
                if path.is_symlink():
                    problems.append(_lost(path, "it is a link to a file that is not there"))
                    continue
                raise NotFoundError(f"segment {segment_id} is not in the journal at {self.root}") from error
            if isinstance(lines, str):
                problems.append(_lost(path, lines))
                continue
            events = _parse(segment_id, lines)
            if own := _other_segment(segment_id, events):
                advice = f"If {own}.jsonl is gone, rename it so and run `slowwave run rebuild`; else it may be removed."
                problems.append(
                    Problem(path, f"it holds the events of segment {own}: a copy under another name", advice)
                )
            else:
                frames.append(events)
        events = pl.concat(frames) if frames else pl.DataFrame(schema=SCAN_SCHEMA)
        _refuse_newer(events)
        return Scan(events, tuple(problems))

    def scan(self) -> Scan:
        """The whole journal as one frame, and every file that was skipped."""
        segment_ids, foreign = self.listing()
        scan = self.read(segment_ids)
        return Scan(scan.events, (*scan.problems, *foreign))

    def _ids_in(self, day: Path, *, after: str) -> Iterator[str]:
        """Ids in a day's folder above one: by names alone, for each record looks and a day may have thousands."""
        begin, past = _ids_of_day(day.relative_to(self.root))
        for name in os.listdir(day):  # noqa: PTH208
            segment_id = name.removesuffix(".jsonl")
            is_placed = segment_id > after and _SEGMENT_NAME.match(name) and begin <= name < past
            if is_placed and not (day / name).is_dir():
                yield segment_id

    def last_id(self) -> str | None:
        """The highest id; empty and foreign folders are skipped."""
        for day in _newest_first(self.root, depth=3):
            # names alone: a day of single messages has thousands of segments, and each commit looks
            names = [name for name in os.listdir(day) if _SEGMENT_NAME.match(name)]  # noqa: PTH208
            if names:
                return Path(max(names)).stem
        return None


_FOREIGN = {
    True: "left by a write that did not finish",
    False: "not a segment in the folder of its day",
}


def _unlisted(error: OSError) -> Problem:
    advice = "Its segments are left out: mend it, then run `slowwave run rebuild`."
    return Problem(Path(error.filename), f"it cannot be listed ({error.strerror})", advice, is_loss=True)


def _next_id(last: str, now: datetime) -> str:
    """An id above all others, also after the clock went back: a decision folds after what it rests on."""
    candidate = ULID.from_datetime(now)
    if str(candidate) <= last:
        candidate = ULID.from_timestamp(ULID.from_str(last).milliseconds + 1)
    return str(candidate)


def _newest_first(folder: Path, *, depth: int) -> Iterator[Path]:
    """Folders of numbers `depth` levels down, the latest day first."""
    if depth == 0:
        yield folder
    elif folder.is_dir():
        below = [entry for entry in folder.iterdir() if entry.name.isdecimal() and entry.is_dir()]
        for entry in sorted(below, reverse=True):
            yield from _newest_first(entry, depth=depth - 1)


def _ids_of_day(folder: Path) -> tuple[str, str]:
    """First characters of the ids of the day that `YYYY/MM/DD` names, and of the next day; empty for other folders."""
    try:
        day = datetime.strptime(folder.as_posix(), "%Y/%m/%d").replace(tzinfo=UTC)
        if f"{day:%Y/%m/%d}" != folder.as_posix():
            return "", ""
        first, past = (ULID.from_datetime(time) for time in (day, day + timedelta(days=1)))
    except (ValueError, OverflowError):
        return "", ""
    return str(first)[:10], str(past)[:10]


def _lost(path: Path, reason: str) -> Problem:
    advice = "Its events are left out. Put it back from a backup, then run `slowwave run rebuild`."
    return Problem(path, reason, advice, is_loss=True)


def _header(event_count: int, body: bytes, *, after: str) -> bytes:
    header = {
        "segment": "slowwave",
        "format": FORMAT,
        "event_count": event_count,
        "sha256": hashlib.sha256(body).hexdigest(),
        "after": after,
    }
    return json.dumps(header).encode() + b"\n"


def _body(segment_id: str, events: pl.DataFrame, now: datetime) -> bytes:
    newest = {kind: entry.version for kind, entry in CATALOGUE.items()}
    version = pl.col("version") if "version" in events.columns else pl.col("kind").replace_strict(newest)
    recorded = pl.col("recorded_at") if "recorded_at" in events.columns else pl.lit(now.astimezone(UTC))
    line = pl.format(
        '{}"event_id": "{}.{}", "kind": "{}", "version": {}, "recorded_at": "{}", "payload": {}{}',
        pl.lit("{"),
        pl.lit(segment_id),
        "position",
        "kind",
        version,
        recorded.dt.strftime(ISO),
        "payload",
        pl.lit("}"),
    )
    lines = events.with_row_index("position").select(line).to_series()
    return ("\n".join(lines) + "\n").encode()


def _whole_lines(path: Path) -> Sequence[str] | str:
    """The event lines of a whole segment, or the reason why the file is not one."""
    try:
        head, _, body = read_plain(path).partition(b"\n")
    except FileNotFoundError:
        raise
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    try:
        header = json.loads(head)
    except (ValueError, RecursionError):
        return "its first line is not a segment header"
    if not isinstance(header, dict) or header.get("segment") != "slowwave":
        return "its first line is not a segment header"
    if header.get("format") != FORMAT:
        return f"its format is {header.get('format')!r}, this program reads {FORMAT}"
    hashed = hashlib.sha256(body).hexdigest()
    if (header.get("event_count"), header.get("sha256")) != (body.count(b"\n"), hashed):
        return "its content does not match its header: torn or changed"
    return body.decode().split("\n")[:-1]


def _parse(segment_id: str, lines: Sequence[str]) -> pl.DataFrame:
    envelope = pl.Struct(
        {"event_id": pl.String, "kind": pl.String, "version": pl.Int64, "recorded_at": pl.String}
    )
    return (
        pl.DataFrame({"line": lines}, schema={"line": pl.String})
        .select(
            pl.lit(segment_id).alias("segment_id"),
            pl.col("line").str.json_decode(envelope).alias("envelope"),
            # as written: a JSON path would print floats anew, and not always the same ones
            pl.col("line").str.extract(r'^\{.*?"payload": (.*)\}$').alias("payload"),
        )
        .unnest("envelope")
        .filter(~pl.col("kind").is_in(DEAD_KINDS))
        .with_columns(pl.col("kind").replace(FORMER_KINDS), from_iso("recorded_at"))
        .select(*SCAN_SCHEMA.names())
    )


def _other_segment(segment_id: str, events: pl.DataFrame) -> str:
    """Another segment that events say they belong to; empty where all are of this one."""
    owner = events["event_id"].str.extract(r"^(.*)\.\d+$")
    others = owner.filter((owner != segment_id).fill_null(value=True))
    return str(others[0] or "unknown") if len(others) else ""


def _refuse_newer(events: pl.DataFrame) -> None:
    for kind, version in events.select("kind", "version").unique().sort("kind", "version").iter_rows():
        if kind not in CATALOGUE or not 1 <= version <= CATALOGUE[kind].version:
            raise ConfigError(
                f"the journal holds an event {kind!r} of version {version}, which this program does not know: "
                "a newer Slowwave wrote it. Upgrade Slowwave."
            )


HEADER_BYTES = 4_096
"""Bytes that the first line of a segment has at most."""


def named_before(path: Path) -> str | None:
    """The segment that a segment's header names as the last before it; empty for the first, null if it says nothing."""
    try:
        with open_plain(path) as file:
            header = json.loads(file.readline(HEADER_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    found = header.get("after") if isinstance(header, dict) else None
    return found if isinstance(found, str) else None
