"""Memories that other programs had written down: an MCP memory server's graph, and mem0's export.

An agent wrote them by a tool, or a model took them from talk: they come from an assistant, whoever owns the file. Of a
graph each observation and each relation is one memory that can be understood alone, with the names that it is about.
Nobody says when they were true.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from slowwave.ingest.counts import CUT_MESSAGE, Counts
from slowwave.ingest.fields import Fields, list_of, parse_time, text_of
from slowwave.ingest.files import Input
from slowwave.ingest.formats.archive import objects_in_export, start_of
from slowwave.ingest.formats.row import Format
from slowwave.ingest.lines import json_records
from slowwave.ingest.turns import bounded_text, without_injected
from slowwave.schemas.refusals import clean_text
from slowwave.schemas.requests import LONGEST_NAME, LONGEST_TEXT

_OURS: Final = frozenset({"person", "project", "organization", "place", "concept", "tool"})


@dataclass(frozen=True)
class Noted:
    """A memory as another program had it, without secrets: `entities` as `Name (type)`, its time null if unknown."""

    content: str
    subject: str | None
    entities: tuple[str, ...]
    event_time: datetime | None = None


def _is_graph_record(record: Fields) -> bool:
    if record.get("type") == "entity":
        return isinstance(record.get("observations"), list)
    return record.get("type") == "relation" and {"from", "to", "relationType"} <= record.keys()


_GRAPH_OBJECT: Final = rb'\{\s*"entities"\s*:\s*\['
_RESULTS: Final = rb'\{\s*(?:"\w{1,40}"\s*:\s*(?:null|\d{1,9}|"[^"\\]{0,400}")\s*,\s*){0,8}"results"\s*:\s*\['
_ONE_TEXT: Final = re.compile(rb"\[|" + _GRAPH_OBJECT + rb"|" + _RESULTS)
"""The beginning of an export that is one JSON value, not one a line."""

GRAPH: Final = Format(
    name="mcp_graph",
    title="an MCP memory graph",
    messages=None,
    start=re.compile(_GRAPH_OBJECT),
    is_record=_is_graph_record,
    in_folders=r".*/memory\.json",
)
MEM0: Final = Format(
    name="mem0",
    title="mem0",
    messages=None,
    start=re.compile(rb'\[.*?(?<!\\)"memory"\s*:\s*"|' + _RESULTS, re.DOTALL),
)


def read_noted(file: Input, form: str) -> Iterator[Noted]:
    """The memories of a graph or of mem0's export (`form`, a format's name); what holds none is counted.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read.
    """
    kinds: dict[str, str] = {}
    for fields in _records(file):
        own = _of_mem0(fields, file.counts) if form == MEM0.name else _of_graph(fields, kinds, file.counts)
        if found := own or _relation(fields, kinds, file.counts):
            file.counts.taken_count += 1
            yield from found
        else:
            file.counts.skip(_reason(fields))


def _records(file: Input) -> Iterator[Fields]:
    """The objects of a file: a line each, or the entries of the lists of one JSON object."""
    if not _ONE_TEXT.match(start_of(file.path, bounds=file.bounds)[0]):
        yield from (record.fields for record in json_records(file))
        return
    for record in objects_in_export(file, "entry", most=("line_bytes", file.bounds.line_bytes)):
        file.counts.entry_count += 1
        yield record.fields


def _of_graph(fields: Fields, kinds: dict[str, str], counts: Counts) -> list[Noted]:
    """The observations of an entity, each as a sentence that names it; `kinds` notes what the entity is."""
    name = _name(fields.get("name"), counts)
    if name is None or not isinstance(fields.get("observations"), list):
        return []
    kind = (text_of(fields, "entityType") or "").lower()
    kinds[name] = f"{name} ({kind})" if kind in _OURS else name
    texts = [text for observation in list_of(fields["observations"]) if (text := _text(observation, counts))]
    named = [text if name.casefold() in text.casefold() else f"{name}: {text}" for text in texts]
    return [Noted(text, name, (kinds[name],)) for text in named]


def _relation(fields: Fields, kinds: Mapping[str, str], counts: Counts) -> list[Noted]:
    """A relation as a sentence of its two ends and what is between them."""
    one = _name(fields.get("from", fields.get("source")), counts)
    other = _name(fields.get("to", fields.get("target", fields.get("destination"))), counts)
    how = _name(fields.get("relationType", fields.get("relationship", fields.get("relation"))), counts)
    if one is None or other is None or how is None:
        return []
    entities = dict.fromkeys((kinds.get(one, one), kinds.get(other, other)))
    return [Noted(f"{one} {how} {other}", one, tuple(entities))]


def _of_mem0(fields: Fields, counts: Counts) -> list[Noted]:
    text = _text(fields.get("memory"), counts)
    event_time = parse_time(fields.get("updated_at")) or parse_time(fields.get("created_at"))
    return [Noted(text, None, (), event_time)] if text else []


def _reason(fields: Fields) -> str:
    if "observations" in fields:
        return "entity without observations"
    if {"from", "to", "source", "target", "destination"} & fields.keys():
        return "relation without its ends"
    return "memory without text" if "memory" in fields else "entry of an unknown type"


def _text(value: object, counts: Counts) -> str:
    """A text without secrets and without memory of our own, cut at what may be remembered at once."""
    if not isinstance(value, str):
        return ""
    bare = without_injected(clean_text(value), counts).strip()
    text, found, left_out = bounded_text(bare, LONGEST_TEXT)
    counts.redacted.update(found)
    if left_out:
        counts.parts[CUT_MESSAGE] += 1
    return text if any(character.isalnum() for character in text) else ""


def _name(value: object, counts: Counts) -> str | None:
    """A name on one line; null for what is too long for one."""
    text = " ".join(_text(value, counts).split())
    if len(text) > LONGEST_NAME:
        counts.parts["name too long"] += 1
        return None
    return text or None
