"""Fusion of ranked lists."""

import pytest

from slowwave.search.fusing import Fused, RankedList, as_frame, fuse_ranks, fuse_scores

TEXT = RankedList("text", {"a": 9.0, "b": 8.0}, 2.0)
VECTOR = RankedList("vector", {"b": 0.9, "c": 0.8}, 1.0)
EMPTY = RankedList("text", {}, 1.0)


def scores(fused: list[Fused]) -> dict[str, float]:
    return {entry.key: entry.score for entry in fused}


def test_ranks_of_several_lists_add_up_by_their_weights():
    fused = fuse_ranks([TEXT, VECTOR], rank_constant=60)
    assert [entry.key for entry in fused] == ["b", "a", "c"]
    assert scores(fused) == pytest.approx({"b": 2 / 62 + 1 / 61, "a": 2 / 61, "c": 1 / 62})
    assert fused[0].given == (("text", 2, 8.0, 2 / 62), ("vector", 1, 0.9, 1 / 61))
    assert [share.list_name for share in fused[0].shares()] == ["text", "vector"]


def test_scores_are_stretched_between_the_worst_and_the_best_of_their_list():
    lists = [
        RankedList("text", {"a": 9.0, "b": 5.0, "c": 1.0}, 2.0),
        RankedList("vector", {"b": 0.9, "c": 0.8}, 1.0),
    ]
    fused = fuse_scores(lists)
    assert scores(fused) == {"a": 2.0, "b": 2.0, "c": 0.0}
    assert [entry.key for entry in fused] == ["a", "b", "c"]  # equal scores by key


def test_a_list_whose_values_are_equal_gives_its_weight_to_all_of_them():
    alone = RankedList("text", {"a": 3.0}, 2.0)
    even = RankedList("vector", {"b": 0.5, "a": 0.5}, 1.0)
    assert scores(fuse_scores([alone, even])) == {"a": 3.0, "b": 1.0}


def test_equal_values_rank_by_key_and_equal_scores_too():
    one = RankedList("text", {"b": 1.0, "a": 1.0}, 1.0)
    other = RankedList("vector", {"b": 0.5, "a": 0.4}, 1.0)
    assert [entry.key for entry in fuse_ranks([one, other], rank_constant=60)] == ["a", "b"]


def test_no_list_and_empty_lists_find_nothing():
    full = RankedList("vector", {"a": 0.5}, 1.0)
    for fuse in (lambda lists: fuse_ranks(lists, rank_constant=60), fuse_scores):
        assert fuse([]) == []
        assert fuse([EMPTY]) == []
        assert [entry.key for entry in fuse([EMPTY, full])] == ["a"]


def test_a_frame_has_what_each_list_gave_and_nulls_where_one_is_silent():
    frame = as_frame(fuse_ranks([TEXT, VECTOR], rank_constant=60), key="turn_id")
    assert frame.select("turn_id", "text_rank", "vector_rank").rows() == [
        ("b", 2, 1),
        ("a", 1, None),
        ("c", None, 2),
    ]
    assert frame.select("text_value", "text_share").row(0) == pytest.approx((8.0, 2 / 62))
    assert as_frame([], key="turn_id").columns == ["turn_id", "fused_score"]
