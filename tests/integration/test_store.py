"""The store on a real LanceDB: what is written, what is found, and whose it is."""

import itertools
import json
import shutil
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from slowwave.errors import ConfigError, ContractError, DamageError, NotFoundError
from slowwave.journal.changes import Change, collapse
from slowwave.schemas.tables import KEYS, TABLES
from slowwave.settings.groups import ScopeSettings
from slowwave.store import (
    SCHEMA_VERSION,
    SearchQuery,
    Store,
    col,
    copy_store,
    create_store,
    lit,
    open_store,
    owned_by,
    owned_in,
    same_owner,
    stored,
    writing,
)
from slowwave.store.scopes import asking_in
from tests.rows import row, rows, table_of

DIMS = 4
EMBEDDER = "scripted/m/4/1"


@pytest.fixture(autouse=True)
def everything_is_read_on_disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a few rows would be read once and then held; here the disk itself answers."""
    if "small" not in request.node.name:
        monkeypatch.setattr(stored, "MOST_ROWS", 0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_store(tmp_path / "store", embedder_id=EMBEDDER, dims=DIMS)


def write(store: Store, table: str, *frames: pl.DataFrame, removed: str = "") -> None:
    changes = [
        Change(table, frame.with_columns(order=pl.int_range(pl.len()) + 100 * number), "whole")
        for number, frame in enumerate(frames, 1)
    ]
    gone = pl.DataFrame({KEYS[table]: removed.split()}, schema={KEYS[table]: pl.String})
    changes.append(Change(table, gone.with_columns(order=pl.lit(0, dtype=pl.Int64)), "removal"))
    store.apply(collapse(changes))


def cells(**contents: str) -> pl.DataFrame:
    return rows("cells", *(row("cells", key, content=content) for key, content in contents.items()))


def vectors(store: Store, table: str, column: str = "vector", **given: list[float]) -> None:
    frame = pl.DataFrame(
        {KEYS[table]: list(given), column: [[float(x) for x in one] for one in given.values()]}
    )
    store.put_vectors(table, frame, column=column)


def near(store: Store, *queries: list[float], k: int = 10, **how: object) -> list[list[str]]:
    found = store.nearest("cells", np.array(queries, dtype=np.float32), k, **how)  # type: ignore[arg-type]
    return [
        found.filter(pl.col("query_index") == index)["cell_id"].to_list() for index in range(len(queries))
    ]


def matching(store: Store, *texts: str, k: int = 10, where=None) -> list[list[str]]:
    found = store.matching("cells", texts, k, where=where)
    return [found.filter(pl.col("query_index") == index)["cell_id"].to_list() for index in range(len(texts))]


# rows


def test_every_table_gives_back_the_rows_that_it_was_given(store: Store):
    for table in [name for name in TABLES if name != "passages"]:  # those are made from turns
        assert store.rows(table).is_empty()
        given = table_of(table, "b a c")
        write(store, table, given)
        assert store.rows(table).sort(KEYS[table]).equals(given.sort(KEYS[table])), table
        assert store.by_key(table, ["c", "a", "nobody", "a"])[KEYS[table]].to_list() == ["a", "c"]
        assert store.by_key(table, []).equals(given.clear())
        assert store.count(table) == 3


def test_applying_twice_changes_nothing(store: Store):
    write(store, "cells", cells(a="one", b="two"))
    before = store.rows("cells").sort("cell_id")
    write(store, "cells", cells(a="one", b="two"))
    assert store.rows("cells").sort("cell_id").equals(before)


def test_rows_that_are_removed_are_gone_and_may_come_back(store: Store):
    write(store, "cells", cells(a="one", b="two", c="three"))
    write(store, "cells", cells(b="new"), removed="a b nobody")
    assert dict(store.rows("cells", ["cell_id", "content"]).rows()) == {"b": "new", "c": "three"}


def test_many_keys_are_read_in_parts(store: Store):
    keys = [f"k{number:05}" for number in range(4_500)]
    write(store, "sources", table_of("sources", " ".join(keys)))
    assert store.by_key("sources", keys)["source_id"].to_list() == keys
    write(store, "sources", removed=" ".join(keys[:4_400]))
    assert store.count("sources") == 100


def test_a_row_that_breaks_its_schema_is_refused_and_nothing_is_written(store: Store):
    with pytest.raises(ContractError, match=r"'cells' break its schema.*salience"):
        write(store, "cells", table_of("cells", "a", salience=1.5))
    with pytest.raises(ContractError, match="status"):
        write(store, "cells", table_of("cells", "a", status="dreamt"))
    with pytest.raises(ContractError, match="content"):
        write(store, "cells", table_of("cells", "a", content=None))
    assert store.count("cells") == 0


def test_the_columns_and_the_rows_asked_for_come_back(store: Store):
    write(store, "cells", table_of("cells", "a b"), table_of("cells", "c", topic_id="T"))
    assert store.rows("cells", ["cell_id", "topic_id"], col("topic_id") == lit("T")).rows() == [("c", "T")]
    none, some = col("topic_id").is_null(), col("topic_id").is_not_null()
    assert set(store.rows("cells", ["cell_id"], none)["cell_id"]) == {"a", "b"}
    assert store.rows("cells", ["cell_id"], some)["cell_id"].to_list() == ["c"]
    both = store.rows("cells", ["cell_id"], (col("cell_id") == lit("a")) & none)
    assert both["cell_id"].to_list() == ["a"]
    assert store.count("cells", none) == 2
    assert store.count("cells", col("topic_id") == lit("T")) == 1
    with pytest.raises(ContractError, match="no column"):
        store.count("cells", col("topic_id IS NULL OR 1=1 --").is_null())


HOSTILE = [
    "o'brien",
    "' OR 1=1 --",
    '"',
    '" OR "a"="a',
    "\\",
    "a\nb",
    "100%",
    "_",
    "",
    "; DROP TABLE cells",
    "é😀",
]


def test_a_value_in_a_filter_is_never_more_than_a_value(store: Store):
    keys = [f"k{number}" for number in range(len(HOSTILE))]
    write(store, "sources", rows("sources", *(row("sources", key, user_id=text)
                                              for key, text in zip(keys, HOSTILE, strict=True))))  # fmt: skip
    for key, text in zip(keys, HOSTILE, strict=True):
        assert store.rows("sources", ["source_id"], col("user_id") == lit(text))["source_id"].to_list() == [
            key
        ]
        assert store.count("sources", col("user_id").isin([text])) == 1
        there = col("source_id").is_not_null()  # a condition on null goes to the disk as SQL
        assert store.count("sources", (col("user_id") == lit(text)) & there) == 1
        assert store.count("sources", col("user_id").isin([text]) & there) == 1
    assert store.by_key("sources", HOSTILE).is_empty()
    write(store, "sources", removed=" ".join(text.replace(" ", "") for text in HOSTILE))
    assert store.count("sources") == len(HOSTILE)


ESCAPES = ["\\'", "x\\')) OR ((1=1)) --", "x\\' OR 1=1 --"]


def test_a_backslash_before_a_quote_does_not_end_a_value(store: Store):
    for text in ESCAPES:
        write(store, "sources", rows("sources", row("sources", "a", user_id=text), row("sources", "b")))
        found = store.rows("sources", ["source_id"], col("user_id") == lit(text))
        assert found["source_id"].to_list() == ["a"]
        assert store.count("sources", (col("user_id") == lit(text)) & col("source_id").is_not_null()) == 1
        assert store.count("sources", (col("user_id") == lit(text)) & col("source_id").is_null()) == 0
        nowhere = owned_by(ScopeSettings(user_id=text, project_id="nowhere", project_from="setting"))
        assert store.rows("sources", ["source_id"], nowhere).is_empty()
        assert store.by_key("sources", [text]).is_empty()


# whose


OWNERS = list(
    itertools.product(["ana", "ben"], ["kiln", "shop"], ["user-private", "project-shared", "system"])
)


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One cell of every owner; its id tells whose it is. No test writes there."""
    store = create_store(tmp_path_factory.mktemp("shared") / "store", embedder_id=EMBEDDER, dims=DIMS)
    write(store, "cells", rows("cells", *(
        row("cells", f"{user}/{project}/{scope}", user_id=user, project_id=project, scope=scope, content="kiln")
        for user, project, scope in OWNERS
    )))  # fmt: skip
    vectors(
        store, "cells", **{"/".join(owner): [1, 0, 0, number / 10] for number, owner in enumerate(OWNERS)}
    )
    return store


@pytest.mark.parametrize(
    ("user", "project"), [*itertools.product(["ana", "ben"], ["kiln", "shop"]), ("eve", "none")]
)
def test_a_reader_sees_her_own_in_the_project_what_the_project_shares_and_what_is_for_all(
    shared_store: Store, user: str, project: str
):
    wanted = {
        "/".join(owner)
        for owner in OWNERS
        if owner[2] == "system"
        or (owner[1] == project and (owner[2] == "project-shared" or owner[0] == user))
    }
    where = owned_by(ScopeSettings(user_id=user, project_id=project, project_from="setting"))
    assert set(shared_store.rows("cells", where=where)["cell_id"]) == wanted
    assert set(near(shared_store, [1, 0, 0, 0], k=50, where=where)[0]) == wanted
    (found,) = shared_store.find([SearchQuery("cells", "", np.array([1, 0, 0, 0], np.float32), 50, where)])
    assert {one["cell_id"] for one in found} == wanted
    assert set(matching(shared_store, "kiln", k=50, where=where)[0]) == wanted
    only = where & (col("content") == lit("kiln"))
    assert set(shared_store.rows("cells", where=only)["cell_id"]) == wanted
    closed = where & (col("content") == lit("other"))
    assert shared_store.count("cells", closed) == 0


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (None, {"ana/shop/user-private", "ana/shop/project-shared"}),
        ("kiln", set()),
        ("shop", {"ana/shop/user-private", "ana/shop/project-shared", "ben/shop/project-shared"}),
        ("nowhere", set()),
    ],
)
def test_where_projects_follow_repositories_a_reader_sees_her_own_and_what_the_project_shares_that_is_asked_for(
    shared_store: Store, asked: str | None, wanted: set[str]
):
    owner = asking_in(ScopeSettings(user_id="ana", project_id="kiln"), asked)
    for_all = {"/".join(one) for one in OWNERS if one[2] == "system"}
    own = {"ana/kiln/user-private", "ana/kiln/project-shared", "ben/kiln/project-shared"}
    assert set(shared_store.rows("cells", where=owned_by(owner))["cell_id"]) == wanted | own | for_all
    assert set(matching(shared_store, "kiln", k=50, where=owned_by(owner))[0]) == wanted | own | for_all


@pytest.mark.parametrize("asked", ["shop", "kiln' OR '1'='1"])
def test_a_home_that_keeps_to_its_project_shows_nothing_of_another(shared_store: Store, asked: str):
    owner = asking_in(ScopeSettings(user_id="ana", project_id="kiln", project_from="setting"), asked)
    seen = shared_store.rows("cells", ["scope"], owned_by(owner))["scope"].unique().to_list()
    assert seen == ["system"]


@pytest.mark.parametrize("project", ["kiln", "shop"])
def test_the_rows_of_one_project_are_no_other_projects(shared_store: Store, project: str):
    owner = ScopeSettings(user_id="ana", project_id="kiln")
    found = shared_store.rows("cells", ["project_id", "scope"], owned_in(owner, project))
    assert {*found.filter(pl.col("scope") != "system")["project_id"]} == {project}
    assert (found["scope"] == "system").any() == (project == "kiln")


def test_work_on_a_memory_reaches_exactly_its_own_owner(shared_store: Store):
    for key in map("/".join, OWNERS):
        where = same_owner(shared_store.by_key("cells", [key]))
        assert shared_store.rows("cells", ["cell_id"], where)["cell_id"].to_list() == [key]
        assert near(shared_store, [1, 0, 0, 0], where=where) == [[key]]
        assert matching(shared_store, "kiln", where=where) == [[key]]


def test_a_name_with_quotes_opens_no_other_owner(shared_store: Store):
    for name in HOSTILE:
        where = owned_by(ScopeSettings.model_construct(user_id=name, project_id=name))
        seen = shared_store.rows("cells", ["scope"], where)["scope"].unique().to_list()
        assert seen == ["system"]


# nearest


def test_the_nearest_come_best_first_with_their_similarity(store: Store):
    write(store, "cells", cells(a="a", b="b", c="c", d="d"))
    vectors(store, "cells", a=[1, 0, 0, 0], b=[1, 1, 0, 0], c=[-2, 0, 0, 0])
    found = store.nearest("cells", np.array([[3, 0, 0, 0]], dtype=np.float32), 10)
    assert found["cell_id"].to_list() == ["a", "b", "c"]  # d has no vector
    assert found["similarity"].to_list() == pytest.approx([1.0, 0.5**0.5, -1.0], abs=1e-6)
    assert near(store, [1, 0, 0, 0], k=2) == [["a", "b"]]


def test_equally_near_rows_come_in_the_order_of_their_keys(store: Store):
    write(store, "cells", cells(c="c", a="a", b="b"))
    vectors(store, "cells", c=[1, 0, 0, 0], a=[2, 0, 0, 0], b=[0.5, 0, 0, 0])
    assert near(store, [1, 0, 0, 0]) == [["a", "b", "c"]]


def test_every_query_gets_its_own_nearest(store: Store):
    write(store, "cells", cells(a="a", b="b"))
    vectors(store, "cells", a=[1, 0, 0, 0], b=[0, 1, 0, 0])
    asked = ([0, 1, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0])
    assert near(store, *asked, k=1) == [["b"], ["a"], ["b"]]
    assert near(store, [0, 1, 0, 0], where=col("cell_id") == lit("a")) == [["a"]]


def test_an_empty_table_and_no_query_have_nothing_near(store: Store):
    assert near(store, [1, 0, 0, 0]) == [[]]
    write(store, "cells", cells(a="a"))
    assert near(store, [1, 0, 0, 0]) == [[]]
    assert store.nearest("cells", np.empty((0, DIMS), dtype=np.float32), 3).is_empty()


def test_a_vector_index_gives_the_same_answer_as_no_index(store: Store):
    numbers = np.random.default_rng(7).normal(size=(600, DIMS)).astype(np.float32)
    keys = [f"c{number:03}" for number in range(600)]
    write(store, "cells", table_of("cells", " ".join(keys)))
    vectors(store, "cells", **{key: one.tolist() for key, one in zip(keys, numbers, strict=True)})
    asked = [SearchQuery("cells", "", one, 1, None) for one in numbers[:20]]
    before = store.find(asked)
    assert store.optimize(vector_index_rows=256, keep_versions=timedelta(hours=1)) == 600
    assert [[one["cell_id"] for one in found] for found in store.find(asked)] == [[key] for key in keys[:20]]
    assert [[one["cell_id"] for one in found] for found in before] == near(store, *numbers[:20].tolist(), k=1)
    write(store, "cells", cells(z="late"))
    vectors(store, "cells", z=[9, 9, 9, 9])
    late = SearchQuery("cells", "", np.ones(DIMS, np.float32), 1, col("cell_id") == lit("z"))
    assert store.find([late])[0][0]["cell_id"] == "z"


# full text


def test_words_are_found_in_any_form_and_the_better_match_comes_first(store: Store):
    write(store, "cells", cells(a="The kilns are firing.", b="A kiln, a kiln, my kiln.", c="Zebras."))
    assert matching(store, "firing kilns", "zebra", "nothing") == [["a", "b"], ["c"], []]
    assert matching(store, "kiln", k=1) == [["b"]]
    scores = store.matching("cells", ["kiln"], 10)["match_score"]
    assert scores.is_sorted(descending=True)
    assert (scores > 0).all()


TEXTS = [
    "kiln's", '"kiln"', "'kiln'", "kiln AND", "NOT kiln", "+kiln -zebra", "content:kiln", "kiln*", "kiln~2", "kiln^9",
    "(kiln", "kiln))", "[kiln TO z]", "kiln\\", "kiln \x00", "kiln; DROP TABLE cells", "😀 kiln", "/kiln/",
    "k{iln} kiln",
    "kiln " * 20_000, " ".join(f"w{number}" for number in range(15_000)) + " kiln",
]  # fmt: skip


def test_a_persons_text_is_words_and_never_an_operator(store: Store):
    write(store, "cells", cells(a="kiln", b="zebra"))
    assert [text[:16] for text in TEXTS if "a" not in matching(store, text)[0]] == []


def test_a_text_without_words_finds_nothing(store: Store):
    write(store, "cells", cells(a="kiln 😀 ( \\ \" ' * ?", b="zebra"))
    for text in ("", " \n\t ", "😀", "(", "\\", '"', "'", "*", "?" * 100, "\x00", "—"):
        assert matching(store, text, "zebra") == [[], ["b"]], text


def test_words_that_stand_everywhere_are_words_too(store: Store):
    write(store, "cells", cells(a="to be or not to be", b="zebra"))
    assert matching(store, "to be or not to be") == [["a"]]


def test_the_text_index_is_made_after_the_first_rows_and_finds_what_comes_later(store: Store):
    assert matching(store, "kiln") == [[]]
    write(store, "cells", cells(a="kiln"))
    assert matching(store, "kiln") == [["a"]]
    write(store, "cells", cells(b="a kiln", c="zebra"))
    assert set(matching(store, "kiln")[0]) == {"a", "b"}
    write(store, "cells", cells(a="gone"))
    assert matching(store, "kiln") == [["b"]]
    write(store, "cells", removed="b")
    assert matching(store, "kiln", "gone") == [[], ["a"]]


def test_topics_are_found_by_name_and_by_summary(store: Store):
    write(
        store,
        "topics",
        table_of("topics", "T", name="kiln"),
        table_of("topics", "U", name="x", summary="zebras"),
    )
    found = store.matching("topics", ["kiln", "zebra"], 5)
    assert found.select("query_index", "topic_id").rows() == [(0, "T"), (1, "U")]


def test_optimizing_keeps_every_answer(store: Store):
    write(store, "cells", cells(a="kiln", b="zebra"))
    vectors(store, "cells", a=[1, 0, 0, 0], b=[0, 1, 0, 0])
    write(store, "cells", cells(c="kiln again"), removed="b")
    before = (
        matching(store, "kiln", "zebra"),
        near(store, [1, 0, 0, 0]),
        store.rows("cells").sort("cell_id"),
    )
    store.optimize(vector_index_rows=20_000, keep_versions=timedelta(hours=1))
    store.optimize(vector_index_rows=20_000, keep_versions=timedelta(hours=1))
    after = (matching(store, "kiln", "zebra"), near(store, [1, 0, 0, 0]), store.rows("cells").sort("cell_id"))
    assert after[:2] == before[:2] == ([["a", "c"], []], [["a"]])
    assert after[2].equals(before[2])


# vectors


def waiting(store: Store, table: str) -> list[tuple[str, str]]:
    return store.embedded_texts(table, store.without_vector(table)).rows()


def test_a_changed_text_loses_its_vector_and_an_unchanged_one_keeps_it(store: Store):
    write(store, "cells", cells(a="kiln", b="zebra"))
    assert waiting(store, "cells") == [("a", "kiln"), ("b", "zebra")]
    vectors(store, "cells", a=[1, 0, 0, 0], b=[0, 1, 0, 0])
    assert store.without_vector("cells").is_empty()
    write(store, "cells", cells(a="another kiln"), table_of("cells", "b", content="zebra", salience=0.9))
    assert waiting(store, "cells") == [("a", "another kiln")]
    assert store.vectors("cells", ["a", "b"]).with_columns(pl.col("vector").arr.to_list()).rows() == [
        ("b", [0.0, 1.0, 0.0, 0.0])
    ]
    assert near(store, [1, 0, 0, 0]) == [["b"]]


def test_a_topic_is_embedded_again_when_its_name_or_summary_changes_and_keeps_its_centroid(store: Store):
    write(store, "topics", table_of("topics", "T", name="kiln"))
    assert waiting(store, "topics") == [("T", "kiln")]
    vectors(store, "topics", T=[1, 0, 0, 0])
    vectors(store, "topics", column="centroid", T=[0, 1, 0, 0])
    write(store, "topics", table_of("topics", "T", name="kiln", cell_count=4))
    assert store.without_vector("topics").is_empty()
    write(store, "topics", table_of("topics", "T", name="kiln", summary="hot"))
    assert waiting(store, "topics") == [("T", "kiln\nhot")]
    assert store.without_centroid() == []
    assert store.vectors("topics", ["T"], column="centroid").height == 1


def test_a_topic_forgets_its_centroid_when_a_member_comes_or_goes(store: Store):
    write(store, "topics", table_of("topics", "T U V"))
    write(store, "cells", table_of("cells", "a", topic_id="T"), table_of("cells", "b"))
    assert store.without_centroid() == ["T", "U", "V"]
    for topic in "TUV":
        vectors(store, "topics", column="centroid", **{topic: [1, 0, 0, 0]})
    write(store, "cells", table_of("cells", "a", topic_id="T", salience=0.9))
    assert store.without_centroid() == []
    write(store, "cells", table_of("cells", "a", topic_id="U"))
    assert store.without_centroid() == ["T", "U"]


def test_vectors_of_unknown_rows_and_no_vectors_change_nothing(store: Store):
    write(store, "cells", cells(a="kiln"))
    vectors(store, "cells", nobody=[1, 0, 0, 0])
    store.put_vectors("cells", pl.DataFrame(schema={"cell_id": pl.String, "vector": pl.List(pl.Float64)}))
    assert store.count("cells") == 1
    assert store.without_vector("cells").to_list() == ["a"]


# generations


def test_what_is_applied_is_remembered(store: Store):
    assert store.applied_segments() == set()
    store.mark_applied(["s1", "s2"])
    store.mark_applied([])
    assert open_store(store.root).applied_segments() == {"s1", "s2"}


def test_readers_see_what_another_handle_wrote(store: Store):
    reader = open_store(store.root)
    assert reader.count("cells") == 0
    write(store, "cells", cells(a="kiln"))
    assert reader.count("cells") == 1
    assert matching(reader, "kiln") == [["a"]]


def test_a_small_table_is_read_once_and_anew_when_anybody_wrote_it(store: Store, monkeypatch):
    reads = []
    read = stored.Stored.rows_on_disk
    monkeypatch.setattr(stored.Stored, "rows_on_disk", lambda *given: reads.append(given[1]) or read(*given))
    write(store, "cells", cells(a="one", b="two"))
    reader = open_store(store.root)
    reads.clear()
    assert reader.by_key("cells", ["b"], ["cell_id", "content"])["content"].to_list() == ["two"]
    assert reader.rows("cells", ["cell_id"], col("content") == lit("one"))["cell_id"].to_list() == ["a"]
    assert reads == ["cells"]
    write(store, "cells", cells(b="three"))
    reads.clear()
    assert reader.by_key("cells", ["b"], ["cell_id", "content"])["content"].to_list() == ["three"]
    assert reads == ["cells"]
    monkeypatch.setattr(stored, "MOST_ROWS", 1)
    reader = open_store(store.root)
    write(store, "cells", cells(c="four"))
    reads.clear()
    for _ in range(2):
        assert reader.by_key("cells", ["c"], ["cell_id", "content"])["content"].to_list() == ["four"]
    assert reads == ["cells"] * 2, "a larger one is read where it lies"


def test_of_a_small_table_a_process_does_not_read_again_what_it_wrote_itself(store: Store, monkeypatch):
    write(store, "cells", cells(a="one", b="two"))
    held = store.rows("cells")
    assert held.height == 2
    reads = []
    read = stored.Stored.rows_on_disk
    monkeypatch.setattr(stored.Stored, "rows_on_disk", lambda *given: reads.append(given) or read(*given))
    write(store, "cells", cells(b="three", c="four"))
    write(store, "cells", removed="a")
    vectors(store, "cells", c=[1, 0, 0, 0])
    store.optimize(vector_index_rows=20_000, keep_versions=timedelta(hours=1))
    reads.clear()
    told = store.rows("cells").sort("cell_id")
    assert not reads
    assert told["content"].to_list() == ["three", "four"]
    assert_frame_equal(told, open_store(store.root).rows("cells").sort("cell_id"))


def test_a_new_generation_is_found_only_once_it_is_current(store: Store):
    write(store, "cells", cells(a="old"))
    fresh = create_store(store.root, embedder_id="other/m/2/1", dims=2, make_current=False)
    write(fresh, "cells", cells(a="new", b="new"))
    assert open_store(store.root).name == store.name
    assert (store.is_current(), fresh.is_current()) == (True, False)
    fresh.make_current()
    assert open_store(store.root).meta == fresh.meta
    assert open_store(store.root).count("cells") == 2
    assert (store.is_current(), fresh.is_current()) == (False, True)
    assert store.rows("cells", ["content"])["content"].to_list() == ["old"], "a reader of before still reads"


def test_a_copy_for_another_space_has_every_row_and_no_vector_until_it_gets_one(store: Store, monkeypatch):
    monkeypatch.setattr(writing, "INDEXED_ROWS", 1)
    write(store, "cells", cells(a="the red ferry", b="a token"))
    vectors(store, "cells", a=[1, 0, 0, 0], b=[0, 1, 0, 0])
    store.optimize(vector_index_rows=1_000, keep_versions=timedelta(days=1))
    fresh = copy_store(store, embedder_id="scripted/m/4/1+fit")
    again = Store(fresh.root, fresh.name, fresh.meta)
    assert_frame_equal(again.rows("cells").sort("cell_id"), store.rows("cells").sort("cell_id"))
    assert again.without_vector("cells").to_list() == ["a", "b"]
    assert (near(again, [1, 0, 0, 0]), matching(again, "ferry")) == ([[]], [["a"]])
    vectors(again, "cells", a=[0, 0, 1, 0])
    again.optimize(vector_index_rows=1_000, keep_versions=timedelta(days=1))
    assert (near(again, [1, 0, 0, 0]), again.without_vector("cells").to_list()) == ([["a"]], ["b"])
    assert near(store, [0, 1, 0, 0]) == [["b", "a"]], "the living one has its own"


def test_a_generation_that_is_discarded_leaves_the_living_one(store: Store):
    write(store, "cells", cells(a="old"))
    fresh = create_store(store.root, embedder_id="", dims=1, make_current=False)
    fresh.discard()
    assert not (store.root / fresh.name).exists()
    assert open_store(store.root).count("cells") == 1


def test_generations_before_the_last_one_are_removed(store: Store):
    names = [store.name]
    for _ in range(3):
        names.append(create_store(store.root, embedder_id=EMBEDDER, dims=DIMS).name)
    assert sorted(path.name for path in store.root.glob("g-*")) == sorted(names[-2:])
    assert open_store(store.root).name == names[-1]
    open_store(store.root).make_current()
    assert open_store(store.root).name == names[-1]


def test_no_store_is_not_found(tmp_path: Path):
    with pytest.raises(NotFoundError, match="no memory yet"):
        open_store(tmp_path)


def test_a_store_of_a_newer_schema_asks_for_an_update(store: Store):
    path = store.root / store.name / "meta.json"
    meta = json.loads(path.read_text())
    path.write_text(json.dumps({**meta, "schema_version": meta["schema_version"] + 1}))
    with pytest.raises(ConfigError, match=f"schema version {SCHEMA_VERSION + 1}.*rebuild"):
        open_store(store.root)


def test_a_damaged_description_asks_for_a_rebuild(store: Store):
    for text in ("", "{", "[]", '"x"', "{}", '{"schema_version": 1}', "[" * 100_000):
        (store.root / store.name / "meta.json").write_text(text)
        with pytest.raises(ConfigError, match="rebuild"):
            open_store(store.root)


def test_a_missing_table_asks_for_a_rebuild(store: Store):
    reader = open_store(store.root)
    (store.root / store.name / "core.lance").rename(store.root / "elsewhere")
    with pytest.raises(ConfigError, match="'core' is missing.*rebuild"):
        reader.rows("core")


def test_a_table_without_its_last_version_is_damaged_and_not_the_one_before(store: Store):
    for number in range(3):
        write(store, "cells", rows("cells", row("cells", f"c{number}")))
    versions = store.root / store.name / "cells.lance" / "_versions"
    newest = min(versions.glob("*.manifest"))  # the newest is named by the lowest number
    newest.unlink()
    with pytest.raises(DamageError, match="the last version of table 'cells' is missing or cut"):
        open_store(store.root).rows("cells")


def test_the_table_of_another_store_is_not_taken_for_this_one(store: Store, tmp_path: Path):
    other = create_store(tmp_path / "other", embedder_id=EMBEDDER, dims=DIMS)
    write(other, "cells", rows("cells", row("cells", "c1")))
    here, there = (one.root / one.name / "cells.lance" for one in (store, other))
    shutil.rmtree(here)
    shutil.copytree(there, here)
    with pytest.raises(DamageError, match="the folder of table 'cells' holds another table"):
        open_store(store.root).rows("cells")


def test_a_store_that_was_put_back_from_a_backup_is_noticed(store: Store, tmp_path: Path):
    reader, folder = open_store(store.root), store.root / store.name
    assert not reader.was_replaced()
    shutil.copytree(folder, tmp_path / "backup")
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder)
    assert reader.is_current()
    assert reader.was_replaced()


def test_a_pointer_never_leads_out_of_the_store(store: Store):
    (store.root / "CURRENT").write_text(f"../store/{store.name}")
    with pytest.raises(DamageError, match="CURRENT names no generation"):
        open_store(store.root)


def test_a_long_session_that_grows_gets_the_passages_that_it_would_have_had_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("slowwave.store.passages.LONG_SESSION_TURNS", 10)

    def said(place: int) -> pl.DataFrame:
        return table_of("turns", f"t{place:02}", session_id="s", turn_index=place, content=f"word {place}")

    stores = [create_store(tmp_path / name, embedder_id="", dims=1) for name in ("whole", "grown", "gap")]
    turns = range(30)
    write(stores[0], "turns", *(said(place) for place in turns))
    for begin in range(0, 30, 6):
        write(stores[1], "turns", *(said(place) for place in turns[begin : begin + 6]))
    whole, grown = (store.rows("passages").sort("passage_id") for store in stores[:2])
    assert grown.equals(whole)
    # turns that a person erased leave gaps in the numbers: the session is read whole then
    for part in (range(11), range(14, 20), range(20, 30)):
        write(stores[2], "turns", *(said(place) for place in part))
    near = stores[2].rows("passages", ["turn_ids"], col("scale") == lit("near"))["turn_ids"].to_list()
    assert ["t08", "t09", "t10", "t14"] in near
