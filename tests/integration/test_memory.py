"""`Memory`: what a person says is there at once, what was cited stays, and reading goes on while a night writes."""

import re
import shutil
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from flows.decay import decay
from flows.nightly import nightly
from flows.rebuild import rebuild
from slowwave import Memory
from slowwave.errors import ConfigError, InputError, NotFoundError, TransientError
from slowwave.home.lock import rewriting
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import decode, encode
from slowwave.recall.reader import LAG, NO_STORE
from slowwave.recall.search import NOTHING_ELSE
from slowwave.store import open_store
from tests.integration.test_locks import another_writer
from tests.rows import NOW, row, rows, uses
from tests.scripted_model import segments, store_of, tables, write_chat, write_settings

DAY = timedelta(days=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    owner, edits = {"user_id": "ana", "project_id": "kiln"}, {"lock_seconds": 2}
    write_settings(home, embedding={"provider": "wordllama"}, owner=owner, edits=edits)
    return home


@pytest.fixture
def memory(folder: Path) -> Memory:
    return Memory(folder)


def cells(folder: Path, *whole: dict[str, object]) -> None:
    """Commits and applies cells that are spelled out."""
    frame = rows("cells", *({"entities": [], "artifacts": [], **one} for one in whole))
    with open_workspace(folder) as workspace:
        workspace.commit(encode("cell.extracted", frame), now=NOW)
        workspace.refresh_vectors()


def journaled(folder: Path, kind: str) -> pl.DataFrame:
    events = open_home(folder).journal.scan().events.with_row_index("order")
    return decode(kind, events.filter(pl.col("kind") == kind))


# remember


def test_what_is_remembered_is_found_at_once_by_words_and_by_vector(memory, folder):
    said = memory.remember(
        "The glaze kiln runs at 1040 °C.",
        cell_type="decision",
        subject="glaze kiln",
        attribute="temperature",
        value="1040 °C",
        entities=["glaze kiln"],
        now=NOW,
    )
    assert said.is_searchable
    assert said.notes == []
    found = memory.search("how hot is the glaze kiln?", detail_level="evidence", now=NOW)
    (cell,) = found.cells
    assert (cell.cell_id, cell.cell_type, cell.value, cell.origin) == (
        said.cell_id,
        "decision",
        "1040 °C",
        "user",
    )
    assert all(cell.rank.why[name] == 1 for name in ("text_rank", "vector_rank", "evidence_rank"))
    assert [turn.content for turn in cell.evidence] == ["The glaze kiln runs at 1040 °C."]
    assert [turn.turn_id for turn in found.turns] == [cell.evidence[0].turn_id]
    assert (
        memory.search("kiln", entity="GLAZE KILN", after="2026-09-01", now=NOW).cells[0].cell_id
        == said.cell_id
    )
    assert len(segments(str(folder))) == 1
    assert store_of(str(folder)).rows("cells", ["is_judged"])["is_judged"].to_list() == [False]


def test_the_same_text_on_the_same_day_is_the_same_memory(memory, folder):
    first = memory.remember("Invoices are due on Friday.", now=NOW)
    again = memory.remember("Invoices are  due on friday.", now=NOW + timedelta(hours=2))
    assert again.cell_id == first.cell_id
    assert again.is_searchable
    assert "already" in again.notes[0]
    assert len(segments(str(folder))) == 1


@pytest.mark.nights
def test_the_same_text_on_another_day_becomes_a_confirmation(memory, folder):
    first = memory.remember("Invoices are due on Friday.", now=NOW)
    again = memory.remember("Invoices are due on Friday.", now=NOW + DAY)
    assert again.cell_id != first.cell_id
    nightly.fn(home=str(folder), force=True)
    (cell,) = memory.search("invoices", now=NOW + 2 * DAY).cells
    assert (cell.cell_id, cell.use.confirmations) == (first.cell_id, 1)
    assert len(cell.turn_ids) == 2


def test_what_was_retired_can_be_said_again_on_the_same_day(memory, folder):
    first = memory.remember("Invoices are due on Friday.", now=NOW)
    with open_workspace(folder) as workspace:
        retired = pl.DataFrame({"cell_id": [first.cell_id], "superseded_at": [NOW]})
        workspace.commit(encode("cell.retired", retired), now=NOW)
    again = memory.remember("Invoices are due on Friday.", now=NOW + timedelta(hours=1))
    assert again.cell_id != first.cell_id
    assert [cell.cell_id for cell in memory.search("invoices", now=NOW).cells] == [again.cell_id]


@pytest.mark.processes
def test_while_another_process_writes_it_is_found_at_once_and_the_next_writer_takes_it_in(memory, folder):
    known = memory.remember("The kiln is blue.", now=NOW)
    with another_writer(folder):
        waits = memory.remember("Invoices are due on Friday.", now=NOW)
        assert (waits.is_searchable, waits.notes) == (True, [])
        assert memory.remember("Invoices are due on Friday.", now=NOW + DAY / 9).cell_id == waits.cell_id
        found = [cell.cell_id for cell in memory.search("kiln invoices", now=NOW).cells]
        assert sorted(found) == sorted([known.cell_id, waits.cell_id])
    third = memory.remember("Mara prefers named exports.", now=NOW)
    assert third.is_searchable
    ids = [memory.search(word, now=NOW).cells[0].cell_id for word in ("kiln", "invoices", "Mara")]
    assert ids == [known.cell_id, waits.cell_id, third.cell_id]


@pytest.mark.processes
def test_the_first_memory_of_a_home_may_be_said_while_another_process_writes(memory, folder):
    with another_writer(folder):
        assert not memory.remember("Invoices are due on Friday.", now=NOW).is_searchable
        assert memory.search("invoices", now=NOW).cells == []
    with open_workspace(folder):
        pass
    assert len(memory.search("invoices", now=NOW).cells) == 1


def test_while_a_run_of_this_program_writes_the_store_is_left_alone(memory, folder):
    memory.remember("The kiln is blue.", now=NOW)
    with rewriting(open_home(folder)):
        waits = memory.remember("Invoices are due on Friday.", now=NOW)
        assert waits.is_searchable
        memory.close()  # beside the run it goes on waiting
        assert store_of(str(folder)).count("cells") == 1
        assert (len(memory.cells(now=NOW).entries), memory.cells(now=NOW).notes) == (2, [])
    memory.close()
    assert store_of(str(folder)).count("cells") == 2
    found = memory.search("kiln invoices", now=NOW)
    assert (len(found.cells), LAG in found.notes) == (2, False)


def test_a_process_that_stays_finds_a_statement_before_it_is_in_the_store(memory, folder):
    memory.remember("The kiln is blue.", now=NOW)
    memory.warm(is_served=True)
    with rewriting(open_home(folder)):  # a run at work
        said = memory.remember("Invoices are due on Friday.", entities=["invoices"], now=NOW)
        assert (said.is_searchable, said.notes) == (True, [])
        assert (
            memory.remember("Invoices are due on Friday.", now=NOW).notes[0].startswith("this was remembered")
        )
        found = memory.search("when are invoices due?", detail_level="evidence", now=NOW)
        assert LAG not in found.notes
        assert found.cells[0].rank.why["text_rank"] == found.cells[0].rank.why["vector_rank"] == 1
        assert found.turns[0].turn_id == found.cells[0].evidence[0].turn_id
        assert memory.cite([said.cell_id[:8]]) == [said.cell_id]
        with Memory(folder) as next_one:  # as after a kill
            next_one.warm(is_served=True)
            next_one.fold_soon()
            assert next_one.cell(said.cell_id).content == "Invoices are due on Friday."
        assert store_of(str(folder)).count("cells") == 1
    memory.close()
    again = memory.search("when are invoices due?", detail_level="evidence", now=NOW)
    assert [cell.cell_id for cell in again.cells] == [cell.cell_id for cell in found.cells]
    with open_workspace(str(folder)):  # takes in what was used
        wanted = tables(str(folder))
    rebuild.fn(home=str(folder))
    for table, frame in tables(str(folder)).items():
        assert_frame_equal(frame, wanted[table])


def test_what_a_killed_program_had_recorded_is_found_by_the_next_one_or_noted(memory, folder, monkeypatch):
    memory.remember("The kiln is blue.", now=NOW)
    with rewriting(open_home(folder)):
        Memory(folder).remember("Invoices are due on Friday.", now=NOW)  # never closed
    monkeypatch.setenv("SLOWWAVE_SEARCH__MEMORY_ROWS", "0")  # as a home that is too large for memory
    with Memory(folder, records_usage=False) as next_one:
        assert LAG in next_one.search("invoices", now=NOW).notes
    monkeypatch.delenv("SLOWWAVE_SEARCH__MEMORY_ROWS")
    with Memory(folder, records_usage=False) as last:
        found = last.search("invoices", now=NOW)
        last.cite([cell.cell_id for cell in found.cells], now=NOW)
    with Memory(folder, records_usage=False) as cited:
        assert LAG not in cited.search("invoices", now=NOW).notes, "only a use waits for the night"
    assert [cell.content for cell in found.cells] == ["Invoices are due on Friday."]
    assert found.notes == [NOTHING_ELSE]


def test_while_the_embedder_is_away_it_is_found_by_its_words(memory, folder, monkeypatch):
    memory.remember("The kiln is blue.", now=NOW)

    def away(*_: object, **__: object) -> None:
        raise TransientError("the embedder does not answer")

    with monkeypatch.context() as broken:
        broken.setattr("slowwave.home.workspace.refresh_vectors", away)
        said = memory.remember("Invoices are due on Friday.", now=NOW)
    assert said.is_searchable
    assert "does not answer" in said.notes[0]
    assert memory.search("invoices", now=NOW).cells[0].cell_id == said.cell_id
    memory.remember("Mara prefers named exports.", now=NOW)
    assert store_of(str(folder)).without_vector("cells").is_empty()


def test_what_is_remembered_is_the_same_after_a_rebuild(memory, folder):
    for number in range(4):
        memory.remember(
            f"Kiln {number} is {20 + number} years old.", entities=[f"Kiln {number}"], now=NOW + number * DAY
        )
    wanted, found = tables(str(folder)), memory.search("old kiln", detail_level="evidence", now=NOW + 4 * DAY)
    report = rebuild.fn(home=str(folder))
    assert not [note for note in report.notes if "differ" in note]
    for table, frame in tables(str(folder)).items():
        assert_frame_equal(frame, wanted[table])
    again = memory.search("old kiln", detail_level="evidence", now=NOW + 4 * DAY)
    assert [hit.cell_id for hit in again.cells] == [hit.cell_id for hit in found.cells]
    assert [hit.turn_id for hit in again.turns] == [hit.turn_id for hit in found.turns]


def test_what_was_deleted_is_remembered_again_by_a_person_alone(memory, folder):
    said = memory.remember("Invoices are due on Friday.", now=NOW)
    with open_workspace(folder) as workspace:
        gone = workspace.store.by_key("cells", [said.cell_id]).with_columns(note=pl.lit("wrong"))
        workspace.commit(encode("cell.deleted", gone), now=NOW)
    with pytest.raises(InputError, match="deleted"):
        memory.remember("invoices are due on friday.", origin="agent", now=NOW + DAY)
    assert memory.search("invoices", now=NOW).cells == []
    said = memory.remember("invoices are due on friday.", now=NOW + DAY)
    assert "this had been deleted, and is remembered again" in said.notes
    assert [cell.cell_id for cell in memory.search("invoices", now=NOW + DAY).cells] == [said.cell_id]


def test_no_secret_and_no_recalled_memory_is_written(memory, folder):
    secret = "hunter2Sup3rSecret99"
    said = memory.remember(
        f"Staging is reached with password={secret}. <slowwave-memory>old news</slowwave-memory>",
        subject="staging",
        attribute="login",
        value=f"password={secret}",
        now=NOW,
    )
    assert said.notes == ["2 password redacted"]
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert secret.encode() not in written
    assert b"old news" not in written


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"text": ""}, "empty"),
        ({"text": " \n\u200b\x00 ?!"}, "empty"),
        ({"text": "<slowwave-memory>known</slowwave-memory>"}, "empty"),
        ({"text": "x" * 4_001}, "give at most 4000 characters"),
        ({"text": "a", "cell_type": "feeling"}, "cell_type 'feeling' is not possible: choose one of 'fact'"),
        ({"text": "a", "salience": 1.5}, "salience 1.5"),
        ({"text": "a", "salience": float("nan")}, "salience nan"),
        ({"text": "a", "value": "5"}, "needs the attribute"),
        ({"text": "a", "attribute": "port"}, "needs the subject"),
        ({"text": "a", "subject": " "}, "subject is empty"),
        ({"text": "a", "subject": "s" * 201}, "subject is not possible: give at most 200 characters"),
        ({"text": "a", "entities": "Mara"}, "give a list"),
        ({"text": "a", "entities": [f"e{number}" for number in range(33)]}, "33 are too many"),
    ],
)
def test_what_cannot_be_remembered_is_said_in_one_line_and_writes_nothing(memory, folder, given, told):
    with pytest.raises(InputError, match=told) as refused:
        memory.remember(**given)
    assert "\n" not in str(refused.value)
    assert segments(str(folder)) == {}


def test_any_text_of_a_person_is_kept_as_it_is(memory):
    texts = [
        "He said: \"O'Neill's \\ kiln\" OR 1=1; DROP TABLE cells --",
        "ビスク窯は 1040 ℃",
        "lone \ud800 half and \U0001f525",
        "line one\nline two",
    ]
    for text in texts:
        assert memory.remember(text, entities=[text[:20]], now=NOW).is_searchable
    found = [memory.search(text, now=NOW).cells[0].content for text in texts]
    assert (found[0], found[1], found[3]) == (texts[0], texts[1], texts[3])
    assert "half and 🔥" in found[2]


# use


def test_what_a_search_returns_is_noted_as_retrieved_in_its_conversation(memory, folder):
    said = memory.remember("Invoices are due on Friday.", now=NOW)
    memory.search("invoices", conversation_id="c7", now=NOW)
    assert uses(open_home(folder)).is_empty()
    memory.flush()
    assert uses(open_home(folder)).select("cell_id", "usage_type", "used_at", "context").rows() == [
        (said.cell_id, "retrieved", NOW, "c7")
    ]
    with Memory(folder, records_usage=False) as quiet:
        quiet.search("invoices", conversation_id="c8", now=NOW)
    assert uses(open_home(folder)).height == 1


def test_what_a_conversation_was_shown_and_did_not_cite_is_ignored_at_its_end(memory, folder):
    texts = [
        "The port of staging is 6432.",
        "Mara decided to keep the port of staging.",
        "The port of tests is 5433.",
    ]
    said = [memory.remember(text, cell_type="decision", now=NOW).cell_id for text in texts]
    context = memory.context("which port has staging?", conversation_id="c1", now=NOW)
    assert context.tokens <= context.budget_tokens
    assert set(said) == {cell_id for line in context.lines for cell_id in line.cell_ids}
    memory.cite([said[0]], "c1", now=NOW)
    for hour in range(2):
        assert memory.settle("c1", cited=[said[1]], now=NOW + timedelta(hours=hour)) == [said[2]]
    memory.flush()
    noted = uses(open_home(folder)).filter(pl.col("usage_type") != "cited")
    assert set(noted.select("cell_id", "usage_type", "context").rows()) == {
        *((cell_id, "retrieved", "c1") for cell_id in said),
        (said[2], "ignored", "c1"),
    }


def test_a_signal_that_is_not_possible_is_told_in_one_line(memory):
    with pytest.raises(InputError, match="budget_tokens -1 is not possible: choose at least 1"):
        memory.context("kiln", budget_tokens=-1)


def test_use_reaches_the_cell_usage(memory, folder):
    said = memory.remember("Invoices are due on Friday.", now=NOW)
    memory.search("invoices", now=NOW)
    memory.search("invoices", now=NOW + DAY)
    memory.cite([said.cell_id[:8]], "c1", now=NOW)
    memory.ignore([said.cell_id], "c2", now=NOW)
    memory.close()
    home = open_home(folder)
    for _ in range(2):  # a record that is there twice counts once
        home.journal.commit(encode("usage.recorded", uses(home)), now=NOW)
        decay.fn(home=str(folder))
    cell_usage = store_of(str(folder)).by_key("cell_usage", [said.cell_id])
    counts = cell_usage.select("retrieval_count", "citation_count", "ignore_count").row(0)
    assert counts == (2, 1, 1)


def test_an_id_may_be_cut_as_long_as_it_stands_for_one_memory(memory, folder):
    names = ["aaaaaa1", "aaaaaa2", "aaaaab", "ffffffff"]
    cells(folder, *(row("cells", name, content=f"Kiln {name}") for name in names))
    assert memory.cite(["aaaaab", "ffffff", " ffffffff "]) == ["aaaaab", "ffffffff"]
    assert memory.cite(["aaaaaa1"]) == ["aaaaaa1"]
    with pytest.raises(InputError, match="aaaaaa stands for 2 memories .aaaaaa1, aaaaaa2."):
        memory.cite(["aaaaaa"])
    assert journaled(folder, "usage.recorded")["cell_id"].to_list() == ["aaaaab", "ffffffff", "aaaaaa1"]


@pytest.mark.parametrize(
    ("named", "error", "told"),
    [
        ([], InputError, "no memory is named"),
        (["ffffffff", "0123456789abcdef"], NotFoundError, "no memory 0123456789abcdef"),
        (["fffff"], NotFoundError, "no memory fffff; an id is cut to 6 characters at least"),
        ([""], InputError, "no memory's id"),
        (["' OR 1=1 --"], InputError, "no memory's id"),
        (["%"], InputError, "no memory's id"),
        (["\\'"], InputError, "no memory's id"),
        (["f" * 49], InputError, "no memory's id"),
        (["bobsbobs"], NotFoundError, "no memory bobsbobs"),
        (["bobsbo"], NotFoundError, "no memory bobsbo"),
        ([f"{number}" for number in range(1001)], InputError, "1001 memories"),
    ],
)
def test_an_unknown_id_is_refused_in_one_line_and_nothing_is_recorded(memory, folder, named, error, told):
    cells(folder, row("cells", "ffffffff"), row("cells", "bobsbobs", user_id="bob"))
    before = segments(str(folder))
    with pytest.raises(error, match=told) as refused:
        memory.cite(named)
    assert "\n" not in str(refused.value)
    assert segments(str(folder)) == before


def test_citing_without_a_store_says_that_there_is_no_memory(memory):
    with pytest.raises(NotFoundError, match="no memory yet"):
        memory.cite(["aaaaaa"])


CITES = """
import os, signal, sys
from slowwave import Memory
memory = Memory(sys.argv[1])
memory.search("invoices")
memory.cite([sys.argv[2]], "c1")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.processes
def test_a_citation_survives_a_kill_at_any_moment_after_it(memory, folder):
    said = memory.remember("Invoices are due on Friday.", now=NOW)
    done = subprocess.run([sys.executable, "-c", CITES, str(folder), said.cell_id], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    found = journaled(folder, "usage.recorded")
    assert found.select("cell_id", "usage_type", "context").rows() == [(said.cell_id, "cited", "c1")]


# search


def test_an_empty_home_says_so_and_is_not_made(tmp_path):
    with Memory(tmp_path / "none") as memory:
        assert memory.search("kiln").notes == ["No memory yet"]
    assert not (tmp_path / "none").exists()


def test_a_journal_without_a_store_is_told_with_what_to_do(tmp_path):
    with Memory(tmp_path / "home") as memory:
        memory.remember("The kiln is blue.")
    shutil.rmtree(tmp_path / "home" / "store")
    with Memory(tmp_path / "home") as memory:
        assert (
            memory.search("kiln").notes == memory.context("kiln").notes == memory.stats().notes == [NO_STORE]
        )
        with pytest.raises(NotFoundError, match="slowwave run rebuild"):
            memory.export(tmp_path / "out")


def test_filters_are_keywords_and_times_words(memory):
    old = memory.remember("Kiln 2 is blue.", now=NOW - 40 * DAY)
    new = memory.remember("Kiln 3 is green.", cell_type="preference", now=NOW)

    def ids(**words: object) -> set[str]:
        return {cell.cell_id for cell in memory.search("kiln", now=NOW, **words).cells}

    assert ids() == {old.cell_id, new.cell_id}
    assert ids(after="last_week") == ids(after=NOW - DAY) == {new.cell_id}
    assert ids(before=(NOW - DAY).replace(tzinfo=None)) == {old.cell_id}
    assert ids(cell_types=["preference"]) == {new.cell_id}
    assert ids(as_of="2026-08-31") == ids(known_at="2026-08-31") == {old.cell_id}
    assert ids(scope="system") == set()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"colour": "blue"}, "colour is not possible: choose of .*cell_types"),
        ({"scope": "everything"}, "scope 'everything' is not possible"),
        ({"cell_types": ["feeling"]}, r"cell_types\[0\] 'feeling' is not possible"),
        ({"after": "soonish"}, "'soonish' is no time"),
        ({"after": 5.5j}, "after is not possible"),
    ],
)
def test_a_filter_that_is_not_possible_is_told_in_one_line(memory, words, told):
    with pytest.raises(InputError, match=told) as refused:
        memory.search("kiln", **words)
    assert "\n" not in str(refused.value)


def test_half_a_character_in_a_question_is_no_reason_to_fail(memory):
    memory.remember("Kiln 2 is blue.", now=NOW)
    assert memory.search("kiln \ud800", now=NOW).model_dump_json()


def test_a_time_that_cannot_be_and_a_form_that_is_none_are_refused(memory):
    memory.remember("Kiln 2 is blue.", now=NOW)
    with pytest.raises(InputError, match="leave no time"):
        memory.search("kiln", after="2026-08-01", before="2026-07-01")
    with pytest.raises(InputError, match="'summary', 'full' or 'evidence'"):
        memory.search("kiln", detail_level="all")
    with pytest.raises(InputError, match="^query is not possible: give a text$"):
        memory.search(None)
    with pytest.raises(InputError, match="a text is wanted"):
        memory.entity(None)
    assert any("'Nobody'" in note for note in memory.search("kiln", entity="Nobody").notes)


# the page


PAGE = Path(__file__).parents[2] / "docs" / "memory.md"


def test_the_examples_of_the_page_run(folder, tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    monkeypatch.setenv("SLOWWAVE_HOME", str(folder))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    names: dict[str, object] = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"docs/memory.md, example {number}", "exec"), names)
        if "memory.cite(" in block:
            recorded = journaled(folder, "usage.recorded").filter(usage_type="cited")
            (cited,) = recorded["cell_id"].unique()
            assert cited == names["said"].cell_id
    assert len(blocks) >= 5
    printed = capsys.readouterr().out
    assert " active: The staging database moved to another host in May." in printed
    assert names["done"].is_proven
    used = journaled(folder, "usage.recorded")["cell_id"]
    assert names["said"].cell_id not in used.to_list(), "its use goes with it"


def test_the_page_names_every_call_and_every_filter():
    page = PAGE.read_text(encoding="utf-8")
    calls = [name for name in dir(Memory) if callable(getattr(Memory, name)) and not name.startswith("_")]
    assert [name for name in calls if f"memory.{name}(" not in page and f"`{name}`" not in page] == []


# light to import


@pytest.mark.processes
def test_importing_the_package_loads_nothing_heavy_until_memory_is_asked_for():
    code = (
        "import sys, slowwave; heavy = {'prefect', 'polars', 'lancedb', 'pydantic', 'numpy'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules);"
        "from slowwave import Memory; import slowwave as s; assert s.Memory is Memory and 'Memory' in dir(s);"
        "assert not {'prefect', 'instructor', 'openai'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_name_that_the_package_lacks_is_an_attribute_error():
    import slowwave

    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = slowwave.nothing_like_it


# while a night writes


@pytest.mark.nights
@pytest.mark.timeout(600)  # a night, a rebuild and eight readers share the cores with other tests
def test_eight_readers_get_whole_answers_while_a_night_and_a_rebuild_write(folder, tmp_path):
    chats = tmp_path / "chats"
    facts = [f"The port of service {number} is {5000 + number} since move {number}." for number in range(24)]
    said = [(f"2026-06-05T09:{number:02}:00Z", "Mara", fact) for number, fact in enumerate(facts)]
    write_chat(chats, "june", said[:12])
    nightly.fn(home=str(folder), sources=[str(chats)], force=True)
    write_chat(chats, "july", said[12:])
    memory, stop, errors, answers = Memory(folder), threading.Event(), [], []

    def read(number: int) -> None:
        question, level = f"port of service {number}", ("full", "evidence")[number % 2]
        try:
            while not stop.is_set():
                found = memory.search(question, detail_level=level, conversation_id=f"c{number}")
                answers.append((level, found))
                stop.wait(0.2)  # the night gets its share of the cores too
        except Exception as error:
            errors.append(error)

    readers = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for reader in readers:
        reader.start()
    try:
        nightly.fn(home=str(folder), sources=[str(chats)], force=True)
        rebuild.fn(home=str(folder))
    finally:
        stop.set()
        for reader in readers:
            reader.join(120)
    assert errors == []
    assert len(answers) > len(readers)
    store = open_store(open_home(folder).store_root)
    whole = dict(store.rows("cells", ["cell_id", "content"]).iter_rows())
    assert len({hit.cell_id for _, found in answers for hit in found.cells}) > 0
    for level, found in answers:
        assert found.cells, "a search while a night writes finds what was there before"
        assert all(hit.content == whole[hit.cell_id] for hit in found.cells)
        assert level == "full" or all(
            [turn.turn_id for turn in hit.evidence] == hit.turn_ids for hit in found.cells
        )


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder in which nobody can make one")
def test_a_home_that_cannot_be_made_is_named_where_something_is_to_be_kept():
    with Memory(Path("/proc/slowwave")) as memory:
        for keep in (
            partial(memory.remember, "The kiln is blue."),
            partial(memory.record, [{"session_id": "s", "role": "user", "text": "The kiln is blue."}]),
        ):
            with pytest.raises(ConfigError, match="the home folder /proc/slowwave cannot be written"):
                keep()
