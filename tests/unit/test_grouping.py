"""The answer that files a night's memories into topics, and what becomes of it."""

import polars as pl
import pytest
from pydantic import ValidationError

from slowwave.models.answers.fields import checked_against
from slowwave.models.answers.write import GroupsAnswer
from slowwave.schemas.identity import stable_id
from slowwave.schemas.tables import OWNER
from slowwave.stages.topics.grouping import groups_of

MINE = {"user_id": "local", "project_id": "default", "scope": "user-private"}
TOPICS = pl.DataFrame({"topic_id": ["t-boat", "t-choir"], "name": ["Ines's boat", "Mara's choir"]})
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


def filed(given: GroupsAnswer, cells: pl.DataFrame, **more: object) -> tuple[dict[str, str], dict[str, str]]:
    assigned, opened = groups_of(given, cells, SHOWN, TOPICS, taken={"t-boat", "t-choir"}, **more)
    assert all(opened[name].unique().to_list() in ([], [value]) for name, value in MINE.items())
    return dict(assigned.rows()), dict(opened.select("topic_id", "name").rows())


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


def test_an_id_that_is_taken_is_not_given_again():
    given, cells = answer((0, "Tomas's work", [1])), page("a")
    taken = {"t-boat", "t-choir", stable_id("topic", "a")}
    _, opened = groups_of(given, cells, SHOWN, TOPICS, taken=taken)
    assert not taken & set(opened["topic_id"])


def test_a_memory_of_two_groups_stays_in_the_first_and_an_empty_group_is_none():
    given = answer((0, "One", [1, 2]), (0, "Two", [2, 3]), (0, "Three", [3]), shown=3)
    assert [(one.name, one.memories) for one in given.groups] == [("One", [1, 2]), ("Two", [3])]


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([(0, "One", [1, 4])], r"memories.1\n.*4 is not on this page; use only the numbers 1, 2, 3"),
        ([(2, "", [1, 2, 3])], r"topic\n.*2 is not on this page"),
        ([(0, "", [1, 2, 3])], "a new topic needs a name"),
        ([(0, "One", [1])], "2 memories are in no group"),
    ],
)
def test_an_answer_that_does_not_fit_its_page_is_told_what_is_wrong(groups, told):
    with pytest.raises(ValidationError, match=told):
        answer(*groups, shown=3)
