"""Mutations of files that readers know, by their structure: a file with one seed is always the same."""

import io
import json
import random
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pyarrow as pa

from slowwave.ingest.formats.own import TABLE_OF, checks_of, schema_of
from slowwave.schemas.tables import TIMESTAMP

Json = dict[str, object]

SESSION: list[Json] = [
    {"type": "summary", "summary": "Glazes", "leafUuid": "u1"},
    {
        "type": "user",
        "uuid": "u1",
        "sessionId": "s1",
        "timestamp": "2026-06-02T08:00:00Z",
        "cwd": "kiln",
        "gitBranch": "main",
        "message": {"role": "user", "content": "Which glaze blistered?"},
    },
    {
        "type": "assistant",
        "uuid": "a1",
        "sessionId": "s1",
        "timestamp": "2026-06-02T08:00:05Z",
        "message": {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "The blue one."}]},
    },
    {
        "type": "assistant",
        "uuid": "a2",
        "sessionId": "s1",
        "timestamp": "2026-06-02T08:00:06Z",
        "message": {
            "id": "m1",
            "role": "assistant",
            "content": [{"type": "tool_use", "name": "Read"}, {"type": "text", "text": "At cone six."}],
        },
    },
    {
        "type": "user",
        "uuid": "u2",
        "sessionId": "s1",
        "timestamp": "2026-06-02T08:01:00Z",
        "message": {
            "role": "user",
            "content": [{"type": "text", "text": "Fire it slower, password=Tr0ub4dor&3x."}],
        },
    },
]
CHAT: list[Json] = [
    {"role": "user", "content": "Let us take Redis.", "timestamp": "2026-06-05T09:12:22Z", "speaker": "Mara"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Why not Postgres?"}],
        "id": "c2",
        "session_id": "s2",
    },
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "It is there already.", "timestamp": 1_780_000_000, "name": "Tobias"},
]
CODEX: list[Json] = [
    {
        "type": "session_meta",
        "timestamp": "2026-05-06T10:00:00Z",
        "payload": {
            "id": "019e3000-0000-7000-8000-0000000000b2",
            "forked_from_id": "019e0000-0000-7000-8000-0000000000a1",
            "cwd": "/kiln",
            "git": {"branch": "glaze"},
            "source": "cli",
        },
    },
    {
        "type": "event_msg",
        "payload": {"type": "task_started", "turn_id": "019e0001-0000-7000-8000-000000000001"},
    },
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>/kiln</environment_context>"}],
        },
    },
    {
        "type": "event_msg",
        "timestamp": "2026-05-06T10:00:01Z",
        "payload": {
            "type": "user_message",
            "message": "# Tabs\n## My request for Codex:\nWhich glaze blistered?",
        },
    },
    {
        "type": "event_msg",
        "timestamp": "2026-05-06T10:00:02Z",
        "payload": {
            "type": "item_completed",
            "turn_id": "019e0001-0000-7000-8000-000000000001",
            "item": {"type": "AgentMessage", "content": [{"type": "text", "text": "The blue one."}]},
        },
    },
    {"type": "compacted", "payload": {"message": "Glazes."}},
]
GEMINI: list[Json] = [
    {"sessionId": "g1", "projectHash": "abc", "startTime": "2026-05-06T10:00:00Z", "kind": "main"},
    {
        "id": "m1",
        "timestamp": "2026-05-06T10:00:01Z",
        "type": "user",
        "content": [{"text": "Which glaze blistered?"}],
    },
    {"id": "m2", "timestamp": "2026-05-06T10:00:02Z", "type": "gemini", "content": "The", "toolCalls": []},
    {"id": "m2", "timestamp": "2026-05-06T10:00:02Z", "type": "gemini", "content": "The blue one."},
    {"$set": {"messages": [{"id": "m3", "type": "user", "content": "Fire it slower."}]}},
    {"$rewindTo": "m3"},
]
CURSOR: list[Json] = [
    {
        "role": "user",
        "message": {
            "content": [{"type": "text", "text": "<user_query>\nWhich glaze blistered?\n</user_query>"}]
        },
    },
    {
        "role": "assistant",
        "message": {
            "content": [{"type": "text", "text": "The blue one."}, {"type": "tool_use", "input": {}}]
        },
    },
    {"type": "turn_ended", "status": "success"},
]
OPENCODE: Json = {
    "info": {"id": "s1", "directory": "/kiln"},
    "messages": [
        {
            "info": {"id": "m1", "role": "user", "time": {"created": 1_780_000_000_000}},
            "parts": [
                {"type": "text", "text": "Which glaze blistered?"},
                {"type": "text", "synthetic": True},
            ],
        }
    ],
}
MARKDOWN = """---
date: 2026-05-01
title: Kiln
---
# Kiln

The kiln is fired on Fridays.

## Glazes

- blue: cone six
- white: cone ten

```sh
export TOKEN=abc
```

> Nobody opens it before noon.

Heading below
-------------
Text under it.
"""
PLAIN = "The kiln is fired on Fridays.\n\nNobody opens it before noon.\n" * 8

CHATGPT: list[Json] = [
    {
        "id": "talk-1",
        "title": "Glazes",
        "create_time": 1_780_000_000.5,
        "current_node": "b",
        "mapping": {
            "a": {
                "id": "a",
                "parent": None,
                "children": ["b", "c"],
                "message": {
                    "id": "a",
                    "author": {"role": "user"},
                    "create_time": 1_780_000_001,
                    "content": {"content_type": "text", "parts": ["Which glaze blisters?"]},
                    "metadata": {"is_visually_hidden_from_conversation": False},
                    "recipient": "all",
                },
            },
            "b": {
                "id": "b",
                "parent": "a",
                "children": [],
                "message": {
                    "author": {"role": "assistant"},
                    "content": {"content_type": "multimodal_text", "parts": ["The blue one.", {"asset": 1}]},
                },
            },
            "c": {"parent": "a", "message": {"author": {"role": "tool"}, "content": {"parts": ["log"]}}},
        },
    },
    {"id": "talk-2", "is_do_not_remember": True, "mapping": {"x": {"message": {"author": {"role": "user"}}}}},
]
CLAUDE_AI: list[Json] = [
    {
        "uuid": "c-1",
        "created_at": "2026-05-01T10:00:00Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "What does the note say?",
                "created_at": "2026-05-01T10:00:01Z",
                "attachments": [{"file_name": "note.txt", "extracted_content": "Fire the kiln on Friday."}],
                "files": [{"file_name": "photo.png"}],
            },
            {"uuid": "m2", "sender": "assistant", "content": [{"type": "text", "text": "Friday."}]},
        ],
    }
]

GRAPH: list[Json] = [
    {
        "type": "entity",
        "name": "Kiln 2",
        "entityType": "tool",
        "observations": ["It is blue.", "Fired on Fridays."],
    },
    {"type": "relation", "from": "Mara", "to": "Kiln 2", "relationType": "owns"},
    {"id": "1", "memory": "Likes blue glazes", "created_at": "2026-03-01T10:00:00Z"},
    {"source": "Mara", "relationship": "likes", "target": "glazes"},
]
_SAID_AT = "2026-03-01T10:00:00Z"


def own_line(kind: str) -> Json:
    """A line of Slowwave's own export of a type, with a value in each of its columns."""
    line: Json = {"type": kind}
    for name, dtype in schema_of(kind).items():
        checks = checks_of(kind).columns[name].checks
        choices = [value for check in checks for value in check.statistics.get("allowed_values", ())]
        if choices:
            line[name] = min(choices)
        elif dtype == pl.List(pl.String):
            line[name] = ["m1", "m2"]
        elif dtype == pl.String:
            line[name] = "m1"
        elif dtype == TIMESTAMP:
            line[name] = _SAID_AT
        else:
            line[name] = False if dtype == pl.Boolean else 1
    return line


OWN: list[Json] = [{"type": "slowwave_export", "format": 1}, *map(own_line, TABLE_OF)]

EXPORTS: dict[str, object] = {
    "chatgpt": CHATGPT,
    "claude_ai": CLAUDE_AI,
    "opencode": OPENCODE,
    "gemini": {**GEMINI[0], "messages": GEMINI[1:4]},
}
TRANSCRIPTS = {"session": SESSION, "chat": CHAT, "codex": CODEX, "gemini": GEMINI, "cursor": CURSOR}
DOCUMENTS = {".md": MARKDOWN, ".markdown": MARKDOWN, ".txt": PLAIN, ".rst": PLAIN}

GIANT = 30_000
DEEP = 3_000
MOST = 9_000_000
"""Characters of what is repeated within a file, so that repeating it twice fills no memory."""


def odd_value(chance: random.Random) -> object:
    """A value of another type, size or alphabet than a reader expects."""
    return chance.choice(
        [
            None,
            True,
            0,
            -1,
            10**30,
            1e308,
            float("nan"),
            float("inf"),
            "",
            " ",
            "\x00",
            "\ud83d",
            "\udc00\ud800",
            "a\u0301" * 40 + "\u0315\u0300" * 200,
            "\u202e\u2066abc",
            "x" * GIANT,
            "word " * (GIANT // 5),
            "\n" * GIANT,
            "<slowwave-memory>" * 50,
            "<system-reminder>" * 200,
            "password=" * 200,
            "-----BEGIN PRIVATE KEY-----\n" * 20,
            [],
            {},
            [[]] * 50,
            [{"type": "text", "text": "z" * 100}] * 100,
            {"type": {"type": {"type": "text"}}},
            ["text"] * 500,
            "9" * 5_000,
            "2026-13-45T99:99:99Z",
            "0000-00-00",
            "9999-12-31T23:59:59+14:00",
        ]
    )


def nested(value: object, depth: int) -> object:
    """The value inside as many lists."""
    for _ in range(depth):
        value = [value]
    return value


def paths_of(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """The ways to all fields and entries of a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in pairs for found in ((*path, key), *paths_of(inner, (*path, key)))]


def parent_of(value: object, path: tuple[object, ...]) -> object:
    """The list or object that holds the end of a way."""
    for key in path[:-1]:
        value = value[key]  # type: ignore[index]
    return value


def mutate_value(value: object, chance: random.Random) -> object:
    """A copy of a JSON value with one field dropped, doubled, renamed, swapped, retyped or nested."""
    copy = json.loads(json.dumps(value))
    paths = paths_of(copy)
    if not paths:
        return odd_value(chance)
    path = chance.choice(paths)
    parent, key = parent_of(copy, path), path[-1]
    match chance.choice(["drop", "retype", "retype", "nest", "swap", "rename", "double"]):
        case "drop":
            del parent[key]  # type: ignore[attr-defined]
        case "retype":
            parent[key] = odd_value(chance)  # type: ignore[index]
        case "nest":
            parent[key] = nested(parent[key], chance.choice([1, 5, 200]))  # type: ignore[index]
        case "swap":
            other = chance.choice(paths)
            there = parent_of(copy, other)
            if len(path) == len(other):
                parent[key], there[other[-1]] = there[other[-1]], parent[key]  # type: ignore[index]
        case "rename" if isinstance(parent, dict):
            parent[str(odd_value(chance))[:50]] = parent.pop(key)
        case _ if isinstance(parent, list):
            size = len(json.dumps(parent[0]))
            parent.extend([parent[0]] * min(chance.choice([1, 3, 300]), max(MOST // size, 1)))
    return copy


def line_of(value: object) -> bytes:
    """A JSON value on one line, with lone surrogates as escapes."""
    return json.dumps(value).encode()


def mutate_line(line: bytes, chance: random.Random) -> bytes:
    """A line that was cut, flipped, doubled, padded, or holds a key twice or too much depth."""
    at = chance.randrange(len(line) + 1)
    changes: list[Callable[[], bytes]] = [
        lambda: line[:at],
        lambda: line[at:],
        lambda: line + line,
        lambda: line[:at] + b"\x00" * 20 + line[at:],
        lambda: line[:at] + b"\xff\xfe\xc3" + line[at:],
        lambda: b"\xef\xbb\xbf" + line,
        lambda: line.replace(b"{", b'{"type": "user", "type": 7, ', 1),
        lambda: b"[" * DEEP + line,
        lambda: b'{"a":' * DEEP + b"1" + b"}" * DEEP,
        lambda: b"9" * 6_000,
        lambda: b"NaN",
        lambda: b"x" * GIANT,
        lambda: line + b" " * GIANT,
        lambda: line.replace(b'"', b"'"),
        lambda: line.decode("utf-8", "replace").encode("utf-16"),
        lambda: line.decode("utf-8", "replace").encode("latin-1", "replace"),
        lambda: (
            bytes([*line[:at], line[at] ^ (1 << chance.randrange(8)), *line[at + 1 :]])
            if at < len(line)
            else b""
        ),
    ]
    return chance.choice(changes)()


def mutate_lines(lines: list[bytes], others: list[bytes], chance: random.Random) -> list[bytes]:
    """Lines of which one was dropped, doubled, moved, blanked or mutated, or that have lines of another format."""
    found, at = list(lines), chance.randrange(len(lines) or 1)
    match chance.choice(["drop", "double", "swap", "blank", "splice", "line", "line", "line"]):
        case _ if not found:
            return others
        case "drop":
            del found[at]
        case "double":
            found[at:at] = [found[at]] * chance.choice([1, 2, 400])
        case "swap":
            other = chance.randrange(len(found))
            found[at], found[other] = found[other], found[at]
        case "blank":
            found[at:at] = [b"", b" \t", b"\x00"]
        case "splice":
            found[at:at] = others
        case _:
            found[at] = mutate_line(found[at], chance)
    return found


def mutate_bytes(content: bytes, chance: random.Random) -> bytes:
    """A file in another encoding, with other ends of lines, cut, or with bits flipped; mostly as it is."""
    text = content.decode("utf-8", "replace")
    match chance.randrange(16):
        case 0:
            return text.encode("utf-16")
        case 1:
            return text.encode("utf-32")
        case 2:
            return content.replace(b"\n", b"\r\n")
        case 3:
            return content.replace(b"\n", b"\r")
        case 4:
            return b"\xef\xbb\xbf" + content
        case 5:
            return content[: chance.randrange(len(content) + 1)]
        case 6:
            return bytes(byte ^ (chance.random() < 0.02) for byte in content)
        case 7:
            return content + chance.randbytes(200)
    return content


def transcript(seed: int) -> bytes:
    """A mutated session or chat."""
    chance = random.Random(seed)
    name = chance.choice(sorted(TRANSCRIPTS))
    records: list[object] = [*TRANSCRIPTS[name]]
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(records))
        records[at] = mutate_value(records[at], chance)
    lines = [line_of(record) for record in records]
    others = [line_of(record) for other in TRANSCRIPTS if other != name for record in TRANSCRIPTS[other]]
    for _ in range(chance.randrange(4)):
        lines = mutate_lines(lines, [*others, b"# Kiln"], chance)
    return mutate_bytes(b"\n".join(lines) + chance.choice([b"", b"\n"]), chance)


def compressed(content: bytes, seed: int) -> bytes:
    """A file as zstd packs it; every other one is mutated afterwards."""
    packed = bytes(pa.Codec("zstd").compress(content, asbytes=True))
    return packed if seed % 2 else mutate_line(packed, random.Random(seed))


def document(seed: int) -> tuple[str, bytes]:
    """A mutated document, with its suffix."""
    chance = random.Random(seed)
    suffix = chance.choice(sorted(DOCUMENTS))
    lines = DOCUMENTS[suffix].encode().split(b"\n")
    odd = [
        b"```",
        b"---",
        b"> " * 400,
        b"- " * 400,
        b"#" * 7,
        b"    code",
        b"\t" * 90,
        b"[a]: <x",
        b"<!--",
        b"=" * 9,
    ]
    for _ in range(chance.randrange(6)):
        lines = mutate_lines(lines, [*odd, *(line_of(record) for record in CHAT[:1])], chance)
    return suffix, mutate_bytes(b"\n".join(lines), chance)


def export(seed: int) -> tuple[str, bytes]:
    """A mutated export of a chat, with the ending of its name: bare, or in a ZIP archive."""
    chance = random.Random(seed)
    value: object = EXPORTS[chance.choice(sorted(EXPORTS))]
    for _ in range(chance.randrange(4)):
        value = mutate_value(value, chance)
    content = mutate_bytes(json.dumps(value).encode(), chance)
    if chance.random() < 0.5:
        return ".json", content
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export/conversations.json", content)
        archive.writestr("../user.json", b"{}")
    data = packed.getvalue()
    return ".zip", data if chance.random() < 0.5 else mutate_line(data, chance)


def database(path: Path, seed: int) -> None:
    """Writes a mutated database of OpenCode."""
    chance = random.Random(seed)
    rows = [
        ("m1", "user", {"text": "Which glaze blistered?"}),
        ("m2", "assistant", {"content": [{"type": "text"}]}),
    ]
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as opened:
        opened.execute("PRAGMA synchronous = OFF")
        opened.execute("BEGIN")
        table = chance.choice(["session_message", "message"])
        opened.execute("CREATE TABLE session_v2 (id, parent_id, directory)")
        opened.execute(f"CREATE TABLE {table} (id, session_id, type, time_created, data)")
        opened.execute("CREATE TABLE part (id, message_id, data)")
        opened.execute("INSERT INTO session_v2 VALUES ('s1', NULL, '/kiln')")
        for name, kind, fields in rows * chance.randrange(1, 9):
            told = (
                fields
                if table == "session_message"
                else {"role": kind, "time": {"created": 1_780_000_000_000}}
            )
            data = line_of(mutate_value(told, chance)).decode("utf-8", "replace")
            made = chance.choice([1_780_000_000_000, None, "soon", 1e300, b"\xff"])
            given = [chance.choice([name, f"{name}{chance.random()}", None, 7]), "s1", kind, made, data]
            opened.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", given)
            part = line_of(mutate_value({"type": "text", "text": "Fire it slower."}, chance))
            opened.execute("INSERT INTO part VALUES (?, ?, ?)", [chance.random(), given[0], part.decode()])
        opened.execute("COMMIT")
    if chance.random() < 0.3:
        path.write_bytes(mutate_bytes(path.read_bytes(), chance))


def memories(seed: int, kind: str) -> bytes:
    """A mutated file of memories: of another program (`graph`), or of Slowwave (`own`)."""
    chance = random.Random(seed)
    records: list[object] = [*(GRAPH if kind == "graph" else OWN)]
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(records))
        records[at] = mutate_value(records[at], chance)
    lines = [line_of(record) for record in records]
    if chance.random() < 0.5:
        lines = mutate_lines(lines, [line_of(CHAT[0])], chance)
    return mutate_bytes(b"\n".join(lines), chance)
