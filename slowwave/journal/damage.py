"""Damage to the journal: how much of a broken segment can still be read, and which segments are gone.

A broken segment is never read in parts: its events are one decision, and a half of one is none. It stays where it is,
for a person who has it whole in a backup. A segment says in its header which one was the last before it, so that one
that is gone is missed as long as a later one stands.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from slowwave.whole_file import open_plain

HEADER_BYTES = 4_096
"""Bytes that the first line of a segment has at most."""

MOST_LINES = 5
"""Stretches of unreadable lines that are named."""


def what_is_left(event_count: object, body: bytes) -> str:
    """Count the events of a broken segment that can be read, and name the lines that cannot; the header is line 1."""
    lines = body.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    unreadable = [number for number, line in enumerate(lines, 2) if not _is_event(line)]
    readable = len(lines) - len(unreadable)
    of_all = f" of {event_count}" if isinstance(event_count, int) and event_count >= readable else ""
    told = f"{readable}{of_all} events can be read"
    return f"{told}, not line {_stretches(unreadable)}" if unreadable else told


def named_before(path: Path) -> str:
    """The segment that a segment's header names as the last before it; empty where it names none."""
    return _before(path) or ""


def is_beginning(path: Path) -> bool:
    """Return whether a segment says that none was before it; those of old programs say nothing of that."""
    return _before(path) == ""


def _before(path: Path) -> str | None:
    try:
        with open_plain(path) as file:
            header = json.loads(file.readline(HEADER_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    found = header.get("after") if isinstance(header, dict) else None
    return found if isinstance(found, str) else None


def missing_segments(segment_ids: Sequence[str], named: Iterable[str]) -> list[str]:
    """Segments that headers name and that are not there; those before them may be gone as well."""
    return sorted(set(named) - {"", *segment_ids})


def _is_event(line: bytes) -> bool:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(event, dict) and {"event_id", "kind", "payload"} <= event.keys()


def _stretches(numbers: Sequence[int]) -> str:
    """Line numbers as stretches: `3-7, 9`; of many the first."""
    found = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        stretch = [number for _, number in group]
        found.append(f"{stretch[0]}-{stretch[-1]}" if len(stretch) > 1 else str(stretch[0]))
    more = len(found) - MOST_LINES
    return ", ".join(found[:MOST_LINES]) + (f" and {more} more stretches" if more > 0 else "")
