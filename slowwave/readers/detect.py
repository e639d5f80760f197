"""The choice of a reader by the content of a file."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from slowwave.errors import InputError
from slowwave.readers.agents.auto_memory import memory_folder, read_auto_memory
from slowwave.readers.agents.claude_code import read_claude_code
from slowwave.readers.agents.claude_code_records import RECORD_TYPES
from slowwave.readers.agents.codex import read_codex
from slowwave.readers.agents.codex_records import RECORD_TYPES as CODEX_TYPES
from slowwave.readers.agents.cursor import is_cursor_record, read_cursor
from slowwave.readers.agents.gemini import GEMINI_START, is_gemini_record, read_gemini
from slowwave.readers.agents.opencode import OPENCODE_START, read_opencode
from slowwave.readers.bounds import BLANK, DEFAULTS, LONG_LINE, Counts
from slowwave.readers.chat import read_chat
from slowwave.readers.documents import DOCUMENT_SUFFIXES, read_document
from slowwave.readers.exports.chatgpt import read_chatgpt
from slowwave.readers.exports.claude_ai import read_claude_ai
from slowwave.readers.exports.forms import export_form, is_memories
from slowwave.readers.files import DATABASE_SUFFIX, open_bytes, shown_path, wal_of
from slowwave.readers.lines import json_records, lines_of
from slowwave.readers.reading import Reading, empty_reading, whole
from slowwave.settings.readers import ReaderSettings

_EXPECTED = (
    "expected a session of Claude Code (records with `type` and `uuid` or `sessionId`), Codex (`type` and "
    "`payload`), Gemini CLI, OpenCode or Cursor, a chat (`role` and "
    "`content` on every line), an export (ChatGPT, Claude.ai, MCP memory graph, mem0, Slowwave), or a .md, "
    ".markdown, .txt or .rst document"
)

_HEAD_BYTES = 4_096
"""Bytes of a JSON file that tell its form."""

_Format = Literal["claude_code", "chat", "codex", "cursor", "gemini"]


def read_path(path: Path, *, speaker: str | None = None, bounds: ReaderSettings = DEFAULTS) -> Reading:
    """Turns of one file as a whole, as `read_parts` has them in parts."""
    return whole(read_parts(path, speaker=speaker, bounds=bounds))


def read_parts(
    path: Path, *, speaker: str | None = None, bounds: ReaderSettings = DEFAULTS
) -> Iterator[Reading]:
    """Turns of one file in parts of a bounded size, read by the reader that its content asks for.

    `speaker` is the person whose sessions with coding agents these are, null if unknown.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is in no known form. Other files are not touched by that.
    """
    path = path.absolute()  # the folders above a file tell some forms, wherever one stands
    if (named := _by_name(path, speaker, bounds)) is not None:
        return named
    match form := export_form(path, bounds=bounds):
        case "chatgpt":
            return read_chatgpt(path, bounds=bounds)
        case "claude_ai":
            return read_claude_ai(path, bounds=bounds)
        case "empty":
            return iter([empty_reading()])
    if is_memories(form):
        raise InputError(
            f"{shown_path(path)} holds memories, not conversations: take it in by `slowwave ingest`."
        )
    counts = Counts()
    match _format_of_file(path, counts, bounds):
        case "claude_code":
            return read_claude_code(path, speaker=speaker, bounds=bounds)
        case "chat":
            return read_chat(path, bounds=bounds)
        case "codex":
            return read_codex(path, speaker=speaker, bounds=bounds)
        case "cursor":
            return read_cursor(path, speaker=speaker, bounds=bounds)
        case "gemini":
            return read_gemini(path, speaker=speaker, bounds=bounds)
        case None:
            return iter([empty_reading(counts if counts.excesses else None)])


def _by_name(path: Path, speaker: str | None, bounds: ReaderSettings) -> Iterator[Reading] | None:
    """The turns of a file whose name or place tells its form; null for the others."""
    suffix = path.suffix.lower()
    if suffix == DATABASE_SUFFIX:
        return read_opencode(path, speaker=speaker, bounds=bounds)
    if (folder := memory_folder(path)) is not None:
        return read_auto_memory(path, folder=folder, bounds=bounds)
    if suffix in DOCUMENT_SUFFIXES and not (suffix == ".txt" and _starts_as_transcript(path, bounds)):
        return read_document(path, bounds=bounds)
    if suffix != ".json":
        return None
    with open_bytes(path, most_bytes=bounds.file_bytes) as (file, _):
        start = file.read(_HEAD_BYTES)
    if GEMINI_START.match(start):
        return read_gemini(path, speaker=speaker, bounds=bounds)
    return read_opencode(path, speaker=speaker, bounds=bounds) if OPENCODE_START.match(start) else None


def source_hash(path: Path, *, bounds: ReaderSettings = DEFAULTS) -> str:
    """SHA-256 of the file's bytes, in hex; with a database counts what it keeps beside itself.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read.
    """
    with open_bytes(path, most_bytes=bounds.file_bytes) as (file, _):
        digest = hashlib.file_digest(file, "sha256")
    wal = wal_of(path)
    if path.suffix.lower() == DATABASE_SUFFIX and wal.exists():
        with open_bytes(wal, most_bytes=bounds.file_bytes) as (file, _):
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _starts_as_transcript(path: Path, bounds: ReaderSettings) -> bool:
    """Return whether the first line is a record of a known transcript form, whatever the file's name says."""
    start = next((line for line in lines_of(path, bounds) if line.data is None or line.data.strip()), None)
    if start is None or start.data is None:
        return False
    try:
        record: object = json.loads(start.data.decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and _format_of_record(record) is not None


def _format_of_file(path: Path, counts: Counts, bounds: ReaderSettings) -> _Format | None:
    """Form of the first record that has one; null where the file has no line, or none within its bound."""
    record_count = 0
    for record in json_records(path, counts, bounds):
        record_count += 1
        if (form := _format_of_record(record.fields)) is not None:
            return form
    if not record_count and not set(counts.skipped) - {BLANK, LONG_LINE}:
        return None
    raise InputError(f"{shown_path(path)} is in no known form: {_EXPECTED}.")


def _format_of_record(record: dict[str, object]) -> _Format | None:
    kind = str(record.get("type"))
    if kind in CODEX_TYPES and "payload" in record:
        return "codex"
    if kind == "message" and "role" in record and _has_codex_blocks(record.get("content")):
        return "codex"
    if kind in RECORD_TYPES and "role" not in record:
        return "claude_code"
    if "role" in record and "content" in record:
        return "chat"
    if is_cursor_record(record):
        return "cursor"
    return "gemini" if is_gemini_record(record) else None


def _has_codex_blocks(content: object) -> bool:
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") in ("input_text", "output_text") for block in content
    )
