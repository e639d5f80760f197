"""The files that hooks leave in a home, in `<home>/hooks`: names and times, never what was said.

missed.jsonl      events that found no server, a line each, written by the hook program
accepted.json     transcripts that the server has promised to take in and has not yet, so that a kill loses none
seen.json         when each harness was last answered
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from slowwave.entrypoints.harness.events import EVENTS, HarnessName, event_of
from slowwave.errors import NotFoundError, TransientError
from slowwave.whole_file import PRIVATE, write_whole

LONGEST_FILE = 4_000_000
"""Bytes that are read of one of these files."""

APPEND_SECONDS = 0.2
"""A hook that opened `missed.jsonl` before it was taken aside has written by then."""


class Work(BaseModel):
    """A transcript to take in; `ends` says that its conversation is over, and is settled afterwards."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    harness: HarnessName
    session_id: str
    transcript_path: str | None
    ends: bool

    @property
    def key(self) -> str:
        """The same for all that is one piece of work."""
        return self.transcript_path or f"conversation {self.session_id}"

    def joined(self, other: "Work") -> "Work":
        """Both in one."""
        return other.model_copy(update={"ends": self.ends or other.ends})


class MissedEvent(BaseModel):
    """A line of `missed.jsonl`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    at: datetime
    harness: HarnessName
    event: str
    session_id: str | None = None
    transcript_path: str | None = None
    reason: str = ""


class HookState(BaseModel):
    """Events that found no server since the last one caught up, and the last time when any did."""

    model_config = ConfigDict(frozen=True)

    missed_count: int = Field(ge=0)
    missed_since: datetime | None
    missed_until: datetime | None
    reasons: tuple[str, ...]
    answered_at: dict[str, datetime] = Field(description="By harness.")


def hook_state(home: Path) -> HookState:
    """Read whether hooks find the server; nothing changes."""
    missed = _missed_in([home / "hooks" / "missed.jsonl", *_set_aside(home)])
    times = sorted(event.at for event in missed)
    return HookState(
        missed_count=len(missed),
        missed_since=times[0] if times else None,
        missed_until=times[-1] if times else None,
        reasons=tuple(dict.fromkeys(event.reason for event in missed)),
        answered_at=read_seen(home),
    )


def has_missed(home: Path) -> bool:
    """Return whether there are events to catch up on."""
    return (home / "hooks" / "missed.jsonl").exists()


def set_missed_aside(home: Path) -> tuple[list[Work], list[Path]]:
    """The work that missed events leave, and the files to remove once it is promised.

    Raises:
        TransientError: the folder cannot be written.
    """
    path = home / "hooks" / "missed.jsonl"
    if path.exists():
        with writable(path):
            path.rename(path.with_name(f"missed-{time.time_ns()}.jsonl"))
        time.sleep(APPEND_SECONDS)
    paths = _set_aside(home)
    return work_of(_missed_in(paths)), paths


def work_of(missed: Iterable[MissedEvent]) -> list[Work]:
    """A piece of work for each transcript that is named, and for each conversation that ended."""
    found = dict[str, Work]()
    for event in missed:
        try:
            _, action = event_of(event.harness, event.event)
        except NotFoundError:
            continue
        if event.session_id and (event.transcript_path or action == "end"):
            work = Work(
                harness=event.harness,
                session_id=event.session_id,
                transcript_path=event.transcript_path,
                ends=action == "end",
            )
            found[work.key] = found[work.key].joined(work) if work.key in found else work
    return list(found.values())


def read_accepted(home: Path) -> list[Work]:
    """The work that was promised; none where the file is none or damaged."""
    try:
        return TypeAdapter(list[Work]).validate_python(_read(home / "hooks" / "accepted.json"))
    except ValidationError:
        return []


def write_accepted(home: Path, works: Sequence[Work]) -> None:
    """Keep the work that is promised, whole or as it was.

    Raises:
        TransientError: it cannot be written.
    """
    _write(home / "hooks" / "accepted.json", [work.model_dump() for work in works])


def read_seen(home: Path) -> dict[str, datetime]:
    """The time when each harness was last answered."""
    try:
        found = TypeAdapter(dict[str, datetime]).validate_python(_read(home / "hooks" / "seen.json"))
    except ValidationError:
        return {}
    return {name: at for name, at in found.items() if name in EVENTS}


def write_seen(home: Path, harness: HarnessName) -> None:
    """Note that a harness is answered now. Raises as `write_accepted`."""
    seen = {**read_seen(home), harness: datetime.now(UTC)}
    _write(
        home / "hooks" / "seen.json",
        {name: at.isoformat(timespec="seconds") for name, at in seen.items()},
    )


def _set_aside(home: Path) -> list[Path]:
    return sorted((home / "hooks").glob("missed-*.jsonl"))


def _missed_in(paths: Iterable[Path]) -> list[MissedEvent]:
    """The events in these files; a line that is torn, or none of the hook's, is passed over."""
    found = list[MissedEvent]()
    for path in paths:
        try:
            with path.open("rb") as file:
                lines = file.read(LONGEST_FILE).splitlines()
        except OSError:
            continue
        for line in lines:
            try:
                found.append(MissedEvent.model_validate_json(line))
            except ValidationError:
                continue
    return found


def _read(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            return json.loads(file.read(LONGEST_FILE))
    except (OSError, ValueError):
        return None


def _write(path: Path, document: Any) -> None:
    with writable(path):
        path.parent.mkdir(mode=0o700, exist_ok=True)  # a home that was moved away is not made anew
        write_whole(path, json.dumps(document), mode=PRIVATE, is_durable=False, makes_folders=False)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn an error of writing a file into ours.

    Raises:
        TransientError: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise TransientError(f"{path} cannot be written: {error.strerror}") from error
