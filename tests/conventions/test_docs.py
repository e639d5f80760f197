"""The reference pages say what the code says. `RENEW_GOLDEN=1 pytest tests/conventions/test_docs.py` renews them."""

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from mcp.types import ToolAnnotations
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from slowwave.ingest.redact.table import ROWS
from slowwave.interfaces.hooks.events import EVENTS, Action
from slowwave.interfaces.http.lanes import Lanes
from slowwave.interfaces.mcp.server import build
from slowwave.journal.catalogue import CATALOGUE
from slowwave.memory import Memory
from slowwave.schemas.tables import KEYS, TABLES, frame_schema
from slowwave.settings.tree import Settings
from tests.conventions.test_rooms import rooms_page

DOCS = Path(__file__).parents[2] / "docs"


def catalogue() -> str:
    """A table of every kind of event; what each means is written there, and nowhere else."""
    written = (DOCS / "events.md").read_text(encoding="utf-8")
    meanings = dict(re.findall(r"^\| `([a-z_.]+)` \| \d+ \| \w+ \| (.+?) \| ", written, re.MULTILINE))
    rows = [
        f"| `{entry.kind}` | {entry.version} | {'raw' if entry.is_raw else 'derived'} | {meanings[entry.kind]} "
        f"| {', '.join(f'`{name}`' for name in entry.payload)} |"
        for entry in CATALOGUE.values()
    ]
    return "\n".join(["| kind | version | | meaning | payload |", "|---|---:|---|---|---|", *rows])


def tables() -> str:
    """A list of every table with its key and columns."""
    return "\n\n".join(
        f"## {name}\n\n{(model.__doc__ or '').strip()} Key: `{KEYS[name]}`.\n\n"
        + ", ".join(f"`{column}`" for column in frame_schema(name))
        for name, model in TABLES.items()
    )


def settings() -> str:
    """A table of every setting."""
    rows: list[str] = []
    for group, entry in Settings.model_fields.items():
        kind = entry.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            rows += [_setting(f"{group}.{name}", field) for name, field in kind.model_fields.items()]
        else:
            rows.append(_setting(group, entry))
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows])


def _setting(name: str, field: object) -> str:
    default = getattr(field, "default", None)
    if default is PydanticUndefined:
        default = field.default_factory()  # type: ignore[attr-defined]
    shown = default if default not in (None, "") else "none"
    return f"| `{name}` | `{shown}` | {getattr(field, 'description', '') or ''} |"


def rules() -> str:
    """A table of every form, by the kind of its mark."""
    forms: dict[str, list[str]] = {}
    for row in ROWS:
        forms.setdefault(row.kind, []).append(f"`{row.template}`".replace("|", "\\|"))
    rows = [f"| `{kind}` | {'<br>'.join(templates)} |" for kind, templates in forms.items()]
    return "\n".join(["| kind | forms |", "|---|---|", *rows])


def hooks() -> str:
    """A table of the events of each agent, by what is done at them."""
    names = get_args(Action)
    rows = [f"| agent | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for agent, events in EVENTS.items():
        of_action = [[f"`{event}`" for event in events if events[event] == action] for action in names]
        rows.append(f"| `{agent}` | {' | '.join(', '.join(found) for found in of_action)} |")
    return "\n".join(rows)


def tools() -> str:
    """A table of every tool of the MCP server."""
    server = build(Lanes(Memory("nowhere"), Path()))
    rows = [
        f"| `{tool.name}` | {_kind(tool.annotations)} | {str(tool.description).split('. ')[0].rstrip('.')} |"
        for tool in asyncio.run(server.list_tools())
    ]
    return "\n".join(["| tool | | does |", "|---|---|---|", *rows])


def _kind(hints: ToolAnnotations | None) -> str:
    assert hints is not None
    if hints.read_only_hint:
        return "reads"
    return "changes" if hints.destructive_hint else "adds"


PAGES = [
    ("mcp.md", "tools", tools),
    ("redaction.md", "rules", rules),
    ("architecture.md", "rooms", rooms_page),
    ("events.md", "catalogue", catalogue),
    ("tables.md", "tables", tables),
    ("settings.md", "settings", settings),
    ("agents.md", "hooks", hooks),
]


@pytest.mark.parametrize(("page", "part", "written"), PAGES)
def test_a_reference_page_is_what_the_code_says(page: str, part: str, written: Callable[[], str]) -> None:
    path = DOCS / page
    before, _, rest = path.read_text(encoding="utf-8").partition(f"<!-- {part} -->\n")
    _, _, after = rest.partition("<!-- end -->")
    expected = f"{before}<!-- {part} -->\n\n{written()}\n\n<!-- end -->{after}"
    if os.environ.get("RENEW_GOLDEN"):
        path.write_text(expected, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == expected


def test_every_setting_says_what_it_means() -> None:
    undocumented = [row for row in settings().splitlines()[2:] if row.endswith("|  |")]
    assert undocumented == []
