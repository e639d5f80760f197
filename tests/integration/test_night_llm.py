"""The night's path through a language model over real HTTP: what fails, what waits, what it costs, what it repeats."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.decay import decay
from flows.extract import extract
from flows.ingest import ingest
from flows.nightly import STAGES, nightly
from flows.promote import promote
from slowwave import Memory
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.schemas.report import NightReport, StageReport
from tests.scripted_model import (
    Failing,
    ScriptedModel,
    assert_no_row_twice,
    memory,
    segments,
    store_of,
    tables,
    write_settings,
)
from tests.servers import (
    OVERLOADED,
    Body,
    Fault,
    OllamaServer,
    OpenAIServer,
    ScriptedServer,
    answer_name,
    user_text,
)

pytestmark = pytest.mark.nights

CHAT = "/v1/chat/completions"
SAMPLES = Path(__file__).resolve().parents[2] / "data" / "samples"
DONE = {"extracted", "gated_out"}


def model_of(server: ScriptedServer, **more: object) -> dict[str, object]:
    """Settings of the language model that a server plays."""
    provider = "ollama" if isinstance(server, OllamaServer) else "openai"
    assert isinstance(server, OllamaServer | OpenAIServer)
    quick = {"context_tokens": 16384, **more}
    return {"provider": provider, "base_url": server.url, "api_key": "k", "model": "m", **quick}


def make_home(folder: Path, server: ScriptedServer, *, llm: dict[str, object] | None = None, **groups) -> str:
    """A home without embedder and without pauses between its nights, unless told otherwise."""
    settings = {
        "embedding": {"provider": "none"},
        "night": {"min_hours": 0},
        "chunks": {"window_tokens": 60, "overlap_tokens": 0},
    }
    return write_settings(folder, llm=model_of(server, **(llm or {})), **{**settings, **groups})


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a server, and the next night tries again what failed."""
    monkeypatch.setattr("slowwave.models.exchange.FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr("tasks.tries.BACKOFF", timedelta(0))


def write_sessions(folder: Path, count: int) -> str:
    """One file of short sessions, one chunk each: a statement, and every fourth time only chatter."""
    records = []
    for number in range(count):
        time = f"2026-{1 + number // 28:02}-{1 + number % 28:02}T09:00:00Z"
        said = (
            f"The port of the machine{number} service is {5000 + number}." if number % 4 else "thanks a lot"
        )
        mine = {"session_id": f"session-{number:03}", "timestamp": time}
        records.append({**mine, "id": "1", "role": "user", "speaker": "Mara", "content": said})
        records.append({**mine, "id": "2", "role": "assistant", "speaker": "assistant", "content": "ok"})
    folder.mkdir(exist_ok=True)
    path = folder / "sessions.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def chunks_by_status(home: str) -> dict[str, int]:
    return dict(store_of(home).rows("chunks").group_by("status").len().iter_rows())


def stage_of(report: NightReport, name: str) -> StageReport:
    return next(stage for stage in report.stages if stage.stage == name)


def sleep(home: str, sources: str, *, force: bool = True) -> NightReport:
    return nightly.fn(home=home, sources=[sources], force=force)


class DecidingModel(ScriptedModel):
    """Calls a sentence with "decided" or "decision" in it a decision."""

    def extract(self, page: str) -> dict[str, Any]:
        answer = super().extract(page)
        for cell in answer["cells"]:
            if "deci" in cell["content"]:
                cell["cell_type"] = "decision"
        return answer


def test_a_night_over_the_sample_transcripts_settles_every_chunk_and_counts_every_call(tmp_path):
    with OllamaServer(DecidingModel(), models={"m": {}}) as server:
        home = make_home(tmp_path / "home", server, chunks={}, embedding={"provider": "wordllama"})
        report = sleep(home, str(SAMPLES))
        chunks = store_of(home).rows("chunks")
        assert set(chunks["status"]) <= DONE
        assert chunks.height == stage_of(report, "ingest").counts["chunk.cut"]
        assert report.ledger.total.call_count == len(server.bodies(CHAT)) > chunks.height
        assert report.ledger.total.output_tokens == 10 * len(server.bodies(CHAT))
        every = store_of(home).rows("cells")
        assert every["index_label"].null_count() == 0
        assert not every.filter(
            pl.col("compressed").str.ends_with("...") & (pl.col("cell_type") != "episode")
        ).height
        cells = every.filter(pl.col("cell_type") != "episode")
        told = every.filter(pl.col("cell_type") == "episode")
        assert told["prompt_version"].unique().to_list() == ["write_episode.v2"]
        assert cells["prompt_version"].unique().to_list() == ["extract_cells.v6"]
        assert cells["is_judged"].all()
        assert cells["topic_id"].null_count() == 0
        night = store_of(home).rows("nights").row(0, named=True)
        assert (night["call_count"], night["outcome"]) == (len(server.bodies(CHAT)), "completed")
        told_to_all = (Path(home) / "MEMORY.md").read_text(encoding="utf-8")
        assert told_to_all.count("\n- ") > 0
    said = cells.filter(pl.col("origin") == "user")  # no other may stand in core memory
    left_out = said.join(store_of(home).rows("core"), on="cell_id", how="anti").sort("cell_id")
    write_settings(Path(home), embedding={"provider": "wordllama"})
    promote.fn(home=home)
    assert (Path(home) / "MEMORY.md").read_text(encoding="utf-8") == told_to_all, (
        "a model chose, and nothing is new"
    )
    Memory(home).cite(left_out["cell_id"].to_list())
    decay.fn(home=home)
    promote.fn(home=home)
    entered = left_out.join(store_of(home).rows("core", ["cell_id"]), on="cell_id", how="semi")
    assert entered["cell_type"].unique().to_list() == ["decision"], "used since, and no model weighs facts"


def test_with_every_fifth_call_failing_every_chunk_ends_in_a_counted_state_with_its_reason(tmp_path):
    failing = Failing(ScriptedModel())
    with OpenAIServer(failing) as server:
        llm = {"timeout_seconds": 10, "transport_retries": 0, "validation_retries": 0}
        home = make_home(tmp_path / "home", server, llm=llm)
        sources = write_sessions(tmp_path / "chats", 48)
        report = sleep(home, sources)
        assert set(failing.spoilt) == set(Failing.WAYS), "the test must meet every way to fail"
        chunks = store_of(home).rows("chunks")
        states = chunks_by_status(home)
        assert sum(states.values()) == chunks.height == stage_of(report, "ingest").counts["chunk.cut"] == 48
        spoilt = sum(failing.spoilt_of.get(name, 0) for name in ("GateAnswer", "ExtractAnswer"))
        assert states["extracted"] >= 36 - spoilt, "a call that goes wrong costs its own chunk and no other"
        assert set(states) <= {"extracted", "gated_out", "failed", "pending"}
        told = chunks.filter(pl.col("status") == "failed")
        assert told["error"].null_count() == 0
        assert told["attempts"].to_list() == [1] * told.height
        waiting = chunks.filter(pl.col("status") == "pending")
        assert waiting["attempts"].sum() == 0, "what can pass is no attempt"
        assert told.height > 0
        assert waiting.height > 0
        rejected = stage_of(report, "extract").rejected
        refused = sum(n for reason, n in rejected.items() if reason.startswith("unusable answer"))
        assert refused == told.height
        assert rejected.get("language model away", 0) == waiting.height
        assert report.ledger.total.call_count == len(server.bodies(CHAT))
        assert_no_row_twice(home)

        server.answer = failing.model
        sleep(home, sources)
        assert set(chunks_by_status(home)) == DONE
        clean = make_home(tmp_path / "clean", server)
        sleep(clean, sources)
        found, wanted = memory(home), memory(clean)
        columns = ["cell_id", "status", "content", "value", "evidence", "is_judged"]
        assert found["cells"].select(columns).equals(wanted["cells"].select(columns))
        assert found["contradictions"].equals(wanted["contradictions"])


def test_an_outage_costs_no_attempt_and_the_next_night_completes_without_force(tmp_path):
    with OpenAIServer(lambda body: OVERLOADED) as server:
        home = make_home(tmp_path / "home", server, llm={"transport_retries": 1}, night={})
        sources = write_sessions(tmp_path / "chats", 24)
        report = sleep(home, sources, force=False)
        chunks = store_of(home).rows("chunks")
        assert chunks_by_status(home) == {"pending": 24}
        assert chunks["attempts"].sum() == 0
        assert chunks["error"].drop_nulls().is_empty()
        assert store_of(home).count("cells") == 0
        assert stage_of(report, "extract").rejected == {"language model away": 24}
        assert any("503" in note for note in stage_of(report, "extract").notes)
        assert report.ledger.total.call_count == len(server.bodies(CHAT)) < 24, "an outage is noticed early"
        server.answer = ScriptedModel()
        sleep(home, sources, force=False)
        assert set(chunks_by_status(home)) == DONE
        nights = store_of(home).rows("nights").sort("finished_at")
        assert nights["outcome"].to_list() == ["stopped", "completed"]


def test_a_chunk_that_always_fails_is_quarantined_and_blocks_nothing_and_a_release_gives_it_another_try(
    tmp_path,
):
    model = ScriptedModel()

    def stubborn(body: Body) -> str | Fault:
        is_cursed = answer_name(body) == "ExtractAnswer" and "machine5 " in user_text(body)
        return '{"cells": "all of them"}' if is_cursed else model(body)

    with OpenAIServer(stubborn) as server:
        home = make_home(tmp_path / "home", server, llm={"validation_retries": 0})
        sources = write_sessions(tmp_path / "chats", 8)
        states = []
        for _ in range(4):
            sleep(home, sources, force=False)
            cursed = store_of(home).rows("chunks").filter(~pl.col("status").is_in(["extracted", "gated_out"]))
            assert cursed.height == 1, "the others are not blocked"
            states.append((cursed["status"][0], cursed["attempts"][0]))
        assert states == [("failed", 1), ("failed", 2), ("quarantined", 3), ("quarantined", 3)]
        assert "ExtractAnswer" in cursed["error"][0]
        asked = len(server.bodies(CHAT))
        report = sleep(home, sources)
        assert stage_of(report, "extract").rejected == {}
        assert (
            len([body for body in server.bodies(CHAT)[asked:] if answer_name(body) == "ExtractAnswer"]) == 0
        )

        server.answer = model
        with open_workspace(home) as workspace:
            freed = encode("chunk.released", cursed.select("chunk_id"))
            workspace.home.journal.commit(freed, now=cursed["recorded_at"][0])
        sleep(home, sources, force=False)
        chunk = store_of(home).by_key("chunks", cursed["chunk_id"]).row(0, named=True)
        assert (chunk["status"], chunk["attempts"], chunk["error"]) == ("extracted", 0, None)
        assert "5005" in store_of(home).rows("cells")["value"].to_list()


def test_a_failed_chunk_waits_for_its_pause(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.tries.BACKOFF", timedelta(hours=20))
    model = ScriptedModel()
    with OpenAIServer(lambda body: "[]" if answer_name(body) == "ExtractAnswer" else model(body)) as server:
        home = make_home(tmp_path / "home", server, llm={"validation_retries": 0})
        sources = write_sessions(tmp_path / "chats", 2)
        sleep(home, sources)
        chunk = store_of(home).rows("chunks").filter(pl.col("status") == "failed").row(0, named=True)
        sleep(home, sources)
        again = store_of(home).by_key("chunks", [chunk["chunk_id"]]).row(0, named=True)
        assert again == chunk


def test_a_spent_budget_stops_politely_and_the_following_nights_go_on(tmp_path, monkeypatch):
    with OpenAIServer(ScriptedModel()) as server:
        llm = {"budget_tokens": 1500, "concurrency": 1}
        night = {"min_hours": 0}
        monkeypatch.setattr("tasks.extract.extract.PAGES_A_ROUND", 4)
        home = make_home(tmp_path / "home", server, llm=llm, night=night)
        sources = write_sessions(tmp_path / "chats", 20)
        report = sleep(home, sources, force=False)
        assert report.ledger.total.input_tokens + report.ledger.total.output_tokens <= 1500 + 110
        extracted = stage_of(report, "extract")
        assert "the budget of this run is spent; what is left stays pending" in extracted.notes
        assert extracted.rejected["budget spent"] > 0
        chunks = store_of(home).rows("chunks")
        assert chunks.height == 20
        assert set(chunks["status"]) == {"pending", *DONE}
        assert chunks["attempts"].sum() == 0
        waiting = [chunks.filter(pl.col("status") == "pending").height]
        while report.change_count:
            report = sleep(home, sources, force=False)
            assert report.ledger.total.input_tokens + report.ledger.total.output_tokens <= 1500 + 110
            waiting.append(chunks_by_status(home).get("pending", 0))
            assert len(waiting) < 10
        assert waiting == sorted(waiting, reverse=True)
        assert waiting[-1] == 0
        unlimited = make_home(tmp_path / "unlimited", server)
        sleep(unlimited, sources)
        assert memory(home)["cells"].equals(memory(unlimited)["cells"])


def test_raw_memories_retire_when_their_chunks_are_extracted(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        home = make_home(
            tmp_path / "home", server, llm={"provider": "none"}, embedding={"provider": "wordllama"}
        )
        sources = write_sessions(tmp_path / "chats", 12)
        sleep(home, sources)
        raw = store_of(home).rows("cells")
        assert raw["prompt_version"].unique().to_list() == ["raw"]
        assert raw.filter(pl.col("content").str.contains("machine"))["status"].unique().to_list() == [
            "active"
        ]
        assert server.requests == []
        make_home(tmp_path / "home", server, embedding={"provider": "wordllama"})
        sleep(home, sources, force=False)
        cells = store_of(home).rows("cells")
        serving_now = cells.filter(pl.col("status") == "active")
        assert serving_now["prompt_version"].unique().to_list() == ["extract_cells.v6"]
        assert sorted(serving_now["value"]) == [str(5000 + number) for number in range(12) if number % 4]
        assert set(cells.filter(pl.col("prompt_version") == "raw")["status"]) == {"superseded"}
        fresh = make_home(tmp_path / "fresh", server, embedding={"provider": "wordllama"})
        sleep(fresh, sources)
        wanted = memory(fresh)["cells"].select("cell_id", "status", "value")
        assert serving_now.select("cell_id", "status", "value").sort("cell_id").equals(wanted)
        asked = len(server.bodies(CHAT))
        sleep(home, sources, force=False)
        assert len(server.bodies(CHAT)) == asked, "nothing is asked again about memories that retired"


def test_another_night_over_the_same_data_makes_no_call_and_no_change_though_it_is_forced(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        home = make_home(tmp_path / "home", server, embedding={"provider": "wordllama"})
        sources = write_sessions(tmp_path / "chats", 12)
        sleep(home, sources)
        asked, before, rows = len(server.requests), segments(home), tables(home)
        for force in (False, True):
            report = sleep(home, sources, force=force)
            assert len(server.requests) == asked
            assert report.change_count == 0
            assert segments(home) == before
            assert all(tables(home)[table].equals(rows[table]) for table in rows)
        assert len(report.stages) == len(STAGES) + 2


def test_the_gate_opens_after_enough_hours_for_something_new_or_by_force(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        home = make_home(tmp_path / "home", server, night={"min_hours": 20})
        sources = write_sessions(tmp_path / "chats", 0)
        report = sleep(home, sources, force=False)
        assert "no chunk and no memory is new" in report.notes[-1]
        assert [stage.stage for stage in report.stages] == ["ingest", "decay", "forget", "promote", "upkeep"]
        assert server.requests == []
        assert store_of(home).rows("nights")["outcome"].to_list() == ["gated"]

        write_sessions(tmp_path / "chats", 4)
        report = sleep(home, sources, force=False)
        assert {"extract", "cluster", "reconcile", "consolidate", "promote"} <= {
            s.stage for s in report.stages
        }
        asked = len(server.requests)
        assert asked > 0

        write_sessions(tmp_path / "chats", 12)
        report = sleep(home, sources, force=False)
        assert "less than 20 hours ago" in report.notes[-1]
        assert len(server.requests) == asked
        assert chunks_by_status(home)["pending"] == 8

        sleep(home, sources, force=True)
        assert set(chunks_by_status(home)) == DONE


def test_summaries_that_an_outage_left_unwritten_open_the_gate_of_the_next_night(tmp_path):
    model = ScriptedModel()
    with OpenAIServer(
        lambda body: OVERLOADED if answer_name(body) == "SummaryAnswer" else model(body)
    ) as server:
        night = {"min_hours": 0}
        summaries = {"min_unsummarized": 1}
        home = make_home(
            tmp_path / "home", server, llm={"transport_retries": 0}, night=night, summaries=summaries
        )
        sources = write_sessions(tmp_path / "chats", 4)
        sleep(home, sources, force=False)
        assert tables(home)["topics"]["summary"].drop_nulls().is_empty()
        server.answer = model
        sleep(home, sources, force=False)
        assert tables(home)["topics"]["summary"].null_count() == 0
        asked = len(server.requests)
        sleep(home, sources, force=False)
        assert len(server.requests) == asked


def test_a_dry_run_asks_and_shows_and_the_real_run_pays_only_for_pages_that_others_precede(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        home = make_home(tmp_path / "home", server)
        ingest.fn(sources=[write_sessions(tmp_path / "chats", 8)], home=home)
        before, rows = segments(home), tables(home)
        would = extract.fn(home=home, dry_run=True)
        assert would.counts["cell.extracted"] == 6
        assert segments(home) == before
        assert all(tables(home)[table].equals(rows[table]) for table in rows)
        asked = len(server.bodies(CHAT))
        assert asked == 13, (
            "the gate about seven different sessions, the extractor about the six that it lets pass"
        )
        made = extract.fn(home=home)
        assert made.counts == would.counts
        assert len(server.bodies(CHAT)) == asked + 5, (
            "the first page has nothing before it: its answer is kept"
        )
