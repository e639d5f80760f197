"""The routes of the server over real HTTP: each does what the method of `Memory` does."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from slowwave.errors import TransientError
from slowwave.interfaces.http.runs import FlowRuns
from slowwave.memory import Memory
from tests.integration.test_edits import OWNER, two_ports
from tests.scripted_model import write_settings
from tests.serving import serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home = tmp_path_factory.mktemp("api") / "home"
    with Memory(home) as memory:
        memory.remember("The tokens of the auth service are signed with RS256.", entities=["auth service"])
    with serving(home) as client:
        yield client


def post(server: httpx.Client, path: str, /, **body: object) -> dict[str, object]:
    answer = server.post(path, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def get(client: httpx.Client, path: str, **query: object) -> dict[str, object]:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def said(client: httpx.Client, text: str, **fields: object) -> str:
    return str(post(client, "/v1/remember", text=text, **fields)["cell_id"])


def test_a_memory_lives_over_http(served: httpx.Client):
    first = said(served, "Mara likes her tea without milk.", entities=["Mara"])
    assert said(served, "Mara likes her tea without milk.") == first  # a write may be repeated
    assert get(served, f"/v1/cells/{first}")["content"] == "Mara likes her tea without milk."
    done = post(served, f"/v1/cells/{first}/correct", text="Mara likes her tea with milk.")
    second = str(done["cell_id"])
    assert done["replaced"] == [first]
    again = post(served, f"/v1/cells/{first}/correct", text="Mara likes her tea with milk.")
    assert (again["cell_id"], again["changed"]) == (second, {})
    assert served.post(f"/v1/cells/{first}/correct", json={"text": "Mara drinks no tea."}).status_code == 422
    assert get(served, f"/v1/cells/{second}/explanation")["life"]["state"] == "active"
    assert post(served, f"/v1/cells/{second[:8]}/confirm", note="I asked her")["cell_id"] == second
    assert post(served, "/v1/usage/cite", cell_ids=[second], context="c1") == {"cell_ids": [second]}
    post(served, f"/v1/cells/{second}/forget")
    assert served.get(f"/v1/cells/{second}").status_code == 404
    found = post(served, "/v1/search", query="How does Mara like her tea?")
    assert second not in [cell["cell_id"] for cell in found["cells"]]  # type: ignore[attr-defined]


def test_context_is_spelled_as_agents_ask_for_it(served: httpx.Client):
    found = post(
        served,
        "/v1/context/assemble",
        budget=4_000,
        signals={
            "current_file": "src/auth/tokens.py",
            "activity": "debugging",
            "recent_errors": ["bad signature"],
        },
    )
    assert "RS256" in str(found["context"])
    assert found["activity"] == "debugging"
    assert found["budget_tokens"] == 4_000
    tiers = found["tiers"]
    assert isinstance(tiers, dict)
    assert 0 < sum(tiers.values()) <= int(str(found["token_count"]))
    assert any(line["cell_ids"] for line in found["lines"])  # type: ignore[attr-defined]


def test_an_erase_says_first_what_would_go_and_leaves_nothing(served: httpx.Client):
    cell_id = said(served, "The spare key lies under the blue flowerpot.")
    planned = post(served, f"/v1/cells/{cell_id}/erase", dry_run=True)
    assert planned["cell_ids"] == [cell_id]
    assert get(served, f"/v1/cells/{cell_id}")["cell_id"] == cell_id
    gone = post(served, f"/v1/cells/{cell_id}/erase")
    assert gone["cell_ids"] == [cell_id]
    assert gone["remaining"] == {}
    assert served.get(f"/v1/cells/{cell_id}").status_code == 404
    text = said(served, "The gate code is written behind the calendar.")
    assert post(served, "/v1/erase", text="behind the calendar")["cell_ids"] == [text]


def test_a_contradiction_is_resolved_and_taken_back(tmp_path: Path):
    home = tmp_path / "home"
    write_settings(home, embedding={"provider": "none"}, owner=OWNER)
    two_ports(home)
    with serving(home) as client:
        page = get(client, "/v1/contradictions")
        assert [one["contradiction_id"] for one in page["entries"]] == ["d11111"]  # type: ignore[attr-defined]
        done = post(client, "/v1/contradictions/d11111/resolve", resolution="b_wins", note="We moved")
        assert done["replaced"] == ["aaaaaa1"]
        assert post(client, "/v1/contradictions/d11111/resolve", resolution="b_wins")["changed"] == {}
        other = client.post("/v1/contradictions/d11111/resolve", json={"resolution": "a_wins"})
        assert other.status_code == 422
        assert get(client, "/v1/contradictions")["total"] == 0
        assert get(client, "/v1/contradictions", has_resolved=True)["total"] == 1
        assert client.post("/v1/contradictions/d11111/undo").json()["restored"] == ["aaaaaa1"]
        assert client.post("/v1/contradictions/nope11/undo").status_code == 404
        assert (
            client.post("/v1/contradictions/d11111/resolve", json={"resolution": "maybe"}).status_code == 422
        )


def test_taps_are_durable_and_found_and_add_nothing_twice(served: httpx.Client):
    turn = {"session_id": "s1", "role": "user", "text": "The ferry to Hiiumaa leaves at nine.", "id": "m1"}
    assert post(served, "/v1/turns", turns=[turn], client="test")["new_count"] == 1
    assert post(served, "/v1/turns", turns=[turn], client="test")["known_count"] == 1


def test_a_large_batch_that_is_not_possible_is_told_in_a_few_fields(served: httpx.Client):
    turns = [{"session_id": "s", "role": "oracle", "text": f"{n}ing of it " * 50} for n in range(1_000)]
    answer = served.post("/v1/turns", json={"turns": turns})
    assert answer.status_code == 422
    assert len(answer.json()["fields"]) == 20
    assert "oracle" not in answer.text


def test_a_file_is_taken_in_by_its_whole_path(served: httpx.Client, tmp_path: Path):
    page = tmp_path / "notes.md"
    page.write_text("# Boats\n\nThe mast of the boat is made of ash wood.\n", encoding="utf-8")
    report = post(served, "/v1/ingest", sources=[str(page)])
    assert report["counts"]["turn.recorded"] == 1  # type: ignore[index]
    assert post(served, "/v1/ingest", sources=[str(page)])["counts"] == {}


@pytest.mark.parametrize(
    ("source", "status"),
    [("notes.md", 422), ("../../etc/passwd", 422), ("/dev/zero", 422), ("/nope/cellar", 404), ("{home}", 422),
     ("{home}/journal", 422), ("/", 422), ("/a\x00b", 404)],
)  # fmt: skip
def test_a_source_that_is_no_file_of_yours_is_refused(served: httpx.Client, source: str, status: int):
    home = str(get(served, "/v1/status")["home"])
    answer = served.post("/v1/ingest", json={"sources": [source.format(home=home)]})
    assert answer.status_code == status, answer.text
    assert source not in answer.text
    assert home not in answer.text


@pytest.mark.processes
def test_a_flow_is_started_once_asked_after_and_found_by_the_next_server(tmp_path: Path):
    home = tmp_path / "home"
    with Memory(home) as memory:
        cell_id = memory.remember("The kiln stands in the cellar of number nine.").cell_id
    with serving(home) as client:
        started = [client.post("/v1/flows/decay/runs", json={"run_id": "my-own-run"}) for _ in range(2)]
        assert {one.status_code for one in started} == {202}
        until(lambda: get(client, "/v1/runs/my-own-run")["state"] == "done")
        night = client.post("/v1/consolidate", json={"wait_seconds": 100}, timeout=120).json()
        assert night["state"] == "done", night
        assert night["dry_run"] is True
        assert night["deduped"] == night["forgotten"] == night["contradictions_found"] == 0
    with serving(home) as client:
        runs = get(client, "/v1/runs", limit=1)
        assert runs["total"] == 2
        assert get(client, "/v1/runs", cursor=runs["next_cursor"])["entries"][0]["run_id"] == "my-own-run"  # type: ignore[index]
        found = get(client, "/v1/runs/my-own-run")
        assert found["state"] == "done"
        assert found["report"]["stage"] == "decay"  # type: ignore[index]
        assert client.get("/v1/runs/another-run").status_code == 404
        assert client.post("/v1/flows/dance/runs", json={}).status_code == 422
        for other in ("decay/runs", "extract/runs"):
            asked = client.post(f"/v1/flows/{other}", json={"run_id": "my-own-run", "dry_run": True})
            assert (asked.status_code, "choose another id" in asked.text) == (422, True), asked.text
        assert client.post("/v1/flows/decay/runs", json={"force": True}).status_code == 422
        (home / "server" / "runs" / "my-own-run.json").write_text("number nine")
        gone = post(client, f"/v1/cells/{cell_id}/erase")
        assert gone["rewritten"]["run reports"] == 1  # type: ignore[index]
        assert gone["remaining"] == {}


def test_a_flow_that_could_not_be_started_leaves_its_id_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*words: object, **given: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    runs = FlowRuns(tmp_path)
    monkeypatch.setattr("slowwave.interfaces.http.runs.subprocess.Popen", full)
    for _ in range(2):
        with pytest.raises(TransientError, match="could not be started"):
            runs.start("decay", run_id="decay-2026-11-23")
    assert runs.runs() == []


def test_a_second_run_of_a_flow_that_goes_on_is_refused_with_the_first_ones_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class AtWork:
        """A process that does not end."""

        returncode = None

        def __init__(self, *words: object, **given: object) -> None: ...

        def poll(self) -> None: ...

    monkeypatch.setattr("slowwave.interfaces.http.runs.subprocess.Popen", AtWork)
    with serving(tmp_path / "home") as client:
        first = client.post("/v1/memory/reindex", json={}).json()["run_id"]
        second = client.post("/v1/memory/reindex", json={})
        assert (second.status_code, second.headers["retry-after"]) == (503, "5")
        assert first in second.json()["detail"]
        assert client.post("/v1/memory/reindex", json={"run_id": first}).json()["run_id"] == first
        assert client.post("/v1/memory/reindex", json={"clear_existing": False}).status_code == 202
        assert get(client, "/v1/runs")["total"] == 2


def test_lists_go_on_where_the_cursor_says(served: httpx.Client):
    for place in range(3):
        said(served, f"Number {place} of the harbour sheds is painted green.")
    seen, cursor = [], ""
    while True:
        page = get(served, "/v1/cells", limit=2, cursor=cursor)
        seen += [cell["cell_id"] for cell in page["entries"]]  # type: ignore[attr-defined]
        cursor = str(page["next_cursor"])
        if not cursor:
            break
    assert len(seen) == len(set(seen)) == page["total"]
    assert served.get("/v1/cells", params={"cursor": "nonsense"}).status_code == 422
    assert served.get("/v1/weak", params={"cursor": "nonsense"}).status_code == 422


@pytest.mark.parametrize(
    "cell_id", ["../../key", "..%2f..%2fserver%2fkey", "%2e%2e/key", "a" * 500, "x'; DROP TABLE", "abc", "%00abcdef",
                "abcdef/../../..", "*", "abcdef%20OR%201=1"]
)  # fmt: skip
@pytest.mark.parametrize("operation", ["", "/explanation", "/forget"])
def test_an_id_from_outside_is_never_a_path_or_a_condition(
    served: httpx.Client, cell_id: str, operation: str
):
    method = "POST" if operation == "/forget" else "GET"
    request = served.build_request(method, "/v1/cells/x", json={} if method == "POST" else None)
    request.url = request.url.copy_with(
        raw_path=f"/v1/cells/{cell_id}{operation}".replace(" ", "%20").encode()
    )
    answer = served.send(request)
    assert answer.status_code in (404, 422, 405), answer.text
    assert "root:" not in answer.text


def test_what_is_of_another_owner_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "home"
    with monkeypatch.context() as other:
        other.setenv("SLOWWAVE_OWNER__USER_ID", "somebody")
        with Memory(home) as memory:
            cell_id = memory.remember("Noor hides the ledger in the piano.", entities=["Noor"]).cell_id
    with serving(home) as client:
        assert client.get(f"/v1/cells/{cell_id}").status_code == 404
        for operation, body in (("forget", {}), ("confirm", {}), ("erase", {}), ("correct", {"text": "No."})):
            answer = client.post(f"/v1/cells/{cell_id}/{operation}", json=body)
            assert answer.status_code == 404, answer.text
        for asked in ({}, {"scope": "user-private"}, {"scope": "system"}, {"project": "default"}):
            found = client.post("/v1/search", json={"query": "Where is Noor's ledger?", **asked})
            assert found.status_code == 200
            assert "piano" not in found.text
        assert get(client, "/v1/cells")["total"] == 0
        assert client.post("/v1/usage/cite", json={"cell_ids": [cell_id]}).status_code == 404
    with monkeypatch.context() as other:
        other.setenv("SLOWWAVE_OWNER__USER_ID", "somebody")
        with Memory(home) as memory:
            assert memory.cell(cell_id).content == "Noor hides the ledger in the piano."


def test_what_was_shown_and_not_cited_is_ignored_at_the_end(served: httpx.Client):
    cell_id = said(served, "The lighthouse keeper of Tahkuna collects stamps.", entities=["Tahkuna"])
    context = post(served, "/v1/context/assemble", question="Tahkuna", small=True, conversation_id="talk-9")
    assert cell_id in str(context["lines"])
    assert cell_id in str(post(served, "/v1/usage/settle", conversation_id="talk-9")["cell_ids"])
    assert post(served, "/v1/usage/ignore", cell_ids=[cell_id], context="talk-9")["cell_ids"] == [cell_id]


def test_the_description_is_whole(served: httpx.Client):
    found = get(served, "/openapi.json")
    paths = found["paths"]
    assert isinstance(paths, dict)
    for path, operations in paths.items():
        for operation in operations.values():
            assert operation["summary"], path
            assert ("security" in operation) == (not path.startswith("/health")), path
            if not path.startswith("/health"):
                assert "application/problem+json" in operation["responses"]["default"]["content"], path


def test_the_page_of_the_server_names_every_route(served: httpx.Client):
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    paths = get(served, "/openapi.json")["paths"]
    assert [path for path in paths if f"{path}`" not in page and not path.startswith("/hooks")] == []  # type: ignore[attr-defined]
