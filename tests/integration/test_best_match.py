"""The memory that a question names comes first, however young and salient those are that are merely like it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowwave import Memory
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.recall.gather import gather
from slowwave.recall.question import understand
from slowwave.recall.reader import Reader, open_reader
from slowwave.recall.search import ask
from slowwave.schemas.search import Filters
from tests.rows import row, rows
from tests.scripted_model import write_settings

NOW = datetime(2026, 9, 10, tzinfo=UTC)
OLD = NOW - timedelta(days=80)
OWNER = {"user_id": "local", "project_id": "default", "scope": "user-private"}
NAMES = ("Amber", "Copper", "Willow", "Granite", "Saturn", "Meadow", "Velvet", "Cobalt", "Harvest", "Lantern")


def cell(key: str, content: str, at: datetime, salience: float) -> dict[str, object]:
    said = {"event_time": at, "valid_from": at, "recorded_at": at, "content_hash": key, "evidence": []}
    return row("cells", key, content=content, salience=salience, entities=[], artifacts=[], **said, **OWNER)


ASKED = cell("asked", "The head count of Umbra festival is 25 people.", OLD, 0.5)


def reader_of(folder: Path, *cells: dict[str, object]) -> Reader:
    (folder / "slowwave.toml").write_text('[embedding]\nprovider = "wordllama"\n', encoding="utf-8")
    with open_workspace(folder) as workspace:
        workspace.commit(encode("cell.extracted", rows("cells", *cells)), now=NOW)
        workspace.refresh_vectors()
    return open_reader(open_home(folder))


@pytest.mark.xfail(strict=True, reason="age and salience outweigh a name that only one memory has")
def test_the_memory_that_a_question_names_comes_before_younger_ones_that_are_like_it(tmp_path: Path):
    others = [
        cell(f"{name}-{thing}", f"The head count of {name} {thing} is 40 people.", NOW, 1.0)
        for name in NAMES
        for thing in ("festival", "workshop")
    ]
    reader = reader_of(tmp_path, ASKED, *others)
    found = ask(reader, "What is the head count of Umbra festival?", now=NOW).cells
    assert len(found) == 10
    assert found[0].cell_id == "asked"


def test_a_memory_is_found_by_the_words_of_the_question_that_it_answers(tmp_path: Path):
    named = {**ASKED, "question": "How many visitors does the summer party have?"}
    reader = reader_of(tmp_path, named, cell("other", "The workshop ends at nine.", NOW, 1.0))
    found = ask(reader, "visitors of the summer party", now=NOW).cells
    assert [hit.cell_id for hit in found] == ["asked"]
    assert not reader_answers(tmp_path / "without", ASKED, "visitors of the summer party")


def reader_answers(folder: Path, known: dict[str, object], question: str) -> bool:
    folder.mkdir()
    return bool(ask(reader_of(folder, known), question, now=NOW).cells)


def test_what_is_last_in_every_list_is_found_where_there_is_room(tmp_path: Path):
    other = cell("other", "The festival ends at nine.", NOW, 1.0)
    reader = reader_of(tmp_path, ASKED, other)
    found = ask(reader, "What is the head count of Umbra festival?", now=NOW).cells
    assert {hit.cell_id for hit in found} == {"asked", "other"}


def test_a_statement_is_not_found_by_the_words_of_another_one_of_that_day(tmp_path: Path):
    write_settings(tmp_path)
    memory = Memory(tmp_path)
    for text in ("The attic lamp is green.", "We write commits in English.", "The attic door squeaks."):
        memory.remember(text, now=NOW)
    reader = open_reader(open_home(tmp_path))
    asked = understand(reader, reader.current(), "attic lamp", None, Filters(), now=NOW)
    found = gather(asked).lists.values()["near"]
    told = dict(reader.store.rows("turns", ["turn_id", "content"]).iter_rows())
    assert [told[turn_id] for turn_id in found] == [
        "The attic lamp is green.",
        "The attic door squeaks.",
    ]
