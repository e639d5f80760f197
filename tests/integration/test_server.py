"""The one server over real HTTP: its key, its refusals, its problems, its health."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from slowwave.entrypoints.server.address import Address, own_key, read_address, remove_address, write_address
from slowwave.errors import ConfigError
from slowwave.memory import Memory
from tests.serving import serving

SECRET = "the kiln stands in the cellar of number nine"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home = tmp_path_factory.mktemp("served") / "home"
    with Memory(home) as memory:
        memory.remember(f"Mara says {SECRET}.", entities=["Mara"])
    with serving(home, body_bytes=10_000, body_seconds=1.0, head_seconds=1.0) as client:
        yield client


def assert_problem(answer: httpx.Response, status: int, kind: str) -> dict[str, object]:
    """The body is a problem, and quotes nothing."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert found["type"] == f"urn:slowwave:problem:{kind}"
    assert found["instance"] == f"urn:slowwave:request:{answer.headers['x-request-id']}"
    assert "cellar" not in answer.text
    return found


def test_a_question_is_answered_over_http(served: httpx.Client):
    found = served.post("/v1/search", json={"query": "Where does the kiln stand?"})
    assert found.status_code == 200, found.text
    assert SECRET in found.json()["cells"][0]["content"]


def test_health_needs_no_key_and_tells_nothing_of_the_home(served: httpx.Client):
    for path in ("/health/live", "/health/ready"):
        answer = httpx.get(f"{served.base_url}{path}")
        assert answer.status_code == 200, answer.text
        assert "home" not in answer.text


@pytest.mark.parametrize("path", ["/v1/search", "/openapi.json", "/nope", "/"])
@pytest.mark.parametrize("key", [None, "Bearer wrong", "Bearer", "Basic {key}", "{key}"])
def test_without_the_key_nothing_is_answered(served: httpx.Client, path: str, key: str | None):
    own = served.headers["Authorization"].removeprefix("Bearer ")
    headers = {} if key is None else {"Authorization": key.format(key=own)}
    answer = httpx.post(f"{served.base_url}{path}", json={"query": "kiln"}, headers=headers)
    assert_problem(answer, 401, "key")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80", "0.0.0.0", ""]
)
@pytest.mark.parametrize("path", ["/v1/search", "/health/live"])
def test_a_name_that_is_not_the_loopbacks_is_refused(served: httpx.Client, host: str, path: str):
    assert_problem(served.post(path, json={"query": "kiln"}, headers={"Host": host}), 421, "host")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{netloc}", "x"]
)
def test_pages_of_other_origins_may_not_ask(served: httpx.Client, origin: str):
    netloc = served.base_url.netloc.decode()
    headers = {"Origin": origin.format(netloc=netloc)}
    assert_problem(served.post("/v1/search", json={"query": "kiln"}, headers=headers), 403, "origin")
    own = served.post("/v1/search", json={"query": "kiln"}, headers={"Origin": f"http://{netloc}"})
    assert own.status_code == 200


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"query": "kiln", "limit": 99}, "body.limit"),
        ({"query": "kiln", "after": "blorb glorb"}, "no time"),
        ({"query": ["kiln"]}, "a text is wanted"),
        ({"query": "kiln", "user_id": "somebody"}, "does not exist"),
        ({}, "body.query"),
    ],
)
def test_bad_input_is_told_without_repeating_it(served: httpx.Client, asked: dict[str, object], told: str):
    answer = served.post("/v1/search", json=asked)
    assert told in str(assert_problem(answer, 422, "input")["detail"])
    for part in ("blorb", "glorb", "kiln", "somebody", "user_id"):
        assert part not in answer.text


def test_what_is_no_json_is_refused(served: httpx.Client):
    headers = {"Content-Type": "application/json"}
    assert_problem(
        served.post("/v1/search", content=b'{"query": "cellar', headers=headers), 400, "bad-request"
    )
    form = served.post("/v1/search", data={"query": "cellar"})
    assert_problem(form, 422, "input")


def test_an_unknown_address_is_a_problem_too(served: httpx.Client):
    assert_problem(served.get("/v1/nope/cellar"), 404, "not-found")
    assert_problem(served.delete("/v1/search"), 405, "method")


def test_a_request_keeps_the_id_that_it_came_with(served: httpx.Client):
    assert served.get("/health/live", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"] == "abc-1"
    odd = served.get("/health/live", headers={"X-Request-ID": "abc 1\tcellar"}).headers["x-request-id"]
    assert "cellar" not in odd


def test_the_key_is_for_this_user_alone_and_stays(tmp_path: Path):
    key = own_key(tmp_path)
    path = tmp_path / "server" / "key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert own_key(tmp_path) == key
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="others can read the key"):
        own_key(tmp_path)


def test_the_address_is_that_of_the_process_that_wrote_it(tmp_path: Path):
    assert read_address(tmp_path) is None
    other = Address("http://127.0.0.1:1", os.getpid() + 1, "2026-01-01T00:00:00+00:00", "0")
    write_address(tmp_path, other)
    remove_address(tmp_path)
    assert read_address(tmp_path) == other
    own = Address("http://127.0.0.1:2", os.getpid(), "2026-01-01T00:00:00+00:00", "0")
    write_address(tmp_path, own)
    remove_address(tmp_path)
    assert read_address(tmp_path) is None


def test_an_mcp_client_is_answered_by_the_same_memory(served: httpx.Client):
    """The SDK's own client, over streamable HTTP."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async def search() -> str:
        async with (
            httpx2.AsyncClient(headers={"Authorization": served.headers["Authorization"]}) as http,
            Client(streamable_http_client(f"{served.base_url}/mcp", http_client=http)) as client,
        ):
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert "search_memory" in tools
            found = await client.call_tool("search_memory", {"query": "Where does the kiln stand?"})
            return str(found.content)

    assert SECRET in asyncio.run(search())
    assert_problem(httpx.post(f"{served.base_url}/mcp", json={}), 401, "key")


def test_a_hook_is_answered_by_the_same_memory(served: httpx.Client):
    given = {
        "session_id": "s1",
        "cwd": "/tmp",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Where is the kiln?",
    }
    assert SECRET in served.post("/hooks/claude-code/UserPromptSubmit", json=given).text
    assert_problem(httpx.post(f"{served.base_url}/hooks/claude-code/Stop", json=given), 401, "key")
