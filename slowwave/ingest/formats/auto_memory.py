"""Claude Code's auto memory: `projects/<project>/memory/MEMORY.md` and a file a subject, in its settings folder.

An agent wrote these notes for itself, also where they tell of a person or repeat their wish: they have the role of an
assistant, so that no memory made of them is taken for a person's word. A note
that is changed becomes new turns; what it said before stays what it said before. Nobody knows
when a section was written, only that it was not after the last change of its file.

Notes belong to the folder that the project's folder is named after, which the sessions next to it name.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from slowwave.errors import InputError, NotFoundError
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.fields import json_value, object_of
from slowwave.ingest.files import Input, file_time, path_text
from slowwave.ingest.formats.claude_code import CLAUDE_PROJECTS
from slowwave.ingest.formats.documents import MARKDOWN_SUFFIXES, document_text, sections_of
from slowwave.ingest.formats.row import Format, Place
from slowwave.ingest.lines import lines_of
from slowwave.ingest.turns import RawMessage
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.moments import unknown_until

KINDS: Final = ("user", "feedback", "project", "reference")

_SESSIONS: Final = 20
_SESSION_LINES: Final = 50
"""Sessions next to the notes, and lines of each, that are looked at for the folder of the project."""

_PROJECT: Final = re.compile(r"-.*|[A-Za-z]--.*")
"""A project's folder: its path, with a hyphen for each separator."""
_SEPARATOR: Final = re.compile(r"[^A-Za-z0-9]")
_FIELD: Final = re.compile(r"^[ \t]*(?P<name>name|description|type):[ \t]*(?P<value>[^\n]*)$", re.MULTILINE)


def _folder_of(path: Path) -> Path | None:
    """The folder of auto memory that a file is in; null where it is no such file.

    The place alone decides: a document cannot say of itself that an assistant wrote it.
    """
    if path.suffix.lower() not in MARKDOWN_SUFFIXES:
        return None
    for folder in path.parents:
        project = folder.parent
        if folder.name == "memory" and project.parent.name == "projects" and _PROJECT.fullmatch(project.name):
            return folder
    return None


def messages(file: Input) -> Iterator[RawMessage]:
    """The sections of a note in a folder of auto memory."""
    folder = _folder_of(file.path) or file.path.parent
    head, text = document_text(file)
    fields = {found["name"]: found["value"].strip(" \t\"'") for found in reversed([*_FIELD.finditer(head)])}
    body = "\n\n".join(part for part in (fields.get("description", ""), text) if part.strip())
    title, written, cwd = (
        _title(fields),
        unknown_until(file_time(file.path)),
        _cwd(folder.parent, file.bounds),
    )
    below = file.path.relative_to(folder).as_posix()
    session_id = stable_id("auto_memory", path_text(folder.parent.name), path_text(below))
    for number, section in enumerate(sections_of(body, is_markdown=True), start=1):
        file.counts.entry_count += 1
        text = f"{title}\n\n{section}" if title else section
        yield RawMessage(
            session_id=session_id,
            role="assistant",
            parts=(text,),
            event_time=written,
            identity=("auto_memory", session_id, content_hash(text)),
            cwd=cwd,
            place=f"section {number}",
        )


FORMAT: Final = Format(
    name="auto_memory",
    title="",
    messages=messages,
    is_path=lambda path: _folder_of(path) is not None,
    places=(Place("Claude Code's notes", CLAUDE_PROJECTS, ("*/memory/**/*.md",)),),
    source_type="file",
)


def _cwd(project: Path, bounds: Bounds) -> str | None:
    """The folder whose path names a project's folder, by the sessions in it; null where none of them names it."""
    sessions = sorted(path for path in project.glob("*.jsonl") if path.is_file())
    for path in islice(sessions, _SESSIONS):
        with suppress(InputError, NotFoundError):
            for line in islice(lines_of(path, bounds), _SESSION_LINES):
                cwd = object_of(json_value(line.text)).get("cwd")
                if isinstance(cwd, str) and _SEPARATOR.sub("-", cwd) == project.name:
                    return cwd
    return None


def _title(fields: dict[str, str]) -> str:
    kind = fields.get("type", "")
    about = f" ({kind})" if kind in KINDS else ""
    return f"{fields['name']}{about}" if fields.get("name") else about.strip(" ()")
