"""`run redact`: what older rules let in leaves the home, whenever the work is cut off, and nothing else does."""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from flows.nightly import nightly
from flows.rebuild import rebuild
from flows.redact import redact
from slowwave import Memory
from slowwave.errors import BusyError, InputError
from slowwave.home.paths import open_home
from slowwave.ingest.redact.marks import secrets_in
from slowwave.journal.lookup import of_kind
from slowwave.rewrite.byte_scan import files_with
from slowwave.schemas.tables import TABLES
from slowwave.schemas.text_columns import text_columns
from tests.integration.test_erase import killed_after
from tests.integration.test_locks import another_writer
from tests.rows import NOW
from tests.scripted_model import (
    ScriptedModel,
    assert_no_row_twice,
    segments,
    tables,
    write_chat,
    write_settings,
)
from tests.servers import OpenAIServer

pytestmark = pytest.mark.processes

DAY = timedelta(days=1)
KEY = "Qx7" + "vT9m2LrB4" * 2
WORD = "brine" + "42kelp"
NUMBER = "8812" + "7731"
SECRETS = [KEY, WORD, NUMBER]
PLAIN = "The glaze kiln runs at 1040 degrees since May."


@contextmanager
def old_rules() -> Iterator[None]:
    """A program that knew no secret."""
    with pytest.MonkeyPatch.context() as patched:
        for name in [
            name for name in sys.modules if name.startswith("slowwave.ingest.") and ".redact" not in name
        ]:
            patched.setattr(f"{name}.redact", lambda text: (text, {}), raising=False)
            patched.setattr(f"{name}.redact_reply", lambda text, _: (text, {}), raising=False)
        for name in ("find", "find_in_reply"):
            patched.setattr(f"slowwave.ingest.redact.known.{name}", lambda *_: [])
        patched.setattr("slowwave.ingest.redact.names.marked", lambda text, _: text)
        patched.setattr("slowwave.home.swept.rules_id", lambda: "of old")
        yield


def write_sources(folder: Path, *more: str) -> list[str]:
    """A chat in which the word is said with and without its surroundings, and notes with a key and a number."""
    said = [
        PLAIN,
        f"The password for the kiln is {WORD}, and it opens the cellar of Brimlow too.",
        f"The length of a firing at Brimlow is 12 hours, says {WORD}.",
        *more,
    ]
    write_chat(
        folder / "in", "kiln", [(f"2026-06-02T09:{n:02d}:00Z", "Mara", text) for n, text in enumerate(said)]
    )
    notes = folder / "in" / "notes.md"
    notes.write_text(
        f"# Access\n\napi_key = {KEY}\n\nThe export goes out at night.\n\n"
        f"# Firings\n\nThe kiln log lies in drawer 4.\n\n# Cellar\n\nThe PIN of the door: password={NUMBER}\n",
        encoding="utf-8",
    )
    return [str(folder / "in")]


def old_home(folder: Path, *, url: str = "") -> tuple[Path, list[str]]:
    """A home that an older program wrote, with secrets in turns, documents, statements, notes and a deleted memory."""
    home = folder / "home"
    llm = {"provider": "openai", "base_url": url, "api_key": "k", "model": "m", "transport_retries": 0}
    groups = {"llm": llm} if url else {}
    write_settings(home, embedding={"provider": "none"}, summaries={"min_unsummarized": 2}, **groups)
    sources = write_sources(folder)
    with old_rules():
        nightly.fn(home=str(home), sources=sources, force=True)
        memory = Memory(home)
        said = memory.remember(f"The gate opens with {WORD} at Brimlow.", entities=["Brimlow"], now=NOW)
        memory.correct(said.cell_id, f"The gate password is {WORD}9.", note=f"was {WORD}", now=NOW + DAY)
        gone = memory.remember(f"Also the gate password is {WORD}.", now=NOW)
        memory.forget(gone.cell_id, note=f"password: {WORD}", now=NOW + DAY)
        memory.remember("Invoices are due on Friday.", now=NOW)
        memory.search("gate", conversation_id="c")
        memory.context("gate password")
        memory.flush()
        nightly.fn(home=str(home), force=True)
    (home / "logs").mkdir()
    (home / "logs" / "own.log").write_text(f"begin\npassword={NUMBER}\nend\n", encoding="utf-8")
    return home, sources


def bytes_of(home: Path) -> dict[str, str]:
    """Every file of a home with the hash of its bytes, but for the locks."""
    return {
        path.relative_to(home).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.startswith(("writer.", "run."))
    }


def assert_clean(home: Path) -> None:
    """No byte and no row holds a secret; the journal is whole, and makes the same store again."""
    assert files_with(home, SECRETS) == {}
    assert_no_row_twice(home)
    found = tables(home)
    for table in TABLES:
        for name in text_columns(table):
            column = found[table][name].drop_nulls()
            assert not [text for text in column if secrets_in(text)], (table, name)
            assert not column.str.contains_any(SECRETS).any(), (table, name)
    assert open_home(home).journal.scan().problems == ()
    rebuild.fn(home=str(home))
    for table, frame in tables(home).items():
        assert_frame_equal(frame, found[table])
    assert files_with(home, SECRETS) == {}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of old, made without a model; whoever changes it works on a copy."""
    return old_home(tmp_path_factory.mktemp("old"))[0]


@pytest.fixture
def home(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "home"))


def test_a_dry_run_says_what_it_found_and_changes_no_byte(home: Path) -> None:
    assert files_with(home, [KEY]).keys() & set(files_with(home, [WORD])), "the older program let them in"
    before = bytes_of(home)
    report = redact.fn(home=str(home), dry_run=True)
    assert bytes_of(home) == before
    assert report.change_count > 8
    assert any("journal: " in note and "logs: 1" in note for note in report.notes), report.notes
    assert any("notes.md" in example for example in report.examples), report.examples
    told = report.model_dump_json()
    assert not [secret for secret in SECRETS if secret in told]


def test_everything_is_taken_out_and_a_source_that_grew_brings_neither_a_secret_nor_a_turn_back(
    tmp_path: Path,
) -> None:
    home, sources = old_home(tmp_path)
    before = {table: frame.height for table, frame in tables(home).items()}
    report = redact.fn(home=str(home))
    assert report.rejected == {}
    assert any("none is left" in note for note in report.notes), report.notes
    assert_clean(home)
    known = tables(home)
    assert {table: frame.height for table, frame in known.items()} == before
    write_sources(tmp_path, "Tea is at five, as ever.")
    notes = tmp_path / "in" / "notes.md"
    notes.write_text(notes.read_text(encoding="utf-8") + "\n# Tea\n\nTea is green.\n", encoding="utf-8")
    nightly.fn(home=str(home), sources=sources, force=True)
    turns = tables(home)["turns"]
    assert turns.height == known["turns"].height + 2
    assert known["turns"].join(turns, on=["turn_id", "content"], how="anti").is_empty()
    assert_clean(home)


def test_what_killed_writers_left_goes_and_an_id_in_it_is_no_secret(home: Path) -> None:
    segment = next(path for path in (home / "journal").rglob("*.jsonl") if "notes.md" in path.read_text())
    of_journal, of_core = segment.with_name(f".{segment.name}.1-2.draft"), home / ".MEMORY.md.1-2.draft"
    whole = segment.read_bytes()
    of_journal.write_bytes(whole + whole[: whole.index(KEY.encode()) + len(KEY)])  # the last line is cut
    of_core.write_text(f"- The key is {KEY}\n")
    report = redact.fn(home=str(home))
    assert not of_journal.exists()
    assert not of_core.exists()
    assert report.rejected == {}, report.notes
    assert_clean(home)


def test_secrets_in_ids_that_came_from_outside_go_everywhere(tmp_path: Path) -> None:
    token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    home = tmp_path / "home"
    write_settings(home, embedding={"provider": "none"})
    said = [{"session_id": token, "id": "1", "role": "user", "text": PLAIN}]
    write_chat(tmp_path / token, "kiln", [("2026-06-02T09:00:00Z", "Mara", "The kiln is hot.")])
    with old_rules(), Memory(home) as memory:
        memory.record(said, project=f"p {token}", new_project=True)
        memory.ingest([str(tmp_path / token)])
    assert files_with(home, [token])
    report = redact.fn(home=str(home), dry_run=False)
    assert any(note.startswith("found in journal: ") for note in report.notes)
    assert files_with(home, [token]) == {}
    with Memory(home) as memory:  # and what comes again is what is there
        assert memory.record(said, project=f"p {token}", new_project=True).new_count == 0
        memory.ingest([str(tmp_path / token)])
    assert sorted(tables(home)["turns"]["content"]) == [PLAIN, "The kiln is hot."]


def test_a_home_of_today_holds_nothing_to_take_out_but_what_its_logs_hold(tmp_path: Path) -> None:
    home = tmp_path / "store" / "home"  # a folder above the home that is named like one within it
    write_settings(home, embedding={"provider": "none"})
    nightly.fn(home=str(home), sources=write_sources(tmp_path), force=True)
    Memory(home).remember(f"The gate password is {WORD}.", now=NOW)
    before = segments(home)
    assert redact.fn(home=str(home)).is_skipped
    assert segments(home) == before
    (home / "logs").mkdir(exist_ok=True)
    (home / "logs" / "own.log").write_text(f"begin\npassword={WORD}\nend\n", encoding="utf-8")
    assert any("logs: 1" in note for note in redact.fn(home=str(home)).notes)
    assert files_with(home, [WORD]) == {}


def test_every_change_is_traced_in_the_journal_and_a_second_run_finds_nothing(home: Path) -> None:
    report = redact.fn(home=str(home))
    events = open_home(home).journal.scan().events
    traced = of_kind(events, "text.redacted")
    assert traced["secret_count"].sum() == report.change_count
    marked = events.filter(pl.col("payload").str.contains("[redacted:", literal=True))["event_id"]
    assert set(traced["event_id"]) == set(marked), "what changed is named, and nothing else"
    before = bytes_of(home)
    again = redact.fn(home=str(home))
    assert (again.is_skipped, again.counts, bytes_of(home)) == (True, {}, before)


def test_what_changed_has_another_id_and_all_others_keep_theirs(home: Path) -> None:
    before = tables(home)
    redact.fn(home=str(home))
    after = tables(home)
    same = before["cells"].filter(~pl.col("content").str.contains_any([*SECRETS]))
    assert set(same["cell_id"]) <= set(after["cells"]["cell_id"])
    changed = before["cells"].filter(pl.col("content").str.contains_any([*SECRETS]))
    assert changed.height
    assert not set(changed["cell_id"]) & set(after["cells"]["cell_id"]), (
        "an id would tell whether a guess is right"
    )
    for line in json.dumps({table: frame.write_json() for table, frame in after.items()}).split(","):
        assert not [cell_id for cell_id in changed["cell_id"] if cell_id in line]
    known = {*after["turns"]["turn_id"], *after["cells"]["cell_id"]}
    assert {name for names in after["cells"]["evidence"] for name in names.split("|") if name} <= known


@pytest.mark.parametrize("count", [0, 2])
def test_a_redaction_that_was_killed_between_two_segments_is_ended_by_the_next_one(home: Path, count: int):
    with killed_after(count):
        redact.fn(home=str(home))
    assert (home / "redact.json").stat().st_mode & 0o077 == 0
    assert Memory(home).search("kiln degrees").cells
    assert open_home(home).journal.scan().problems == ()
    with pytest.raises(InputError, match="cut off"):
        redact.fn(home=str(home), dry_run=True)
    with pytest.raises(InputError, match="run redact"):
        Memory(home).erase(text="kiln log")
    kept = Memory(home).remember("Said while it was cut off.", now=NOW)
    redact.fn(home=str(home))
    assert not (home / "redact.json").exists()
    assert_clean(home)
    traced = of_kind(open_home(home).journal.scan().events, "text.redacted")
    assert traced.select("event_id", "secret_kind").is_unique().all(), "an event is named once"
    assert Memory(home).explain(kept.cell_id).life.state == "active"


def test_erase_and_forget_work_afterwards(home: Path) -> None:
    redact.fn(home=str(home))
    memory = Memory(home)
    cell = next(cell for cell in memory.search("gate password").cells if "redacted" in cell.content)
    memory.forget(cell.cell_id, now=NOW + DAY)
    assert memory.explain(cell.cell_id).life.state == "deleted"
    assert memory.erase(text="opens the cellar of Brimlow").is_proven
    assert_clean(home)


def test_settings_that_hold_a_secret_are_named_as_left(home: Path) -> None:
    with (home / "slowwave.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n# my key is {KEY}\n")
    report = redact.fn(home=str(home))
    assert any(str(home / "slowwave.toml") in note for note in report.notes), report.notes
    assert report.rejected == {"place that still holds a secret": 1}
    assert set(files_with(home, SECRETS)) == {"slowwave.toml"}


def test_a_night_and_the_doctor_say_that_a_home_of_old_needs_it(home: Path) -> None:
    from slowwave.home.swept import ADVICE, needs_sweep

    assert needs_sweep(open_home(home))
    assert ADVICE in nightly.fn(home=str(home), force=True).model_dump_json()
    redact.fn(home=str(home))
    assert not needs_sweep(open_home(home))
    assert ADVICE not in nightly.fn(home=str(home), force=True).model_dump_json()


def test_what_a_model_made_from_a_secret_goes_too_and_nothing_is_doubled_by_the_next_night(
    tmp_path: Path,
) -> None:
    said = [
        f"The password of the Brimlow gate is {WORD}.",
        f"Correction: the password of the Brimlow gate is {WORD}77.",
        f"The host of the kiln server is {WORD}.",
        f"According to Priya the host of the kiln server is not {WORD}.",
        "The length of a firing is 12 hours.",
        f"Jonas prefers {WORD}, see PR 12.",
    ]
    with OpenAIServer(ScriptedModel()) as server:
        home = tmp_path / "home"
        llm = {"provider": "openai", "base_url": server.url, "api_key": "k", "model": "m"}
        write_settings(home, llm=llm, embedding={"provider": "none"}, summaries={"min_unsummarized": 1})
        with old_rules():
            for number, day in ((0, "2026-06-02"), (2, "2026-06-22")):
                turns = [(f"{day}T09:{n:02d}:00Z", "Mara", text) for n, text in enumerate(said)]
                write_chat(tmp_path / "in", f"s{number}", turns[number : number + 4])
                nightly.fn(home=str(home), sources=[str(tmp_path / "in")], force=True)
            Memory(home).remember(
                f"The {WORD} tower stands at Brimlow.", entities=[f"{WORD} tower", "Brimlow"]
            )
            Memory(home).cite([cell.cell_id for cell in Memory(home).search("gate").cells], context="c")
            nightly.fn(home=str(home), force=True)
        assert files_with(home, [WORD]).keys() >= {"cache/answers.sqlite", "MEMORY.md"}
        before = {table: frame.height for table, frame in tables(home).items()}
        report = redact.fn(home=str(home))
        assert report.rejected == {}, report.notes
        assert not (home / "cache" / "answers.sqlite").exists()
        assert_clean(home)
        assert {table: frame.height for table, frame in tables(home).items()} == before
        assert_ends_are_there(home)
        nightly.fn(home=str(home), sources=[str(tmp_path / "in")], force=True)
        made = ("turns", "chunks", "cells", "mentions", "artifacts", "edges", "judgements", "contradictions")
        assert {name: tables(home)[name].height for name in made} == {name: before[name] for name in made}
        assert_clean(home)


def assert_ends_are_there(home: Path) -> None:
    """What an edge, a mention or a topic names is a row."""
    found = tables(home)
    known = {
        *found["turns"]["turn_id"], *found["cells"]["cell_id"], *found["entities"]["entity_id"],
        *found["cells"]["session_id"],
    }  # fmt: skip
    assert set(found["edges"]["source_id"]) | set(found["edges"]["target_id"]) <= known
    assert set(found["mentions"]["cell_id"]) <= known
    assert set(found["mentions"]["entity_id"]) <= known
    assert set(found["cells"]["topic_id"].drop_nulls()) <= set(found["topics"]["topic_id"])
    assert set(found["core"]["cell_id"]) <= known


def test_nothing_is_redacted_while_another_process_writes(home: Path) -> None:
    before = bytes_of(home)
    with another_writer(home), pytest.raises(BusyError):
        redact.fn(home=str(home))
    assert bytes_of(home) == before
