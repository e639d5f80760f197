"""The formats that can be read, one row each, and the choice among them by the content of a file."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from slowwave.errors import InputError
from slowwave.ingest.bounds import DEFAULTS, Bounds
from slowwave.ingest.counts import BLANK, LONG_LINE
from slowwave.ingest.files import Input, input_of, shown_path
from slowwave.ingest.formats import (
    auto_memory,
    chat,
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    cursor,
    documents,
    gemini,
    memories,
    opencode,
    own,
)
from slowwave.ingest.formats.archive import start_of
from slowwave.ingest.formats.row import Format
from slowwave.ingest.lines import json_records
from slowwave.ingest.turns import RawMessage, Reading, source_of, to_parts
from slowwave.schemas.report import EMPTY

FORMATS: Final = (
    claude_code.FORMAT,
    auto_memory.FORMAT,
    codex.FORMAT,
    chat.FORMAT,
    gemini.LOG,
    gemini.FILE,
    cursor.FORMAT,
    opencode.DATABASE,
    opencode.EXPORT,
    chatgpt.FORMAT,
    claude_ai.FORMAT,
    memories.GRAPH,
    memories.MEM0,
    own.FORMAT,
    documents.FORMAT,
)
"""In the order in which they are tried, and in which their places are listed."""


def read_parts(path: Path, form: Format, *, bounds: Bounds = DEFAULTS) -> Iterator[Reading]:
    """Turns of a file of conversations, in this form, in parts of a bounded size.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read. Other files are not touched by that.
    """
    file = input_of(path, bounds)
    assert form.messages is not None  # a file of memories goes another way
    messages = _named_if_empty(form.messages(file), file)
    source = source_of(file.path, form.source_type)
    yield from to_parts(messages, source=source, counts=file.counts, bounds=bounds)


def find_format(path: Path, *, bounds: Bounds = DEFAULTS) -> Format:
    """The form of a file.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is in no known form.
    """
    file = input_of(path, bounds)
    by_path = next((form for form in FORMATS if form.is_path and form.is_path(file.path)), None)
    if by_path is not None:
        return by_path
    if (by_start := _of_start(file)) is not None:
        return by_start
    for record in json_records(file):
        if (form := _of_record(record.fields)) is not None:
            return form
    if file.counts.entry_count == file.counts.skipped[BLANK] + file.counts.skipped[LONG_LINE]:
        return chat.FORMAT
    expected = ", ".join(form.title for form in FORMATS if form.title)
    raise InputError(f"{shown_path(path)} is in no known form: expected {expected}.")


def _of_start(file: Input) -> Format | None:
    """The form that the beginning of a file shows; null where it shows none."""
    start, is_archive = start_of(file.path, bounds=file.bounds)
    ends = {
        found.end(): form
        for form in FORMATS
        if form.start is not None
        and form.suffix in ("", file.path.suffix.lower())
        and (found := form.start.match(start))
    }
    if is_archive and not ends:
        raise InputError(
            f"{shown_path(file.path)} is a ZIP archive whose conversations.json holds no conversations of ChatGPT or "
            "Claude.ai: name the export as it was downloaded."
        )
    return ends[min(ends)] if ends else None


def _of_record(record: dict[str, object]) -> Format | None:
    return next((form for form in FORMATS if form.is_record and form.is_record(record)), None)


def _named_if_empty(messages: Iterator[RawMessage], file: Input) -> Iterator[RawMessage]:
    """The messages of a file; one without any entry is counted as empty."""
    first = next(messages, None)
    if first is None and file.counts.is_empty and not file.counts.excesses:
        file.counts.parts[EMPTY] += 1
        file.counts.exceed(
            EMPTY, "there is nothing in it to read: check whether it is the file that you meant"
        )
    return iter(()) if first is None else chain([first], messages)
