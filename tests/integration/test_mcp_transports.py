"""The MCP server over its transports: HTTP behind the server's key, and stdio handed on to the home's server."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import polars as pl
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestFormParams, ElicitResult

from slowwave.home.paths import open_home
from slowwave.interfaces import client
from slowwave.interfaces.http.lanes import Lanes
from slowwave.interfaces.mcp import bridge
from slowwave.interfaces.mcp.server import build
from slowwave.memory import Memory
from tests.integration.test_mcp import ERAS, disputed, text_of
from tests.rows import uses
from tests.serving import serving

Work = Callable[[Client], Awaitable[Any]]


@pytest.fixture(autouse=True)
def without_vectors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="sw-") as runtime:  # a socket's path is short
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "none")
        # a server that may leave at once does so between a question to the user and the answer; each is ended here
        monkeypatch.setenv("SLOWWAVE_SEARCH__RESIDENT_MINUTES", "5")
        yield


async def agreed(_: object, asked: ElicitRequestFormParams) -> ElicitResult:
    assert "?" in asked.message
    return ElicitResult(action="accept", content={"agree": True})


def over_http(served: httpx.Client, work: Work, era: str, **headers: str) -> Any:
    async def run() -> Any:
        known = {"Authorization": served.headers["Authorization"], **headers}
        async with httpx2.AsyncClient(headers=known, timeout=120) as http:
            transport = streamable_http_client(f"{served.base_url}/mcp", http_client=http)
            async with Client(transport, mode=era, elicitation_callback=agreed) as client:
                return await work(client)

    return asyncio.run(run())


async def told(client: Client, name: str, **given: Any) -> str:
    done = await client.call_tool(name, given)
    assert not done.is_error, text_of(done)
    return text_of(done)


async def a_day(client: Client) -> None:
    """Remember, find, correct, cite, resolve, read core memory and erase, as an agent does by what it is shown."""
    first = (await told(client, "remember_fact", text="The kiln runs at 1040 °C.")).split()[-1].strip(".")
    assert f"id {first} | " in await told(client, "search_memory", query="kiln")
    done = await told(client, "correct_fact", cell_id=first, text="The kiln runs at 1060 °C.")
    assert f", replaces {first}\n" in done
    second = done.split()[2].strip(",")
    await told(client, "cite", cell_ids=[second])
    name = (await told(client, "contradictions")).partition("--- Contradiction ")[2].split()[0]
    ended = await told(client, "resolve_contradiction", contradiction_id=name, resolution="b_wins")
    assert "bbbbbb1 is current." in ended
    core = await client.read_resource("slowwave://core")
    assert core.contents[0].text == "No core memory yet."
    assert "none is there" in await told(client, "erase_fact", cell_id=second)
    assert "1060" not in await told(client, "search_memory", query="kiln")


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
            assert "1040" in await told(client, "search_memory", query="kiln")

        over_http(served, search, "auto", **{"X-Slowwave-Conversation": "conversation-9"})
        over_http(served, search, "legacy")
    named, of_a_session = uses(open_home(home)).sort("used_at")["context"]
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
        try:
            async with Client(known, mode=era, elicitation_callback=agreed) as client:
                return await work(client)
        finally:
            end(servers(home))

    return asyncio.run(run())


def servers(home: Path) -> list[int]:
    """The processes of this home's server."""
    return processes(client.SERVER.encode() + b"\0" + bytes(home.resolve()))


def processes(words: bytes) -> list[int]:
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [int(line.parent.name)] if words in line.read_bytes() else []
        except OSError:  # it ended meanwhile
            continue
    return found


def end(ids: list[int]) -> None:
    for process in ids:
        os.kill(process, signal.SIGKILL)
    for process in ids:
        while Path(f"/proc/{process}/cmdline").exists() and Path(f"/proc/{process}/cmdline").read_bytes():
            pass


@pytest.mark.processes
@pytest.mark.parametrize("era", ERAS.values(), ids=ERAS)
def test_over_stdio_a_client_starts_the_server_and_outlives_it(tmp_path: Path, era: str):
    home = disputed(tmp_path / "home")

    async def two_days(client: Client) -> None:
        await a_day(client)
        (server,) = servers(home)
        end([server])
        assert "6432" in await told(client, "search_memory", query="staging")
        await told(client, "confirm_fact", cell_id="bbbbbb1")  # the user can still be asked
        assert servers(home) != [server]

    over_stdio(home, two_days, era)


@pytest.mark.processes
def test_the_process_of_a_client_holds_no_store_and_names_its_conversation_and_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = tmp_path / "home"
    folder = tmp_path / "kettle ü" / "src"
    (folder.parent / ".git").mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folder))

    async def look(client: Client) -> str:
        await told(client, "remember_fact", text="The kiln runs at 1040 °C.")
        await told(
            client, "cite", ids=[(await told(client, "search_memory", query="kiln")).partition("id ")[2][:8]]
        )
        (bridge,) = processes(b"slowwave\0mcp\0--home\0" + bytes(home))
        return Path(f"/proc/{bridge}/maps").read_text()

    loaded = over_stdio(home, look, "auto")
    assert "pydantic_core" in loaded
    assert not [name for name in ("polars", "lancedb", "pyarrow", "cryptography") if name in loaded]
    with Memory(home) as memory:
        (cell,) = memory.cells().entries
        assert cell.project_id.startswith("kettle"), "the repository in which the client works"
    cited = open_home(home).journal.scan().events.filter(pl.col("kind") == "usage.recorded")
    assert '"context":"mcp-' in cited["payload"][0].replace(" ", "")


@pytest.mark.processes
def test_where_the_server_does_not_start_the_client_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
):
    def ended(_: Path) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen([sys.executable, "-c", ""])
        process.wait()
        return process

    monkeypatch.setattr(client, "start_server", ended)
    bridge.Bridge(tmp_path, {})._hand_on({"id": 3, "method": "tools/list"})
    answer = json.loads(capfdbinary.readouterr().out)
    assert answer["id"] == 3
    assert "`slowwave doctor` says why" in answer["error"]["message"]


def test_the_bridge_knows_every_tool_that_writes(tmp_path: Path):
    with Memory(tmp_path / "home") as memory:
        tools = asyncio.run(build(Lanes(memory, tmp_path)).list_tools())
    assert {tool.name for tool in tools if not tool.annotations.read_only_hint} == bridge.WRITE_TOOLS
