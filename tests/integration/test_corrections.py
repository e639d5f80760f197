"""Corrections: what changed and what was wrong, a person's yes that always counts, and what a summary says then."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from flows.forget import forget as forget_stage
from slowwave import Memory
from slowwave.errors import InputError
from slowwave.home.workspace import open_workspace
from slowwave.interfaces.cli.program import program
from slowwave.journal.catalogue import encode
from tests.integration.test_edits import DAY, OWNER, assert_rebuilds
from tests.integration.test_mcp import agreed, call, text_of
from tests.rows import NOW, events, row, rows
from tests.scripted_model import store_of, write_settings

PORT = {"subject": "staging", "attribute": "port"}
OLD, NEW = "Staging listens on 5432.", "Staging listens on 6432."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    write_settings(home, embedding={"provider": "none"}, owner=OWNER)
    return home


@pytest.fixture
def memory(folder: Path) -> Memory:
    return Memory(folder)


def history(memory: Memory) -> list[tuple[str, list[str | None]]]:
    """Each value of the port that is found, with its former ones."""
    hits = memory.search("staging port", now=NOW + 90 * DAY).cells
    return [(hit.content, [former.value for former in hit.history]) for hit in hits]


# changed or wrong


def test_what_changed_was_true_until_its_day_and_is_a_former_value(memory: Memory, folder: Path):
    old = memory.remember(OLD, **PORT, value="5432", now=NOW).cell_id
    since = f"{NOW + 10 * DAY:%Y-%m-%d}"
    done = memory.correct(old, NEW, value="6432", reason="changed", since=since, now=NOW + 20 * DAY)
    assert (done.reason, f"{done.since:%Y-%m-%d}", done.notes) == ("changed", since, [])
    assert history(memory) == [(NEW, ["5432"])]
    then, now = (memory.search("staging port", as_of=NOW + days * DAY).cells for days in (5, 20))
    assert ([hit.content for hit in then], [hit.content for hit in now]) == ([OLD], [NEW])
    assert memory.explain(done.cell_id).summary == f"now 6432; previously 5432 (until {since})"
    assert [judged.verdict for judged in memory.explain(old).life.judgements] == ["updates"]


def test_the_other_reason_may_be_said_afterwards(memory: Memory, folder: Path):
    old = memory.remember(OLD, **PORT, value="5432", now=NOW).cell_id
    done = memory.correct(old, NEW, value="6432", now=NOW + 20 * DAY)
    assert done.notes[0].startswith("taken as wrong")
    assert history(memory) == [(NEW, [])]
    again = memory.correct(old, NEW, value="6432", now=NOW + 21 * DAY)
    assert (again.cell_id, again.reason) == (done.cell_id, "wrong"), "whoever got no answer says it again"
    since = f"{NOW + 10 * DAY:%Y-%m-%d}"
    changed = memory.correct(old, NEW, value="6432", since=since, now=NOW + 22 * DAY)
    assert (changed.cell_id, changed.reason) == (done.cell_id, "changed")
    assert history(memory) == [(NEW, ["5432"])]
    assert [hit.content for hit in memory.search("staging port", as_of=NOW + 5 * DAY).cells] == [OLD]
    assert_rebuilds(folder)
    memory.correct(old, NEW, value="6432", reason="wrong", now=NOW + 23 * DAY)
    assert history(memory) == [(NEW, [])]
    assert_rebuilds(folder)


def test_the_command_takes_the_reason_and_the_day(folder: Path, memory: Memory):
    old = memory.remember(OLD, **PORT, value="5432", now=NOW).cell_id
    since = f"{NOW + DAY:%Y-%m-%d}"
    words = ["correct", old, NEW, "--value", "6432", "--home", str(folder), "--json"]
    refused = CliRunner().invoke(program, [*words, "--since", since, "--reason", "wrong"])
    assert refused.exit_code != 0
    done = CliRunner().invoke(program, [*words, "--since", since, "--reason", "changed"])
    told = json.loads(done.output)
    assert (told["reason"], told["since"][:10]) == ("changed", since)


# a person's yes


def talked(folder: Path, **more: Any) -> None:
    """A decision that a person took in talk; it counts as an assistant's, whose message stands beside it."""
    turn = row("turns", "t1", content=OLD, role="user", origin="user", session_id="s1")
    made = {"subject": "staging", "attribute": "port", "value": "5432", "entities": [], "artifacts": []}
    cell = row(
        "cells", "aaaaaa1", content=OLD, content_hash="a", origin="agent", **made, evidence=["t1"], **more
    )
    with open_workspace(folder) as workspace:
        parts = [encode("turn.recorded", rows("turns", turn)), encode("cell.extracted", rows("cells", cell))]
        workspace.commit(pl.concat(parts), now=NOW)


@pytest.mark.parametrize("way", ["correct_fact", "confirm_fact", "resolve_contradiction"])
def test_a_client_that_cannot_ask_proposes_and_a_persons_later_yes_counts(
    memory: Memory, folder: Path, way: str
):
    talked(folder)
    told = call(memory, "correct_fact", cell_id="aaaaaa1", text=NEW, **PORT, value="6432", reason="changed")
    assert ", replaces" not in text_of(told)
    (open_one,) = memory.contradictions()
    proposed = open_one.b.cell_id
    assert [open_one.a.content, open_one.b.content] == [OLD, NEW]
    given = {
        "correct_fact": {"cell_id": "aaaaaa1", "text": NEW, **PORT, "value": "6432"},
        "confirm_fact": {"cell_id": proposed},
        "resolve_contradiction": {"contradiction_id": open_one.contradiction_id, "resolution": "b_wins"},
    }
    yes = call(memory, way, person=agreed, **given[way])
    assert not yes.is_error, text_of(yes)
    assert memory.contradictions() == []
    (hit,) = memory.search("staging port").cells
    assert (hit.content, [former.value for former in hit.history]) == (NEW, ["5432"]), (
        "changed, as was proposed"
    )
    cell = memory.cell(hit.cell_id)
    assert cell.protected or way == "resolve_contradiction"
    assert hit.cell_id == proposed


def test_a_yes_to_what_an_assistant_had_replaced_is_never_lost(memory: Memory, folder: Path):
    with open_workspace(folder) as workspace:
        cell = row("cells", "aaaaaa1", content=OLD, origin="agent", entities=[], artifacts=[], evidence=[])
        workspace.commit(encode("cell.extracted", rows("cells", cell)), now=NOW)
    instead = call(memory, "correct_fact", cell_id="aaaaaa1", text=NEW)
    assert ", replaces aaaaaa1\n" in text_of(instead)
    yes = call(memory, "correct_fact", person=agreed, cell_id="aaaaaa1", text=NEW)
    assert not yes.is_error, text_of(yes)
    (hit,) = memory.search("staging").cells
    cell = memory.cell(hit.cell_id)
    assert (hit.content, cell.protected) == (NEW, True)
    assert memory.cell("aaaaaa1").superseded_by == hit.cell_id


def test_a_correction_with_the_memorys_own_text_is_a_yes(memory: Memory):
    own = memory.remember(NEW, origin="agent").cell_id
    assert not memory.cell(own).protected
    assert "confirmed now" in memory.correct(own, NEW).notes[0]
    assert memory.cell(own).protected
    with pytest.raises(InputError, match="confirm it instead"):
        memory.correct(own, NEW, origin="agent")


def test_a_correction_to_what_was_stated_already_confirms_that_statement(memory: Memory):
    stated = memory.remember(NEW, now=NOW).cell_id
    old = memory.remember(OLD, now=NOW + DAY).cell_id
    done = memory.correct(old, NEW, now=NOW + 2 * DAY)
    assert (done.cell_id, done.replaced) == (stated, [old])
    assert memory.cell(stated).protected
    assert [hit.cell_id for hit in memory.search("staging").cells] == [stated]


def test_the_question_to_the_user_says_whether_the_old_one_was_true(memory: Memory):
    old = memory.remember(OLD).cell_id
    asked: list[str] = []

    def person(question: Any) -> Any:
        asked.append(question.message)
        return agreed(question)

    call(memory, "correct_fact", person=person, cell_id=old, text=NEW)
    assert asked[0].endswith("The old one was never true.")


# what was forgotten, and is said again


def test_a_person_who_says_again_what_was_forgotten_lifts_its_tombstone(memory: Memory, folder: Path):
    first = memory.remember(OLD, now=NOW).cell_id
    memory.forget(first, now=NOW + timedelta(hours=1))
    with pytest.raises(InputError, match="deleted this memory"):
        memory.remember(OLD, origin="agent", now=NOW + timedelta(hours=2))
    done = memory.remember(OLD, now=NOW + timedelta(hours=3))
    assert done.notes[0] == "this had been deleted, and is remembered again"
    assert memory.remember(OLD, now=NOW + timedelta(hours=4)).cell_id == done.cell_id
    forget_stage.fn(home=str(folder))
    assert [hit.content for hit in memory.search("staging").cells] == [OLD]
    assert store_of(folder).count("tombstones") == 0


def test_what_was_erased_and_said_again_is_not_deleted_by_the_night(memory: Memory, folder: Path):
    memory.erase(memory.remember(OLD, now=NOW).cell_id, now=NOW)
    again = memory.remember(OLD, now=NOW + DAY).cell_id
    forget_stage.fn(home=str(folder))
    assert [hit.cell_id for hit in memory.search("staging").cells] == [again]


def test_a_correction_with_a_forgotten_text_remembers_it_again(memory: Memory):
    memory.forget(memory.remember(NEW, now=NOW).cell_id, now=NOW)
    old = memory.remember(OLD, now=NOW).cell_id
    done = memory.correct(old, NEW, now=NOW + DAY)
    assert "this had been deleted, and is remembered again" in done.notes
    assert [hit.content for hit in memory.search("staging").cells] == [NEW]


# summaries


def summarized(folder: Path) -> None:
    """A topic whose summary was written of two memories, and a contradiction between them."""
    shared = {"entities": [], "artifacts": [], "evidence": [], **PORT}
    town = {**shared, "attribute": "town"}
    cells = (
        row("cells", "aaaaaa1", content=OLD, value="5432", content_hash="a", origin="agent", **shared),
        row("cells", "bbbbbb1", content=NEW, value="6432", content_hash="b", **shared),
        row("cells", "cccccc1", content="Staging is in Graz.", content_hash="c", **town),
    )
    told = {"contradiction_id": "d11111", "cell_a": "aaaaaa1", "cell_b": "bbbbbb1", "note": "two ports"}
    topic = {"topic_id": "T", "name": "staging", "scope": "user-private", **OWNER}
    text = {"summary": "Staging listens on 5432, or on 6432.", "compressed": "Staging.", "topic_id": "T"}
    made = {"prompt_version": "summarize_topic.v3", "model": "m"}
    with open_workspace(folder) as workspace:
        workspace.commit(
            pl.concat(
                [
                    encode("cell.extracted", rows("cells", *cells)),
                    events("contradiction.opened", {**told, "scope": "user-private", **OWNER}),
                    events("topic.opened", topic),
                    *(
                        events(
                            "cell.assigned", {"cell_id": one["cell_id"], "topic_id": "T", "similarity": 1.0}
                        )
                        for one in cells
                    ),
                    events("topic.counted", {"topic_id": "T", "cell_count": 3, "unsummarized_count": 0}),
                    events(
                        "topic.summarized", {**text, **made, "cell_ids": [one["cell_id"] for one in cells]}
                    ),
                ]
            ),
            now=NOW,
        )


EDITS = {
    "correct": lambda memory, now: memory.correct("aaaaaa1", "Staging listens on 7432.", now=now),
    "resolve": lambda memory, now: memory.resolve("d11111", "b_wins", now=now),
    "remember": lambda memory, now: memory.remember(
        "Staging listens on 7432.", **PORT, value="7432", now=now
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_summary_of_what_was_superseded_is_marked_at_once_and_keeps_its_own_date(
    memory: Memory, folder: Path, edit: str
):
    summarized(folder)
    (before,) = memory.search("staging", now=NOW + DAY).topics
    assert not before.is_outdated
    EDITS[edit](memory, NOW + 9 * DAY)
    (after,) = memory.search("staging", now=NOW + 9 * DAY).topics
    assert after.is_outdated
    assert after.updated_at == before.updated_at
    assert "a memory behind it changed since" in text_of(call(memory, "search_memory", query="staging"))


def test_a_summary_that_may_speak_of_a_forgotten_memory_is_gone(memory: Memory, folder: Path):
    summarized(folder)
    memory.forget("aaaaaa1", now=NOW + DAY)
    assert memory.search("staging", now=NOW + DAY).topics == []
    topic = store_of(folder).by_key("topics", ["T"]).row(0, named=True)
    assert (topic["summary"], topic["cell_count"], topic["unsummarized_count"]) == (None, 2, 2)
    assert_rebuilds(folder)
