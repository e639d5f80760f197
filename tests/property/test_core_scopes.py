"""Core memory, the opening page, search and lists: nobody is shown another's private memory or an unrelated project.

Every owner says something with a mark of its own, and every one of these memories stands in core memory.
"""

import asyncio
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from mcp.client import Client

from slowwave import Memory
from slowwave.home.core_file import write_core_file
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.interfaces.http.lanes import Lanes
from slowwave.interfaces.mcp.server import build
from slowwave.journal.catalogue import encode
from slowwave.schemas.search import Scope
from tests.property.test_search_scopes import visible
from tests.rows import NOW, events, row, rows
from tests.scripted_model import write_settings
from tests.serving import serving

USERS, PROJECTS = ("ana", "bob' OR '1'='1"), ("kiln", 'dock" --')
OWNERS = tuple(product(USERS, PROJECTS, get_args(Scope)))
PAIRS = tuple(product(USERS, PROJECTS))


def marks(text: str) -> set[tuple[str, str, str]]:
    """The owners whose words a text shows."""
    return {OWNERS[int(number)] for number in re.findall(r"mark(\d+)z", text)}


async def resource(memory: Memory) -> str:
    """Core memory as an agent reads it over MCP."""
    async with Client(build(Lanes(memory, Path()))) as client:
        return str((await client.read_resource("slowwave://core")).contents[0].text)


def owned_settings(home: Path, user: str, project: str) -> None:
    owner = {"user_id": user, "project_id": project}
    write_settings(home, embedding={"provider": "none"}, owner=owner)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("core") / "home"
    owned_settings(home, *PAIRS[0])
    cells, lines = [], []
    for number, owner in enumerate(OWNERS):
        named = dict(zip(("user_id", "project_id", "scope"), owner, strict=True))
        text = f"Always wear gloves at the kiln, says mark{number}z."
        given = {"content": text, "is_wish": True, "cell_type": "preference", "protected": True, **named}
        cells.append(row("cells", f"c{number}", event_time=NOW, entities=[], artifacts=[], **given))
        line = f"[preference] {text} (confirmed by you, 2026-09-01)"
        lines.append({"cell_id": f"c{number}", "line_rank": number + 1, "line": line, **named})
    with open_workspace(home) as workspace:
        told = [encode("cell.extracted", rows("cells", *cells)), events("core.promoted", *lines)]
        workspace.commit(pl.concat(told), now=NOW)
    return home


@pytest.fixture(params=PAIRS, ids=["-".join(map(str, pair)) for pair in PAIRS])
def asker(request: pytest.FixtureRequest, home: Path) -> Iterator[tuple[Memory, str, str]]:
    owned_settings(home, *request.param)
    with Memory(home, records_usage=False) as memory:
        yield memory, *request.param


def allowed(user: str, own: str, asked: str | None) -> set[tuple[str, str, str]]:
    return {owner for owner in OWNERS if visible(owner, user, own, asked=asked, project_from="repository")}


@pytest.mark.parametrize("asked", [None, *PROJECTS])
def test_core_memory_is_what_stands_in_the_homes_project_and_in_the_one_asked_from(asker, asked):
    memory, user, own = asker
    assert marks(memory.core(project=asked)) == allowed(user, own, asked or own)


@pytest.mark.parametrize("asked", [None, *PROJECTS])
def test_pages_answers_and_lists_show_nobody_what_is_anothers(asker, asked):
    memory, user, own = asker
    shown = [
        memory.context(opening=True, project=asked, budget_tokens=8_000).text,
        memory.context("who wears gloves at the kiln", project=asked).text,
        str(memory.search("gloves at the kiln", project=asked, limit=25)),
        str(memory.cells(project=asked, limit=100)),
    ]
    for text in shown:
        assert marks(text)
        assert marks(text) <= allowed(user, own, asked)


@pytest.mark.parametrize("pair", [PAIRS[0], PAIRS[-1]])
def test_core_memory_is_the_same_over_http_and_as_a_resource(home: Path, pair: tuple[str, str]):
    owned_settings(home, *pair)
    user, own = pair

    with Memory(home, records_usage=False) as memory, serving(home, memory) as client:
        for asked in (None, *PROJECTS):
            query = {} if asked is None else {"project": asked}
            answer = client.get("/v1/core", params=query)
            assert marks(answer.json()["text"]) == allowed(user, own, asked or own)
        assert marks(asyncio.run(resource(memory))) == allowed(user, own, own)


def test_the_file_of_a_home_with_several_users_holds_what_all_of_them_may_see(home: Path):
    for user, own in PAIRS:
        owned_settings(home, user, own)
        with open_workspace(home) as workspace:
            write_core_file(workspace.home, workspace.store)
        text = open_home(home).core_path.read_text()
        assert marks(text) == {
            owner for owner in OWNERS if owner[2] == "system" or owner[1:] == (own, "project-shared")
        }
