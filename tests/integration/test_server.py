"""The one server over real HTTP: its key, its refusals, its problems, its health."""

import asyncio
import contextlib
import itertools
import os
import shutil
import socket
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.telemetry import TelemetryConfig
from opentelemetry import trace
from opentelemetry.context import Context

from slowwave.entrypoints.commands.doctor import server_checks
from slowwave.entrypoints.resident.client import call
from slowwave.entrypoints.resident.listening import listening
from slowwave.entrypoints.resident.place import HOME_GONE
from slowwave.entrypoints.server import observing
from slowwave.entrypoints.server.address import Address, own_key, read_address, remove_address, write_address
from slowwave.entrypoints.server.lanes import Lanes
from slowwave.entrypoints.server.limits import Limits
from slowwave.entrypoints.server.observing import telemetry_of
from slowwave.entrypoints.server.routes import health
from slowwave.entrypoints.server.serve import free_port
from slowwave.errors import BusyError, ConfigError, TransientError
from slowwave.home.paths import open_home
from slowwave.memory import Memory
from slowwave.schemas.results import Remembered
from slowwave.settings.groups import ServerSettings
from tests.scripted_model import write_settings
from tests.serving import serving
from tests.transcripts import Transcript

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


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "localhost:80", "[::1]"])
@pytest.mark.parametrize("path", ["/v1/search", "/mcp"])
def test_a_name_of_the_loopbacks_needs_no_port(served: httpx.Client, host: str, path: str):
    assert served.post(path, json={"query": "kiln"}, headers={"Host": host}).status_code != 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{netloc}", "x", "http://["]
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
        ({"query": ["kiln"]}, "body.query: give a text"),
        ({"query": "kiln", "after": []}, "body.after: "),
        ({"query": "kiln", "user_id": "somebody"}, "body.user_id: there is no such field here; there is "),
        ({"query": "kiln", "Blorb-1": 1}, "body: there is no such field here; there is "),
        ({}, "body.query"),
    ],
)
def test_bad_input_is_told_without_repeating_it(served: httpx.Client, asked: dict[str, object], told: str):
    answer = served.post("/v1/search", json=asked)
    assert told in str(assert_problem(answer, 422, "input")["detail"])
    for part in ("blorb", "glorb", "kiln", "somebody"):
        assert part not in answer.text.lower()


@pytest.mark.parametrize(
    ("path", "asked", "told"),
    [
        ("/v1/remember", {"text": "x", "subject": {}}, ["body.subject: give a text"]),
        ("/v1/usage/cite", {"cell_ids": [5]}, ["body.cell_ids[0]: give a text"]),
        (
            "/v1/turns",
            {"turns": [{"session_id": "x1", "role": "user", "content": "hi"}]},
            [
                "body.turns[0].text: it is missing: give it",
                "body.turns[0].content: there is no such field here; there is session_id, role, text, id, time, "
                "speaker, cwd, branch",
            ],
        ),
        ("/v1/turns", {"turns": []}, ["body.turns: give at least 1"]),
        (
            "/v1/erase",
            {},
            [
                "name what to erase: cell_id, turn_id, session_id or text; or resume alone, to end one that was cut off"
            ],
        ),
        (
            "/v1/context/assemble",
            {"signals": {"recent_errors": [{}]}},
            ["body.signals.recent_errors[0]: give a text"],
        ),
    ],
)
def test_a_problem_names_the_path_of_its_field(
    served: httpx.Client, path: str, asked: dict[str, object], told: list[str]
):
    assert assert_problem(served.post(path, json=asked), 422, "input")["detail"] == "; ".join(told)


def test_what_is_no_json_is_refused(served: httpx.Client):
    headers = {"Content-Type": "application/json"}
    assert_problem(
        served.post("/v1/search", content=b'{"query": "cellar', headers=headers), 400, "bad-request"
    )
    form = served.post("/v1/search", data={"query": "cellar"})
    assert "Content-Type: application/json" in str(assert_problem(form, 415, "media-type")["detail"])
    plain = served.post("/v1/search", content=b'{"query": "cellar"}', headers={"Content-Type": "text/plain"})
    assert_problem(plain, 415, "media-type")
    deep = served.post("/v1/search", content=b"[" * 4_000 + b"]" * 4_000, headers=headers)
    assert "of few levels" in str(assert_problem(deep, 400, "bad-request")["detail"])
    for path, asked, told in (
        ("/v1/search", [], "body: give an object"),
        (
            "/v1/cells/c12345678/confirm",
            None,
            "body: it is missing: send a JSON object, {} if you give no field",
        ),
        ("/v1/consolidate", {"dry_run": "false"}, "body.dry_run: give true or false"),
        ("/v1/erase", {"text": "cellar", "dry_run": "true"}, "body.dry_run: give true or false"),
        ("/v1/cells/x/confirm", {}, "path.cell_id: an id has 6 to 64 letters, digits, _ or -: give one"),
        (
            "/v1/contradictions/c12345678/resolve",
            {"resolution": "merged"},
            "this resolution needs the text that replaces both memories: give one",
        ),
    ):
        assert assert_problem(served.post(path, json=asked), 422, "input")["detail"] == told


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "core"), ("GET", "contradictions"), ("GET", "entities"), ("GET", "cells/c12345678"), ("POST", "search"),
     ("POST", "turns"), ("GET", "status"), ("POST", "../hooks/claude-code/SessionStart")],
)  # fmt: skip
def test_a_query_parameter_that_a_route_does_not_have_is_refused_by_its_name(
    served: httpx.Client, method: str, path: str
):
    refused = served.request(method, f"/v1/{path}?limitt=3", json={} if method == "POST" else None)
    fields = assert_problem(refused, 422, "input")["fields"]
    assert isinstance(fields, list)
    assert [one["field"] for one in fields] == ["query.limitt"]
    text = served.request(method, f"/v1/{path}?the%20cellar%20Key9=3", json={} if method == "POST" else None)
    assert_problem(text, 422, "input")  # a text in the place of a name is not repeated


def test_known_parameters_and_those_of_health_pass(served: httpx.Client):
    for path in ("/v1/contradictions?limit=3&has_resolved=true&cursor=", "/v1/entities?limit=3"):
        assert served.get(path).status_code == 200
    for path in ("/health/live?x=1", "/metrics?x=1"):
        assert served.get(path).status_code == 200


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


def test_metrics_name_routes_and_never_what_was_asked(served: httpx.Client):
    served.get("/v1/cells/abcdefabcdef")
    served.get("/v1/entity", params={"name": "Tuulikki"})
    found = served.get("/metrics").text
    assert 'handler="/v1/cells/{cell_id}"' in found
    assert "abcdefabcdef" not in found
    assert "Tuulikki" not in found
    assert_problem(httpx.get(f"{served.base_url}/metrics"), 401, "key")


def test_the_log_has_the_route_and_neither_text_nor_ids(
    served: httpx.Client, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level("INFO", logger="slowwave.access"):
        served.get("/v1/cells/abcdefabcdef")
        served.get("/v1/entity", params={"name": "Tuulikki"})
        served.post("/v1/search", json={"query": "Tuulikki"}, headers={"X-Request-ID": "r-17"})
        served.get("/health/live")  # the line of a request is written behind its answer
    assert "GET /v1/cells/{cell_id} 404" in caplog.text
    assert "r-17" in caplog.text
    assert "abcdefabcdef" not in caplog.text
    assert "Tuulikki" not in caplog.text


def connection(served: httpx.Client) -> socket.socket:
    url = served.base_url
    return socket.create_connection((url.host, url.port or 80), timeout=20)


def head(served: httpx.Client, *more: str) -> bytes:
    lines = ["POST /v1/search HTTP/1.1", "Host: 127.0.0.1", f"Authorization: {served.headers['Authorization']}",
             "Content-Type: application/json", *more]  # fmt: skip
    return "\r\n".join([*lines, "", ""]).encode()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def read_all(open_connection: socket.socket) -> bytes:
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := open_connection.recv(65_536):
            found += part
    return found


def test_a_huge_body_is_refused_before_it_is_sent(served: httpx.Client):
    with connection(served) as waiting:
        waiting.sendall(head(served, "Content-Length: 1000000000"))
        answer = read_all(waiting)  # the server closes: it reads none of it
    assert status_of(answer) == 413
    assert b"urn:slowwave:problem:too-large" in answer


def test_a_client_that_sends_too_much_reads_why(tmp_path: Path):
    with serving(tmp_path / "home", body_bytes=2_000_000) as client:
        answer = client.post("/v1/turns", content=b"x" * 7_000_000)
        assert_problem(answer, 413, "too-large")


def test_a_huge_body_of_unknown_length_is_refused_as_soon_as_it_is_too_large(served: httpx.Client):
    with connection(served) as streaming:
        streaming.sendall(head(served, "Transfer-Encoding: chunked"))
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 1_000_000_000:
                streaming.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")
                sent += 4096
        assert status_of(read_all(streaming) or b"HTTP/1.1 413 ") == 413
    assert sent < 50_000_000  # what the buffers of both sides hold


def test_slow_clients_are_let_go_and_hold_up_nobody(served: httpx.Client):
    with connection(served) as slow_head, connection(served) as slow_body, connection(served) as silent:
        slow_head.sendall(b"POST /v1/search HTTP/1.1\r\nHost: 127.")
        slow_body.sendall(head(served, "Content-Length: 100") + b'{"query"')
        assert served.post("/v1/search", json={"query": "kiln"}).status_code == 200
        assert [status_of(read_all(one)) for one in (slow_head, slow_body, silent)] == [408, 408, 408]


def test_more_than_may_wait_are_told_to_come_back(tmp_path: Path):
    is_asked, may_go = threading.Event(), threading.Event()

    class Slow(Memory):
        def core(self, *, project: str | None = None) -> str:
            is_asked.set()
            may_go.wait(60)
            return "slow"

    home = tmp_path / "home"
    with serving(home, Slow(home), reads=1, waiting=1) as client, ThreadPoolExecutor() as pool:
        first = pool.submit(client.get, "/v1/core")
        assert is_asked.wait(30)
        others = [pool.submit(client.get, "/v1/core") for _ in range(3)]
        refused = [one.result() for one in itertools.islice(as_completed(others), 2)]
        assert (
            client.post("/v1/remember", json={"text": "Writes have a lane of their own."}).status_code == 200
        )
        may_go.set()
        assert [one.headers["retry-after"] for one in refused] == ["5", "5"]
        assert_problem(refused[0], 503, "transient")
        assert sorted(one.result().status_code for one in (first, *others)) == [200, 200, 503, 503]


def test_requests_that_arrive_together_are_counted_before_they_wait(tmp_path: Path):
    settings = Limits(reads=1, waiting=1)
    may_go, lanes = threading.Event(), Lanes(Memory(tmp_path), settings, tmp_path)

    async def together() -> list[bool | BaseException]:
        asked = [asyncio.ensure_future(lanes.read(may_go.wait, 30)) for _ in range(4)]
        await asyncio.sleep(0.05)
        may_go.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    found = asyncio.run(together())
    assert found[:2] == [True, True]
    assert [type(one) for one in found[2:]] == [TransientError, TransientError]


def test_an_error_that_nobody_foresaw_tells_no_text(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    class Broken(Memory):
        def core(self, *, project: str | None = None) -> str:
            raise RuntimeError(SECRET)

    home = tmp_path / "home"
    home.mkdir()
    with serving(home, Broken(home)) as client:
        answer = client.get("/v1/core")
        assert client.get("/health/live").status_code == 200
    assert_problem(answer, 500, "unexpected")
    assert SECRET not in caplog.text
    assert "RuntimeError" in caplog.text


def test_health_says_why_it_is_not_ready(tmp_path: Path):
    home = tmp_path / "home"
    with Memory(home) as memory:
        memory.remember(f"Mara says {SECRET}.")
    with serving(home) as client:
        for table in (home / "store").rglob("*.lance"):
            shutil.rmtree(table) if table.is_dir() else table.unlink()
        answer = httpx.get(f"{client.base_url}/health/ready")
        assert answer.status_code == 503
        assert "slowwave doctor" in answer.text
        assert str(home) not in answer.text


def test_a_home_that_is_taken_away_is_neither_ready_nor_made_anew(tmp_path: Path):
    home, away = tmp_path / "home", tmp_path / "away"
    with Memory(home) as memory:
        memory.remember("The kiln stands in the cellar.")
    with serving(home) as client, listening(home.resolve(), Memory(home), threads=1):
        while client.get("/health/ready").status_code != 200:
            time.sleep(0.05)
        home.rename(away)
        ready = client.get("/health/ready")
        assert (ready.status_code, ready.json()["reasons"]) == (503, [HOME_GONE])
        for path in ("/v1/search", "/v1/remember", "/mcp", "/hooks/codex/Stop"):
            assert_problem(client.post(path, json={"query": "kiln"}), 503, "home")
        with pytest.raises(TransientError, match="moved or removed"):
            call(str(home), "remember", {"text": "Kiln 2 is blue."}, Remembered)
        assert not home.exists()
        home.mkdir()  # another one in its place
        assert client.get("/health/ready").status_code == 503
        home.rmdir()
        away.rename(home)
        assert client.post("/v1/search", json={"query": "kiln"}).json()["cells"]


def test_what_is_done_while_the_home_is_taken_away_is_not_told_as_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home, away = tmp_path / "home", tmp_path / "away"
    real = Memory.remember

    def late(memory: Memory, *given: object, **named: object) -> Remembered:
        done = real(memory, *given, **named)
        home.rename(away)
        return done

    with serving(home) as client, listening(home.resolve(), Memory(home), threads=1):
        while client.get("/health/ready").status_code != 200:
            time.sleep(0.05)
        monkeypatch.setattr(Memory, "remember", late)
        assert_problem(client.post("/v1/remember", json={"text": "Kiln 1 is blue."}), 503, "home")
        away.rename(home)
        with pytest.raises(TransientError, match="moved or removed"):
            call(str(home), "remember", {"text": "Kiln 2 is blue."}, Remembered)
        away.rename(home)


def test_settings_that_were_changed_since_the_start_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "home"
    with serving(home) as client:
        while client.get("/health/ready").status_code != 200:
            time.sleep(0.05)
        assert client.get("/health/ready").json()["notes"] == []
        url = str(client.base_url)
        write_address(home, Address(url, os.getpid(), "2026-01-01T00:00:00+00:00", "0"))
        (home / "slowwave.toml").write_text("[search]\nlimit = 3\n")
        monkeypatch.setattr(health, "LOOK_SECONDS", 0.0)
        (row,) = server_checks(open_home(home))
        assert client.get("/health/ready").status_code == 200
        assert (row.is_well, row.is_needed, row.found) == (False, False, f"{url}: {health.CHANGED}")


def test_a_server_follows_transcripts_where_it_is_told_to_and_lets_go_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home, talk = tmp_path / "home", Transcript(tmp_path / "talk", "followed")
    talk.user("The kiln is lit at noon.")
    watch = {"with_server": True, "sources": [str(talk.path)]}
    monkeypatch.setattr("slowwave.recording.watch.WATCH_SECONDS", 0.05)
    monkeypatch.setattr("slowwave.recording.watch.SETTLE_SECONDS", 0.0)
    write_settings(home, embedding={"provider": "none"}, watch=watch)

    def told(client: httpx.Client, wanted: str) -> None:
        deadline = time.monotonic() + 60
        while wanted not in client.get("/health/ready").text:
            assert time.monotonic() < deadline, client.get("/health/ready").text
            time.sleep(0.1)

    with serving(home) as client:
        told(client, "follows the files of watch.sources: 1 message taken in")
        write_address(home, Address(str(client.base_url), os.getpid(), "2026-01-01T00:00:00+00:00", "0"))
        (row,) = server_checks(open_home(home))
        assert (row.is_well, "follows the files" in row.found) == (True, True)
        assert client.post("/v1/search", json={"query": "kiln noon", "detail_level": "evidence"}).json()[
            "turns"
        ]
        with pytest.raises(BusyError, match="another watch"):
            Memory(home).watch([talk.path])
    ended, begun = threading.Event(), threading.Event()
    other = threading.Thread(
        target=Memory(home).watch, kwargs={"stop": ended, "began": begun.set, "sources": [talk.path]}
    )
    other.start()
    assert begun.wait(30), "the server let go of its lock"
    with serving(home) as client:
        told(client, "watch.with_server is on, and it cannot follow: another watch")
    ended.set()
    other.join()
    with Memory(home) as memory:
        assert memory.stats().turns == 1


def test_telemetry_is_off_and_says_what_it_needs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    assert not any(telemetry_of(ServerSettings()).values())
    with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        telemetry_of(ServerSettings(telemetry="on"))


class SpanNoted(trace.NonRecordingSpan):
    """A span that keeps what it is told."""

    def __init__(self, told: list[object], parent: trace.SpanContext) -> None:
        super().__init__(trace.SpanContext(parent.trace_id or 1, 2, is_remote=False))
        self.told = told

    def set_attribute(self, key: str, value: object) -> None:
        self.told.append((key, value))

    def set_attributes(self, attributes: Mapping[str, object]) -> None:
        self.told.extend(attributes.items())

    def add_event(self, name: str, attributes: object = None, timestamp: int | None = None) -> None:
        self.told.append((name, attributes))

    def update_name(self, name: str) -> None:
        self.told.append(name)


class Tracing(trace.TracerProvider, trace.Tracer):
    """The spans of a server, each with its parent: the SDK is nothing that the tests need."""

    def __init__(self) -> None:
        self.spans: list[tuple[trace.SpanContext, list[object]]] = []

    def get_tracer(self, *_: object, **__: object) -> trace.Tracer:
        return self

    def start_span(
        self, name: str, context: Context | None = None, *_: object, **given: object
    ) -> trace.Span:
        parent = trace.get_current_span(context).get_span_context()
        self.spans.append((parent, [name, given.get("attributes")]))
        return SpanNoted(self.spans[-1][1], parent)

    def start_as_current_span(self, *_: object, **__: object) -> Any:
        raise AssertionError("spans within a request are off: they would name what it reads")


def test_spans_name_the_route_follow_the_clients_trace_and_hold_nothing_that_was_asked_or_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tracing = Tracing()
    config: TelemetryConfig = {"tracer_provider": tracing, "auto_configure": False, "metrics": False}
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(observing, "find_spec", lambda _: True)
    on = telemetry_of(ServerSettings(telemetry="on"))
    monkeypatch.setattr("slowwave.entrypoints.server.app.telemetry_of", lambda _: {**on, **config})
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    with serving(tmp_path / "home") as client:
        client.post("/v1/remember", json={"text": f"Mara says {SECRET}."})
        asked, parent = {"query": "kiln"}, {"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"}
        cell_id = client.post("/v1/search", json=asked, headers=parent).json()["cells"][0]["cell_id"]
        client.get(f"/v1/cells/{cell_id}")
        client.post("/v1/search", json={"query": ["kiln"]})
        seen = len(tracing.spans)
        client.get("/v1/cells/the kiln")
        client.get("/kiln")
        client.get("/v1/entity", params={"name": "kiln"})
        client.request("KILN", "/v1/core")
        client.get("/v1/core", headers={"Host": "kiln.example"})
        key = client.headers["Authorization"].removeprefix("Bearer ")
    assert seen == len(tracing.spans) == 4
    told = str(tracing.spans)
    assert [word for word in ("kiln", "Mara", "cellar", key) if word in told] == []
    names = [[one for one in said if isinstance(one, str)][-1] for _, said in tracing.spans]
    assert names == ["POST /v1/remember", "POST /v1/search", "GET /v1/cells/{cell_id}", "POST /v1/search"]
    assert [("http.response.status_code", status) in said for (_, said), status in
            zip(tracing.spans, (200, 200, 200, 422), strict=True)] == [True] * 4  # fmt: skip
    assert [f"{parent.trace_id:032x}" == trace_id for parent, _ in tracing.spans] == [
        False,
        True,
        False,
        False,
    ]


def test_answers_leave_at_once_and_wait_for_no_acknowledgement():
    """Without it every answer over a kept connection takes 40 ms more: its body waits for the client's system."""

    async def option() -> int:
        told = asyncio.get_running_loop().create_future()

        async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            told.set_result(
                writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            )
            writer.close()

        with contextlib.closing(free_port(4280, tries=1_000)) as listener:
            async with await asyncio.start_server(connected, sock=listener):
                _, writer = await asyncio.open_connection(*listener.getsockname())
                found = await told
                writer.close()
                return int(found)

    assert asyncio.run(option()) != 0
