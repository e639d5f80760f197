"""The app in this process: answers as text, clients with other settings, its end when nobody asks, and alone."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from fastapi.testclient import TestClient

from slowwave.home.paths import open_home
from slowwave.interfaces.client import EXIT, NOTES, PRINT, STALE, VIEW, Reply, fingerprint
from slowwave.interfaces.http import alone, app
from slowwave.interfaces.http.accept import MOST_NOTE_BYTES, as_text
from slowwave.interfaces.http.routes.health import CHANGED
from slowwave.interfaces.rendering.view import view_of
from slowwave.memory import Memory
from slowwave.schemas.results import SearchResult
from slowwave.settings.tree import load_settings
from tests.rows import uses
from tests.scripted_model import write_settings

TEXT = {"Accept": "text/plain"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("app") / "home"
    write_settings(home, embedding={"provider": "none"})
    with Memory(home) as memory:
        memory.remember("Mara fires the kiln on Sundays.", entities=["Mara"])
    return home


@pytest.fixture
def client(home: Path) -> Iterator[TestClient]:
    with TestClient(app.create_app(Memory(home), settings=load_settings(home))) as client:
        yield client


def ask(
    home: Path, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
) -> Reply:
    given = None if body is None else json.dumps(body).encode()
    kind = {} if body is None else {"Content-Type": "application/json"}
    return alone.answer(home, method, path, given, {**kind, **(headers or {})})


def test_a_client_that_prefers_text_gets_what_a_terminal_of_its_width_shows(client: TestClient):
    asked = {"query": "When does Mara fire the kiln?"}
    shown = client.post("/v1/search", json=asked, headers={**TEXT, VIEW: "width=40"})
    assert shown.headers["content-type"] == "text/plain; charset=utf-8"
    assert shown.text.startswith("Found 1 relevant memory:")
    assert "Mara fires the kiln" in shown.text
    colored = client.post("/v1/search", json=asked, headers={**TEXT, VIEW: "color=1"})
    assert "\x1b[" in colored.text
    assert "\x1b[" not in shown.text
    for accept in ("*/*", "application/json, text/plain", ""):
        assert client.post("/v1/search", json=asked, headers={"Accept": accept}).json()["cells"]


@pytest.mark.parametrize(
    "path", ["status", "stats", "weak", "archived?query=kiln", "cells", "contradictions", "quarantine", "core", "runs",
             "entities", "topics", "episodes", "timeline?name=Mara"]
)  # fmt: skip
def test_every_list_is_shown_as_text(client: TestClient, path: str):
    shown = client.get(f"/v1/{path}", headers=TEXT)
    assert (shown.status_code, shown.headers["content-type"]) == (200, "text/plain; charset=utf-8"), (
        shown.text
    )


def test_an_error_is_a_problem_with_an_exit_code_also_where_text_is_wanted(client: TestClient):
    missing = client.get("/v1/cells/abcdef12", headers=TEXT)
    assert (missing.headers["content-type"], missing.headers[EXIT]) == ("application/problem+json", "66")
    assert client.post("/v1/search", json={"limit": 0}, headers=TEXT).headers[EXIT] == "65"


def test_notes_travel_in_a_header_of_bounded_length():
    found = SearchResult.model_construct(
        query="", cells=[], topics=[], turns=[], reasons=[], lead="", intent="general", after=None, before=None,
        lead_ids=[], notes=["a – b\nc", "ö" * MOST_NOTE_BYTES],
    )  # fmt: skip
    sent = as_text(found, view_of("explain=1"), 200).headers[NOTES]
    assert len(sent) <= MOST_NOTE_BYTES
    assert "\n" not in sent
    assert "�" not in unquote(sent)[:100]


@pytest.mark.parametrize(("leaves", "told"), [(True, "leaves"), (False, "stays")])
def test_a_client_with_other_settings_is_refused_before_anything_is_done(
    client: TestClient, home: Path, leaves: bool, told: str
):
    left: list[bool] = []
    state: Any = client.app.state  # type: ignore[attr-defined]
    state.print, state.leave = "mine", (lambda: left.append(True)) if leaves else None
    before = client.get("/v1/stats", headers={PRINT: "mine"}).json()["turns"]
    refused = client.post("/v1/remember", json={"text": "The kiln is blue."}, headers={PRINT: "yours"})
    assert (refused.status_code, refused.headers[STALE], left) == (409, told, [True] * leaves)
    assert client.get("/v1/stats").json()["turns"] == before


def test_the_addresses_that_other_memory_servers_have_are_answered_too(client: TestClient):
    assert client.post("/context/assemble", json={"question": "kiln"}).json()["context"]
    missing = client.post("/contradictions/abcdef12/resolve", json={"resolution": "a_wins"})
    assert missing.json()["type"] == "urn:slowwave:problem:not-found"
    for path in ("/consolidate", "/memory/consolidate", "/memory/reindex"):
        assert client.post(path, json={"nothing": 1}).status_code == 422
    assert [
        path for path in client.get("/openapi.json").json()["paths"] if not path.startswith(("/v1", "/h"))
    ] == []


class AtWork:
    """A follower with work until it is told otherwise."""

    pending = True

    def is_pending(self) -> bool:
        return self.pending

    def does(self) -> str:
        return "follows the transcripts"


def test_a_server_on_demand_leaves_once_nobody_asks_and_no_transcript_waits(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(app, "IDLE_LOOK_SECONDS", 0.01)
    state: Any = client.app.state  # type: ignore[attr-defined]
    follower, left = AtWork(), asyncio.Event()
    state.leave = left.set
    state.settings = state.settings.model_copy(
        update={"search": state.settings.search.model_copy(update={"resident_minutes": 0.0001})}
    )

    async def live() -> None:
        looking = asyncio.create_task(app._leave_when_idle(state))
        await asyncio.sleep(0.1)
        assert not left.is_set()
        with state.activity:
            follower.pending = False
            await asyncio.sleep(0.1)
            assert not left.is_set()
        await asyncio.wait_for(left.wait(), 30)
        looking.cancel()

    real, state.follower = state.follower, follower
    asyncio.run(live())
    state.follower = real


def test_health_names_what_the_follower_does_and_settings_that_were_changed(tmp_path: Path):
    home = tmp_path / "home"
    write_settings(home, embedding={"provider": "none"})
    with TestClient(app.create_app(Memory(home), settings=load_settings(home))) as client:
        state: Any = client.app.state  # type: ignore[attr-defined]
        state.print = fingerprint(home)
        ready = client.get("/health/ready").json()
        assert [one.partition(":")[0] for one in ready["does"]] == [
            "follows the transcripts of connected agents"
        ]
        assert ready["notes"] == []
        write_settings(home, embedding={"provider": "none"}, search={"limit": 4})
        assert CHANGED in client.get("/health/ready").json()["notes"]


def test_a_question_is_answered_alone_as_by_a_server_and_its_use_is_noted(client: TestClient, home: Path):
    asked = {"query": "When does Mara fire the kiln?"}
    by_server, found = client.post("/v1/search", json=asked).json(), ask(home, "POST", "/v1/search", asked)
    shown = json.loads(found.body)["cells"][0]
    assert (found.status, shown["cell_id"]) == (200, by_server["cells"][0]["cell_id"])
    assert shown["cell_id"] in [*uses(open_home(home))["cell_id"]]
    assert ask(home, "GET", "/v1/cells/abcdef12").headers[EXIT.lower()] == "66"
    assert b"Mara" in ask(home, "POST", "/v1/search", asked, TEXT).body
