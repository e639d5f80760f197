"""What a home believes after nights with a language model: a small written conversation set, real HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from flows.extract import extract
from flows.ingest import ingest
from flows.nightly import nightly
from flows.reconcile import reconcile
from slowwave.memory import Memory
from slowwave.schemas.report import NightReport
from slowwave.store import col, lit
from tests.scripted_model import (
    ScriptedModel,
    assert_no_row_twice,
    items,
    store_of,
    tables,
    write_chat,
    write_settings,
)
from tests.servers import Body, OpenAIServer, answer_name, user_text

pytestmark = pytest.mark.nights

RATE = "The rate limit of the departures endpoint is"
PORT = "port of the staging database is"


class Night:
    """A home beside its scripted server, and the folder that its nights take in."""

    def __init__(self, folder: Path, server: OpenAIServer, **groups: dict[str, object]) -> None:
        self.folder = folder / "chats"
        self.server = server
        llm = {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"}
        self.home = write_settings(
            folder / "home", **{"llm": llm, "embedding": {"provider": "wordllama"}, **groups}
        )

    def say(self, session: str, *turns: tuple[str, str, str]) -> None:
        write_chat(self.folder, session, turns)

    def sleep(self) -> NightReport:
        return nightly.fn(home=self.home, sources=[str(self.folder)], force=True)

    def cells(self, status: str | None = None) -> pl.DataFrame:
        cells = store_of(self.home).rows("cells").sort("valid_from", "cell_id")
        return cells if status is None else cells.filter(pl.col("status") == status)

    def found(self, text: str) -> list[str]:
        """What search can find: contents of active memories that match the words."""
        store = store_of(self.home)
        near = store.matching("cells", [text], 20, where=col("status") == lit("active"))
        return store.by_key("cells", near["cell_id"])["content"].to_list()

    def contradictions(self) -> pl.DataFrame:
        return tables(self.home)["contradictions"]


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    with OpenAIServer(ScriptedModel()) as server:
        yield Night(tmp_path, server)


def say_three_rates(night: Night) -> None:
    night.say("june", ("2026-06-05T09:00:00Z", "Mara", f"{RATE} 100 requests per minute."))
    night.say("july", ("2026-07-08T09:00:00Z", "Mara", f"{RATE} now 250 requests per minute."))
    night.say("august", ("2026-08-19T09:00:00Z", "Priya", f"{RATE} now 180 requests per minute."))


def assert_rate_is_settled(night: Night) -> None:
    cells = night.cells()
    assert cells["value"].to_list() == [
        "100 requests per minute",
        "250 requests per minute",
        "180 requests per minute",
    ]
    assert cells["status"].to_list() == ["superseded", "superseded", "active"]
    _, second, third = cells["cell_id"]
    assert cells["superseded_by"].to_list() == [second, third, None]
    assert cells["supersedes"][2] == second
    assert Memory(night.home).explain(third).summary == (
        "now 180 requests per minute; previously 250 requests per minute (until 2026-08-19),"
        " 100 requests per minute (until 2026-07-08)"
    )
    assert cells["valid_until"].dt.strftime("%Y-%m-%d").to_list() == ["2026-07-08", "2026-08-19", None]
    assert night.contradictions().is_empty()
    assert night.found("rate limit of the departures endpoint") == [cells["content"][2]]
    assert_no_row_twice(night.home)


def test_a_value_that_changed_twice_in_one_night_shows_its_latest_state_and_its_timeline(night):
    say_three_rates(night)
    night.sleep()
    assert_rate_is_settled(night)


def test_a_correction_leaves_no_active_memory_of_the_wrong_value(night):
    night.say("june", ("2026-06-11T09:00:00Z", "Mara", f"The {PORT} 5433."))
    night.sleep()
    night.say("july", ("2026-07-14T09:00:00Z", "Mara", f"Correction: the {PORT} 6432."))
    night.sleep()
    wrong, right = night.cells().to_dicts()
    assert (wrong["value"], wrong["status"], wrong["superseded_by"]) == (
        "5433",
        "superseded",
        right["cell_id"],
    )
    assert wrong["valid_until"] == wrong["valid_from"], "a corrected value never held"
    assert (right["value"], right["status"], right["summary"]) == ("6432", "active", None)
    assert not [text for text in night.found("port of the staging database") if "5433" in text]


def test_a_fact_said_again_in_other_words_and_word_for_word_is_one_memory_with_confirmations(night):
    night.say("june", ("2026-06-05T09:00:00Z", "Mara", "The length of a seat hold is 12 minutes."))
    night.sleep()
    night.say("july", ("2026-07-05T09:00:00Z", "Jonas", "Remember, the length of a seat hold is 12 minutes."))
    night.sleep()
    night.say("august", ("2026-08-05T09:00:00Z", "Priya", "The length of a seat hold is 12 minutes."))
    night.sleep()
    active = night.cells("active")
    assert active["content"].to_list() == ["The length of a seat hold is 12 minutes."]
    cell_usage = store_of(night.home).by_key("cell_usage", active["cell_id"])
    assert cell_usage["confirmations"].to_list() == [2]
    turns = store_of(night.home).rows("turns")["turn_id"].sort().to_list()
    assert active["evidence"].to_list() == [turns], "provenance joins"
    assert set(night.cells("superseded")["superseded_by"]) == {active["cell_id"][0]}


def test_an_extractor_that_sees_a_known_memory_confirms_it_without_making_another(tmp_path):
    with OpenAIServer(ScriptedModel(uses_known=True)) as server:
        night = Night(tmp_path, server)
        night.say("june", ("2026-06-05T09:00:00Z", "Mara", "The length of a seat hold is 12 minutes."))
        night.sleep()
        night.say("july", ("2026-07-05T09:00:00Z", "Jonas", "So, the length of a seat hold is 12 minutes."))
        report = night.sleep()
        assert (
            next(stage for stage in report.stages if stage.stage == "extract").counts["cell.confirmed"] == 1
        )
        cells = night.cells()
        assert cells.height == 1
        assert store_of(night.home).by_key("cell_usage", cells["cell_id"])["confirmations"].to_list() == [1]
        assert len(cells["evidence"][0]) == 2


def test_two_voices_that_disagree_stay_both_and_the_contradiction_stays_open(night):
    weekday = "the weekday of the settlement job is"
    night.say("june", ("2026-06-16T09:00:00Z", "Priya", f"According to Priya {weekday} Tuesday."))
    night.say("july", ("2026-07-14T09:00:00Z", "Tobias", f"According to Tobias {weekday} Thursday."))
    night.sleep()
    older, newer = night.cells().to_dicts()
    assert [older["status"], newer["status"]] == ["active", "active"]
    contradiction = night.contradictions().row(0, named=True)
    assert night.contradictions().height == 1
    assert (contradiction["cell_a"], contradiction["cell_b"]) == (older["cell_id"], newer["cell_id"])
    assert (contradiction["status"], contradiction["resolution"]) == ("open", None)
    night.sleep()
    assert night.contradictions().height == 1


QUEUES = (
    "The visibility timeout of the settlement queue is 900 seconds.",
    "The visibility timeout of the notify queue is 45 seconds.",
)


def test_a_file_that_anybody_may_have_written_never_retires_what_a_person_said(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        night = Night(tmp_path, server)
        night.say("june", ("2026-06-11T09:00:00Z", "Mara", f"The {PORT} 6432."))
        night.sleep()
        (night.folder / "notes.md").write_text(f"# Notes\n\nKnown: the {PORT} now 1111.\n", encoding="utf-8")
        night.sleep()
        said = night.cells().filter(pl.col("value") == "6432")
        assert said["status"].to_list() == ["active"]
        assert night.contradictions()["status"].to_list() == ["open"]
        assert "less trusted" in night.contradictions()["note"][0]


def test_the_memories_of_two_owners_in_one_home_never_meet(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        first = Night(tmp_path, server, owner={"user_id": "mara"})
        first.say("june", ("2026-06-05T09:00:00Z", "Mara", f"{RATE} 100 requests per minute."))
        first.sleep()
        other = Night(tmp_path, server, owner={"user_id": "jonas"})
        other.folder = tmp_path / "other"
        other.say("july", ("2026-07-08T09:00:00Z", "Jonas", f"{RATE} 250 requests per minute."))
        other.say("august", ("2026-08-08T09:00:00Z", "Jonas", f"{RATE} 100 requests per minute."))
        other.sleep()
        cells = other.cells().sort("event_time")
        assert cells["user_id"].to_list() == ["mara", "jonas", "jonas"]
        assert cells["status"].to_list() == ["active", "superseded", "active"]
        assert store_of(other.home).rows("cell_usage")["confirmations"].sum() == 0, (
            "nobody confirms for another"
        )
        owners = cells.group_by("topic_id").agg(pl.col("user_id").n_unique())
        assert owners["user_id"].to_list() == [1, 1]
        topics = store_of(other.home).rows("topics").join(cells.unique("topic_id"), on="topic_id")
        assert topics["user_id"].to_list() == topics["user_id_right"].to_list()
        shown = [user_text(body) for body in server.bodies("/v1/chat/completions")]
        assert not [page for page in shown if "[1]" in page and "Mara" in page and "Jonas" in page]


def test_pairs_noted_while_there_was_no_judge_are_judged_once_and_not_every_night(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        night = Night(tmp_path, server)
        night.say("june", ("2026-06-16T09:00:00Z", "Priya", QUEUES[0]))
        night.say("july", ("2026-07-16T09:00:00Z", "Priya", QUEUES[1]))
        ingest.fn(sources=[str(night.folder)], home=night.home)
        extract.fn(home=night.home)
        Night(tmp_path, server, llm={"provider": "none"})
        reconcile.fn(home=night.home)
        noted = tables(night.home)["judgements"]
        assert noted["verdict"].to_list() == ["unjudged"]

        Night(tmp_path, server)
        asked = len(server.requests)
        assert reconcile.fn(home=night.home).ledger.total.call_count == 1
        judged = tables(night.home)["judgements"]
        assert judged["verdict"].to_list() == ["keep"]
        assert judged["judgement_id"].to_list() == noted["judgement_id"].to_list()
        assert reconcile.fn(home=night.home).is_skipped
        assert len(server.requests) == asked + 1


def pages_of(server: OpenAIServer) -> list[str]:
    """The pages that the extractor was asked about, in order."""
    asked = server.bodies("/v1/chat/completions")
    return [user_text(body) for body in asked if answer_name(body) == "ExtractAnswer"]


def test_a_page_is_shown_what_was_before_it_and_nothing_that_came_later(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        night = Night(tmp_path, server)
        night.say("august", ("2026-08-05T09:00:00Z", "Mara", f"{RATE} 100 requests per minute."))
        night.say("july", ("2026-07-05T09:00:00Z", "Mara", f"{RATE} 250 requests per minute."))
        night.sleep()
        july, august = pages_of(server)
        assert "## Known memories\n\nnone\n" in july
        assert f"> {RATE} 250 requests per minute." in august.split("## Turns")[0]
        assert "## Topics\n\n> departures endpoint\n" in august.replace("> the departures", "> departures")

        night.say("june", ("2026-06-05T09:00:00Z", "Mara", f"{RATE} 50 requests per minute."))
        night.sleep()
        june = pages_of(server)[-1]
        assert "50 requests" in june
        assert "## Known memories\n\nnone\n" in june, (
            "a conversation taken in late knows only what was before it"
        )
        assert "## Topics" not in june


def test_a_session_that_grew_is_shown_its_last_turns_as_read_and_what_they_gave(tmp_path, monkeypatch):
    with OpenAIServer(ScriptedModel()) as server:
        monkeypatch.setattr("tasks.extract.known.KNOWN_CELLS", 15)
        night = Night(tmp_path, server)
        said = [
            (f"2026-06-05T09:{n:02}:00Z", "Mara", f"The port of machine{n} is {5000 + n}.") for n in range(30)
        ]
        night.say("june", *said[:20])
        night.sleep()
        night.say("june", *said)
        before = len(pages_of(server))
        night.sleep()
        (page,) = pages_of(server)[before:]
        shown = {item.text: item.head.endswith("read before") for item in items(page, "Turns")}
        assert [text for text, is_read in shown.items() if not is_read] == [text for _, _, text in said[20:]]
        assert 1 <= sum(shown.values()) < 20
        known = {item.text for item in items(page, "Known memories")}
        assert {text for text, is_read in shown.items() if is_read} <= known
        earlier = page.split("## Earlier in this conversation")[1].split("##")[0]
        assert "The port of machine" in earlier
        assert not [text for text in known if text in earlier], "nothing is shown twice"
        cells = night.cells().filter(pl.col("cell_type") != "episode")
        assert sorted(cells["content"]) == sorted(text for _, _, text in said)


def test_what_was_read_before_becomes_no_memory_again(tmp_path, monkeypatch):
    model = ScriptedModel()

    def forgetful(body: Body) -> str:
        """A model that takes what was read before for new."""
        said = model.answer(body)
        page = user_text(body)
        if answer_name(body) == "ExtractAnswer" and ", read before" in page:
            old = next(item for item in items(page, "Turns") if item.head.endswith("read before"))
            said["cells"] += [{**said["cells"][0], "content": f"Again: {old.text}", "evidence": [old.number]}]
        return json.dumps(said)

    with OpenAIServer(forgetful) as server:
        monkeypatch.setattr("tasks.extract.extract.PAGE_TOKENS", 50)
        night = Night(tmp_path, server, chunks={"window_tokens": 60, "overlap_tokens": 20})
        said = [
            (f"2026-06-05T09:{n:02}:00Z", "Mara", f"The port of machine{n} is {5000 + n}.") for n in range(12)
        ]
        night.say("june", *said)
        night.sleep()
        assert len(pages_of(server)) > 1
        assert [page for page in pages_of(server) if ", read before" in page]
        cells = night.cells().filter(pl.col("cell_type") != "episode")
        assert not [content for content in cells["content"] if content.startswith("Again")]
        chunks = store_of(night.home).rows("chunks")
        last = chunks.select("chunk_id", turn=pl.col("turn_ids")).explode("turn")
        held = cells.select("chunk_id", turn=pl.col("evidence").list.last())
        assert held.join(last, on=["chunk_id", "turn"], how="anti").is_empty(), (
            "a memory names the chunk that holds it"
        )
