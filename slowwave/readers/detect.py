"""The choice of a reader by the content of a file, and the search of a folder for files to read."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from slowwave.errors import InputError, NotFoundError
from slowwave.readers.chat import read_chat
from slowwave.readers.claude_code import RECORD_TYPES, read_claude_code
from slowwave.readers.documents import DOCUMENT_SUFFIXES, read_document
from slowwave.readers.files import json_records, open_bytes, shown_path
from slowwave.readers.reading import Reading, empty_reading

FOLDER_SUFFIXES = frozenset({".jsonl", ".md", ".markdown", ".txt"})
"""Endings of the files that are read from a folder; a file that the user names may have others."""

_CODEX_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_EXPECTED = (
    "expected a Claude Code session (records with `type` and `uuid` or `sessionId`), a chat (`role` and "
    "`content` on every line), or a .md, .markdown, .txt or .rst document"
)

_Format = Literal["claude_code", "chat", "codex"]


def read_path(path: Path, *, speaker: str | None = None) -> Reading:
    """Turns of one file, read by the reader that its content asks for.

    `speaker` is the person whose Claude Code sessions these are, null if unknown.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is in no known form. Other files are not touched by that.
    """
    suffix = path.suffix.lower()
    if suffix in DOCUMENT_SUFFIXES and not (suffix == ".txt" and _starts_as_transcript(path)):
        return read_document(path)
    match _format_of_file(path):
        case "claude_code":
            return read_claude_code(path, speaker=speaker)
        case "chat":
            return read_chat(path)
        case "codex":
            raise InputError(
                f"{shown_path(path)} is a Codex session, and those cannot be read yet: {_EXPECTED}."
            )
        case None:
            return empty_reading()


def find_sources(paths: Iterable[Path]) -> list[Path]:
    """Files to read: each named file, and what each named folder holds, without repetition.

    Folders are walked in sorted order; hidden files and folders and symbolic links in them are passed by,
    and so is a README beside or above transcripts, which speaks about them. A folder that cannot be listed
    stands in the result itself, so that reading it gives the error without losing the rest.

    Raises:
        NotFoundError: A named path is not there.
    """
    found: dict[Path, None] = {}
    for path in paths:
        try:
            if not path.exists():
                raise NotFoundError(f"There is no file or folder {shown_path(path)}: check the path.")
            found.update(dict.fromkeys(_walk(path) if path.is_dir() else [path]))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(f"{shown_path(path)} cannot be looked at ({reason}): check the path.") from error
    return list(found)


def source_hash(path: Path) -> str:
    """SHA-256 of the file's bytes, in hex.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read.
    """
    with open_bytes(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _walk(folder: Path) -> list[Path]:
    files: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=lambda error: files.append(Path(error.filename))):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files.extend(
            path
            for path in (Path(parent, name) for name in names if not name.startswith("."))
            if path.suffix.lower() in FOLDER_SUFFIXES and path.is_file() and not path.is_symlink()
        )
    with_transcripts = {
        parent for path in files if path.suffix.lower() == ".jsonl" for parent in path.parents
    }
    return sorted(
        path for path in files if not (path.stem.lower() == "readme" and path.parent in with_transcripts)
    )


def _starts_as_transcript(path: Path) -> bool:
    """Return whether the first line is a record of a known transcript form, whatever the file's name says."""
    with open_bytes(path) as file:
        line = next((line for line in file if line.strip()), b"")
    try:
        record: object = json.loads(line.decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and _format_of_record(record) is not None


def _format_of_file(path: Path) -> _Format | None:
    """Form of the first record that has one; null where the file is empty."""
    skipped: Counter[str] = Counter()
    record_count = 0
    for record in json_records(path, skipped):
        record_count += 1
        if (form := _format_of_record(record)) is not None:
            return form
    if not record_count and not skipped:
        return None
    raise InputError(f"{shown_path(path)} is in no known form: {_EXPECTED}.")


def _format_of_record(record: dict[str, object]) -> _Format | None:
    kind = str(record.get("type"))
    if kind in _CODEX_TYPES and "payload" in record:
        return "codex"
    if kind == "message" and "role" in record and _has_codex_blocks(record.get("content")):
        return "codex"
    if kind in RECORD_TYPES and "role" not in record:
        return "claude_code"
    if "role" in record and "content" in record:
        return "chat"
    return None


def _has_codex_blocks(content: object) -> bool:
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") in ("input_text", "output_text") for block in content
    )
