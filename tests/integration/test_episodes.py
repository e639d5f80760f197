"""The compress stage over real homes: told once, told again, by a scripted model and without one."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from flows.compress import compress
from flows.nightly import nightly
from flows.rebuild import rebuild
from slowwave.edits.quarantine import list_chunks, release_chunks
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.journal.segments import Journal
from slowwave.memory import Memory
from slowwave.schemas.results import Cell
from slowwave.schemas.tables import OWNER
from slowwave.store import col, lit
from tests.rows import row, rows
from tests.scripted_model import (
    ScriptedModel,
    store_of,
    write_chat,
    write_settings,
)
from tests.servers import Body, Fault, OpenAIServer, answer_name, user_text

pytestmark = pytest.mark.nights

TALK = [
    (
        "2026-06-02T09:00:00Z",
        "Mara",
        "The port of the staging database is 5433. I put it into config/db.toml.",
    ),
    (
        "2026-06-02T09:01:00Z",
        "assistant",
        "The staging database answers on the port 5433, see commit 4f1c9ab.",
    ),
    ("2026-06-02T09:02:00Z", "Mara", "The owner of the staging database is Jonas. He tests it on Friday."),
    ("2026-06-02T09:03:00Z", "assistant", "Noted, the staging database belongs to Jonas."),
]
LATER = [
    ("2026-06-02T15:00:00Z", "Mara", "The port of the staging database is now 6432, because of the pooler."),
    ("2026-06-02T15:01:00Z", "assistant", "The pooler of the staging database listens on 6432 since today."),
]
CHAT = "/v1/chat/completions"
PLAIN = {"embedding": {"provider": "none"}, "night": {"min_hours": 0}}


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a server, and the next night tries again what failed."""
    monkeypatch.setattr("slowwave.models.exchange.FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr("tasks.tries.BACKOFF", timedelta(0))


def episodes(home: str) -> pl.DataFrame:
    return store_of(home).rows("cells", where=col("cell_type") == lit("episode")).sort("source_name")


def model(server: OpenAIServer) -> dict[str, object]:
    quick = {"validation_retries": 0}
    return {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m", **quick}


@pytest.fixture(scope="module")
def told_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home where a night without a model told one conversation of two windows; tests work on copies."""
    folder = tmp_path_factory.mktemp("told")
    home = write_settings(folder / "home", chunks={"window_tokens": 50, "overlap_tokens": 0}, **PLAIN)
    write_chat(folder / "talk", "port", TALK)
    nightly.fn(sources=[str(folder / "talk")], home=home)
    return folder


@pytest.fixture
def plain(told_home: Path, tmp_path: Path) -> str:
    shutil.copytree(told_home, tmp_path, dirs_exist_ok=True)
    return str(tmp_path / "home")


def test_without_a_model_a_conversation_is_told_by_its_central_turns(plain: str, tmp_path: Path):
    told = episodes(plain).row(0, named=True)
    turns = store_of(plain).rows("turns").sort("turn_index")
    assert told["prompt_version"] == "raw"
    assert told["subject"] == "The port of the staging database is 5433."
    assert told["evidence"] == turns["turn_id"].to_list()
    assert (told["valid_from"], told["valid_until"]) == (turns["event_time"][0], turns["event_time"][3])
    assert told["artifacts"] == ["commit:4f1c9ab", "file:config/db.toml"]
    assert told["topic_id"] is None
    assert store_of(plain).rows("episodes").select("status", "turn_count").row(0) == ("written", 4)
    assert compress.fn(home=plain).is_skipped


def test_no_active_memory_lacks_a_short_form_after_a_night(plain: str):
    cells = store_of(plain).rows("cells")
    assert cells.height > 1
    assert cells["index_label"].null_count() == 0


def test_a_conversation_that_grew_is_the_same_episode_told_again(plain: str, tmp_path: Path):
    before = episodes(plain).row(0, named=True)
    write_chat(tmp_path / "talk", "port", [*TALK, *LATER])
    nightly.fn(sources=[str(tmp_path / "talk")], home=plain)
    (after,) = episodes(plain).to_dicts()
    assert after["cell_id"] == before["cell_id"]
    assert len(after["evidence"]) == 6
    assert after["content"] != before["content"]
    kinds = Journal(Path(plain) / "journal").scan().events["kind"].to_list()
    assert kinds.count("episode.written") == 2


def test_an_episode_never_outlives_its_conversation(plain: str):
    told = store_of(plain).rows("cells", where=col("cell_type") == lit("episode"))
    lost = told.with_columns(cell_id=pl.lit("lost"), session_id=pl.lit("no turns"), turn_count=pl.lit(4))
    with open_workspace(plain) as workspace:
        none = pl.lit([], dtype=pl.List(pl.String))
        workspace.commit(encode("episode.written", lost.with_columns(cell_ids=none)), now=datetime.now(UTC))
    assert episodes(plain).height == 2
    assert compress.fn(home=plain).counts["episode.dropped"] == 1
    rebuild.fn(home=plain)
    assert episodes(plain)["cell_id"].to_list() == told["cell_id"].to_list()
    assert store_of(plain).count("episodes") == 1


def test_an_episode_that_a_person_deleted_is_not_told_again(plain: str, tmp_path: Path):
    told = episodes(plain).select(
        "cell_id", *OWNER, "content", "content_hash", "evidence", note=pl.lit("asked for")
    )
    with open_workspace(plain) as workspace:
        workspace.commit(encode("cell.deleted", told), now=datetime.now(UTC))
    write_chat(tmp_path / "talk", "port", [*TALK, *LATER])
    nightly.fn(sources=[str(tmp_path / "talk")], home=plain)
    assert episodes(plain).is_empty()


def test_an_archived_episode_comes_back_when_its_conversation_goes_on(plain: str, tmp_path: Path):
    faded = episodes(plain).select(
        "cell_id", effective_confidence=pl.lit(0.01), reason=pl.lit("faded"), archived_count=pl.lit(1)
    )
    with open_workspace(plain) as workspace:
        workspace.commit(encode("cell.archived", faded), now=datetime.now(UTC))
    write_chat(tmp_path / "talk", "port", [*TALK, *LATER])
    nightly.fn(sources=[str(tmp_path / "talk")], home=plain)
    assert episodes(plain)["status"].to_list() == ["active"]
    assert store_of(plain).rows("cell_usage").sort("revived_count")["revived_count"].to_list()[-1] == 1


def hits(home: str, question: str, **given: object) -> list[Cell]:
    with Memory(home, records_usage=False) as known:
        return known.search(question, **given).cells


def test_search_gives_an_episode_beside_the_cells_and_what_stands_for_it_by_its_age(plain: str):
    told = episodes(plain).row(0, named=True)
    young, old, oldest = (told["event_time"] + timedelta(days=days) for days in (1, 8, 31))
    for now, form in ((young, "content"), (old, "summary"), (oldest, "compressed")):
        found = hits(plain, "staging database port", now=now)
        assert [hit.cell_type for hit in found].count("episode") == 1
        assert found[0].cell_type != "episode"
        (episode,) = (hit for hit in found if hit.cell_type == "episode")
        assert (episode.rank.text, episode.content) == (told[form], told["content"])
    why = [hit.cell_type for hit in hits(plain, "why does the staging database use this port")]
    assert why[0] != "episode"
    assert why.count("episode") <= 1
    by_type = hits(plain, "why does the staging database use this port", cell_types=["episode"])
    assert {hit.cell_type for hit in by_type} == {"episode"}


def test_the_turns_of_an_episode_are_not_quoted_under_it(plain: str):
    (episode,) = hits(plain, "staging database port", cell_types=["episode"], detail_level="evidence")
    assert episode.evidence == []
    assert len(episode.turn_ids) == 4


def test_a_past_moment_knows_the_episodes_that_were_over_by_then(plain: str):
    after = {"as_of": "2026-06-20", "cell_types": ["episode"]}
    before = {"as_of": "2026-06-01", "cell_types": ["episode"]}
    assert len(hits(plain, "staging database port", **after)) == 1
    assert hits(plain, "staging database port", **before) == []


def test_a_context_tells_past_conversations_apart_from_what_persons_said(plain: str):
    with Memory(plain, records_usage=False) as known:
        now = episodes(plain)["event_time"][0] + timedelta(days=8)
        found = known.context(now=now)
        (line,) = [line for line in found.lines if line.kind == "episode"]
        assert episodes(plain)["summary"][0].split("\n")[0] in line.text
        assert {tier.name for tier in found.tiers if line in tier.lines} == {"relevant"}
        asked = known.context("port of the staging database", activity="feature", now=now)
        # no model told it: the messages that answer speak for themselves
        assert {line.kind for line in asked.lines if line.turn_ids or line.cell_ids} == {"quote"}
        assert any("The port of the staging database is 5433." in line.text for line in asked.lines)


# With a model


def test_a_model_tells_what_was_told_without_one_and_the_prompt_holds_memories_and_turns(plain: str):
    raw = episodes(plain).row(0, named=True)
    with OpenAIServer(ScriptedModel()) as server:
        write_settings(Path(plain), llm=model(server), **PLAIN)
        nightly.fn(home=plain)
        asked = [user_text(body) for body in server.bodies(CHAT) if answer_name(body) == "EpisodeAnswer"]
    (told,) = episodes(plain).to_dicts()
    assert told["cell_id"] == raw["cell_id"]
    assert told["prompt_version"] == "write_episode.v2"
    assert told["content"].startswith(f"{told['subject']}\n")
    assert "The port of the staging database is 5433." in asked[0].split("## Turns")[0]
    assert raw["summary"] not in asked[0]
    assert "## Turns: 4 of 4" in asked[0]
    with Memory(plain, records_usage=False) as known:
        now = told["event_time"] + timedelta(days=8)
        found = known.context("port of the staging database", activity="feature", now=now)
    (line,) = [line for line in found.lines if line.kind == "episode"]
    assert "(a conversation retold)" in line.text
    assert {tier.name for tier in found.tiers if line in tier.lines} == {"relevant"}


def test_an_episode_whose_memory_was_superseded_is_told_again_with_what_replaced_it(
    plain: str, tmp_path: Path
):
    with OpenAIServer(ScriptedModel()) as server:
        write_settings(Path(plain), llm=model(server), **PLAIN)
        nightly.fn(home=plain)
        other = [
            (time.replace("06-02", "07-01"), speaker, text) for time, speaker, text in [*LATER, *TALK[2:]]
        ]
        write_chat(tmp_path / "later", "pooler", other)
        nightly.fn(sources=[str(tmp_path / "later")], home=plain)
        asked = [user_text(body) for body in server.bodies(CHAT) if answer_name(body) == "EpisodeAnswer"]
    old = next(one for one in episodes(plain).to_dicts() if one["source_name"].startswith("port"))
    assert old["needs_review"] is False
    assert "is now 6432" in old["content"]
    told_again = [page for page in asked if "since replaced by (2026-07-01)" in page]
    assert len(told_again) == 1


def test_a_conversation_that_always_fails_ends_in_quarantine_and_blocks_no_other(tmp_path: Path):
    talk = ScriptedModel()

    def fails_on_one(body: Body) -> str | Fault:
        if answer_name(body) == "EpisodeAnswer" and "5433" in user_text(body):
            return "{}"
        return talk(body)

    with OpenAIServer(fails_on_one) as server:
        home = write_settings(tmp_path / "home", llm=model(server), **PLAIN)
        write_chat(tmp_path / "talk", "port", TALK)
        write_chat(tmp_path / "talk", "pooler", [*LATER, *TALK[2:]])
        nightly.fn(sources=[str(tmp_path / "talk")], home=home)
        for _ in range(3):
            compress.fn(home=home)
        calls = sum(answer_name(body) == "EpisodeAnswer" for body in server.bodies(CHAT))
        assert compress.fn(home=home).is_skipped
    assert episodes(home)["source_name"].to_list() == ["pooler.jsonl"]
    states = dict(store_of(home).rows("episodes", ["status", "attempts"]).iter_rows())
    assert states == {"written": 0, "quarantined": 3}
    assert calls == 1 + 3
    (held,) = list_chunks(open_home(home))
    assert (held.source_name, held.attempts) == ("port.jsonl", 3)
    assert release_chunks(open_home(home), None, now=datetime.now(UTC)) == [held.chunk_id]
    assert list_chunks(open_home(home)) == []
    with OpenAIServer(talk) as server:
        write_settings(Path(home), llm=model(server), **PLAIN)
        compress.fn(home=home)
    assert episodes(home)["source_name"].to_list() == ["pooler.jsonl", "port.jsonl"]


def test_a_workflow_keeps_its_steps_in_search_and_context(tmp_path: Path):
    home = write_settings(tmp_path / "home", **PLAIN)
    steps = ["bump VERSION", "run make check", "tag the release"]
    cells = rows(
        "cells",
        row("cells", "w", cell_type="workflow", subject="a release", content="Ana releases in three steps.",
            steps=steps, user_id="local", project_id="default", evidence=[], entities=[], artifacts=[]),
        row("cells", "p", cell_type="pattern", subject="branches", content="Branches carry the ticket of a release.",
            template="inv-<ticket>", user_id="local", project_id="default", evidence=[], entities=[], artifacts=[]),
    )  # fmt: skip
    with open_workspace(home) as workspace:
        workspace.commit(encode("cell.extracted", cells), now=datetime.now(UTC))
        workspace.store.index_new_rows("cells")
    found = {hit.cell_type: hit for hit in hits(home, "release")}
    assert found["workflow"].steps == steps
    assert found["pattern"].template == "inv-<ticket>"
    with Memory(home, records_usage=False) as known:
        text = known.context("release").text
    assert "how to a release: bump VERSION; run make check; tag the release" in text
    assert "branches: inv-<ticket>" in text
