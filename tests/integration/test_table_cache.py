"""Tables in memory: always what is on disk, whoever wrote it; and on disk where they are too large."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from slowwave.journal.changes import Change, collapse
from slowwave.store import (
    FirstQuery,
    RowsQuery,
    SearchQuery,
    Store,
    col,
    create_store,
    lit,
    open_store,
    table_cache,
)
from slowwave.store.memory_tables import MemoryTable
from tests.rows import row, rows

DIMS = 4
LIVE = col("status") == lit("active")
ALL = [RowsQuery("cells", ("cell_id", "content"), LIVE)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    store = create_store(tmp_path / "store", embedder_id="scripted/m/4/1", dims=DIMS)
    write(store, a="the ferry leaves", b="a token")
    return store.root


def write(store: Store, **contents: str | None) -> None:
    """Writes cells; those without a content go."""
    there = {key: text for key, text in contents.items() if text is not None}
    gone = [key for key in contents if key not in there]
    changes = []
    if there:
        frame = rows("cells", *(row("cells", key, content=text) for key, text in there.items()))
        changes.append(Change("cells", frame.with_columns(order=pl.int_range(pl.len())), "whole"))
    if gone:
        frame = pl.DataFrame({"cell_id": gone}).with_columns(order=pl.lit(0, dtype=pl.Int64))
        changes.append(Change("cells", frame, "removal"))
    store.apply(collapse(changes))


def copied(
    root: Path, *, most_rows: int = 1_000, exact_rows: int = 1_000, night: Path | None = None
) -> Store:
    """A store with its tables in memory; while the file `night` is there, another process writes."""
    store = open_store(root)
    is_written = (lambda: False) if night is None else night.exists
    store.keep_in_memory(most_rows=most_rows, exact_rows=exact_rows, is_written=is_written)
    return store


def count_loads(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that are read into memory from now on."""
    loads, load = list[str](), store._cache._load

    def counted(table: str, before: MemoryTable | None) -> MemoryTable:
        loads.append(table)
        return load(table, before)

    monkeypatch.setattr(store._cache, "_load", counted)
    return loads


def found(store: Store) -> dict[str, str]:
    return {one["cell_id"]: one["content"] for one in store.find(ALL)[0]}


def matching(store: Store, text: str) -> list[str]:
    return [one["cell_id"] for one in store.find([SearchQuery("cells", text, None, 10, LIVE)])[0]]


def test_what_others_write_is_seen_with_the_next_question(root: Path):
    reader, writer = copied(root), open_store(root)
    assert found(reader) == {"a": "the ferry leaves", "b": "a token"}
    for place in range(5):
        write(writer, a=f"departure {place}", **{f"n{place}": "ferry again"})
        assert found(reader)["a"] == f"departure {place}"
        assert matching(reader, "departure") == ["a"]
        assert matching(reader, "ferry") == [f"n{other}" for other in range(place + 1)]
    write(writer, a=None, b=None)
    assert matching(reader, "departure token") == []


def test_words_find_their_rows_after_a_table_that_grew_is_read_again_in_the_order_of_its_keys(root: Path):
    reader, writer = copied(root), open_store(root)
    assert matching(reader, "ferry") == ["a"]
    write(reader, A="the door is blue")  # its key comes first, and the copy holds it behind the others
    write(writer, b="a token")  # no text changed, yet the table is read again
    assert [matching(reader, word) for word in ("door", "ferry", "token")] == [["A"], ["a"], ["b"]]


def test_vectors_come_when_they_are_computed_and_change_with_the_text(root: Path):
    reader, writer = copied(root), open_store(root)
    query = SearchQuery("cells", "", np.array([1, 0, 0, 0], np.float32), 5, LIVE)
    assert reader.find([query]) == [[]]
    given = pl.DataFrame({"cell_id": ["a", "b"], "vector": [[1.0, 0, 0, 0], [0.0, 1, 0, 0]]})
    writer.put_vectors("cells", given)
    assert [one["cell_id"] for one in reader.find([query])[0]] == ["a", "b"]
    write(writer, a="something else")
    assert [one["cell_id"] for one in reader.find([query])[0]] == ["b"]
    writer.put_vectors("cells", pl.DataFrame({"cell_id": ["a"], "vector": [[0.0, 0, 0, 1]]}))
    assert reader.find([query])[0][0]["similarity"] == pytest.approx(0.0)


def test_a_table_beyond_the_bound_stays_on_disk(root: Path):
    reader = copied(root, most_rows=1)
    assert found(reader) == {"a": "the ferry leaves", "b": "a token"}
    assert reader._cache.copy_of("cells") is None
    assert reader.find([SearchQuery("cells", "ferry", None, 5, LIVE)])[0][0]["cell_id"] == "a"


def test_a_large_table_is_read_beside_the_questions(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(table_cache, "SMALL_ROWS", 1)
    reader, writer = copied(root), open_store(root)
    reader.begin_question()
    assert len(found(reader)) == 2
    assert reader._cache.copy_of("cells") is None  # a process with one question does not wait for it
    reader.begin_question()
    assert len(found(reader)) == 2
    _until(lambda: reader._cache.copy_of("cells") is not None)
    write(writer, c="of another")
    _until(lambda: "c" in found(reader))
    write(reader, d="my own")
    assert found(reader)["d"] == "my own"  # at once, from disk while it is read anew
    assert matching(reader, "own") == ["d"]


@pytest.mark.parametrize("caught_up_rows", [50_000, 1])
def test_after_a_pause_the_first_question_sees_what_others_wrote(
    root: Path, monkeypatch: pytest.MonkeyPatch, caught_up_rows: int
):
    """Read within the question, or from the disk where that takes long; a night at work changes nothing of it."""
    monkeypatch.setattr(table_cache, "SMALL_ROWS", 1)
    monkeypatch.setattr(table_cache, "CAUGHT_UP_ROWS", caught_up_rows)
    reader, writer = copied(root), open_store(root)
    reader.read_into_memory(["cells"])
    reader.begin_question()
    reader.begin_question()
    entry = reader._cache._entries["cells"]
    for is_written in (False, True):
        monkeypatch.setattr(reader._cache, "is_written", lambda said=is_written: said)
        write(writer, a=f"departure {is_written}")
        entry.current_at = entry.next_read = -table_cache.PAUSE_SECONDS - 1.0
        assert found(reader)["a"] == f"departure {is_written}"
        _until(lambda: reader._cache.copy_of("cells") is not None)


def test_a_table_read_beside_has_ready_what_questions_made_of_the_one_before(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(table_cache, "SMALL_ROWS", 1)
    monkeypatch.setattr(table_cache, "LATELY_SECONDS", 60.0)  # never within the question
    reader, writer = copied(root), open_store(root)
    reader.begin_question()
    reader.begin_question()
    _until(lambda: reader._cache.copy_of("cells") is not None)
    reader.find([RowsQuery("cells", ("cell_id", "content"), col("cell_id").isin(["a"]))])
    before = reader._cache.copy_of("cells")
    write(writer, c="of another")
    _until(lambda: reader._cache.copy_of("cells") is not before)
    copy = reader._cache.copy_of("cells")
    assert copy is not None
    assert copy._columns["content"] == copy.frame["content"].to_list()
    assert copy._lookups["cell_id"] == {"a": [0], "b": [1], "c": [2]}


def test_other_threads_see_the_copy_at_hand_until_the_writer_has_caught_up(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(table_cache, "MOST_GROWN", 0)  # as of many rows
    monkeypatch.setattr(table_cache, "SMALL_ROWS", 1)
    monkeypatch.setattr(table_cache, "WRITER_SECONDS", 3_600.0)
    reader = copied(root)
    reader.read_into_memory(["cells"])
    loads = count_loads(reader, monkeypatch)
    write(reader, d="my own")
    with ThreadPoolExecutor(1) as another:
        assert "d" not in another.submit(found, reader).result()
        assert found(reader)["d"] == "my own"  # from disk, in the thread that wrote
        assert loads == []
        reader.catch_up()
        assert another.submit(found, reader).result()["d"] == "my own"
        assert another.submit(matching, reader, "own").result() == ["d"]
    reader.catch_up()
    assert loads == ["cells"]  # once, and not again where nothing changed


def test_few_rows_that_it_writes_itself_are_taken_over_as_if_the_table_were_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    """In the order of the keys, wherever a new one belongs; with full text, vectors, and all that questions made."""
    reader = copied(root, exact_rows=6)
    reader.read_into_memory(["cells"])
    queries = [
        *(SearchQuery("cells", text, None, 5, LIVE, ("content",)) for text in ("ferry", "token", "own")),
        SearchQuery("cells", "", np.array([1, 1, 0, 0], np.float32), 4, LIVE),
        RowsQuery("cells", ("cell_id", "content"), LIVE),
        RowsQuery("cells", ("content",), col("subject").isin(["kiln"])),
        FirstQuery("cells", "salience", 3, LIVE, ("cell_id",)),
    ]
    reader.find(queries)
    loads = count_loads(reader, monkeypatch)
    for texts in (
        {"d": "my own", "0": "the ferry leaves"},
        {"a": "a token", "aa": "a token", "0": "the ferry is late"},
        {"aa": "a token"},
    ):
        write(reader, **texts)
        given = [[1.0, place, 0.0, 0.0] for place in range(len(texts))]
        reader.put_vectors("cells", pl.DataFrame({"cell_id": [*texts], "vector": given}))
        anew = copied(root, exact_rows=6)
        assert reader.find(queries) == anew.find(queries)
    assert loads == []
    copy, fresh = reader._cache.copy_of("cells"), anew._cache.copy_of("cells")
    assert copy is not None
    assert fresh is not None
    assert copy.frame.sort("cell_id").equals(fresh.frame)
    write(reader, d=None)
    assert "d" not in found(reader)


def test_rows_that_wait_to_be_written_are_found_until_they_are_written_or_gone(root: Path):
    reader, writer = copied(root), open_store(root)
    birth = rows("cells", row("cells", "0", content="it waits")).with_columns(order=pl.lit(0, pl.Int64))
    changes = collapse([Change("cells", birth, "birth")])
    vectors = lambda texts: [[0.0, 1.0, 0.0, 0.0] for _ in texts]  # noqa: E731
    assert not reader.show("s1", changes, vectors), "no copy of the table is in memory"
    reader.read_into_memory(["cells"])
    assert reader.show("s1", changes, vectors)
    query = SearchQuery("cells", "", np.array([0, 1, 0, 0], np.float32), 5, LIVE)
    assert (matching(reader, "waits"), [one["cell_id"] for one in reader.find([query])[0]]) == (["0"], ["0"])
    assert list(found(reader)) == ["0", "a", "b"]
    write(writer, c="of another")
    assert list(found(reader)) == ["0", "a", "b", "c"], "the table was read again"
    writer.apply(changes)
    writer.mark_applied(["s1"])
    write(writer, **{"0": None})
    assert list(found(reader)) == ["a", "b", "c"], "it was written, and went"
    assert reader.show("s2", changes, vectors)
    reader.apply(changes)
    reader.mark_applied(["s2"])
    assert list(found(reader)) == list(found(copied(root))) == ["0", "a", "b", "c"]
    patch = Change("cells", birth.select("cell_id", "order", content=pl.lit("other")), "patch")
    assert not reader.show("s3", collapse([patch]), vectors), "what changes a row waits for the store"


def test_where_the_writer_never_catches_up_the_table_is_read_beside(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(table_cache, "MOST_GROWN", 0)  # as of many rows
    monkeypatch.setattr(table_cache, "SMALL_ROWS", 1)
    monkeypatch.setattr(table_cache, "WRITER_SECONDS", 0.0)
    reader = copied(root)
    reader.read_into_memory(["cells"])
    reader.begin_question()
    reader.begin_question()
    write(reader, d="my own")
    with ThreadPoolExecutor(1) as another:
        _until(lambda: "d" in another.submit(found, reader).result())


def test_while_a_night_writes_the_copy_at_hand_answers_until_the_night_is_over(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(table_cache, "REST_SECONDS", 3_600.0)
    night = tmp_path / "writer.json"
    reader, writer = copied(root, night=night), open_store(root)
    night.touch()
    assert found(reader) == {"a": "the ferry leaves", "b": "a token"}  # there was no copy yet
    write(writer, a="departure")
    assert found(reader)["a"] == "the ferry leaves"
    write(reader, d="my own")
    assert found(reader) == {"a": "departure", "b": "a token", "d": "my own"}
    write(writer, b=None)
    assert "b" in found(reader)
    night.unlink()
    assert "b" not in found(reader)


def test_while_a_night_writes_what_it_wrote_is_seen_after_a_rest(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(table_cache, "REST_SECONDS", 0.0)
    monkeypatch.setattr(table_cache, "REST_SHARE", 0.0)
    night = tmp_path / "writer.json"
    night.touch()
    reader, writer = copied(root, night=night), open_store(root)
    assert "c" not in found(reader)
    write(writer, c="the gates are shut")
    assert "c" not in found(reader)
    _until(lambda: "c" in found(reader))
    _until(lambda: matching(reader, "gate") == ["c"])


def test_sketches_find_what_whole_vectors_find(root: Path, monkeypatch: pytest.MonkeyPatch):
    from slowwave.store import memory_vectors

    dice = np.random.default_rng(3)
    centres = dice.standard_normal((40, 256))
    given = (centres[np.arange(4_000) % 40] + dice.standard_normal((4_000, 256))).astype(np.float32)
    hashes = pl.Series(np.zeros(4_000, np.uint64))
    monkeypatch.setattr(memory_vectors, "COMPARED_WHOLE", 100)
    whole = memory_vectors.memory_vectors(given, hashes, exact_rows=10_000, axes=None)
    short = memory_vectors.memory_vectors(given, hashes, exact_rows=1, axes=None)
    assert whole.sketches is None
    assert short.sketches is not None
    most = memory_vectors.memory_vectors(given[:3_900], hashes[:3_900], exact_rows=1, axes=short.axes)
    places = np.array([7, *range(3_900, 4_000)])
    grown = most.with_rows(places, given[places], hashes[places], height=4_000)
    assert np.allclose(grown.sketches, short.sketches, atol=1e-3)
    mask, same = dice.random(4_000) < 0.9, 0
    for asked in given[::100] + dice.standard_normal((40, 256)).astype(np.float32):
        sure = whole.nearest(asked, whole.first_look(asked), 10, mask)
        likely = short.nearest(asked, short.first_look(asked), 10, mask)
        assert mask[likely[0]].all()
        same += len(set(sure[0].tolist()) & set(likely[0].tolist()))
    assert same >= 0.98 * 400


def _until(holds, *, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
