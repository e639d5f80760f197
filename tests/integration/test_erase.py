"""Erase: no byte of what a person said stays in the home, whenever the work is cut off."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from flows.nightly import nightly
from flows.rebuild import rebuild
from slowwave import Memory
from slowwave.errors import BusyError, InputError, NotFoundError
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.journal.segments import Journal
from slowwave.progress import listening as progressing
from slowwave.rewrite import engine
from slowwave.rewrite.byte_scan import files_with, forms_of
from slowwave.schemas.identity import content_hash
from slowwave.schemas.tables import frame_schema
from slowwave.schemas.text_columns import ORIGINS, text_columns
from tests.integration.test_locks import another_writer
from tests.made_once import fill
from tests.rows import NOW, row, rows
from tests.scripted_model import store_of, tables, write_chat, write_settings
from tests.serving import serving

DAY = timedelta(days=1)
SECRET = 'My number is "+49 151 2345678" \\ call\tme, Zoë.'
PLAIN = "The glaze kiln runs at 1040 degrees since May."


class Cut(BaseException):
    """As a kill: nothing of ours catches it."""


@contextmanager
def killed_after(count: int) -> Iterator[None]:
    """A kill while the journal is rewritten, between so many segments and the next."""
    rewrite, done = Journal.rewrite, []

    def cut(journal: Journal, segment_id: str, lines: list[str]) -> None:
        if len(done) == count:
            raise Cut
        done.append(segment_id)
        rewrite(journal, segment_id, lines)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Journal, "rewrite", cut)
        with pytest.raises(Cut):
            yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    owner = {"user_id": "ana", "project_id": "kiln"}
    write_settings(home, embedding={"provider": "none"}, owner=owner, edits={"lock_seconds": 2})
    return home


def chat(tmp_path: Path, *texts: str, session: str = "s1") -> str:
    turns = [(f"2026-06-02T09:{minute:02d}:00Z", "Mara", text) for minute, text in enumerate(texts)]
    write_chat(tmp_path / "chats", session, turns)
    return str(tmp_path / "chats")


def told(folder: Path) -> set[str]:
    store = store_of(folder)
    return {*store.rows("turns", ["content"])["content"], *store.rows("cells", ["content"])["content"]}


def assert_no_trace(folder: Path, *texts: str) -> None:
    assert files_with(folder, texts) == {}
    for text in texts:
        assert not [content for content in told(folder) if text in content]
    assert open_home(folder).journal.scan().problems == ()


def assert_gone(folder: Path, *texts: str) -> None:
    """And a rebuild from the journal gives the same rows."""
    assert_no_trace(folder, *texts)
    wanted = tables(folder)
    rebuild.fn(home=str(folder))
    for table, frame in tables(folder).items():
        assert_frame_equal(frame, wanted[table])
    assert files_with(folder, texts) == {}


@pytest.mark.nights
def test_a_text_goes_with_what_was_made_from_it_and_stays_out(folder, tmp_path):
    sources = [chat(tmp_path, PLAIN, SECRET)]
    nightly.fn(home=str(folder), sources=sources)
    memory = Memory(folder)
    kept = memory.remember("Invoices are due on Friday.", now=NOW)
    memory.remember(f"Remember this: {SECRET}", now=NOW)
    memory.search("number", conversation_id="c")
    memory.flush()
    shown = memory.erase(text="+49 151  2345678", dry_run=True)
    assert (len(shown.turn_ids), len(shown.cell_ids)) == (2, 2)
    assert files_with(folder, [SECRET])
    done = memory.erase(text="+49 151  2345678")
    assert done.is_proven
    assert not (folder / "erase.json").exists()
    assert_gone(folder, SECRET, "+49 151 2345678")
    chat(tmp_path, PLAIN, SECRET, "Tea is at five, as ever.")
    report = nightly.fn(home=str(folder), sources=sources)
    assert report.stages[0].rejected["erased by a person"] == 1
    assert not [text for text in told(folder) if "2345678" in text]
    assert any("1040 degrees" in text for text in told(folder)), "what stood beside it is extracted again"
    assert memory.explain(kept.cell_id).life.state == "active"


@pytest.mark.nights
def test_a_session_goes_whole_and_other_sessions_stay(folder, tmp_path):
    chat(tmp_path, SECRET, "ok", session="s1")
    sources = [chat(tmp_path, PLAIN, "ok", session="s2")]
    nightly.fn(home=str(folder), sources=sources)
    done = Memory(folder).erase(session_id="s1")
    assert (len(done.turn_ids), done.short_texts, done.is_proven) == (2, 1, True)
    assert_no_trace(folder, SECRET)
    assert {text for text in told(folder) if "kiln" not in text} == {"ok"}


def test_the_same_words_elsewhere_are_named_and_not_taken_along(folder):
    memory = Memory(folder)
    one = memory.remember(PLAIN, now=NOW)
    other = memory.remember(PLAIN, now=NOW + DAY)
    done = memory.erase(one.cell_id)
    assert not done.is_proven
    assert any(place.startswith("journal/") for place in done.remaining)
    assert store_of(folder).rows("cells", ["cell_id"])["cell_id"].to_list() == [other.cell_id]
    assert Memory(folder).erase(text=PLAIN).is_proven
    assert_no_trace(folder, PLAIN)


def test_timelines_notes_and_deleted_memories_that_quote_it_are_cut(folder):
    memory = Memory(folder)
    about = {"subject": "Mara", "attribute": "number"}
    one = memory.remember(SECRET, value="+49 151 2345678", **about, now=NOW)
    two = memory.correct(one.cell_id, "Mara has no number.", note=f"was {SECRET}", now=NOW + DAY)
    gone = memory.remember(f"Also {SECRET}", now=NOW)
    memory.forget(gone.cell_id, note=f"forget {SECRET}", now=NOW + DAY)
    assert memory.erase(text="2345678").is_proven
    assert_gone(folder, "2345678")
    assert memory.explain(two.cell_id).content == "Mara has no number."


def test_logs_lose_the_text_and_prefect_s_database_is_named(folder):
    memory = Memory(folder)
    said = memory.remember(SECRET, now=NOW)
    place = folder / "prefect"
    place.mkdir()
    (place / "worker.log").write_text(f"begin\nreport: {SECRET}\nend\n", encoding="utf-8")
    with closing(sqlite3.connect(place / "prefect.db")) as database, database:
        database.execute("CREATE TABLE log (id TEXT, message TEXT)")
        database.execute("INSERT INTO log VALUES (?, ?)", ("1", SECRET))
    done = memory.erase(said.cell_id)
    assert done.rewritten["log lines"] == 1
    assert (place / "worker.log").read_text(encoding="utf-8") == "begin\nreport: [erased]\nend\n"
    assert done.remaining == {"prefect/prefect.db": 1}
    assert any("stop `slowwave ui` and remove it" in note for note in done.notes)


def test_leftovers_of_a_kill_in_the_journal_and_other_files_are_found(folder):
    memory = Memory(folder)
    said = memory.remember(SECRET, now=NOW)
    journal = open_home(folder).journal
    draft = journal.path_of(journal.segment_ids()[0]).with_name(".torn.jsonl.draft")
    draft.write_bytes(sorted(forms_of(SECRET))[0])
    (folder / "notes.txt").write_text(SECRET, encoding="utf-16-le")
    of_core = folder / ".MEMORY.md.1-2.draft"
    of_core.write_text(f"- {SECRET}")
    done = memory.erase(said.cell_id)
    assert done.remaining == {"notes.txt": 1}
    assert (done.rewritten["torn files"], done.rewritten["drafts"]) == (1, 1)
    assert not draft.exists()
    assert not of_core.exists()


def test_a_text_is_found_in_every_column_of_a_memory(folder):
    names = [name for name in text_columns("cells") if name not in ORIGINS]
    lists = {name for name, dtype in frame_schema("cells").items() if dtype == pl.List(pl.String)}
    plain = {"entities": [], "artifacts": [], "evidence": []}
    told = [
        row(
            "cells",
            f"c{name}",
            **{"content": f"About {name}.", **plain, name: [SECRET] if name in lists else SECRET},
        )
        for name in names
    ]
    kept = row("cells", "kept", content="Workflow of the kiln.", **plain)
    with open_workspace(folder) as workspace:
        workspace.commit(encode("cell.extracted", rows("cells", *told, kept)), now=NOW)
    done = Memory(folder).erase(text="+49 151  2345678")
    assert done.cell_ids == sorted(f"c{name}" for name in names)
    assert done.is_proven
    assert_no_trace(folder, SECRET, "2345678")
    assert store_of(folder).rows("cells", ["cell_id"])["cell_id"].to_list() == ["kept"]


def test_a_text_that_only_a_note_quotes_is_masked_there_by_its_owner_alone(folder):
    memory = Memory(folder)
    kept = memory.remember(PLAIN, now=NOW)
    memory.confirm(kept.cell_id, note=f"sure of it: {SECRET}")
    shown = memory.erase(text="2345678", dry_run=True)
    assert (shown.turn_ids, shown.cell_ids) == ([], [])
    assert "1 records quote it" in shown.notes[0]
    owner = {"user_id": "ben", "project_id": "kiln"}
    write_settings(folder, embedding={"provider": "none"}, owner=owner)
    with pytest.raises(NotFoundError):
        Memory(folder).erase(text="2345678")
    assert files_with(folder, ["2345678"])
    write_settings(folder, embedding={"provider": "none"}, owner={**owner, "user_id": "ana"})
    assert Memory(folder).erase(text="2345678").is_proven
    assert_no_trace(folder, "2345678")
    assert Memory(folder).explain(kept.cell_id).life.state == "active"


@pytest.mark.nights
def test_a_text_that_also_stands_in_times_ids_and_choices_harms_none_of_them(folder):
    memory = Memory(folder)
    kept = memory.remember("Quillon Vexford keeps the kiln.", entities=["Quillon Vexford"], now=NOW)
    other = memory.correct(kept.cell_id, "Quillon Vexford keeps two kilns.", now=NOW + DAY)
    memory.remember(f"Since {NOW:%Y} a person has cell {kept.cell_id[:4]}.", now=NOW)
    nightly.fn(home=str(folder), force=True)
    for text in (f"{NOW:%Y}", "person", "fact", kept.cell_id[:4]):
        with suppress(NotFoundError):
            memory.erase(text=text)
        assert open_home(folder).journal.scan().problems == ()
        assert memory.explain(other.cell_id).life.before[0].cell_id == kept.cell_id
    rebuild.fn(home=str(folder))
    assert memory.explain(other.cell_id).life.before[0].cell_id == kept.cell_id


def say_two(home: Path) -> None:
    with Memory(home) as memory:
        memory.remember(SECRET, now=NOW)
        memory.remember(PLAIN, now=NOW)


@pytest.mark.parametrize("part", ["commit_names", "rewrite_journal", "renew", "clean", "prove"])
def test_an_erase_that_was_killed_is_ended_by_the_next_one(folder, monkeypatch, part):
    fill(folder, say_two)
    memory = Memory(folder)
    (said,) = memory.search("number").cells

    def cut(*_: object) -> object:
        raise Cut

    with monkeypatch.context() as patched:
        patched.setattr(engine, part, cut)
        with pytest.raises(Cut):
            memory.erase(said.cell_id)
    assert (folder / "erase.json").exists()
    assert [cell.content for cell in memory.search("kiln").cells] == [PLAIN]
    assert open_home(folder).journal.scan().problems == ()
    with pytest.raises(InputError, match="cut off"):
        memory.erase(said.cell_id, dry_run=True)
    assert memory.erase(resume=True).is_proven
    check = (
        assert_gone if part == "rewrite_journal" else assert_no_trace
    )  # the journal is what a rebuild reads
    check(folder, SECRET)


def test_a_kill_between_two_segments_leaves_each_of_them_whole(folder):
    memory = Memory(folder)
    said = memory.remember(SECRET, now=NOW)
    memory.confirm(said.cell_id)
    with killed_after(1):
        memory.erase(said.cell_id)
    assert open_home(folder).journal.scan().problems == ()
    assert memory.erase(resume=True).is_proven
    assert_no_trace(folder, SECRET)


def test_what_cannot_be_erased_is_said_and_changes_nothing(folder):
    memory = Memory(folder)
    memory.remember(PLAIN, now=NOW)
    before = files_with(folder, [PLAIN])
    for named, told_as in (
        ({"text": "ki"}, "too short"),
        ({"cell_id": "x", "text": "kiln"}, "name one thing"),
        ({}, "name what to erase"),
        ({"cell_id": "x", "resume": True}, "or resume alone"),
    ):
        with pytest.raises(InputError, match=told_as):
            memory.erase(**named)
    for named in (
        {"text": "no such words"},
        {"session_id": "nowhere"},
        {"turn_id": "abcdef"},
        {"resume": True},
    ):
        with pytest.raises(NotFoundError):
            memory.erase(**named)
    assert files_with(folder, [PLAIN]) == before


@pytest.mark.processes
def test_nothing_is_erased_while_another_process_writes(folder):
    memory = Memory(folder)
    said = memory.remember(PLAIN, now=NOW)
    before = files_with(folder, [PLAIN])
    with another_writer(folder), pytest.raises(BusyError, match="another run is writing"):
        memory.erase(said.cell_id)
    assert files_with(folder, [PLAIN]) == before


@pytest.mark.nights
def test_a_person_whom_nothing_else_names_goes_too(folder):
    with Memory(folder) as memory:
        gone = memory.remember("Hortensia Plumley has the code of the alarm.", entities=["Hortensia Plumley"])
        memory.remember("Quillon Vexford keeps the kiln.", entities=["Quillon Vexford"])
        memory.remember("Quillon Vexford fired the kiln in May.", entities=["Quillon Vexford"])
        nightly.fn(home=str(folder), force=True)
        assert memory.entity("Hortensia Plumley").entities[0].name == "Hortensia Plumley"
        done = memory.erase(gone.cell_id)
        assert done.is_proven
        assert_no_trace(folder, "Plumley", "hortensia")
        with pytest.raises(NotFoundError, match="Plumley"):
            memory.entity("Hortensia Plumley")
        assert memory.entity("Quillon Vexford").entities[0].mention_count == 2


def test_a_question_says_that_an_erase_was_cut_off(folder):
    with Memory(folder) as memory:
        memory.remember(PLAIN)
        open_home(folder).erase_path.write_text("{}", encoding="utf-8")
        assert any("slowwave erase --resume" in note for note in memory.search("kiln").notes)


@pytest.mark.processes
def test_two_erasures_at_once_over_http_both_succeed_and_show_their_progress(folder):
    with Memory(folder) as memory:
        first, second = (memory.remember(text, now=NOW).cell_id for text in (SECRET, PLAIN))
        memory.remember("Invoices are due on Friday.", now=NOW)
    done = set[str]()
    with (
        serving(folder) as client,
        ThreadPoolExecutor() as pool,
        progressing(lambda work, *_: done.add(work)),
    ):
        answers = list(
            pool.map(lambda name: client.post(f"/v1/cells/{name}/erase", json={}), [first, second])
        )
    assert [answer.status_code for answer in answers] == [200, 200], [answer.text for answer in answers]
    assert [answer.json()["remaining"] for answer in answers] == [{}, {}]
    assert done >= {"rewrite the journal", "search every file"}
    assert_no_trace(folder, SECRET, PLAIN)


def test_no_digest_of_what_is_kept_out_proves_a_guess_without_the_secret_of_the_home(folder):
    memory = Memory(folder)
    said = memory.remember(PLAIN, now=NOW)
    turn_ids = memory.erase(said.cell_id).turn_ids
    guesses = [said.cell_id, *turn_ids, content_hash(PLAIN)]
    assert files_with(folder, guesses) == {}
    assert (folder / "erased.key").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="deleted"):
        memory.remember(PLAIN, origin="agent", now=NOW)
    again = memory.remember(PLAIN, now=NOW)
    assert again.cell_id != said.cell_id
    assert again.notes == ["this had been deleted, and is remembered again"]
    assert memory.erase(again.cell_id).is_proven
    with pytest.raises(InputError, match="deleted"):
        memory.remember(PLAIN, origin="agent", now=NOW)
