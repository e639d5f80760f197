"""The MCP server over its transports: streamable HTTP behind the server's key, and stdio in a process of its own."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestFormParams, ElicitResult

from slowwave.entrypoints.mcp.stdio import ask_home
from slowwave.errors import NotFoundError
from slowwave.home.paths import open_home
from slowwave.home.usage import collect_spools
from slowwave.memory import Memory
from slowwave.schemas.results import Done, Remembered
from slowwave.schemas.search import SearchResult
from tests.integration.test_mcp import ERAS, disputed, text_of
from tests.serving import serving

Work = Callable[[Client], Awaitable[Any]]


@pytest.fixture(autouse=True)
def without_vectors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="sw-") as runtime:  # a socket's path is short
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "none")
        yield


async def agreed(_: object, asked: ElicitRequestFormParams) -> ElicitResult:
    assert "?" in asked.message
    return ElicitResult(action="accept", content={"agree": True})


def over_http(served: httpx.Client, work: Work, era: str, **headers: str) -> Any:
    async def run() -> Any:
        known = {"Authorization": served.headers["Authorization"], **headers}
        async with httpx2.AsyncClient(headers=known) as http:
            transport = streamable_http_client(f"{served.base_url}/mcp", http_client=http)
            async with Client(transport, mode=era, elicitation_callback=agreed) as client:
                return await work(client)

    return asyncio.run(run())


async def a_day(client: Client) -> None:
    """Remember, find, correct, cite, resolve, read core memory and erase, as an agent does."""
    said = await client.call_tool("remember_fact", {"text": "The kiln runs at 1040 °C."})
    assert not said.is_error, text_of(said)
    cell_id = said.structured_content["cell_id"]
    assert "1040" in text_of(await client.call_tool("search_memory", {"query": "kiln"}))
    done = await client.call_tool("correct_fact", {"cell_id": cell_id, "text": "The kiln runs at 1060 °C."})
    assert done.structured_content["replaced"] == [cell_id]
    cited = await client.call_tool("cite", {"cell_ids": [done.structured_content["cell_id"]]})
    assert not cited.is_error
    (open_one,) = (await client.call_tool("contradictions", {})).structured_content["contradictions"]
    ended = {"contradiction_id": open_one["contradiction_id"], "resolution": "b_wins"}
    assert (await client.call_tool("resolve_contradiction", ended)).structured_content[
        "winner_id"
    ] == "bbbbbb1"
    core = await client.read_resource("slowwave://core")
    assert core.contents[0].text == "No core memory yet."
    gone = await client.call_tool("erase_fact", {"cell_id": done.structured_content["cell_id"]})
    assert "none is there" in text_of(gone)
    assert "1060" not in text_of(await client.call_tool("search_memory", {"query": "kiln"}))


@pytest.mark.parametrize("era", ERAS.values(), ids=ERAS)
def test_a_day_over_http_behind_the_key(tmp_path: Path, era: str):
    with serving(disputed(tmp_path / "home")) as served:
        over_http(served, a_day, era)


def test_over_http_uses_are_counted_in_the_conversation_that_the_client_names(tmp_path: Path):
    home = tmp_path / "home"
    with Memory(home) as memory:
        memory.remember("The kiln runs at 1040 °C.")
    with serving(home) as served:

        async def search(client: Client) -> None:
            assert "1040" in text_of(await client.call_tool("search_memory", {"query": "kiln"}))

        over_http(served, search, "auto", **{"X-Slowwave-Conversation": "conversation-9"})
        over_http(served, search, "legacy")
    named, of_a_session = collect_spools(open_home(home)).usage.sort("used_at")["context"]
    assert named == "conversation-9"
    assert len(of_a_session) == 32, "the session of the protocol"


def test_without_the_key_or_from_a_page_there_is_no_mcp(tmp_path: Path):
    with serving(tmp_path / "home") as served:
        for headers, status in (({}, 401), ({"Authorization": "Bearer x"}, 401)):
            assert httpx.post(f"{served.base_url}/mcp", json={}, headers=headers).status_code == status
        for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Host": "evil.example"}, 400)):
            assert served.post("/mcp", json={}, headers=headers).status_code == status


# stdio


def over_stdio(home: Path, work: Work, era: str) -> Any:
    command = ["-m", "slowwave", "mcp", "--home", str(home)]
    known = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))

    async def run() -> Any:
        async with Client(known, mode=era, elicitation_callback=agreed) as client:
            return await work(client)

    return asyncio.run(run())


@pytest.mark.processes
def test_where_nothing_runs_each_call_has_a_process_of_its_own_with_its_result_or_its_error(tmp_path: Path):
    away = ask_home(str(tmp_path / "home"))

    def ask(operation: str, arguments: dict[str, Any], answer: type) -> Any:
        return asyncio.run(away(operation, arguments, answer))

    said = ask("remember", {"text": "The kiln runs at 1040 °C.", "origin": "agent"}, Remembered)
    (found,) = ask("search", {"query": "kiln"}, SearchResult).cells
    assert (found.cell_id, found.origin) == (said.cell_id, "agent")
    with pytest.raises(NotFoundError, match="there is no memory"):
        ask("confirm", {"cell_id": "abcdef1"}, Done)
