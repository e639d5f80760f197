"""The measure of topics against a reader's groups."""

import polars as pl
import pytest

from benchmarks.topic_groups import measure_groups, topics_told

pytestmark = pytest.mark.benchmark


def filed(topics: list[str]) -> pl.DataFrame:
    ids = [f"c{place}" for place in range(len(topics))]
    return pl.DataFrame({"cell_id": ids, "text": ids, "hint": topics, "topic_id": topics, "topic": topics})


def test_topics_that_are_the_readers_groups_score_one():
    groups = pl.DataFrame({"cell_id": ["c0", "c1", "c2"], "group": ["x", "x", "y"]})
    found = measure_groups(filed(["a", "a", "b"]), groups)
    assert (found.precision, found.recall, found.f1, found.hints_f1) == (1.0, 1.0, 1.0, 1.0)
    assert found.largest_share == pytest.approx(2 / 3)


def test_one_topic_of_everything_has_full_recall_and_the_precision_of_its_groups():
    groups = pl.DataFrame({"text": ["c0", "c1", "c2", "c3"], "group": ["x", "x", "y", "y"]})
    found = measure_groups(filed(["a", "a", "a", "a"]), groups)
    assert (found.precision, found.recall) == (0.5, 1.0)


def test_memories_that_the_reader_left_out_do_not_count():
    groups = pl.DataFrame({"cell_id": ["c0", "c1"], "group": ["x", "x"]})
    found = measure_groups(filed(["a", "a", "b"]), groups)
    assert (found.memories, found.topics, found.f1) == (2, 1, 1.0)
    assert topics_told(filed(["a", "a", "b"])).splitlines() == ["    2  a  (a)", "    1  b  (b)"]
