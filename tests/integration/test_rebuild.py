"""The store can be made again from the journal alone: the same rows, without one call of a model."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from flows.nightly import nightly
from flows.rebuild import rebuild
from flows.reembed import reembed
from slowwave.errors import DamageError, NotFoundError
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from slowwave.memory import Memory
from slowwave.schemas.report import StageReport
from slowwave.schemas.tables import VECTOR_TEXT
from slowwave.store import col, damaged_stores, lit, open_store
from slowwave.store.conditions import on_disk
from slowwave.store.generations import OUTDATED
from slowwave.store.layout import SCHEMA_VERSION
from tests.scripted_model import ScriptedModel, segments, store_of, tables, write_chat, write_settings
from tests.servers import OpenAIServer

pytestmark = pytest.mark.nights

NO_SERVER = "http://127.0.0.1:9/v1"
RATE = "rate limit of the departures endpoint is"


def settings_of(home: Path, *, url: str, embedder: str = "wordllama", **embedding: str) -> str:
    return write_settings(
        home,
        llm={"provider": "openai", "base_url": url, "api_key": "k", "model": "m", "transport_retries": 0},
        embedding={"provider": embedder, **embedding},
        summaries={"min_unsummarized": 2},
        chunks={"window_tokens": 80, "overlap_tokens": 20},
    )


def three_nights(folder: Path, home: str) -> None:
    """Nights with values that change, a correction, repetitions, voices that disagree, use and a deletion."""
    june = [
        ("2026-06-05T08:59:00Z", "Jonas", "The colour of the old ferry is a secret of 7 people."),
        ("2026-06-05T09:00:00Z", "Mara", f"The {RATE} 100 requests per minute."),
        ("2026-06-05T09:01:00Z", "Mara", "The port of the staging database is 5433."),
        ("2026-06-05T09:02:00Z", "Mara", "The length of a seat hold is 12 minutes."),
        ("2026-06-05T09:03:00Z", "Jonas", "Jonas prefers named exports only."),
        ("2026-06-05T09:04:00Z", "Jonas", "According to Jonas the weekday of the settlement job is Tuesday."),
    ]
    july = [
        ("2026-07-05T09:00:00Z", "Mara", f"The {RATE} now 250 requests per minute."),
        ("2026-07-05T09:01:00Z", "Mara", "Correction: the port of the staging database is 6432."),
        ("2026-07-05T09:02:00Z", "Priya", "Remember, the length of a seat hold is 12 minutes."),
        (
            "2026-07-05T09:03:00Z",
            "Priya",
            "According to Priya the weekday of the settlement job is Thursday.",
        ),
        ("2026-07-05T09:04:00Z", "Priya", "The owner of the departures endpoint is team 4."),
    ]
    august = [
        ("2026-08-05T09:00:00Z", "Mara", f"The {RATE} now 180 requests per minute."),
        ("2026-08-05T09:01:00Z", "Mara", "The length of a seat hold is 12 minutes."),
    ]
    for name, turns in {"june": june, "july": july, "august": august}.items():
        write_chat(folder, name, turns)
        nightly.fn(home=home, sources=[str(folder)], force=True)
        if name == "june":
            use_and_delete(home)


def use_and_delete(home: str) -> None:
    with open_workspace(home) as workspace:
        cells = workspace.store.rows("cells").sort("cell_id")
        secret = cells.filter(pl.col("content").str.contains("secret"))
        used = (
            cells.head(2)
            .select("cell_id")
            .with_columns(
                usage_id=pl.format("use-{}", "cell_id"),
                usage_type=pl.Series(["cited", "retrieved"]),
                used_at=pl.lit(cells["recorded_at"][0]),
                context=pl.lit("a test"),
            )
        )
        for kind, rows in (
            ("cell.deleted", secret.with_columns(note=pl.lit("test"))),
            ("usage.recorded", used),
        ):
            workspace.commit(encode(kind, rows), now=cells["recorded_at"][0])


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that has lived through three nights, and whose model server is gone."""
    folder = tmp_path_factory.mktemp("rebuild")
    with OpenAIServer(ScriptedModel()) as server:
        three_nights(folder / "chats", settings_of(folder / "home", url=server.url))
    settings_of(folder / "home", url=NO_SERVER)
    return folder / "home"


@pytest.fixture
def home(lived: Path, tmp_path: Path) -> str:
    """A copy of it that a test may change."""
    return str(shutil.copytree(lived, tmp_path / "home"))


@pytest.fixture(scope="module")
def rebuilt(lived: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StageReport]:
    """A copy of it that was rebuilt, and the report."""
    home = shutil.copytree(lived, tmp_path_factory.mktemp("rebuilt") / "home")
    return home, rebuild.fn(home=str(home))


@pytest.fixture
def rebuilt_home(rebuilt: tuple[Path, StageReport], tmp_path: Path) -> str:
    """A copy of that one that a test may change."""
    return str(shutil.copytree(rebuilt[0], tmp_path / "rebuilt"))


def rows_with_vectors(home: str) -> dict[str, pl.DataFrame]:
    store = store_of(home)
    found = {}
    for table in VECTOR_TEXT:
        key = store.rows(table).columns[0]
        for column in ("vector", "centroid") if table == "topics" else ("vector",):
            found[f"{table}.{column}"] = store.vectors(table, store.rows(table, [key])[key], column=column)
    return found


def assert_same_tables(found: dict[str, pl.DataFrame], wanted: dict[str, pl.DataFrame]) -> None:
    for table, rows in wanted.items():
        assert_frame_equal(found[table], rows)


def state(home: str) -> tuple[str, dict[str, str], dict[str, pl.DataFrame]]:
    return open_store(open_home(home).store_root).name, segments(home), tables(home)


def assert_same_state(home: str, before: tuple[str, dict[str, str], dict[str, pl.DataFrame]]) -> None:
    name, journal, rows = state(home)
    assert (name, journal) == before[:2]
    assert_same_tables(rows, before[2])


def test_the_nights_that_the_tests_stand_on_met_everything(lived):
    rows = tables(lived)
    assert set(rows["cells"]["status"]) == {"active", "superseded"}
    assert rows["contradictions"].height == 1
    assert rows["tombstones"].height == 2  # a memory, and the episode that tells of it
    assert rows["usage"]["folded_at"].null_count() == 0
    assert rows["cell_usage"]["citation_count"].sum() == 1
    assert rows["cell_usage"]["confirmations"].sum() == 2
    assert rows["nights"].height == 3
    assert rows["core"].height > 0
    assert rows["judgements"].height > 0
    assert rows["topics"]["summary"].drop_nulls().len() > 0
    assert not rows["cells"]["content"].str.contains("secret").any()


def test_a_rebuild_gives_the_same_tables_and_vectors_without_a_model(lived, rebuilt):
    wanted, vectors = tables(str(lived)), rows_with_vectors(str(lived))
    home, report = rebuilt
    assert report.ledger.total.call_count == 0
    assert not [note for note in report.notes if "differ" in note]
    assert_same_tables(tables(str(home)), wanted)
    for name, rows in rows_with_vectors(str(home)).items():
        assert_frame_equal(rows, vectors[name], abs_tol=1e-5, rel_tol=0)
        is_told = name.startswith("entities")  # nothing is told of an entity that few memories name
        assert rows.height > 0 or is_told, name


def test_a_rebuilt_store_answers_searches_like_the_one_before(lived, rebuilt):
    def answers(home: Path) -> list[str]:
        store = store_of(str(home))
        found = store.matching("cells", ["rate limit departures"], 5, where=col("status") == lit("active"))
        owner = store.vectors("cells", found["cell_id"])
        near = store.nearest("cells", owner["vector"].to_numpy(), 3)
        return [*found["cell_id"], *near["cell_id"]]

    before = answers(lived)
    assert len(before) > 3
    assert answers(rebuilt[0]) == before


def test_a_night_after_a_rebuild_has_nothing_to_do(rebuilt_home):
    journal = segments(rebuilt_home)
    report = nightly.fn(home=rebuilt_home, force=False)
    assert report.change_count == 0
    assert report.ledger.total.call_count == 0
    assert segments(rebuilt_home) == journal


def test_a_store_of_an_older_version_is_named_by_answers_and_rebuilt_by_the_next_night(home):
    before = tables(home)
    meta = store_of(home).root / store_of(home).name / "meta.json"
    meta.write_text(meta.read_text().replace(f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 1'))
    with Memory(home) as memory:
        found = memory.search(RATE)
        with pytest.raises(NotFoundError, match="older version"):
            memory.timeline("departures endpoint")
    assert (found.cells, found.notes) == ([], [OUTDATED])
    report = nightly.fn(home=str(home), force=False)
    assert any("older version (1) was rebuilt" in note for note in report.notes)
    assert {name: rows.height for name, rows in tables(home).items()} == {
        name: rows.height for name, rows in before.items()
    }
    with Memory(home) as memory:
        assert memory.search(RATE).cells


def test_a_dry_rebuild_changes_neither_journal_nor_store(home):
    before, generations = state(home), list((Path(home) / "store").glob("g-*"))
    report = rebuild.fn(home=home, dry_run=True)
    assert report.dry_run
    assert not [note for note in report.notes if "differ" in note]
    assert_same_state(home, before)
    assert list((Path(home) / "store").glob("g-*")) == generations


def test_a_dry_rebuild_says_what_the_store_holds_beyond_the_journal(home):
    with open_workspace(home) as workspace:
        cell = workspace.store.rows("cells").sort("cell_id").head(1)
        workspace.store.stored.table("cells").delete(on_disk(col("cell_id") == lit(cell["cell_id"][0])))
    before = state(home)
    report = rebuild.fn(home=home, dry_run=True)
    told = [note for note in report.notes if note.startswith("cells: ")]
    assert told == ["cells: 1 rows that the store lacked, 0 that the journal does not know, 0 that differ"]
    assert_same_state(home, before)


def test_a_dry_night_changes_neither_journal_nor_store(home, tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        settings_of(Path(home), url=server.url)
        write_chat(tmp_path / "new", "september", [("2026-09-05T09:00:00Z", "Mara", f"The {RATE} now 90.")])
        before = state(home)
        report = nightly.fn(home=home, sources=[str(tmp_path / "new")], force=True, dry_run=True)
        assert report.change_count > 0
        assert_same_state(home, before)


def test_reembedding_to_none_and_back_keeps_every_row_and_brings_the_vectors_back(home):
    wanted, vectors, journal = tables(home), rows_with_vectors(home), segments(home)
    settings_of(Path(home), url=NO_SERVER, embedder="none")
    report = reembed.fn(home=home)
    assert not report.is_skipped
    store = store_of(home)
    assert (store.meta.embedder_id, store.meta.dims) == ("", 1)
    assert all(rows.is_empty() for rows in rows_with_vectors(home).values())
    assert_same_tables(tables(home), wanted)
    found = store.matching("cells", ["rate limit"], 5)
    assert found.height > 0, "full text serves without vectors"
    assert reembed.fn(home=home).is_skipped

    settings_of(Path(home), url=NO_SERVER)
    reembed.fn(home=home)
    assert store_of(home).meta.embedder_id.startswith("wordllama/")
    assert_same_tables(tables(home), wanted)
    for name, rows in rows_with_vectors(home).items():
        assert_frame_equal(rows, vectors[name], abs_tol=1e-5, rel_tol=0)
    assert segments(home) == journal


def test_a_torn_segment_is_named_and_the_rest_is_rebuilt(home):
    journal = open_home(home).journal
    last = journal.segment_ids()[-1]
    path = journal.path_of(last)
    path.write_bytes(path.read_bytes()[:-20])
    report = rebuild.fn(home=home)
    assert any(last in note and "torn or changed" in note for note in report.notes)
    assert report.rejected["file in the journal that is not a whole segment"] == 1
    assert store_of(home).count("nights") == 2, "the last segment was the last night's record"
    assert store_of(home).count("turns") == 13


def test_a_segment_that_is_gone_is_missed_by_answers_status_and_nights_before_a_rebuild_forgets_it(home):
    journal = open_home(home).journal
    with Memory(home) as memory:
        whole = memory.search("What is the rate limit?")
        assert memory.status().lost_segments == 0
    journal.path_of(journal.segment_ids()[3]).unlink()
    with Memory(home) as memory:
        found = memory.search("What is the rate limit?")
        assert memory.status().lost_segments == 1
    assert [cell.cell_id for cell in found.cells] == [cell.cell_id for cell in whole.cells]
    (note,) = set(found.notes) - set(whole.notes)
    assert note.startswith("1 segment of the journal is gone, and only the store has what it told: ")
    with open_workspace(home) as workspace:
        assert note in workspace.notes
    rebuild.fn(home=home)
    with Memory(home) as memory:
        assert note not in memory.search("What is the rate limit?").notes
        assert memory.status().lost_segments == 0


# damage: the store's own files are not needed (tests/e2e/test_damage.py breaks every one of them)


def generation(store: Path) -> Path:
    return store / (store / "CURRENT").read_text()


def lose_a_table(store: Path) -> None:
    shutil.rmtree(generation(store) / "cells.lance")


def test_a_night_over_a_damaged_store_stops_unless_the_settings_let_it_rebuild(home, monkeypatch):
    wanted, journal = tables(home), segments(home)
    lose_a_table(Path(home) / "store")
    with pytest.raises(DamageError, match="table 'cells' is missing; run `slowwave run rebuild`"):
        nightly.fn(home=home)
    assert segments(home) == journal
    monkeypatch.setenv("SLOWWAVE_NIGHT__DAMAGED_STORE", "rebuild")
    with pytest.raises(DamageError):
        nightly.fn(home=home, dry_run=True)
    report = nightly.fn(home=home)
    assert [note for note in report.notes if "the store was damaged: table 'cells' is missing" in note]
    assert_same_tables(tables(home), wanted)


def test_an_erase_leaves_no_damaged_store_behind(home):
    lose_a_table(Path(home) / "store")
    rebuild.fn(home=home)
    with Memory(home) as memory:
        cell_id = tables(home)["cells"]["cell_id"][0]
        memory.erase(cell_id)
    assert not damaged_stores(Path(home) / "store")
