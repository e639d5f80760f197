"""Tables in memory: what anybody committed is found with the next question, as if the tables were read again."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.home.workspace import apply_pending
from slowwave.journal.catalogue import encode
from slowwave.journal.segments import Journal
from slowwave.store import (
    FirstQuery,
    Query,
    Row,
    RowsQuery,
    SearchQuery,
    Store,
    col,
    create_store,
    index,
    lit,
    open_store,
)
from tests.examples import at_most
from tests.rows import NOW, events, row, rows

DIMS = 4
LIVE = col("status") == lit("active")
ALL = RowsQuery(
    "cells", ("cell_id", "content", "head_id", "superseded_by"), LIVE | (col("status") == lit("superseded"))
)


class Place:
    """A journal and a store beside it."""

    def __init__(self, root: Path) -> None:
        self.journal = Journal(root / "journal")
        self.root = create_store(root / "store", embedder_id="scripted/m/4/1", dims=DIMS).root

    def reader(self, *, most_rows: int = 1_000) -> Store:
        store = open_store(self.root)
        store.keep_in_memory(self.journal, most_rows=most_rows, exact_rows=6)
        return store

    def commit(self, *parts: pl.DataFrame) -> str:
        segment = self.journal.commit(pl.concat(parts), now=NOW)
        assert segment is not None
        return segment

    def say(self, **contents: str) -> str:
        return self.commit(*(said(key, text) for key, text in contents.items()))

    def write(self) -> Store:
        """A writer takes in everything that is committed."""
        store = open_store(self.root)
        apply_pending(self.journal, store)
        return store


def said(key: str, content: str, **given: object) -> pl.DataFrame:
    made = rows("cells", row("cells", key, content=content, entities=[], artifacts=[], **given))
    return encode("cell.extracted", made)


def message(key: str, content: str, place: int = 0) -> pl.DataFrame:
    return encode("turn.recorded", rows("turns", row("turns", key, content=content, turn_index=place)))


def superseded(key: str, by: str) -> pl.DataFrame:
    return events("cell.superseded", {"cell_id": key, "superseded_by": by, "verdict": "updates"})


def pruned(key: str) -> pl.DataFrame:
    return events("cell.pruned", {"cell_id": key, "reason": "old"})


def vectors(store: Store, given: Mapping[str, list[float]]) -> None:
    store.put_vectors("cells", pl.DataFrame({"cell_id": [*given], "vector": [*given.values()]}))


def ask(store: Store, *queries: Query) -> list[list[Row]]:
    store.begin_question()
    return store.find(queries)


def contents(store: Store) -> dict[str, str]:
    return {one["cell_id"]: one["content"] for one in ask(store, ALL)[0]}


def matching(store: Store, text: str) -> list[str]:
    return [one["cell_id"] for one in ask(store, SearchQuery("cells", text, None, 10, LIVE))[0]]


def until(holds, *, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.say(a="the ferry leaves", b="a token")
    made.write()
    return made


def test_what_anybody_commits_is_found_with_the_next_question_before_a_writer_took_it_in(place: Place):
    reader = place.reader()
    assert contents(reader) == {"a": "the ferry leaves", "b": "a token"}
    place.say(A="the door is blue", c="ferry again")
    place.commit(superseded("a", "c"), message("t1", "which ferry?"))
    assert matching(reader, "ferry") == ["c"]
    assert {one["cell_id"]: one["head_id"] for one in ask(reader, ALL)[0]} == {
        "A": "A",
        "a": "c",
        "b": "b",
        "c": "c",
    }
    passages = SearchQuery("passages", "ferry", None, 5, None, ("turn_ids",))
    assert {(*one["turn_ids"],) for one in ask(reader, passages)[0]} == {("t1",)}
    assert reader.count("turns") == 1
    place.commit(pruned("b"))
    assert list(contents(reader)) == ["A", "a", "c"]
    assert open_store(place.root).count("cells") == 2, "no writer came"
    before = ask(reader, ALL)
    place.write()
    assert ask(reader, ALL) == before == ask(place.reader(), ALL)


def test_a_segment_that_comes_to_be_seen_after_a_later_one_is_found(place: Place):
    reader = place.reader()
    assert len(contents(reader)) == 2
    late = place.journal.path_of(place.say(c="written for long"))
    hidden = late.rename(late.with_suffix(".draft"))
    place.say(d="written meanwhile")
    assert "d" in contents(reader)
    hidden.rename(late)
    assert "c" in contents(reader)


def test_a_vector_is_found_once_a_writer_computed_it_and_goes_with_its_text(place: Place):
    reader = place.reader()
    query = SearchQuery("cells", "", np.array([1, 0, 0, 0], np.float32), 5, LIVE)
    assert ask(reader, query) == [[]]
    vectors(open_store(place.root), {"a": [1.0, 0, 0, 0], "b": [0.0, 1, 0, 0]})
    assert [one["cell_id"] for one in ask(reader, query)[0]] == ["a", "b"]
    place.commit(superseded("b", "a"))
    assert [one["cell_id"] for one in ask(reader, query)[0]] == ["a"]
    place.commit(events("cell.labelled", {"cell_id": "a", "index_label": "ferry"}))
    assert ask(reader, query)[0][0]["similarity"] == pytest.approx(1.0)


def test_who_waits_for_no_writer_gives_few_new_texts_their_vectors_at_once(place: Place):
    reader = place.reader()
    assert len(contents(reader)) == 2
    place.say(c="it waits")
    reader.embed_new(lambda texts: [[0.0, 0.0, 1.0, 0.0] if "waits" in text else None for text in texts])
    query = SearchQuery("cells", "", np.array([0, 0, 1, 0], np.float32), 5, LIVE)
    assert [one["cell_id"] for one in ask(reader, query)[0]] == ["c"]


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("say"), st.sampled_from("abcdefA0"), st.sampled_from(["ferry", "token", "a ferry token"])
        ),
        st.tuples(st.just("supersede"), st.sampled_from("abcd"), st.sampled_from("efA0")),
        st.tuples(st.just("prune"), st.sampled_from("abcdefA0"), st.just("")),
        st.tuples(st.just("embed"), st.sampled_from("abcdefA0"), st.just("")),
        st.tuples(st.just("write"), st.just(""), st.just("")),
        st.tuples(st.just("ask"), st.just(""), st.just("")),
    ),
    min_size=1,
    max_size=14,
)
SPACE = np.array([1, 1, 0, 0], np.float32)
QUERIES = [
    *(
        SearchQuery("cells", text, SPACE, 4, LIVE, ("content",), also=("a",))
        for text in ("ferry", "token", "a ferry")
    ),
    SearchQuery(
        "cells", "ferry token", None, 3, LIVE, parts=(col("cell_id") == lit("a"), col("cell_id") != lit("a"))
    ),
    RowsQuery("cells", ("cell_id", "content", "head_id", "property", "superseded_by"), LIVE),
    RowsQuery("cells", ("content",), col("head_id").isin(["e", "A"])),
    FirstQuery("cells", "salience", 3, LIVE, ("cell_id",)),
]


@given(steps=STEPS)
@settings(max_examples=at_most(30) // 3)
def test_after_any_events_all_answers_are_those_of_tables_that_are_read_anew(tmp_path_factory, steps):
    place = Place(tmp_path_factory.mktemp("place"))
    place.say(a="the ferry leaves", b="a token", c="ferry")
    place.write()
    reader = place.reader()
    ask(reader, *QUERIES)
    for step, key, given_text in steps:
        if step == "say":
            place.say(**{key: given_text})
        elif step == "supersede":
            place.commit(superseded(key, given_text))
        elif step == "prune":
            place.commit(pruned(key))
        elif step == "embed":
            vectors(place.write(), {key: [1.0, float(ord(key)), 0.0, 0.0]})
        elif step == "write":
            place.write()
        else:
            ask(reader, *QUERIES)
    place.write()
    for found, wanted in zip(ask(reader, *QUERIES), ask(place.reader(), *QUERIES), strict=True):
        assert [one | _rounded(one) for one in found] == [one | _rounded(one) for one in wanted]


def _rounded(one: Row) -> Row:
    return {name: round(one[name], 4) for name in ("text_score", "similarity") if name in one}


def test_a_table_beyond_the_bound_stays_on_disk_and_is_found_once_a_writer_came(place: Place):
    reader = place.reader(most_rows=1)
    assert contents(reader) == {"a": "the ferry leaves", "b": "a token"}
    assert not reader.shows("cells")
    place.say(c="ferry again")
    assert matching(reader, "ferry") == ["a"]
    place.write()
    assert set(matching(reader, "ferry")) == {"a", "c"}


def test_a_large_table_is_read_beside_the_questions_from_the_second_on(place: Place, monkeypatch):
    monkeypatch.setattr(index, "FEW_ROWS", 1)
    reader = place.reader()
    assert len(contents(reader)) == 2
    assert not reader.shows("cells"), "a process with one question does not wait for it"
    until(lambda: len(contents(reader)) == 2 and reader.shows("cells"))
    place.say(c="of another")
    assert "c" in contents(reader)


@pytest.mark.parametrize("bound", ["FEW_ROWS", "FEW_BYTES"])
def test_what_is_too_much_for_a_question_becomes_a_new_base_beside_them(
    place: Place, monkeypatch, bound: str
):
    reader = place.reader()
    assert len(contents(reader)) == 2
    monkeypatch.setattr(index, bound, 1)
    monkeypatch.setattr(index, "REST_SHARE", 0.0)
    place.say(c="of another", d="ferry again")
    place.write()
    until(lambda: list(contents(reader)) == ["a", "b", "c", "d"])
    assert reader._index is not None
    until(lambda: contents(reader) and reader._index.tables.held["cells"].tail.height == 0)
    assert sorted(matching(reader, "ferry")) == ["a", "d"]


def test_much_that_no_writer_came_to_before_the_first_question_is_laid_beside_the_questions(
    place: Place, monkeypatch
):
    monkeypatch.setattr(index, "FEW_BYTES", 1)
    place.say(c="of an import")
    reader = place.reader()
    assert list(contents(reader)) == ["a", "b"]
    until(lambda: list(contents(reader)) == ["a", "b", "c"])


def test_much_that_came_while_a_table_rested_is_read_once_it_may_be(place: Place, monkeypatch):
    reader = place.reader()
    assert len(contents(reader)) == 2
    monkeypatch.setattr(index, "FEW_BYTES", 1)
    place.say(c="of another")
    until(lambda: "c" in contents(reader))
    assert reader._index is not None
    reader._index._rests["cells"] = time.monotonic() + 0.5
    place.say(d="ferry again")
    assert "d" not in contents(reader)
    until(lambda: "d" in contents(reader))


def test_questions_are_answered_while_new_texts_are_embedded(place: Place):
    reader = place.reader()
    assert len(contents(reader)) == 2
    place.say(c="of another")
    asked = list[dict[str, str]]()

    def embed(texts):
        asking = threading.Thread(target=lambda: asked.append(contents(reader)))
        asking.start()
        asking.join(30)
        return [[1.0] * DIMS for _ in texts]

    reader.embed_new(embed)
    assert asked
    assert "c" in asked[0]


def test_a_segment_that_cannot_be_read_keeps_no_other_out(place: Place):
    reader = place.reader()
    assert len(contents(reader)) == 2
    segment = place.say(c="of another")
    path = place.journal.path_of(segment)
    path.write_text(path.read_text().replace('"format": 1', '"format": 99', 1))
    place.say(d="ferry again")
    assert "d" in contents(reader)


def test_a_derivation_that_takes_the_place_of_the_memory_is_not_laid_over_it(place: Place):
    reader = place.reader()
    before = contents(reader)
    place.commit(events("derivation.switched", {"derivation_id": "r1"}), said("c", "derived anew"))
    place.say(d="after it")
    assert contents(reader) == before, "another generation comes"


def test_sketches_find_what_whole_vectors_find(monkeypatch: pytest.MonkeyPatch):
    from slowwave.store import memory_vectors

    dice = np.random.default_rng(3)
    centres = dice.standard_normal((40, 256))
    made = (centres[np.arange(4_000) % 40] + dice.standard_normal((4_000, 256))).astype(np.float32)
    monkeypatch.setattr(memory_vectors, "COMPARED_WHOLE", 100)
    whole = memory_vectors.memory_vectors(made)
    short = memory_vectors.memory_vectors(made, exact_rows=1)
    assert whole.sketches is None
    assert short.sketches is not None
    mask, same = dice.random(4_000) < 0.9, 0
    for asked in made[::100] + dice.standard_normal((40, 256)).astype(np.float32):
        sure = whole.nearest(asked, whole.first_look(asked), 10, mask)
        likely = short.nearest(asked, short.first_look(asked), 10, mask)
        assert mask[likely[0]].all()
        same += len(set(sure[0].tolist()) & set(likely[0].tolist()))
    assert same >= 0.98 * 400
