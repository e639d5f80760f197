"""Whether anybody sees another's memory: `python benchmarks/leaks.py [--requests N] [--seed N] [--json]`.

A home holds what many owners (user, project, scope) say in the same words; each text has a mark of its owner. Random
requests, made from the description of the HTTP API and of the MCP tools, go to it for several askers, with ids, names,
projects and times of all owners, as JSON and as rendered text. A leak is an answer with a mark that its asker may not
see and did not send, or a row of another owner that a request changed (`tests/owners.py` has the rule).
"""

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for `tests` and the files beside this one

from benchmarks.answers_nights import shown_progress  # noqa: E402
from benchmarks.environment import hide_settings  # noqa: E402
from slowwave.home.paths import open_home  # noqa: E402
from slowwave.interfaces.http.lanes import Lanes  # noqa: E402
from slowwave.interfaces.mcp.server import build  # noqa: E402
from slowwave.memory import Memory  # noqa: E402
from slowwave.progress import progress  # noqa: E402
from slowwave.store import open_store  # noqa: E402
from tests.owners import fill, visible  # noqa: E402
from tests.rows import NOW, row  # noqa: E402
from tests.serving import serving  # noqa: E402

USERS, PROJECTS = ("ana", "bob", "Ana", "ana' OR '1'='1"), ("kiln", "ferry")
SCOPES = ("user-private", "project-shared", "system")
OWNERS = tuple(product(USERS, PROJECTS, SCOPES))
ASKERS = (
    ("ana", "kiln", "setting"),
    ("bob", "ferry", "setting"),
    ("ana", "kiln", "repository"),
    ("bob", "kiln", "repository"),
    ("carl", "ferry", "repository"),
)
"""User, project of the home, and where projects come from."""

MARK = re.compile(r"\bq\d\dz\b")
WORDS = (
    "port",
    "staging",
    "kiln",
    "who is Mara",
    "why",
    "since",
    "rate",
    "what is the",
    "last week",
    "open tasks",
)
KINDS = ("fact", "decision", "preference", "task", "episode")
LEFT_OUT = ("/runs", "consolidate", "reindex", "/health")
"""Parts of paths that start runs or answer nothing of memory."""
READING = ("/v1/search", "/v1/context", "/v1/context/assemble")
SEND_MARK, OPTIONAL, TEXT, MCP_SHARE = 0.1, 0.35, 0.3, 0.2
"""Shares of requests with a mark of somebody in their words, of optional fields, of rendered answers, of MCP calls."""


def mark(number: int) -> str:
    """The word that every text of an owner has, and no other text."""
    return f"q{number:02d}z"


def may_see(owner: tuple[str, str, str], asker: tuple[str, str, str], asked: str | None) -> bool:
    """Return whether an asker may see rows of an owner, from within the project that was `asked` for, if any."""
    user, project, project_from = asker
    return visible(owner, user, project, asked=asked, project_from=project_from)


def said(number: int, owner: tuple[str, str, str]) -> dict[str, list[dict[str, object]]]:
    """Everything that one owner has, in the words of all others."""
    named = mark(number)
    given = dict(zip(("user_id", "project_id", "scope"), owner, strict=True))
    about = {"session_id": f"{named}-s", "event_time": NOW - timedelta(days=3), **given}
    fields = {"subject": "staging kiln", "attribute": "port", "artifacts": [f"src/{named}.py"], **about}
    turns = [
        row("turns", f"{named}-t{place}", content=f"Mara set the port of staging to {place}, {named}.",
            turn_index=place, source_name=f"{named}.jsonl", **about)
        for place in (1, 2)
    ]  # fmt: skip
    topic = f"{named}-T"
    cells = [
        row("cells", f"{named}-{kind}", content=f"Mara keeps the {kind} on staging, {named}.", cell_type=kind,
            entities=["Mara", f"Mara {named}"], evidence=[f"{named}-t2"], topic_id=topic, **fields)
        for kind in KINDS
    ]  # fmt: skip
    past, now = NOW - timedelta(days=9), NOW - timedelta(days=2)
    values: list[tuple[str, int, dict[str, object]]] = [
        ("old", 1, {"status": "superseded", "superseded_by": f"{named}-new", "superseded_at": NOW,
                    "valid_from": past, "valid_until": now}),
        ("new", 2, {"valid_from": now}),
    ]  # fmt: skip
    cells += [
        row("cells", f"{named}-{name}", content=f"The port of the staging kiln is {place}, {named}.",
            value=f"{place} {named}", entities=["Mara"], evidence=[f"{named}-t{place}"], topic_id=topic,
            **fields, **state)
        for name, place, state in values
    ]  # fmt: skip
    return {"turns": turns, "cells": cells, "topics": [{"topic_id": topic, "name": f"port {named}", **given}]}


def write_settings(home: Path, **owner: str) -> None:
    """The settings of a home: the embedded model, no language model, and whose home it is."""
    home.mkdir(exist_ok=True)
    lines = ["[embedding]", 'provider = "wordllama"', "[llm]", 'provider = "none"', "[owner]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in owner.items()]
    (home / "slowwave.toml").write_text("\n".join(lines), encoding="utf-8")


@dataclass
class Maker:
    """Makes values for the fields of a request from a description of their types, by name and type."""

    random: random.Random
    asked: str | None = None
    """The project that the request made last asks from within."""
    is_reading: bool = True
    """Whether the request stores nothing: what somebody stores is theirs, whatever mark it has."""

    def document(self, schema: Mapping[str, Any], named: Mapping[str, Any]) -> Any:
        """A value of a schema; `named` has the schemas that it refers to."""
        if "$ref" in schema:
            return self.document(named[schema["$ref"].rsplit("/", 1)[-1]], named)
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self.document(self.random.choice(schema[several]), named)
        if "enum" in schema or "const" in schema:
            return self.random.choice(schema.get("enum") or [schema["const"]])
        kind = schema.get("type", "string")
        if kind == "object":
            required = set(schema.get("required", ()))
            return {
                name: self.value(name, part, named)
                for name, part in schema.get("properties", {}).items()
                if name in required or self.random.random() < OPTIONAL
            }
        if kind == "array":
            return [self.document(schema.get("items", {}), named) for _ in range(self.random.randint(1, 2))]
        if kind in ("integer", "number"):
            least = schema.get("minimum", 1)
            return self.random.randint(int(least) + (least != int(least)), int(schema.get("maximum", 30)))
        return {"boolean": self.random.random() < 0.5, "null": None}.get(kind, self.text())

    def value(self, name: str, schema: Mapping[str, Any], named: Mapping[str, Any]) -> Any:
        """The value of a field: by its name, where that says more than its type."""
        owner = mark(self.random.randrange(len(OWNERS)))
        if name == "project":
            self.asked = self.random.choice([None, *PROJECTS])
            return self.asked
        if name in ("wait_seconds", "cursor", "conversation_id", "session_id"):
            return None if name != "session_id" else f"s-{self.random.randint(1, 9)}"
        if name.endswith(("id", "ids")) and "string" in json.dumps(schema):
            ids = [f"{owner}-{self.random.choice((*KINDS, 'old', 'new', 't1', 't2', 'T', 's', 'n'))}"]
            return ids if schema.get("type") == "array" or name.endswith("ids") else ids[0]
        if name in ("name", "entity", "entity_name"):
            return self.random.choice(["Mara", f"Mara {owner}", "mara"])
        if "date-time" in json.dumps(schema) or name in ("after", "before", "as_of", "known_at", "since"):
            return (NOW + timedelta(days=self.random.randint(-12, 1))).isoformat()
        return self.document(schema, named)

    def text(self) -> str:
        """Words of a question; seldom with somebody's mark."""
        words = self.random.sample(WORDS, self.random.randint(1, 4))
        if self.is_reading and self.random.random() < SEND_MARK:
            words.append(mark(self.random.randrange(len(OWNERS))))
        return " ".join(words)


@dataclass
class Found:
    """What came of the requests."""

    statuses: Counter[str] = field(default_factory=Counter)
    with_marks: int = 0
    leaks: list[str] = field(default_factory=list)

    def look(
        self, asker: tuple[str, str, str], asked: str | None, sent: str, status: str, answer: str
    ) -> None:
        """Note the marks of an answer that its asker may not see and did not send."""
        marks = set(MARK.findall(answer))
        self.statuses[status] += 1
        self.with_marks += bool(marks)
        foreign = {
            one for one in marks - set(MARK.findall(sent)) if not may_see(OWNERS[int(one[1:3])], asker, asked)
        }
        self.leaks += [f"{asker} {sent[:300]} -> {sorted(foreign)}"] * bool(foreign)


def over_http(asker: tuple[str, str, str], home: Path, count: int, maker: Maker, found: Found) -> None:
    """Random requests to every route of a served home."""
    with serving(home) as client:
        description = client.get("/openapi.json").json()
        schemas = description["components"]["schemas"]
        operations = [
            (path, method, operation)
            for path, methods in description["paths"].items()
            for method, operation in methods.items()
            if not any(part in path for part in LEFT_OUT)
        ]
        for place in range(count):
            progress(f"requests of {asker[0]}", place, count)
            path, method, operation = operations[place % len(operations)]
            maker.asked, maker.is_reading = None, method == "get" or path in READING
            query: dict[str, Any] = {}
            for one in operation.get("parameters", ()):
                if one["in"] == "header" or not (one.get("required") or maker.random.random() < OPTIONAL):
                    continue
                value = maker.value(one["name"], one["schema"], schemas)
                if one["in"] == "path":
                    path = path.replace("{" + one["name"] + "}", str(value or "x"))
                elif value is not None:
                    query[one["name"]] = value
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            body = maker.document(content["schema"], schemas) if content else None
            accept = "text/plain" if maker.random.random() < TEXT else "application/json"
            headers = {"Accept": accept}
            reply = client.request(method, path, params=query, json=body, headers=headers)
            sent = json.dumps([method, path, query, body])
            found.look(asker, maker.asked, sent, str(reply.status_code), reply.text + str(reply.headers))


def over_mcp(asker: tuple[str, str, str], home: Path, count: int, maker: Maker, found: Found) -> None:
    """Random calls of every tool, as an agent makes them that cannot be asked."""
    from mcp.client import Client

    async def work(memory: Memory) -> None:
        async with Client(build(Lanes(memory, Path()))) as client:
            tools = (await client.list_tools()).tools
            for place in range(count):
                tool = tools[place % len(tools)]
                maker.asked = None
                maker.is_reading = bool(tool.annotations and tool.annotations.read_only_hint)
                schema = tool.input_schema
                given = maker.document(schema, schema.get("$defs", {}))
                given = {name: value for name, value in given.items() if value is not None}
                answer = await client.call_tool(tool.name, given)
                status = "mcp error" if answer.is_error else "mcp ok"
                found.look(asker, maker.asked, json.dumps([tool.name, given]), status, str(answer.content))

    with Memory(home) as memory:
        asyncio.run(work(memory))


def rows_of_others(home: Path, asker: tuple[str, str, str]) -> dict[str, list[Any]]:
    """The rows that an asker may never see, whatever project is asked for."""
    names = ("user_id", "project_id", "scope")
    store = open_store(open_home(home).store_root)
    kept: dict[str, list[Any]] = {}
    for table, key in (("cells", "cell_id"), ("turns", "turn_id"), ("topics", "topic_id")):
        frame = store.rows(table, [key, *names, *(["content", "status"] if table == "cells" else [])])
        hidden = [
            one
            for one in frame.sort(key).rows()
            if not any(may_see(one[1:4], asker, asked) for asked in (None, *PROJECTS))
        ]
        kept[table] = hidden
    return kept


def measure(requests: int, seed: int, folder: Path) -> dict[str, Any]:
    """Ask for all askers in turn, each in a copy of the home."""
    write_settings(folder / "home")
    fill(folder / "home", [said(number, owner) for number, owner in enumerate(OWNERS)], cell_count=6)
    found = Found()
    for number, asker in enumerate(ASKERS):
        home = folder / f"asker-{number}"
        shutil.copytree(folder / "home", home)
        user, project, project_from = asker
        owner = {"user_id": user, "project_id": project, "project_from": project_from}
        write_settings(home, **owner)
        before = rows_of_others(home, asker)
        maker, count = Maker(random.Random(seed + number)), requests // len(ASKERS)  # noqa: S311
        over_http(asker, home, count - int(MCP_SHARE * count), maker, found)
        over_mcp(asker, home, int(MCP_SHARE * count), maker, found)
        after = rows_of_others(home, asker)
        found.leaks += [
            f"{asker} changed {table}: {set(after[table]) ^ set(before[table])}"
            for table in before
            if before[table] != after[table]
        ]
    return {
        "requests": found.statuses.total(),
        "statuses": dict(sorted(found.statuses.items())),
        "answers_with_memory": found.with_marks,
        "leaks": found.leaks,
    }


def shown(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures as lines."""
    yield f"{found['requests']} requests, {found['answers_with_memory']} answers with somebody's memory"
    yield f"statuses: {found['statuses']}"
    yield f"leaks: {len(found['leaks'])}"
    yield from found["leaks"][:20]


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask and print; 1 where anything leaked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--requests", type=int, default=10_000, help="requests over all interfaces and askers"
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="slowwave-leaks-") as folder,
        patch.dict(os.environ),
        shown_progress(),
    ):
        hide_settings()
        found = measure(options.requests, options.seed, Path(folder))
    print(json.dumps(found, indent=1) if options.json else "\n".join(shown(found)))
    return int(bool(found["leaks"]))


if __name__ == "__main__":
    sys.exit(main())
