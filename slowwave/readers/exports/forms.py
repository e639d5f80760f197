"""The form of an export, by how its text begins."""

import json
import re
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypeGuard, get_args

from slowwave.errors import InputError
from slowwave.readers.exports.archive import ARCHIVE_STARTS, blocks_of
from slowwave.readers.files import open_bytes, shown_path
from slowwave.settings.readers import ReaderSettings

ChatForm: TypeAlias = Literal["chatgpt", "claude_ai"]
"""Exports of conversations, which become turns."""

MemoryForm: TypeAlias = Literal["mcp_graph", "mem0", "slowwave"]
"""Exports of memories, which become memories."""

ExportForm: TypeAlias = ChatForm | MemoryForm

SLOWWAVE: Final = "slowwave_export"
"""`type` of the first line of Slowwave's own export."""

_BOM: Final = b"\xef\xbb\xbf"
_MOST_LINE: Final = 1 << 20

# a quote within a text has a backslash before it, so that no text can look like a field
_FIELD: Final = rb'(?<!\\)"%s"\s*:\s*%s'
_IN_ARRAYS: Final[dict[ExportForm, re.Pattern[bytes]]] = {
    "chatgpt": re.compile(_FIELD % (b"mapping", rb"\{")),
    "claude_ai": re.compile(_FIELD % (b"chat_messages", rb"\[")),
    "mem0": re.compile(_FIELD % (b"memory", b'"')),
}
_RESULTS: Final = re.compile(
    rb'\{\s*(?:"\w{1,40}"\s*:\s*(?:null|\d{1,9}|"[^"\\]{0,400}")\s*,\s*){0,8}"results"\s*:\s*\['
)
_GRAPH: Final = re.compile(rb'\{\s*"entities"\s*:\s*\[')
_EMPTY: Final = re.compile(rb"\[\s*\]\s*")


def export_form(path: Path, *, bounds: ReaderSettings) -> ExportForm | Literal["empty"] | None:
    """The form of an export; `empty` for an export without anything in it, null for a file that is none.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is a ZIP archive without conversations.
    """
    with open_bytes(path, most_bytes=bounds.file_bytes) as (file, _):
        start = file.read(_MOST_LINE)
    if start.startswith(ARCHIVE_STARTS):
        pieces = (block.removeprefix(_BOM).lstrip() for _, block in blocks_of(path, bounds=bounds))
        if (form := _form_of_array(next(filter(None, pieces), b""))) is None:
            raise InputError(
                f"{shown_path(path)} is a ZIP archive whose conversations.json holds no conversations of ChatGPT or "
                "Claude.ai: name the export as it was downloaded."
            )
        return form
    start = start.removeprefix(_BOM).lstrip()
    if _RESULTS.match(start):
        return "mem0"
    if _GRAPH.match(start):
        return "mcp_graph"
    return _form_of_array(start) if start.startswith(b"[") else _form_of_line(start)


def is_one_text(path: Path, *, bounds: ReaderSettings) -> bool:
    """Return whether an export is one JSON value, and not one a line."""
    with open_bytes(path, most_bytes=bounds.file_bytes) as (file, _):
        start = file.read(_MOST_LINE).removeprefix(_BOM).lstrip()
    return start.startswith(b"[") or bool(_RESULTS.match(start) or _GRAPH.match(start))


def _form_of_array(start: bytes) -> ExportForm | Literal["empty"] | None:
    if _EMPTY.fullmatch(start):
        return "empty"
    places = {form: found.start() for form, known in _IN_ARRAYS.items() if (found := known.search(start))}
    return min(places, key=places.__getitem__, default=None)


def _form_of_line(start: bytes) -> MemoryForm | None:
    """The form of a JSONL export by its first line; only what is short enough to be one is looked at."""
    try:
        record: object = json.loads(start.partition(b"\n")[0].decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    match record.get("type"):
        case "entity" if isinstance(record.get("observations"), list):
            return "mcp_graph"
        case "relation" if {"from", "to", "relationType"} <= record.keys():
            return "mcp_graph"
        case "slowwave_export":
            return "slowwave"
    return None


def is_memories(form: str | None) -> TypeGuard[MemoryForm]:
    """Return whether an export holds memories, not conversations."""
    return form in get_args(MemoryForm)
