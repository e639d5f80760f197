"""The one server over real HTTP: its key, its refusals, its problems, its health."""

import contextlib
import os
import shutil
import socket
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from slowwave.errors import ConfigError
from slowwave.interfaces.http.address import own_key, read_address, write_address
from slowwave.interfaces.http.app import BODY_BYTES
from slowwave.interfaces.http.lanes import READS
from slowwave.interfaces.http.security import HOME_GONE
from slowwave.interfaces.http.serve import free_port
from slowwave.memory import Memory
from slowwave.schemas.results import Done
from tests.serving import serving

SECRET = "the kiln stands in the cellar of number nine"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home = tmp_path_factory.mktemp("served") / "home"
    with Memory(home) as memory:
        memory.remember(f"Mara says {SECRET}.", entities=["Mara"])
    with serving(home) as client:
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


def test_health_needs_no_key_and_tells_nothing_of_the_home(served: httpx.Client):
    for path in ("/health/live", "/health/ready"):
        answer = httpx.get(f"{served.base_url}{path}")
        assert answer.status_code in (200, 503), answer.text  # 503 until the tables are loaded
        assert "home" not in answer.text


@pytest.mark.parametrize("path", ["/v1/search", "/openapi.json", "/nope", "/mcp", "/hooks/codex/Stop"])
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
    assert_problem(served.post(path, json={"query": "kiln"}, headers={"Host": host}), 400, "bad-request")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "localhost:80", "[::1]"])
@pytest.mark.parametrize("path", ["/v1/search", "/mcp"])
def test_a_name_of_the_loopbacks_needs_no_port(served: httpx.Client, host: str, path: str):
    assert "address.json" not in served.post(path, json={"query": "kiln"}, headers={"Host": host}).text


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
        ({"query": "kiln", "user_id": "somebody"}, "body.user_id: there is no such field"),
        ({"query": "kiln", "Blorb-1": 1}, "body.Blorb-1: there is no such field"),
        ({}, "body.query"),
    ],
)
def test_bad_input_is_named_by_its_field(served: httpx.Client, asked: dict[str, object], told: str):
    assert told in str(assert_problem(served.post("/v1/search", json=asked), 422, "input")["detail"])


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
                "body.turns[0].content: there is no such field",
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
        (
            "/v1/cells/x/confirm",
            {},
            "path.cell_id: an id is letters, digits, _ or -: give it whole, or 6 characters or more",
        ),
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
     ("POST", "turns"), ("GET", "status")],
)  # fmt: skip
def test_a_query_parameter_that_a_route_does_not_have_is_refused_by_its_name(
    served: httpx.Client, method: str, path: str
):
    refused = served.request(method, f"/v1/{path}?limitt=3", json={} if method == "POST" else None)
    fields = assert_problem(refused, 422, "input")["fields"]
    assert isinstance(fields, list)
    assert [one["field"] for one in fields] == ["query.limitt"]


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


def test_the_address_names_the_process_that_serves(tmp_path: Path):
    assert read_address(tmp_path) is None
    written = write_address(tmp_path, "http://127.0.0.1:1")
    found = read_address(tmp_path)
    assert found is not None
    assert (found.url, found.pid) == ("http://127.0.0.1:1", os.getpid())
    written.write_text("{")
    assert read_address(tmp_path) is None


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


def test_a_body_that_is_too_large_is_refused_and_its_client_reads_why(served: httpx.Client):
    key = served.headers["Authorization"]
    head = f"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\nAuthorization: {key}\r\n"
    with socket.create_connection((served.base_url.host, served.base_url.port or 80), timeout=20) as unsent:
        unsent.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
        answer = b""
        while b"}" not in answer:  # before any of the body is sent
            answer += unsent.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"urn:slowwave:problem:too-large" in answer
    chunked = served.post("/v1/turns", content=(b"x" * 10_000 for _ in range(BODY_BYTES // 10_000 + 1)))
    assert_problem(chunked, 413, "too-large")
    unread = served.request("GET", "/v1/stats", content=b"x" * (BODY_BYTES + 1))
    assert_problem(unread, 413, "too-large")


def test_a_write_does_not_wait_behind_questions(tmp_path: Path):
    is_asked, may_go = threading.Event(), threading.Event()

    class Slow(Memory):
        def core(self, *, project: str | None = None) -> str:
            is_asked.set()
            may_go.wait(60)
            return "slow"

    home = tmp_path / "home"
    with serving(home, Slow(home)) as client, ThreadPoolExecutor() as pool:
        questions = [pool.submit(client.get, "/v1/core") for _ in range(READS + 1)]
        assert is_asked.wait(30)
        assert client.post("/v1/remember", json={"text": "Writes do not wait."}).status_code == 200
        may_go.set()
        assert [one.result().status_code for one in questions] == [200] * (READS + 1)


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
    with serving(home) as client:
        while client.get("/health/ready").status_code != 200:
            time.sleep(0.05)
        home.rename(away)
        ready = client.get("/health/ready")
        assert (ready.status_code, ready.json()["reasons"]) == (503, [HOME_GONE])
        for path in ("/v1/search", "/v1/remember", "/mcp", "/hooks/codex/Stop"):
            assert_problem(client.post(path, json={"query": "kiln"}), 503, "home")
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

    def late(memory: Memory, *given: object, **named: object) -> Done:
        done = real(memory, *given, **named)
        home.rename(away)
        return done

    with serving(home) as client:
        while client.get("/health/ready").status_code != 200:
            time.sleep(0.05)
        monkeypatch.setattr(Memory, "remember", late)
        assert_problem(client.post("/v1/remember", json={"text": "Kiln 1 is blue."}), 503, "home")
        away.rename(home)


def test_answers_leave_at_once_and_wait_for_no_acknowledgement():
    with contextlib.closing(free_port(range(4280, 4380))) as listener:
        assert listener.proto == socket.IPPROTO_TCP, "asyncio sets TCP_NODELAY on no other"
