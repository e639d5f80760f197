"""Topics: what a model's answer files, what vectors place, how parts and names are made."""

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from slowwave.home.vectors import centroids
from slowwave.models.answers.fields import checked_against
from slowwave.models.answers.write import GroupsAnswer
from slowwave.schemas.identity import stable_id
from slowwave.schemas.tables import OWNER
from tasks.ask import Answered
from tasks.cluster import by_vector
from tasks.cluster.by_model import groups_of
from tasks.cluster.by_vector import assign_topics
from tasks.cluster.names import name_topics

MINE = {"user_id": "local", "project_id": "default", "scope": "user-private"}
ALL = pl.DataFrame(
    {
        "topic_id": ["t-boat", "t-choir", "t-gone"],
        "name": ["Ines's boat", "Mara's choir", "Tomas's work"],
        "merged_into": [None, None, "t-boat"],
    }
)
TOPICS = ALL.with_columns(pl.lit(value).alias(name) for name, value in MINE.items())
SHOWN = TOPICS.head(1).with_row_index("number", offset=1)


def page(*cell_ids: str) -> pl.DataFrame:
    rows = pl.DataFrame({"cell_id": [*cell_ids]}).with_columns(
        pl.lit(value).alias(name) for name, value in MINE.items()
    )
    return rows.select("cell_id", *OWNER).with_row_index("number", offset=1)


def answer(*groups: tuple[int, str, list[int]], shown: int = 0) -> GroupsAnswer:
    told = {
        "groups": [{"topic": topic, "name": name, "memories": numbers} for topic, name, numbers in groups]
    }
    numbers = {"page_numbers": set(range(1, shown + 1)), "topic_numbers": {1}} if shown else {}
    with checked_against(numbers):
        return GroupsAnswer.model_validate(told)


def filed(
    given: GroupsAnswer, cells: pl.DataFrame, topics: pl.DataFrame = TOPICS
) -> tuple[dict[str, str], dict[str, str]]:
    rows = groups_of(Answered(given, "group_memories.v1", "m"), cells, SHOWN, topics)
    assert all(rows[name].unique().to_list() == [value] for name, value in MINE.items())
    opened = rows.drop_nulls("name").select("topic_id", "name").unique()
    return dict(rows.select("cell_id", "topic_id").rows()), dict(opened.rows())


def test_memories_go_on_with_a_topic_there_is_or_open_one_whose_id_comes_from_the_first_of_them():
    new = stable_id("topic", "b")
    given = answer((1, "", [2]), (0, "Tomas's work", [1, 3]))
    assigned, opened = filed(given, page("c", "a", "b"))
    assert assigned == {"a": "t-boat", "b": new, "c": new}
    assert opened == {new: "Tomas's work"}


def test_a_name_that_a_topic_bears_already_is_that_topic_also_where_it_was_not_shown():
    assigned, opened = filed(answer((0, "mara's  Choir", [1])), page("a"))
    assert (assigned, opened) == ({"a": "t-choir"}, {})


def test_two_groups_of_one_name_are_one_topic():
    assigned, opened = filed(answer((0, "Tomas's work", [1]), (0, "Tomas's Work", [2])), page("a", "b"))
    assert len(opened) == 1
    assert set(assigned.values()) == set(opened)


def test_a_topic_of_another_owner_and_one_that_was_merged_away_are_out_of_reach():
    others = TOPICS.with_columns(user_id=pl.lit("you"))
    for name, topics in (("Mara's choir", others), ("Tomas's work", TOPICS)):
        _, opened = filed(answer((0, name, [1])), page("a"), topics)
        assert opened == {stable_id("topic", "a"): name}


def test_an_id_that_is_taken_is_not_given_again():
    founded = TOPICS.with_columns(topic_id=pl.lit(stable_id("topic", "a")))
    _, opened = filed(answer((0, "Tomas's boat", [1])), page("a"), founded)
    assert list(opened) == [stable_id("topic", stable_id("topic", "a"))]


def test_a_memory_of_two_groups_stays_in_the_first_and_an_empty_group_is_none():
    given = answer((0, "One", [1, 2]), (0, "Two", [2, 3]), (0, "Three", [3]), shown=3)
    assert [(one.name, one.memories) for one in given.groups] == [("One", [1, 2]), ("Two", [3])]


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([(0, "One", [1, 4])], "4 is not on this page"),
        ([(2, "", [1, 2, 3])], "2 is not on this page"),
        ([(0, "", [1, 2, 3])], "a new topic needs a name"),
        ([(0, "One", [1])], "2 memories are in no group"),
    ],
)
def test_an_answer_that_does_not_fit_its_page_is_told_what_is_wrong(groups, told):
    with pytest.raises(ValidationError, match=told):
        answer(*groups, shown=3)


# By vectors

VECTOR = pl.Array(pl.Float32, 3)
Row = tuple[float, ...]


def unit(row: Row) -> list[float]:
    return (np.array(row) / np.linalg.norm(row)).tolist()


def cells(vectors: dict[str, Row | None], **columns: str) -> pl.DataFrame:
    rows = [None if row is None else unit(row) for row in vectors.values()]
    frame = pl.DataFrame({"cell_id": list(vectors), "vector": pl.Series(rows, dtype=VECTOR)})
    return frame.with_columns(
        pl.lit(value).alias(name) for name, value in ({"hint": ""} | MINE | columns).items()
    )


def known(vectors: dict[str, Row], **owner: str) -> pl.DataFrame:
    return cells(vectors, **owner).rename({"cell_id": "topic_id"})


def placed(
    new: pl.DataFrame, topics: pl.DataFrame | None = None, *, threshold: float = 0.7
) -> dict[str, str]:
    centres = known({"x": (1, 0, 0), "y": (0, 1, 0)}) if topics is None else topics
    answer = assign_topics(new, centres, threshold=threshold, taken=())
    return dict(answer.select("cell_id", "topic_id").rows())


NONE = known({"x": (1, 0, 0)}).clear()


def test_a_memory_joins_the_nearest_topic_that_is_near_enough_and_the_rest_are_clustered():
    new = {"a": (1, 0.2, 0), "b": (0, 1, 0.3), "d": (0, 0.1, 1), "c": (0, 0, 1), "e": (-1, 0, 0)}
    c, e = stable_id("topic", "c"), stable_id("topic", "e")
    assert placed(cells(new)) == {"a": "x", "b": "y", "c": c, "d": c, "e": e}
    answer = assign_topics(cells({"a": (1, 0.2, 0)}), known({"x": (1, 0, 0)}), threshold=0.7, taken=())
    assert answer["similarity"].to_list() == pytest.approx([1 / 1.04**0.5], abs=1e-6)


def test_a_chain_of_neighbours_is_not_one_topic():
    """Each memory is near the next one, the ends are far apart: the mean similarity decides."""
    angles = np.deg2rad([0, 40, 80, 120])
    chain = {f"c{number}": (np.cos(angle), np.sin(angle), 0) for number, angle in enumerate(angles)}
    assert len(set(placed(cells(chain), NONE, threshold=0.75).values())) > 1


def test_memories_of_one_name_stay_together_however_far_apart_they_lie():
    named = cells({"a": (0, 0, 1), "b": (-0.5, 0, -1)}, hint="evan's car")
    assert placed(named) == dict.fromkeys("ab", stable_id("topic", "a"))
    assert placed(cells({"a": (1, 0.1, 0), "b": (1, 0, 0.1)}, hint="evan's car")) == dict.fromkeys("ab", "x")


def test_a_memory_without_a_vector_waits_and_a_topic_of_another_owner_is_out_of_reach():
    assert placed(cells({"a": (1, 0, 0), "b": None})) == {"a": "x"}
    yours = known({"x": (1, 0, 0)}, scope="project-shared")
    assert placed(cells({"a": (1, 0, 0)}), yours) == {"a": stable_id("topic", "a")}


def test_later_blocks_join_the_topics_of_earlier_ones(monkeypatch):
    monkeypatch.setattr(by_vector, "BLOCK", 2)
    draw = np.random.default_rng(0)
    rows = {f"c{number}": tuple(np.eye(3)[number % 3] + draw.normal(0, 0.05, 3)) for number in range(9)}
    found = placed(cells(rows), NONE, threshold=0.8)
    assert sorted(list(found.values()).count(topic) for topic in set(found.values())) == [3, 3, 3]


# Names and centroids


def told(**columns: list[str | None]) -> pl.DataFrame:
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def test_a_name_is_the_most_frequent_hint_as_it_is_mostly_written():
    hints = ["Billing", "billing ", "Billing", "Login", None]
    frame = told(topic_id=["x"] * 5, topic_hint=hints, content=["words"] * 5)
    assert name_topics(frame).rows() == [("x", "Billing")]


def test_without_a_hint_the_words_that_mark_the_topic_name_it():
    texts = [
        "the server rejects the invoice of 2026",
        "an invoice of the server about postage",
        "the server has a replica",
        "!?",
    ]
    frame = told(topic_id=["x", "x", "y", "z"], topic_hint=[None, " ", None, None], content=texts)
    names = {"x": "invoice server postage", "y": "replica server", "z": "untitled"}
    assert dict(name_topics(frame).rows()) == names


def test_a_centroid_is_the_unit_mean_of_its_members_and_there_is_none_where_they_cancel_out():
    frame = cells(
        {"a": (1, 0, 0), "b": (0, 1, 0), "c": (0, 0, 1), "d": None, "e": (1, 0, 0), "f": (-1, 0, 0)}
    )
    answer = centroids(frame.with_columns(topic_id=pl.Series(["y", "y", "x", "x", "z", "z"])))
    assert answer["topic_id"].to_list() == ["x", "y"]
    np.testing.assert_allclose(answer["vector"].to_numpy(), [unit((0, 0, 1)), unit((1, 1, 0))], atol=1e-6)
