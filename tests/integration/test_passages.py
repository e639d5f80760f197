"""Raw talk, which is a memory where there is no model: an edit of one point of it leaves all else that was said."""

from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from flows.nightly import nightly
from slowwave import Memory
from slowwave.errors import InputError
from slowwave.home.workspace import open_workspace
from slowwave.interfaces.cli import edits
from slowwave.interfaces.cli.program import program
from slowwave.journal.catalogue import encode
from slowwave.language.units import Spoken, statements_on
from tests.integration.test_edits import OWNER, assert_rebuilds
from tests.made_once import fill
from tests.rows import NOW, row, rows
from tests.scripted_model import write_chat, write_settings

TALK = [
    ("t1", "user", "We fire the big kiln at 1220 degrees. The reason is the new stoneware from the Lisbon quarry."),
    ("t2", "assistant", "Noted: the big kiln at 1220 degrees."),
    ("t3", "user", "The delivery van leaves the yard on Thursdays before breakfast."),
    ("t4", "assistant", "Fine."),
    ("t5", "user", "Always answer suppliers in Portuguese, never in English."),
]  # fmt: skip
LATER = [*TALK[:2], ("t6", "user", "The clay cellar floods every November, so raise the shelves.")]
LATER_HOURS = timedelta(hours=30)


def passage(key: str, talk: list[tuple[str, str, str]]) -> dict[str, object]:
    content = "\n".join(f"{role}: {text}" for _, role, text in talk)
    evidence = [turn_id for turn_id, _, _ in talk]
    given = {"prompt_version": "raw", "origin": "agent", "session_id": "kiln", "content_hash": key}
    return row("cells", key, content=content, evidence=evidence, chunk_id=f"chunk-{key}", **given)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    write_settings(home, embedding={"provider": "none"}, owner=OWNER)
    fill(home, talk)
    return home


@pytest.fixture
def memory(folder: Path) -> Memory:
    return Memory(folder)


def talk(home: Path) -> None:
    turns = [
        row("turns", key, content=text, role=role, speaker=None, session_id="kiln", turn_index=place,
            origin="user" if role == "user" else "agent")
        for place, (key, role, text) in enumerate([*TALK, LATER[-1]])
    ]  # fmt: skip
    with open_workspace(home) as workspace:
        workspace.commit(encode("turn.recorded", rows("turns", *turns)), now=NOW)
        cells = rows("cells", passage("aaaaaa1", TALK), passage("bbbbbb1", LATER))
        workspace.commit(encode("cell.extracted", cells), now=NOW)


def told(memory: Memory, question: str) -> str:
    """Both what a search finds and what a context quotes."""
    found = memory.search(question, limit=9, now=NOW + LATER_HOURS).cells
    page = memory.context(question=question, now=NOW + LATER_HOURS).text
    return "\n".join([*(cell.content for cell in found), page])


def test_a_correction_of_one_point_leaves_the_rest_of_a_conversation(memory, folder):
    done = memory.correct("aaaaaa1", "The big kiln is fired at 1240 degrees.", now=NOW + timedelta(hours=1))
    assert (done.left_out, len(done.rest)) == ([], 2), "the passage, and another window of the same talk"
    kiln = told(memory, "how hot is the big kiln fired?")
    assert "1240" in kiln
    assert "1220" not in kiln
    assert "Lisbon quarry" in told(memory, "stoneware from which quarry?"), "the reason, said beside it"
    assert "Thursdays" in told(memory, "when does the delivery van leave?")
    assert "floods every November" in told(memory, "clay cellar floods")
    assert "suppliers in Portuguese" in memory.context(opening=True, now=NOW + LATER_HOURS).text
    found = memory.explain("aaaaaa1")
    assert [quote.told for quote in found.evidence] == ["in part", "no", "whole", "whole", "whole"]
    assert {quote.whose for quote in found.evidence} == {"a person said it", "an assistant said it"}
    assert_rebuilds(folder)


def test_a_part_is_forgotten_and_the_rest_can_be_corrected_again(memory):
    with pytest.raises(InputError, match="says nothing about 'the moon'"):
        memory.forget("aaaaaa1", only="the moon")
    gone = memory.forget("aaaaaa1", only="when the delivery van leaves", now=NOW + timedelta(hours=1))
    assert (
        gone.content
        == "user: The delivery van leaves the yard on Thursdays before breakfast.\nassistant: Fine."
    )
    assert "Thursdays" not in told(memory, "when does the delivery van leave?")
    (rest,) = gone.rest
    memory.correct(rest, "Answer suppliers in Spanish, never in English.", now=NOW + timedelta(hours=2))
    assert "suppliers in Portuguese" not in memory.context(opening=True, now=NOW + LATER_HOURS).text
    assert "1220 degrees" in told(memory, "how hot is the big kiln fired?")


def test_the_lines_of_everybody_who_spoke_are_no_correction(memory):
    text = memory.cell("aaaaaa1").content
    with pytest.raises(InputError, match="write only what is right"):
        memory.correct("aaaaaa1", text.replace("Thursdays", "Mondays"))


def test_where_no_word_says_what_is_meant_all_that_goes_is_told_and_shown_first(memory, folder, monkeypatch):
    seen = memory.correct("aaaaaa1", "It is purple.", dry_run=True)
    assert TALK[2][2] in seen.left_out
    monkeypatch.setattr(edits, "_has_terminal", lambda: True)
    asked = CliRunner().invoke(program, ["forget", "aaaaaa1", "--home", str(folder)], input="n\n")
    assert asked.exit_code == 1
    assert "a passage of one conversation" in asked.output
    assert TALK[2][2] in asked.output
    assert memory.cell("aaaaaa1").status == "active"
    done = memory.correct("aaaaaa1", "It is purple.")
    assert (done.left_out, done.rest) == (seen.left_out, [])
    assert "5 statements of one conversation, which are no longer told" in done.notes[0]


def test_an_assistants_correction_of_what_a_person_said_in_raw_talk_is_a_contradiction(memory):
    done = memory.correct("aaaaaa1", "The big kiln is fired at 1240 degrees.", origin="agent")
    assert (done.replaced, done.rest, len(memory.contradictions())) == ([], [], 1)
    assert "1220 degrees" in told(memory, "how hot is the big kiln fired?")
    memory.resolve(memory.contradictions()[0].contradiction_id, "b_wins", now=NOW + timedelta(hours=1))
    assert memory.cell("aaaaaa1").status == "superseded"
    assert "Thursdays" in told(memory, "when does the delivery van leave?")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("The app runs on Postgres 16.", {0, 1}),
        ("The dev server listens on 8033.", {2}),
        ("Write commit messages in Spanish.", {3}),
        ("Nothing of the kind.", set()),
    ],
)
def test_the_statement_that_shares_most_words_is_meant_with_what_repeats_it(text, meant):
    said = [
        Spoken("We'll use Postgres 15 for the app, not SQLite.", is_apart=True),
        Spoken("Understood: Postgres 15, because the tablets write concurrently."),
        Spoken("The dev server of the app runs on port 8011.", is_apart=True),
        Spoken("I prefer short commit messages, one line, in English.", is_apart=True),
    ]
    assert statements_on(said, text, lambda terms: [1.0] * len(terms)) == meant


@pytest.mark.nights
def test_a_conversation_is_told_anew_by_what_stands_of_it(tmp_path):
    home, chats = tmp_path / "home", tmp_path / "chats"
    write_settings(home, embedding={"provider": "none"}, owner=OWNER)
    times = [f"2026-09-10T10:0{place}:00Z" for place in range(len(TALK))]
    write_chat(chats, "kiln", [(time, role, text) for time, (_, role, text) in zip(times, TALK, strict=True)])
    nightly.fn(home=str(home), sources=[str(chats)])
    memory = Memory(home)
    cells = {cell.cell_type: cell for cell in memory.cells(limit=9).entries}
    assert "1220" in cells["episode"].content
    memory.correct(cells["fact"].cell_id, "The big kiln is fired at 1240 degrees.")
    assert not memory.cells(limit=9, cell_types=("episode",)).entries
    nightly.fn(home=str(home), force=True)
    (episode,) = Memory(home).cells(limit=9, cell_types=("episode",)).entries
    assert "1220" not in episode.content
    assert "Lisbon quarry" in episode.content
    assert_rebuilds(home)
