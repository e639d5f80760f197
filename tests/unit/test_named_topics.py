"""Topics by the extractor's names: one name is one topic, and people stay apart."""

import numpy as np
import polars as pl
import pytest

from slowwave.schemas.identity import stable_id
from slowwave.stages.topics.hints import owned_hints
from slowwave.stages.topics.named_topics import Joining, assign_named_topics, names_and_owners
from slowwave.stages.topics.topic_names import better_names
from slowwave.stages.topics.topic_parts import name_parts, part_topics
from slowwave.stages.topics.topic_upkeep import merge_topics

ME = {"user_id": "me", "project_id": "p", "scope": "user-private"}
DIMS = 24
VECTOR = pl.Array(pl.Float32, DIMS)
JOINING = Joining(similarity=0.25, name_weight=0.4, crowding=0.1, most_cells=40, noise=0.5)
Cell = tuple[str, str | None, str, list[float]]


def near(theme: int, shade: float = 0.0) -> list[float]:
    row = np.zeros(DIMS)
    row[theme] = 1.0
    row[-1] = shade
    return (row / np.linalg.norm(row)).tolist()


def cells(*rows: Cell, **columns: str) -> pl.DataFrame:
    """Cells as id, topic name, the person they are about, vector."""
    frame = pl.DataFrame(
        {
            "cell_id": [row[0] for row in rows],
            "topic_hint": pl.Series([row[1] for row in rows], dtype=pl.String),
            "subject": [row[2] for row in rows],
            "entities": [[f"{row[2]} (person)"] for row in rows],
            "vector": pl.Series([row[3] for row in rows], dtype=VECTOR),
        },
        schema_overrides={"cell_id": pl.String, "subject": pl.String, "entities": pl.List(pl.String)},
    )
    return frame.with_columns(pl.lit(value).alias(name) for name, value in (ME | columns).items())


def topics(*rows: tuple[str, str, int, list[float]]) -> pl.DataFrame:
    """Topics as id, name, number of cells, centroid."""
    frame = pl.DataFrame(
        {
            "topic_id": [row[0] for row in rows],
            "name": [row[1] for row in rows],
            "cell_count": [row[2] for row in rows],
            "vector": pl.Series([row[3] for row in rows], dtype=VECTOR),
        },
        schema_overrides={"topic_id": pl.String, "name": pl.String, "cell_count": pl.Int64},
    )
    return frame.with_columns(pl.lit(value).alias(name) for name, value in ME.items())


NO_MEMBERS = cells().with_columns(topic_id=pl.lit(""))


def assigned(
    new: pl.DataFrame, members: pl.DataFrame = NO_MEMBERS, known: pl.DataFrame | None = None
) -> dict[str, str]:
    held = topics() if known is None else known
    answer = assign_named_topics(new, members, held, joining=JOINING, threshold=0.6)
    again = assign_named_topics(
        new.reverse(), members.reverse(), held.reverse(), joining=JOINING, threshold=0.6
    )
    assert answer.equals(again)
    return dict(answer.select("cell_id", "topic_id").iter_rows())


def test_memories_of_one_name_belong_together_however_far_apart_they_lie():
    found = assigned(cells(("a", "Evan's car", "Evan", near(0)), ("b", " evan's  Car", "Evan", near(1))))
    assert found == {"a": stable_id("topic", "a"), "b": stable_id("topic", "a")}


def test_the_same_name_for_two_people_stays_apart_however_near_it_lies():
    found = assigned(cells(("a", "Evan's car", "Evan", near(0)), ("b", "Sam's car", "Sam", near(0))))
    assert found["a"] != found["b"]


def test_names_that_mean_the_same_join():
    found = assigned(
        cells(
            ("a", "Evan's car", "Evan", near(0)),
            ("b", "Evan's old cars", "Evan", near(0, 0.3)),
            ("c", "Evan's kayaking", "Evan", near(3)),
        )
    )
    assert found["a"] == found["b"] != found["c"]


def test_like_names_with_memories_that_lie_apart_stay_apart():
    found = assigned(
        cells(("a", "Evan's car", "Evan", near(0)), ("b", "Evan's car insurance", "Evan", near(1)))
    )
    assert found["a"] != found["b"]


def test_a_name_without_a_person_counts_as_that_of_the_one_its_memories_speak_of():
    rows = cells(
        ("a", "car repairs", "Evan", near(0)),
        ("b", "car repairs", "Evan", near(0)),
        ("c", "Sam's car", "Sam", near(0)),
    )
    assert dict(owned_hints(rows).select("hint", "about").iter_rows()) == {
        "car repairs": "evan",
        "sam's car": "sam",
    }
    found = assigned(rows)
    assert found["a"] == found["b"] != found["c"]


def test_first_name_and_full_name_are_one_person():
    rows = cells(("a", "Evan's car", "Evan Miller", near(0)), ("b", "Miller's car", "Evan Miller", near(0)))
    assert owned_hints(rows)["about"].to_list() == ["evan", "evan"]


def test_a_name_that_a_topic_holds_decides_although_the_topic_is_called_otherwise_now():
    members = cells(("m", "Evan's car", "Evan", near(0))).with_columns(topic_id=pl.lit("x"))
    known = topics(("x", "Prius repairs", 1, near(0)), ("y", "Evan's kayaking", 1, near(1)))
    assert assigned(cells(("a", "evan's car", "Evan", near(1))), members, known) == {"a": "x"}


def test_of_two_parts_of_a_topic_with_one_name_the_nearer_takes_the_memory():
    rows = [("m", "Evan's car", "Evan", near(0)), ("n", "Evan's car", "Evan", near(1))]
    members = cells(*rows).with_columns(topic_id=pl.Series(["x", "y"]))
    known = topics(("x", "Evan's car", 1, near(0)), ("y", "Evan's car: tyres", 1, near(1)))
    new = cells(("a", "Evan's car", "Evan", near(1)), ("b", "Evan's car", "Evan", near(0)))
    assert assigned(new, members, known) == {"a": "y", "b": "x"}


def test_a_new_name_joins_a_known_topic_of_the_same_person_that_has_room():
    rows = [("m", "Evan's car", "Evan", near(0)), ("n", "Sam's car", "Sam", near(0))]
    members = cells(*rows).with_columns(topic_id=pl.Series(["x", "y"]))
    known = topics(("x", "Evan's car", 39, near(0)), ("y", "Sam's car", 5, near(0)))
    assert assigned(cells(("a", "Evan's old car", "Evan", near(0))), members, known) == {"a": "x"}
    two = cells(("a", "Evan's old car", "Evan", near(0)), ("b", "Evan's old car", "Evan", near(0)))
    assert assigned(two, members, known)["a"] not in {"x", "y"}


def test_a_memory_without_a_name_joins_the_nearest_topic_and_one_without_a_vector_waits():
    waiting = cells(("c", "Evan's car", "Evan", near(0))).with_columns(vector=pl.lit(None, dtype=VECTOR))
    new = cells(("a", "Evan's car", "Evan", near(0)), ("b", None, "Evan", near(0, 0.2)))
    assert assigned(pl.concat([new, waiting])) == dict.fromkeys("ab", stable_id("topic", "a"))


def test_names_of_another_owner_are_out_of_reach():
    yours = cells(("b", "Evan's car", "Evan", near(0)), user_id="you")
    found = assigned(pl.concat([cells(("a", "Evan's car", "Evan", near(0))), yours]))
    assert found["a"] != found["b"]


def test_a_topic_is_for_whom_most_of_its_memories_are_named():
    rows = [
        ("a", "car repairs", "Evan", near(0)),
        ("b", "Evan's car", "Evan", near(0)),
        ("c", None, "Sam", near(0)),
    ]
    members = cells(*rows).with_columns(topic_id=pl.Series(["x", "x", "y"]))
    known = topics(("x", "car repairs", 2, near(0)), ("y", "things", 1, near(0)))
    assert names_and_owners(members, known).rows() == [("x", "evan", "car repairs"), ("y", "", "")]


@pytest.mark.parametrize(
    ("about", "hint", "most", "merges"),
    [
        (["evan", "evan"], ["car", "old car"], 40, True),
        (["evan", ""], ["car", "old car"], 40, True),
        (["evan", "sam"], ["car", "old car"], 40, False),
        (["evan", "evan"], ["car", "car"], 40, False),
        (["evan", "evan"], ["car", "old car"], 6, False),
    ],
)
def test_topics_of_two_people_parts_of_one_topic_and_what_is_too_large_never_merge(about, hint, most, merges):
    named = topics(("x", "n", 4, near(0)), ("y", "n", 3, near(0))).with_columns(
        about=pl.Series(about), hint=pl.Series(hint), most_cells=pl.lit(most)
    )
    assert merge_topics(named, ["y"], threshold=0.9).rows() == ([("y", "x")] if merges else [])


def large(*groups: tuple[str, int, int], most: int) -> pl.DataFrame:
    """One topic of groups: name, theme, number of cells."""
    rows = [
        (f"{number}{place:02}", name, "Evan", near(theme, 0.01 * place))
        for number, (name, theme, count) in enumerate(groups)
        for place in range(count)
    ]
    return cells(*rows).with_columns(
        topic_id=pl.lit("x"), most_cells=pl.lit(most, pl.Int64), session_id=pl.lit("s")
    )


def test_a_topic_that_is_too_large_is_parted_between_its_names():
    parted = part_topics(large(("car", 0, 9), ("kayak", 1, 6), ("boat", 1, 4), most=12))
    assert parted["cell_id"].str.slice(0, 1).unique(maintain_order=True).to_list() == ["0"]
    assert parted["topic_id"].unique().to_list() == [stable_id("topic", "x", "000")]


def test_a_name_that_is_too_large_by_itself_is_parted_by_what_its_memories_tell():
    two_themes = large(("car", 0, 8), ("car", 1, 7), most=10)
    parted = part_topics(two_themes)
    assert parted["cell_id"].str.slice(0, 1).unique(maintain_order=True).to_list() == ["1"]
    assert parted.equals(part_topics(two_themes.reverse()))


def test_of_memories_that_tell_nothing_apart_those_of_one_conversation_stay_together():
    frame = large(("car", 0, 12), most=8).with_columns(
        vector=pl.lit(near(0), dtype=VECTOR), session_id=pl.Series(["s1", "s2"] * 6)
    )
    parted = part_topics(frame).join(frame.select("cell_id", "session_id"), on="cell_id")
    assert parted["session_id"].to_list() == ["s2"] * 6


@pytest.mark.parametrize("most", [6, 9, 14])
def test_no_part_is_larger_than_the_most(most):
    frame = large(("car", 0, 31), ("car", 0, 1), ("boat", 0, 2), most=most)
    after = frame.select("cell_id", "topic_id").update(part_topics(frame), on="cell_id")
    assert after.group_by("topic_id").len()["len"].max() <= most
    assert part_topics(large(("car", 0, most), most=most)).is_empty()


def test_a_part_that_would_bear_the_name_of_its_siblings_gets_its_telling_words():
    texts = pl.DataFrame(
        {
            "topic_id": ["new", "x"],
            "family": ["x", "x"],
            "content": [
                "The tyres of the car, winter tyres; 2026-03-04, 2026-03-04, 2026-03-04",
                "The engine of the car",
            ],
        }
    )
    opened = pl.DataFrame({"topic_id": ["new"], "name": ["Evan's car"]})
    assert name_parts(opened, texts, pl.DataFrame({"name": ["Evan's car"]})).rows() == [
        ("new", "Evan's car: tyres, winter")
    ]
    assert name_parts(opened, texts, pl.DataFrame({"name": ["boats"]})).rows() == [("new", "Evan's car")]


def test_a_topic_takes_the_name_of_most_of_its_memories_unless_another_bears_it():
    rows = [("a", "Evan's car", "Evan", near(0)), ("b", "Evan's old car", "Evan", near(0))]
    members = cells(*rows, ("c", "Evan's old car", "Evan", near(0))).with_columns(topic_id=pl.lit("x"))
    known = topics(("x", "Evan's car", 3, near(0)), ("y", "boats", 1, near(1)))
    assert better_names(known, members, known).rows() == [("x", "Evan's old car")]
    assert better_names(known, members.head(2), known).is_empty()
    borne = topics(("x", "Evan's car", 3, near(0)), ("y", "evan's old car", 1, near(1)))
    assert better_names(borne, members, borne).is_empty()
