"""The reconcile stage over a real home: older pairs, the cascade, contradictions that end, and a judge that fails."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.reconcile import reconcile
from slowwave.edits.quarantine import list_chunks, release_chunks
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import CATALOGUE, encode, rows_of
from slowwave.memory import Memory
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.moments import unknown_until
from tests.scripted_model import ScriptedModel, items, store_of, write_settings
from tests.servers import Body, OpenAIServer, answer_name, user_text

OWNER = {"user_id": "local", "project_id": "default", "scope": "user-private"}
START = datetime(2026, 6, 1, 9, tzinfo=UTC)
CHAT = "/v1/chat/completions"


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run tries again what failed."""
    monkeypatch.setattr("tasks.tries.BACKOFF", timedelta(0))


class Home:
    """A home beside a scripted server; memories come in as extraction would have committed them."""

    def __init__(self, folder: Path, server: OpenAIServer | None, **groups: dict[str, object]) -> None:
        llm = {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"} if server else {}
        given = {
            "embedding": {"provider": "wordllama"},
            **groups,
        }
        self.server = server
        self.path = write_settings(folder, **({"llm": llm} if llm else {}), **given)

    def learn(self, *cells: dict[str, Any], now: datetime | None = None) -> list[str]:
        """Commits new memories; their ids."""
        with open_workspace(self.path) as workspace:
            events = encode("cell.extracted", rows_of("cell.extracted", list(cells)))
            workspace.commit(events, now=now or datetime.now(UTC))
            workspace.refresh_vectors()
        return [cell["cell_id"] for cell in cells]

    def commit(self, kind: str, *rows: dict[str, object]) -> None:
        with open_workspace(self.path) as workspace:
            workspace.commit(encode(kind, rows_of(kind, list(rows))), now=datetime.now(UTC))

    def rows(self, table: str) -> pl.DataFrame:
        return store_of(self.path).rows(table)

    def cell(self, cell_id: str) -> dict[str, Any]:
        return store_of(self.path).by_key("cells", [cell_id]).row(0, named=True)

    def pages(self, name: str = "ReconcileAnswer") -> list[str]:
        return [user_text(body) for body in self.server.bodies(CHAT) if answer_name(body) == name]


def fact(
    value: str, day: int, *, subject: str = "departures endpoint", attribute: str = "rate limit", **more
) -> dict:
    """A memory in the scripted model's language, said on a day of June 2026."""
    text = more.pop("content", f"The {attribute} of {subject} is {value}.")
    session = more.pop("session_id", f"june-{day}")
    row = {
        **OWNER,
        "cell_id": stable_id("cell", session, content_hash(text)),
        "cell_type": "fact",
        "subject": subject,
        "attribute": attribute,
        "value": value,
        "content": text,
        "content_hash": content_hash(text),
        "salience": 0.7,
        "confidence": 0.9,
        "status": "active",
        "origin": "user",
        "valid_from": START + timedelta(days=day - 1),
        "event_time": START + timedelta(days=day - 1),
        "decay_rate": 0.1,
        "session_id": session,
        "source_type": "conversation",
        "source_id": session,
        "source_name": session,
        "evidence": [f"turn-{session}"],
        "entities": [],
        "artifacts": [],
        "steps": [],
        "prompt_version": "extract_cells.v1",
        "model": "m",
        **dict.fromkeys(("needs_review", "is_judged", "is_summarized", "is_wish", "protected"), False),
        **more,
    }
    return {name: row.get(name) for name in CATALOGUE["cell.extracted"].payload}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with OpenAIServer(ScriptedModel()) as server:
        yield Home(tmp_path / "home", server)


# what is believed does not depend on the order in which it was learned


def beliefs(home: Home) -> tuple[list[str], list[str | None]]:
    """Live values, and their timelines."""
    live = home.rows("cells").filter(pl.col("status") == "active").sort("content")
    memory = Memory(home.path)
    return live["value"].to_list(), [memory.explain(name).summary for name in live["cell_id"]]


AGAIN = (("250", 1), ("now 100", 5), ("now 250", 9))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_a_value_that_came_back_is_believed_with_its_timeline_in_whatever_order_it_was_learned(home, order):
    """All orders, and more values, are the property test's (tests/property/test_chains.py)."""
    for place in order:
        said, day = AGAIN[place]
        content = f"The rate limit of departures endpoint is {said}."
        home.learn(fact(said.removeprefix("now "), day, content=content))
        reconcile.fn(home=home.path)
    assert beliefs(home) == (
        ["250"],
        ["now 250; previously 100 (until 2026-06-09), 250 (until 2026-06-05)"],
    )
    assert_chains_agree(home.rows("cells"))


@pytest.mark.parametrize(("day", "believed"), [(5, ["100", "250"]), (12, ["250"])])
def test_a_value_of_an_unknown_day_gives_way_only_to_one_from_after_its_file_and_takes_no_place(
    home, day, believed
):
    at = unknown_until(START + timedelta(days=9))
    home.learn(fact("250", day), fact("100", 1, valid_from=at, event_time=at, origin="agent"))
    reconcile.fn(home=home.path)
    assert beliefs(home)[0] == believed
    assert home.rows("contradictions")["status"].to_list() == ["open"] * (len(believed) - 1)
    assert "[1] fact, day unknown, said by agent" in home.pages()[0]


def assert_chains_agree(cells: pl.DataFrame) -> None:
    """Statuses and links agree, nothing goes in a circle, and every chain ends in a memory that stands."""
    status = dict(cells.select("cell_id", "status").iter_rows())
    after = dict(cells.drop_nulls("superseded_by").select("cell_id", "superseded_by").iter_rows())
    for cell, follower in after.items():
        assert status[cell] == "superseded", "what something superseded is not live"
        seen = {cell}
        while follower in after:
            assert follower not in seen, "a circle"
            seen.add(follower)
            follower = after[follower]  # noqa: PLW2901 - it walks on
        assert status[follower] == "active"


# pairs that are not asked about


def test_a_pair_that_a_person_settled_is_not_opened_again(home):
    ids = home.learn(fact("100", 1), fact("250", 5))
    doubt = {"contradiction_id": "x", "cell_a": ids[0], "cell_b": ids[1], "note": "which?", **OWNER}
    home.commit("contradiction.opened", doubt)
    home.commit("contradiction.closed", {"contradiction_id": "x", "resolution": "both_valid", "note": "both"})
    reconcile.fn(home=home.path)
    assert [home.cell(cell)["status"] for cell in ids] == ["active", "active"]
    assert home.rows("contradictions")["resolution"].to_list() == ["both_valid"]
    assert home.pages() == [], "and it is not asked about"


# the cascade


def elaborated(home: Home) -> tuple[str, str]:
    """A value, and a memory that says it with more in it; both judged."""
    short = fact("30 days", 1, subject="archive bucket", attribute="retention")
    more = "Objects in the archive bucket are kept for 30 days, as Ilse asked on 2026-05-12."
    long = fact("30 days", 2, subject="archive bucket", attribute="retention", content=more)
    ids = home.learn(short, long)
    pair = {"judgement_id": "j", "cell_id": ids[1], "target_id": ids[0], "verdict": "confirms"}
    home.commit("pair.judged", {**pair, "effect": "elaborated", "reason": "the same", **OWNER})
    home.commit("cell.judged", *({"cell_id": cell} for cell in ids))
    return ids[0], ids[1]


def test_what_says_the_same_as_a_superseded_memory_is_judged_again_in_the_next_run(tmp_path):
    def stubborn(body: Body) -> str:
        """Names the short memory, whatever else speaks of the retention."""
        answer = ScriptedModel().answer(body)
        if answer_name(body) == "ReconcileAnswer":
            shown = items(user_text(body), "Memories")
            first = next((item for item in shown if item.text.startswith("The retention")), None)
            for judged in answer["judgements"]:
                if judged["target"] and first and judged["new"] != first.number:
                    judged["target"] = first.number
        return json.dumps(answer)

    with OpenAIServer(stubborn) as server:
        home = Home(tmp_path / "home", server)
        short, long = elaborated(home)
        (new,) = home.learn(fact("90 days", 9, subject="archive bucket", attribute="retention"))
        reconcile.fn(home=home.path)
        assert home.cell(short)["superseded_by"] == new
        assert home.cell(long)["needs_review"]
        assert home.cell(long)["status"] == "active", "its turn is the next run"
        asked = len(home.pages())
        server.answer = ScriptedModel()
        Home(tmp_path / "home", None)
        report = reconcile.fn(home=home.path)
        assert "without a language model nobody decides" in " ".join(report.notes)
        Home(tmp_path / "home", server)
        reconcile.fn(home=home.path)
        assert "> Objects in the archive bucket are kept for 30 days" in home.pages()[asked]
        assert len(home.pages()) == asked + 1
        assert (home.cell(long)["status"], home.cell(long)["needs_review"]) == ("superseded", False)
        assert home.cell(new)["supersedes"] == long
        assert_chains_agree(home.rows("cells"))


# contradictions end when a side no longer stands


def test_no_open_contradiction_names_a_memory_that_was_superseded(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        home = Home(tmp_path / "home", server)
        voices = [fact("Tuesday", 1, attribute="weekday"), fact("Thursday", 3, attribute="weekday")]
        ids = home.learn(*voices)
        doubt = {"contradiction_id": "x", "cell_a": ids[0], "cell_b": ids[1], "note": "two voices", **OWNER}
        home.commit("contradiction.opened", doubt)
        home.commit("cell.judged", *({"cell_id": cell} for cell in ids))
        (new,) = home.learn(fact("Friday", 9, attribute="weekday"))
        link = {
            "cell_id": ids[0],
            "superseded_by": new,
            "superseded_at": START,
            "valid_until": START + timedelta(days=8),
        }
        home.commit("cell.superseded", {**link, "verdict": "updates"})
        home.commit("cell.judged", {"cell_id": new})
        reconcile.fn(home=home.path)
        (closed,) = home.rows("contradictions").to_dicts()
        assert (closed["status"], closed["resolution"]) == ("resolved", None)
        assert (
            closed["note"]
            == "two voices; closed: one of the two memories was superseded by a third or is gone"
        )
        assert closed["resolved_at"] is not None
        assert home.cell(ids[1])["superseded_by"] == new, "the third and the other were asked about"


# a judge that fails


def test_a_memory_that_no_answer_can_judge_is_found_out_and_set_aside_and_the_others_go_on(tmp_path):
    model = ScriptedModel()

    def cursed(body: Body) -> str:
        is_cursed = answer_name(body) == "ReconcileAnswer" and any(
            item.head.startswith("NEW ") and "cursed" in item.text
            for item in items(user_text(body), "Memories")
        )
        return '{"judgements": "all of them"}' if is_cursed else model(body)

    with OpenAIServer(cursed) as server:
        home = Home(tmp_path / "home", server)
        bad = fact("5", 9, subject="arrivals", content="The cursed rate limit of the arrivals endpoint is 5.")
        old, good, evil = home.learn(fact("100", 1), fact("250", 5), bad)
        states = []
        for _ in range(4):
            reconcile.fn(home=home.path)
            row = store_of(home.path).by_key("judging", [evil]).row(0, named=True)
            states.append((row["status"], row["attempts"]))
        assert states == [("failed", 1), ("failed", 2), ("quarantined", 3), ("quarantined", 3)]
        assert home.cell(old)["superseded_by"] == good, "the other of the page is asked about apart"
        assert home.cell(evil)["status"] == "active"
        assert "ReconcileAnswer" in row["error"]
        asked = len(home.pages())
        reconcile.fn(home=home.path)
        assert len(home.pages()) == asked
        server.answer = model
        (held,) = list_chunks(open_home(home.path))
        assert (held.kind, held.chunk_id, held.attempts) == ("memory", evil, 3)
        assert release_chunks(open_home(home.path), None, now=datetime.now(UTC)) == [evil]
        reconcile.fn(home=home.path)
        assert "unjudged" not in home.rows("judgements")["verdict"]


def wrong(judge) -> Any:
    """A model whose judgements are what `judge` makes of the page."""

    def answer(body: Body) -> str:
        if answer_name(body) != "ReconcileAnswer":
            return ScriptedModel()(body)
        return json.dumps({"judgements": judge(items(user_text(body), "Memories"))})

    return answer


def retire_first(shown: Iterable[Any]) -> list[dict[str, Any]]:
    """Every new memory but the first retires the first, under the first's own subject and attribute."""
    first = shown[0]
    values = {"target_value": "", "new_value": ""}
    named = {"subject": first.fields["subject"], "attribute": first.fields["attribute"], **values}
    kept = {"verdict": "keep", "target": 0, "subject": "", "attribute": "", **values}
    told = {"verdict": "updates", "target": first.number, **named}
    new = [item for item in shown if item.head.startswith("NEW ")]
    return [{"new": item.number, "reason": "So it is.", **(kept if item is first else told)} for item in new]


def test_a_judge_that_retires_many_at_once_across_subjects_hides_nothing(tmp_path):
    with OpenAIServer(wrong(retire_first)) as server:
        home = Home(tmp_path / "home", server)
        ids = home.learn(*(fact(str(pier * 10), pier, subject=f"pier {pier}") for pier in range(1, 9)))
        reconcile.fn(home=home.path)
        assert home.rows("cells")["status"].to_list() == ["active"] * len(ids)
        doubts = home.rows("contradictions")
        assert doubts.height > 0
        assert set(doubts["status"]) == {"open"}


# repetition by a richer text, outcomes, and states without an attribute


def plain(content: str, day: int, **more: Any) -> dict[str, Any]:
    return {**fact("", day, subject="Ola", content=content, **more), "attribute": None, "value": None}


def judge_of(*said: tuple[str, str, str], **named: str) -> Any:
    """A model that judges the memory with one text against the one with another in a given way."""
    blank = dict.fromkeys(("subject", "attribute", "target_value", "new_value"), "") | named

    def judge(shown: Iterable[Any]) -> list[dict[str, Any]]:
        numbers = {item.text: item.number for item in shown}
        new = {item.text for item in shown if item.head.startswith("NEW ")}
        return [
            {"new": numbers[one], "reason": "r", "verdict": verdict, "target": numbers[other], **blank}
            for one, verdict, other in said
            if one in new and other in numbers
        ]

    return wrong(judge)


POOR = "Ola lives by the river in Turku."
RICH = "Ola lives by the river in Turku since 2019, in a yellow house with a sauna."


@pytest.mark.parametrize("verdict", ["confirms", "absorbs"])
def test_the_richer_text_takes_over_what_the_poorer_rested_on_and_the_past_still_tells_the_poorer(
    tmp_path, verdict
):
    with OpenAIServer(judge_of((RICH, verdict, POOR))) as server:
        home = Home(tmp_path / "home", server)
        (poor,) = home.learn(plain(POOR, 1))
        reconcile.fn(home=home.path)
        (rich,) = home.learn(plain(RICH, 9))
        reconcile.fn(home=home.path)
        assert (home.cell(poor)["status"], home.cell(poor)["superseded_by"]) == ("superseded", rich)
        assert home.cell(rich)["evidence"] == ["turn-june-1", "turn-june-9"]
        assert store_of(home.path).by_key("cell_usage", [rich])["confirmations"].item() == 1
        before = (START + timedelta(days=3)).isoformat()
        with Memory(home.path) as memory:
            assert [hit.content for hit in memory.search("Where does Ola live?", as_of=before).cells] == [
                POOR
            ]
            assert [hit.content for hit in memory.search("Where does Ola live?").cells] == [RICH]


def test_a_pair_that_the_extractor_tied_is_shown_whatever_its_words(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        home = Home(tmp_path / "home", server)
        old, new = home.learn(plain("Ola plays chess on Mondays.", 1), plain("The board was sold.", 8))
        pair = stable_id("judgement", " ".join(sorted((old, new))))
        noted = {"judgement_id": pair, "cell_id": new, "target_id": old, "verdict": "unjudged"}
        home.commit(
            "pair.judged", {**OWNER, **noted, "effect": "none", "reason": "the extractor calls it changed"}
        )
        reconcile.fn(home=home.path)
        assert len(home.pages()) == 1
        assert "Ola plays chess" in home.pages()[0]
        assert home.rows("judgements")["verdict"].to_list() == ["keep"]
