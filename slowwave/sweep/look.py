"""Looking through a home for secrets: journal, answer cache, logs and what lies beside them. Nothing here writes.

A segment, a line and an answer are looked at one at a time, so that memory is bounded by the longest of them.
"""

import json
import re
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from slowwave.home.derivation import beside
from slowwave.home.paths import Home
from slowwave.ingest.redact import redact
from slowwave.ingest.redact.marks import secrets_in, taken
from slowwave.journal.segments import Journal
from slowwave.progress import progress
from slowwave.sweep.ids import outside_ids
from slowwave.sweep.rewriting import as_reply, named_value, read_line, texts_in

JOURNAL, CACHE, LOGS, TORN, DERIVATION = "journal", "answer cache", "logs", "torn files", "derivation"

_NO_TEXT = re.compile(r'"\w+_(?:id|ids|hash|at|time|from|until)"\s*:\s*(?:"[^"]*"|\[[^\]]*\])')
"""An id, a hash or a time in half an event, which is looked at as plain text: an id may look like a secret there."""

IDENTIFIED = {"turn.recorded": "turn_id", "cell.extracted": "cell_id"}
"""Kinds of rows whose new ids must not meet those that are there."""


@dataclass
class Evidence:
    """Secrets with their kinds, the lines of segments that hold one, ids of turns and memories, and other places."""

    secrets: dict[str, str] = field(default_factory=dict)
    lines: dict[str, set[int]] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    """Ids from outside that hold a secret, with what they become."""
    places: Counter[str] = field(default_factory=Counter)
    torn: list[Path] = field(default_factory=list)
    event_count: int = 0
    last_said: tuple[str, str] = ("", "")
    """The session and the safe text of the turn before within its segment."""

    def note(self, found: dict[str, str], place: str) -> None:
        """Adds the secrets of one text outside of the journal."""
        self.secrets.update(found)
        if found:
            self.places[place] += len(found)


def look_through(home: Home) -> Evidence:
    """Everything that the rules find in a home."""
    evidence = Evidence()
    _journal(home.journal, evidence)
    derived = Evidence()
    if (side := beside(home)).root.is_dir():
        _journal(side.journal, derived)
        evidence.note(derived.secrets, DERIVATION)
    for answer in _answers(home.cache_path):
        for text in _strings(answer):
            evidence.note(secrets_in(text), CACHE)
    for path in logs_of(home):
        for line in _text_lines(path):
            evidence.note(secrets_in(line), LOGS)
    return evidence


def logs_of(home: Home) -> list[Path]:
    """The log files below a home, but for what lies in its store."""
    found = (path for path in home.root.rglob("*.log*") if path.is_file())
    return sorted(path for path in found if path.relative_to(home.root).parts[0] != "store")


def _journal(journal: Journal, evidence: Evidence) -> None:
    segment_ids, foreign = journal.listing()
    torn = [problem.path for problem in foreign]
    for number, segment_id in enumerate(segment_ids, start=1):
        lines = journal.lines(segment_id)
        if lines is None:
            torn.append(journal.path_of(segment_id))
            continue
        evidence.event_count += len(lines)
        evidence.last_said = ("", "")
        found = {index for index, line in enumerate(lines) if _line(line, evidence)}
        if found:
            evidence.lines[segment_id] = found
        progress("look for secrets", number, len(segment_ids))
    for path in torn:
        before = evidence.places[TORN]
        for line in _text_lines(path):
            for text in _texts_of_torn(line):
                evidence.note(secrets_in(text), TORN)
        if evidence.places[TORN] > before:
            evidence.torn.append(path)


def _line(line: str, evidence: Evidence) -> bool:
    """Notes the secrets of an event's line; returns whether there are any."""
    _, kind, payload = read_line(line)
    if kind in IDENTIFIED:
        evidence.ids.add(str(payload[IDENTIFIED[kind]]))
    found: dict[str, str] = {}
    for text in texts_in(kind, payload):
        found |= secrets_in(text)
    if fact := named_value(payload):
        found |= taken(str(payload["value"]), fact[0])
    if kind == "turn.recorded":
        safe = {**payload, "content": redact(str(payload["content"]))[0]}
        reply, _ = as_reply(safe, evidence.last_said)
        found |= taken(str(safe["content"]), reply)
        evidence.last_said = (str(payload["session_id"]), reply)
    for text in (outside := outside_ids(payload)):
        found |= secrets_in(text)
    evidence.renamed |= outside
    evidence.secrets.update(found)
    return bool(found)


def _texts_of_torn(line: str) -> Iterable[str]:
    """The texts of a line in a torn file of the journal; where it is no whole event, all of it but ids and times."""
    try:
        _, kind, payload = read_line(line)
        return list(texts_in(kind, payload))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return [_NO_TEXT.sub("", line)]


def _answers(path: Path) -> Iterator[object]:
    """Answers of the cache, read from a copy: to open a database may change its files."""
    files = [place for place in path.parent.glob(f"{path.name}*") if place.is_file()]
    if not path.is_file():
        return
    with tempfile.TemporaryDirectory() as folder:
        for place in files:
            shutil.copy(place, Path(folder) / place.name)
        with closing(sqlite3.connect(Path(folder) / path.name)) as database:
            try:
                for (answer,) in database.execute("SELECT answer FROM answers"):
                    yield json.loads(answer)
            except (sqlite3.DatabaseError, ValueError):
                return  # no cache of ours: the byte scan looks through it all the same


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _text_lines(path: Path) -> Iterable[str]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from file
    except FileNotFoundError:
        return
