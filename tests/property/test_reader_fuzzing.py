"""Readers under mutated files: an answer or an error of ours within bounds, and sums that agree.

The seed of the first file is printed; `READER_FUZZ_SEED=<seed>` begins with that one. Every run has seeds of its own;
`MANY_MUTATED=1` reads eight thousand files instead of eight hundred.
"""

import os
import random
import resource
import secrets
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slowwave.errors import SlowwaveError
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.files import input_of
from slowwave.ingest.formats import find_format, read_parts
from slowwave.ingest.formats.memories import read_noted
from slowwave.ingest.formats.own import read_own
from slowwave.ingest.statements import read_note, read_statement
from slowwave.ingest.turns import READ_SCHEMA
from tests.mutations import (
    compressed,
    database,
    document,
    export,
    memories,
    odd_value,
    transcript,
)
from tests.reading import WholeFile, read_path

BOUNDS = Bounds(
    line_bytes=20_000,
    message_characters=1_000,
    document_bytes=100_000,
    file_lines=1_000,
    part_turns=7,
    part_characters=10_000,
)
HANG_SECONDS = 20
TIMES = 10 if os.environ.get("MANY_MUTATED") else 1
MEMORY_BYTES = 200_000_000
"""Growth of the process over all files of a run."""


@contextmanager
def within_seconds(what: str) -> Iterator[None]:
    """Fail where a reader takes that many seconds of processor time."""

    def stop(*_: object) -> None:
        raise AssertionError(f"{what} took more than {HANG_SECONDS} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def check_sums(reading: WholeFile) -> None:
    counts = reading.counts
    assert counts.entry_count == counts.taken_count + sum(counts.skipped.values())
    assert min(counts.skipped.values(), default=1) > 0
    assert (reading.turns.height > 0) == (counts.taken_count > 0)


def check_turns(reading: WholeFile) -> None:
    turns = reading.turns
    assert turns.schema == READ_SCHEMA
    assert turns["turn_id"].n_unique() == turns.height
    assert all(text.strip() for text in turns["content"])
    longest = turns["content"].str.len_chars().max()
    assert longest is None or int(str(longest)) <= BOUNDS.message_characters + 200


def check_line(error: SlowwaveError) -> None:
    """An error is one line that somebody can read."""
    assert "\n" not in str(error)
    assert len(str(error)) < 1_000


def read_file(path: Path, content: bytes | None = None) -> WholeFile | None:
    """The reading of a file with this content, checked; null where it ends with an error."""
    if content is not None:
        path.write_bytes(content)
    try:
        reading = read_path(path, bounds=BOUNDS)
        heights = [
            part.turns.height for part in read_parts(path, find_format(path, bounds=BOUNDS), bounds=BOUNDS)
        ]
    except SlowwaveError as error:
        check_line(error)
        return None
    assert max(heights) <= BOUNDS.part_turns
    assert sum(heights) == reading.turns.height
    check_sums(reading)
    check_turns(reading)
    return reading


def read_transcript(folder: Path, seed: int) -> bool:
    content = transcript(seed)
    reading = read_file(folder / "a.jsonl", content)
    if reading is not None and reading.kind in ("chat", "claude_code", "codex"):
        is_cut = bool(content) and not content.endswith(b"\n")
        assert reading.counts.entry_count == content.count(b"\n") + is_cut
    return reading is not None


def read_compressed(folder: Path, seed: int) -> bool:
    return read_file(folder / "a.jsonl.zst", compressed(transcript(seed), seed)) is not None


def read_text(folder: Path, seed: int) -> bool:
    suffix, content = document(seed)
    return read_file(folder / f"a{suffix}", content) is not None


def read_note_of_agent(folder: Path, seed: int) -> bool:
    path = folder / "projects/-kiln/memory/MEMORY.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    reading = read_file(path, document(seed)[1])
    assert reading is None or set(reading.turns["origin"]) <= {"agent"}
    return reading is not None


def read_export(folder: Path, seed: int) -> bool:
    suffix, content = export(seed)
    return read_file(folder / f"a{suffix}", content) is not None


def read_database(folder: Path, seed: int) -> bool:
    path = folder / "opencode.db"
    database(path, seed)
    return read_file(path) is not None


def read_memories(folder: Path, seed: int) -> bool:
    path = folder / "a.jsonl"
    file = input_of(path, BOUNDS)
    counts = file.counts
    path.write_bytes(memories(seed, "graph" if seed % 2 else "own"))
    try:
        if seed % 2:
            found = list(read_noted(file, "mcp_graph" if seed % 4 == 1 else "mem0"))
            assert all(note.content and len(note.content) < 4_500 for note in found)
            assert bool(found) == (counts.taken_count > 0)
        else:
            rows = [rows.height for _, rows in read_own(file)]
            assert sum(rows) == counts.taken_count
            assert max(rows, default=0) <= BOUNDS.part_turns
    except SlowwaveError as error:
        check_line(error)
        return False
    assert counts.entry_count == counts.taken_count + sum(counts.skipped.values())
    return True


def read_said(_: Path, seed: int) -> bool:
    value = odd_value(random.Random(seed))
    text = value if isinstance(value, str) else str(value)
    read_note(text)
    try:
        read_statement(text, subject=text, attribute=text, value=text, entities=[text])
    except SlowwaveError as error:
        check_line(error)
        return False
    return True


READERS: dict[str, Callable[[Path, int], bool]] = {
    "transcripts": read_transcript,
    "compressed transcripts": read_compressed,
    "documents": read_text,
    "notes of agents": read_note_of_agent,
    "exports": read_export,
    "memories": read_memories,
    "databases": read_database,
    "statements": read_said,
}


def read_many(folder: Path, name: str, *, first: int, number: int) -> None:
    """Read that many mutated files; say how many could be read."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read_count = 0
    for seed in range(first, first + number):
        try:
            with within_seconds(f"{name}, seed {seed}"):
                read_count += READERS[name](folder, seed)
        except Exception as error:
            raise AssertionError(f"{name}: READER_FUZZ_SEED={seed} gives {error!r}") from error
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(  # noqa: T201 - the seeds of a run
        f"{name}: seeds {first} to {first + number - 1}, {read_count} of {number} could be read, {grown:,} bytes"
    )
    assert read_count > 0
    assert grown < MEMORY_BYTES


@pytest.mark.parametrize("name", READERS)
def test_no_reader_breaks_on_a_mutated_file_and_every_line_is_counted(tmp_path, name):
    read_many(tmp_path, name, first=int(os.environ.get("READER_FUZZ_SEED", "0")), number=15)


@pytest.mark.benchmark
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("transcripts", 300),
        ("compressed transcripts", 50),
        ("documents", 150),
        ("notes of agents", 50),
        ("exports", 100),
        ("memories", 50),
        ("databases", 50),
        ("statements", 50),
    ],
)
def test_no_reader_breaks_on_mutated_files_of_seeds_never_seen_before(tmp_path, name, number):
    first = int(os.environ.get("READER_FUZZ_SEED", secrets.randbelow(10**9)))
    read_many(tmp_path, name, first=first, number=number * TIMES)
