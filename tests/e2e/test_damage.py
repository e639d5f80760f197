"""Damage of every kind to a home: commands tell it in one line or answer rightly, and `slowwave run rebuild` mends it.

After the rescue the memory is that of the journal that is left. All on copies of one home that lived through three
nights; `tests/integration/test_rebuild.py` has the common ones, and `test_store.py` and `tests/unit/test_journal.py`
have each form of a broken pointer, description or segment. `MANY_DAMAGED=1` cuts each table at ten places and not at
one, and loses every segment of the journal and not only some of the second night.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from polars.testing import assert_frame_equal

from slowwave.errors import ConfigError, NotFoundError, SlowwaveError
from slowwave.home.paths import open_home
from slowwave.interfaces.cli.program import program
from slowwave.journal.segments import Journal
from slowwave.memory import Memory
from slowwave.schemas.tables import TABLES
from slowwave.store import damaged_stores
from tests.e2e.killed_rebuild import rebuild_and_die
from tests.forked import start
from tests.integration.test_rebuild import NO_SERVER, settings_of, three_nights
from tests.scripted_model import ScriptedModel, tables
from tests.servers import OpenAIServer

pytestmark = pytest.mark.processes

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SEED = 20261123
ROOT = Path(__file__).resolve().parent.parent.parent
IS_MANY = bool(os.environ.get("MANY_DAMAGED"))

Tables = dict[str, pl.DataFrame]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of three nights, rebuilt once, so that every file in its store is in use."""
    folder = tmp_path_factory.mktemp("damage")
    with OpenAIServer(ScriptedModel()) as server:
        three_nights(folder / "chats", settings_of(folder / "home", url=server.url))
    settings_of(folder / "home", url=NO_SERVER)
    assert call("run rebuild", folder / "home").exit_code == 0
    keep_the_current(folder / "home" / "store")
    return folder / "home"


@pytest.fixture(scope="module")
def wanted(lived: Path) -> Tables:
    return tables(str(lived))


@pytest.fixture(scope="module")
def answers(lived: Path) -> dict[str, object]:
    return asked(lived)


@pytest.fixture
def home(lived: Path, tmp_path: Path) -> Path:
    return shutil.copytree(lived, tmp_path / "home")


def keep_the_current(store: Path) -> None:
    for folder in store.glob("g-*"):
        if folder.name != (store / "CURRENT").read_text():
            shutil.rmtree(folder)


def call(*words: object) -> Result:
    command, home, *others = words
    return CliRunner().invoke(program, [*str(command).split(), *map(str, others), "--home", str(home)])


READING: dict[str, Callable[[Memory], object]] = {
    "search": lambda memory: memory.search("What is the rate limit?", now=NOW),
    "evidence": lambda memory: memory.search("rate limit departures", detail_level="evidence", now=NOW),
    "filtered": lambda memory: memory.search("seat hold", entity="Mara", now=NOW),
    "context": lambda memory: memory.context("Which port has the staging database?", now=NOW),
    "tiers": lambda memory: memory.context(now=NOW),
    "entity": lambda memory: memory.entity("departures endpoint"),
    "timeline": lambda memory: memory.timeline("departures endpoint"),
    "weak": lambda memory: memory.weak(now=NOW),
    "archived": lambda memory: memory.archived("seat hold"),
    "contradictions": lambda memory: memory.contradictions(),
    "stats": lambda memory: memory.stats(now=NOW),
    "status": lambda memory: memory.status(now=NOW),
    "quarantine": lambda memory: memory.quarantine(),
    "topics": lambda memory: memory.topics(),
    "frame": lambda memory: memory.frame("cells").write_json(),
    "core": lambda memory: memory.core(),
    "explain": lambda memory: memory.explain(CELLS[0], now=NOW),
}
A_FEW = ("evidence", "context", "tiers", "timeline", "stats", "explain")
"""Commands that together read all tables that a question can need."""

CELLS: list[str] = []
"""The memory that `explain` is asked about."""

LASTING = {
    "notes",
    "home",
    "cache_bytes",
    "journal_segments",
    "lost_segments",
    "store_bytes",
    "journal_bytes",
    "took_ms",
    "seconds",
}
"""Parts of an answer that a damage elsewhere, or the clock, may change."""


def plain(found: object) -> object:
    """An answer as plain values, without its notes and sizes."""
    dumped = json.loads(json.dumps(found, default=lambda one: one.model_dump(mode="json")))

    def cleaned(value: object) -> object:
        if isinstance(value, dict):
            return {key: cleaned(part) for key, part in value.items() if key not in LASTING}
        return [cleaned(part) for part in value] if isinstance(value, list) else value

    return cleaned(dumped)


def asked(home: Path, names: tuple[str, ...] = tuple(READING)) -> dict[str, object]:
    """The answer of each reading command, or the error that it ended with; one memory answers all of them."""
    if not CELLS:
        CELLS.extend(tables(str(home))["cells"]["cell_id"].head(1))
    found: dict[str, object] = {}
    try:
        opened = Memory(home, records_usage=False)
    except SlowwaveError as error:
        return dict.fromkeys(names, error)
    with opened as memory:
        for name in names:
            try:
                found[name] = plain(READING[name](memory))
            except SlowwaveError as error:
                found[name] = error
    return found


def assert_told_or_right(
    home: Path,
    answers: dict[str, object],
    names: tuple[str, ...] = tuple(READING),
    *,
    telling: Sequence[str] = ("slowwave run rebuild",),
) -> int:
    """Each command tells in one line what to do, or answers as before; returns how many tell."""
    told = 0
    for name, found in asked(home, names).items():
        if str(found) == str(answers[name]):
            continue
        if isinstance(found, SlowwaveError):
            told += 1
            assert isinstance(found, ConfigError | NotFoundError), f"{name}: {found!r}"
            assert any(told_as in str(found) for told_as in telling), name
            assert "\n" not in str(found), name
        else:
            assert found == answers[name], f"{name} answers something else, and does not say so"
    return told


def assert_rescued(home: Path, wanted: Tables) -> Result:
    """`slowwave run rebuild` ends well, and the memory is the wanted one."""
    done = call("run rebuild", home)
    assert done.exit_code == 0, done.output
    assert_same(home, wanted)
    return done


def assert_rescued_for_good(home: Path, wanted: Tables) -> Result:
    """The rescue ends well, and another one finds nothing to mend and changes nothing."""
    done = assert_rescued(home, wanted)
    again = call("run rebuild", home)
    assert again.exit_code == 0
    assert "was damaged" not in again.output
    assert_same(home, wanted)
    return done


def assert_same(home: Path, wanted: Tables) -> None:
    found = tables(str(home))
    for table, rows in wanted.items():
        assert_frame_equal(found[table], rows)


def generation(home: Path) -> Path:
    store = home / "store"
    return store / (store / "CURRENT").read_text()


# tables


def files_of(folder: Path) -> list[Path]:
    """Files of a table that its last version needs."""
    newest = min((folder / "_versions").glob("*.manifest"))
    return [newest, *sorted(folder.glob("data/*")), *sorted(folder.glob("_indices/*/*"))]


def cuts(folder: Path, chance: random.Random) -> Iterator[tuple[Path, int]]:
    """Places at which a file of a table ends too early: its beginning, its end, or between; others for each table."""
    files = files_of(folder)
    for number in range(10) if IS_MANY else [chance.randrange(10)]:
        path = files[number % len(files)]
        size = path.stat().st_size
        yield path, [0, size - 1, chance.randrange(size)][number % 3]


@pytest.mark.parametrize("table", [*TABLES, "applied"])
def test_a_table_that_is_cut_swapped_or_gone_is_told(home, table, answers):
    folder, chance = generation(home) / f"{table}.lance", random.Random(f"{SEED} {table}")
    for path, size in cuts(folder, chance):
        whole = path.read_bytes()
        path.write_bytes(whole[:size])
        assert_told_or_right(home, answers, A_FEW)
        path.write_bytes(whole)
    if table in ("cells", "applied"):
        other = generation(home) / f"{'turns' if table == 'cells' else 'cells'}.lance"
        folder.rename(kept := home / "kept")
        other.rename(folder)
        kept.rename(other)
        assert assert_told_or_right(home, answers, A_FEW) > 0
        shutil.rmtree(folder)
        assert assert_told_or_right(home, answers, A_FEW) > 0


def test_a_table_that_is_gone_is_named_and_made_anew(home, wanted):
    shutil.rmtree(generation(home) / "cells.lance")
    done = assert_rescued_for_good(home, wanted)
    assert "table 'cells' is missing" in done.stdout
    assert len(damaged_stores(home / "store")) == 1


def test_an_answer_that_needs_no_damaged_table_stands_and_says_so(home, answers):
    shutil.rmtree(generation(home) / "nights.lance")
    with Memory(home, records_usage=False) as memory:
        for name in ("search", "evidence", "context", "timeline"):
            found = READING[name](memory)
            assert plain(found) == answers[name]
            assert any(
                "table 'nights' is missing; run `slowwave run rebuild`" in note for note in found.notes
            ), name
    done = call("search", home, "rate limit")
    assert done.exit_code == 0
    assert "table 'nights' is missing" in done.stderr.replace("\n", " ")


def test_a_reader_that_stays_answers_from_memory_beside_damage_and_after_the_rescue(home, lived, answers):
    with Memory(home, records_usage=False) as memory:
        memory.warm()
        assert plain(READING["search"](memory)) == answers["search"]
        shutil.rmtree(generation(home) / "cells.lance")
        for name in ("search", "context"):  # its tables follow the journal, which is whole
            assert plain(READING[name](memory)) == answers[name]
        told = call("search", home, "rate limit")
        assert told.exit_code != 0
        assert "table 'cells'" in told.stderr.replace("\n", " "), "one that begins says what is damaged"
        assert call("run rebuild", home).exit_code == 0
        assert plain(READING["search"](memory)) == answers["search"]
        shutil.rmtree(home / "store")
        shutil.copytree(lived / "store", home / "store")  # a backup is put back
        assert plain(READING["context"](memory)) == answers["context"]


WRITING = (
    ("remember", "The harbour opens at 5."),
    ("confirm", "CELL"),
    ("correct", "CELL", "The harbour opens at 6."),
    ("forget", "CELL"),
    ("erase", "CELL", "--yes"),
    ("ingest", str(ROOT / "data" / "samples" / "chat" / "02-2026-06-05-rate-limit.jsonl")),
    ("run reembed", "--dry-run"),
)


@pytest.mark.parametrize("table", ["cells", "applied"])
def test_commands_that_write_tell_damage_in_one_line_and_lose_nothing(home, table, wanted):
    cell_id, journal = wanted["cells"]["cell_id"][0], Journal(home / "journal")
    shutil.rmtree(generation(home) / f"{table}.lance")
    for words in WRITING:
        before = journal.segment_ids()
        done = call(words[0], home, *(cell_id if word == "CELL" else word for word in words[1:]))
        told = done.output.replace("\n", " ")
        assert isinstance(done.exception, SystemExit | None), f"{words}: {done.exception!r}"
        is_done = done.exit_code == 0 and words[0] in ("remember",)  # without what is damaged
        assert is_done or "slowwave run rebuild" in told, words
        is_recorded = journal.segment_ids() != before
        assert is_recorded == is_done, words
        assert done.exit_code == (0 if is_done else 78), words
    assert call("run rebuild", home).exit_code == 0
    assert call("search", home, "harbour").exit_code == 0


# pointer, description, folder


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


HARMS: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "garbled": lambda path: path.write_bytes(b"\xff\x00{\xfe"),
    "outside": lambda path: path.write_text("../../elsewhere"),
    "newer version": lambda path: path.write_text('{"schema_version": 99, "embedder_id": "", "dims": 1}'),
    "a folder": as_folder,
}


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        *(("CURRENT", harm) for harm in ("deleted", "garbled", "outside")),
        *(("meta.json", harm) for harm in ("deleted", "newer version", "a folder")),
    ],
)
def test_a_pointer_or_description_that_is_broken_is_told_and_rescued(home, name, harm, answers, wanted):
    HARMS[harm]((home / "store" if name == "CURRENT" else generation(home)) / name)
    if name == "CURRENT" and harm == "deleted":
        found = call("search", home, "rate limit")
        assert "slowwave run rebuild" in found.output
    else:
        assert assert_told_or_right(home, answers, A_FEW) == len(A_FEW)
    assert_rescued(home, wanted)


def half_made(home: Path) -> None:
    """What killed rebuilds leave, and what people do."""
    store = home / "store"
    (store / "g-01M8348P1D80Y0AYE5EDEK10XC").mkdir()
    half = store / "g-01M8348P1D80Y0AYE5EDEK10XD"
    shutil.copytree(generation(home), half)
    for table in ("cells", "turns", "applied"):
        shutil.rmtree(half / f"{table}.lance")
    (store / ".CURRENT.1-2.draft").write_text("g-01M834")
    (store / "notes.txt").write_text("mine")
    (store / "photos").mkdir()
    (generation(home) / "notes.txt").write_text("mine")
    (generation(home) / "cells.lance" / "data" / "notes.txt").write_text("mine")


def test_half_made_generations_and_foreign_files_disturb_nobody(home, answers, wanted):
    half_made(home)
    assert assert_told_or_right(home, answers) == 0
    assert_rescued_for_good(home, wanted)
    assert (home / "store" / "notes.txt").read_text() == "mine"


def test_a_pointer_to_a_half_made_generation_is_told_and_rescued(home, answers, wanted):
    half_made(home)
    (home / "store" / "CURRENT").write_text("g-01M8348P1D80Y0AYE5EDEK10XD")
    assert assert_told_or_right(home, answers) > 0
    assert_rescued(home, wanted)
    (kept,) = damaged_stores(home / "store")
    assert (kept / "notes.txt").read_text() == "mine", "nothing is deleted"


@pytest.mark.parametrize("place", ["a link to nowhere", "an empty folder"])
def test_whatever_stands_in_the_place_of_the_store_it_is_made_anew(home, place, wanted):
    store = home / "store"
    shutil.rmtree(store)
    if place == "a link to nowhere":
        store.symlink_to(home / "nowhere")
    else:
        store.mkdir()
    assert "slowwave run rebuild" in call("search", home, "rate limit").output
    assert "slowwave run rebuild" in call("status", home).output
    assert_rescued(home, wanted)


# the journal


def garble(path: Path, chance: random.Random) -> None:
    whole = bytearray(path.read_bytes())
    for _ in range(5):
        whole[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(whole))


def shuffle_lines(path: Path, chance: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *lines[1:], lines[chance.randrange(len(lines))]]))


LOSSES: dict[str, Callable[[Path, random.Random], object]] = {
    "deleted": lambda path, _: path.unlink(),
    "garbled": garble,
    "a line twice": shuffle_lines,
    "a folder": lambda path, _: as_folder(path),
}


def without(lived: Path, folder: Path, segment_id: str) -> Tables:
    """The memory of a home that never had a store, from the journal without one segment."""
    shutil.copytree(lived / "journal", folder / "journal")
    shutil.copy(lived / "slowwave.toml", folder / "slowwave.toml")
    Journal(folder / "journal").path_of(segment_id).unlink()
    assert call("run rebuild", folder).exit_code == 0
    return tables(str(folder))


def test_after_a_loss_in_the_journal_the_memory_is_that_of_what_is_left(lived, tmp_path, answers):
    """Segments are lost one by one, each in another way; those of one night, evenly, and with `MANY_DAMAGED` all."""
    chance = random.Random(SEED)
    segment_ids = Journal(lived / "journal").segment_ids()
    third = len(segment_ids) // 3
    some = segment_ids[third : 2 * third]
    lost = (
        segment_ids if IS_MANY else [some[number * len(some) // len(LOSSES)] for number in range(len(LOSSES))]
    )
    for number, segment_id in enumerate(lost):
        home, loss = tmp_path / f"home-{number}", list(LOSSES)[number % len(LOSSES)]
        shutil.copytree(lived, home)
        LOSSES[loss](Journal(home / "journal").path_of(segment_id), chance)
        assert_told_or_right(home, answers, A_FEW[:-1])  # `explain` reads the journal itself
        left = without(lived, tmp_path / f"left-{number}", segment_id)
        done = call("run rebuild", home)
        assert done.exit_code == 0
        assert_same(home, left)
        assert segment_id in done.stdout, f"{loss}: what is lost is named"
        assert len(damaged_stores(home / "store")) == 1, "the store that holds what is lost is kept"


def test_a_segment_that_is_there_twice_is_folded_once(home, wanted, answers):
    journal = Journal(home / "journal")
    for segment_id in journal.segment_ids()[::5]:
        path = journal.path_of(segment_id)
        shutil.copy(path, path.with_name(f"{path.stem} (copy).jsonl"))
        shutil.copy(path, path.with_name(f"{path.stem[:-1]}{'Z' if path.stem[-1] != 'Z' else 'Y'}.jsonl"))
        (home / "journal" / "backup").mkdir(exist_ok=True)
        shutil.copy(path, home / "journal" / "backup" / path.name)
    (home / "journal" / "empty" / "folders").mkdir(parents=True)
    assert assert_told_or_right(home, answers) == 0
    assert_rescued(home, wanted)


def test_a_home_without_any_journal_has_no_memory_after_the_rescue_and_keeps_its_store(home):
    shutil.rmtree(home / "journal")
    done = call("run rebuild", home)
    assert done.exit_code == 0
    assert "gone from the journal" in done.stdout
    assert all(rows.is_empty() for rows in tables(str(home)).values())
    (kept,) = damaged_stores(home / "store")
    assert (kept / (kept / "CURRENT").read_text() / "cells.lance").is_dir()


# settings and all other files of a home

SETTINGS = {
    "no toml": "llm = = 1",
    "unknown name": "[llm]\nprovidr = 'openai'",
    "bad value": "[search]\nmemory_rows = 'many'",
    "a folder": "",
}


@pytest.mark.parametrize("text", SETTINGS)
def test_garbled_settings_are_told_first_and_mended_by_removing_the_file(home, text, monkeypatch):
    path = home / "slowwave.toml"
    path.write_text(SETTINGS[text]) if text != "a folder" else as_folder(path)
    for words in (("search", "rate limit"), ("status",), ("run rebuild",), ("remember", "It is 5.")):
        done = call(words[0], home, *words[1:])
        assert done.exit_code == 78, done.output
        assert str(path) in done.output.replace("\n", "")
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "wordllama")
    assert call("search", home, "rate limit").exit_code == 0


def test_a_home_is_rescued_without_its_settings(home, wanted, monkeypatch):
    (home / "slowwave.toml").unlink()
    shutil.rmtree(generation(home) / "cells.lance")
    monkeypatch.setenv("SLOWWAVE_EMBEDDING__PROVIDER", "wordllama")
    assert_rescued(home, wanted)


HELD = ("writer.json",)
"""As with settings: what a person holds is not removed for them."""
OTHERS = ("MEMORY.md", "cache/answers.sqlite", "rederived/derivation.json")


@pytest.mark.parametrize("damage", ["garbled", "a folder"])
@pytest.mark.parametrize("names", [*([name] for name in HELD), OTHERS], ids=[*HELD, "all others"])
def test_no_other_file_of_the_home_keeps_the_rescue_from_its_work(home, names, damage, answers, wanted):
    for path in (home / name for name in names):
        path.parent.mkdir(exist_ok=True)
        path.touch()
        HARMS[damage](path)
    assert_told_or_right(home, answers, A_FEW, telling=names)
    shutil.rmtree(generation(home) / "cells.lance")
    done = call("run rebuild", home)
    if done.exit_code:
        (name,) = names
        assert name in HELD
        assert name in done.output.replace("\n", "")
        shutil.rmtree(home / name) if (home / name).is_dir() else (home / name).unlink()
        done = call("run rebuild", home)
    assert done.exit_code == 0, done.output
    assert_same(home, wanted)
    assert (home / "MEMORY.md").is_dir() or "- [" in (home / "MEMORY.md").read_text()


# real processes


def process(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "slowwave", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_program_itself_tells_one_line_and_rescues(home):
    folder = generation(home) / "cells.lance"
    newest = min((folder / "_versions").glob("*.manifest"))
    newest.write_bytes(b"")
    done = process("search", "rate limit", "--home", home)
    assert done.returncode == 78
    (line,) = done.stderr.splitlines()
    assert "run `slowwave run rebuild`" in line
    assert done.stdout == ""
    index = next(folder.glob("_indices/*/*.lance"), None)
    assert index is not None
    assert process("run", "rebuild", "--home", home).returncode == 0
    done = process("search", "rate limit", "--home", home)
    assert done.returncode == 0
    assert "180" in done.stdout


@pytest.mark.parametrize(
    ("owner", "method", "calls"),
    [
        ("Store", "apply", 1),
        ("Store", "put_vectors", 2),
        ("Path", "replace", 2),
        ("Path", "rename", 1),
        ("Path", "rename", 2),
    ],
)
def test_a_rescue_that_is_killed_loses_nothing_and_is_done_again(home, owner, method, calls, wanted):
    half_made(home)
    shutil.rmtree(generation(home) / "cells.lance")
    before = {path: path.read_bytes() for path in (home / "journal").rglob("*.jsonl")}
    child, told = start(rebuild_and_die, str(home), owner, method, calls)
    assert told.poll(120)
    assert told.recv() == "dying"
    child.join(30)
    assert {path: path.read_bytes() for path in (home / "journal").rglob("*.jsonl")} == before
    assert call("run rebuild", home).exit_code == 0
    assert_same(home, wanted)
    assert open_home(home).journal.missing() == []
