"""Fusion of ranked lists and the priors on them."""

from datetime import timedelta

import polars as pl
import pytest

from slowwave.setting_groups import DecaySettings, SearchSettings
from slowwave.transforms.ranking import RankedList, fuse_ranks, fuse_scores, prior
from tests.rows import NOW, row, rows


def listed(value: str, **scores: float) -> pl.DataFrame:
    return pl.DataFrame(
        {"key": list(scores), value: list(scores.values())}, schema={"key": pl.String, value: pl.Float64}
    )


TEXT = RankedList("text", listed("match", a=9.0, b=8.0), "match", 2.0)
VECTOR = RankedList("vector", listed("near", b=0.9, c=0.8), "near", 1.0)
EMPTY = RankedList("text", listed("match"), "match", 1.0)


def test_ranks_of_several_lists_add_up_by_their_weights():
    fused = fuse_ranks([TEXT, VECTOR], key="key", rank_constant=60)
    assert fused.select("key", "text_rank", "vector_rank").rows() == [
        ("b", 2, 1),
        ("a", 1, None),
        ("c", None, 2),
    ]
    assert fused["fused_score"].to_list() == pytest.approx([2 / 62 + 1 / 61, 2 / 61, 1 / 62])
    assert fused.select("text_value", "text_share").row(0) == pytest.approx((8.0, 2 / 62))


def test_scores_are_stretched_between_the_worst_and_the_best_of_their_list():
    lists = [
        RankedList("text", listed("match", a=9.0, b=5.0, c=1.0), "match", 2.0),
        RankedList("vector", listed("near", b=0.9, c=0.8), "near", 1.0),
    ]
    fused = fuse_scores(lists, key="key")
    assert dict(fused.select("key", "fused_score").rows()) == {"a": 2.0, "b": 2.0, "c": 0.0}
    assert fused["key"].to_list() == ["a", "b", "c"]  # equal scores by key
    assert fused.select("text_rank", "vector_rank").rows() == [(1, None), (2, 1), (3, 2)]


def test_a_list_whose_values_are_equal_gives_its_weight_to_all_of_them():
    alone = RankedList("text", listed("match", a=3.0), "match", 2.0)
    even = RankedList("vector", listed("near", b=0.5, a=0.5), "near", 1.0)
    assert dict(fuse_scores([alone, even], key="key").select("key", "fused_score").rows()) == {
        "a": 3.0,
        "b": 1.0,
    }


def test_equal_values_rank_by_key_and_equal_scores_too():
    one = RankedList("text", listed("match", b=1.0, a=1.0), "match", 1.0)
    other = RankedList("vector", listed("near", b=0.5, a=0.4), "near", 1.0)
    assert fuse_ranks([one, other], key="key", rank_constant=60)["key"].to_list() == ["a", "b"]


def test_no_list_and_empty_lists_find_nothing():
    full = RankedList("vector", listed("near", a=0.5), "near", 1.0)
    for fuse in (
        lambda lists: fuse_ranks(lists, key="key", rank_constant=60),
        lambda lists: fuse_scores(lists, key="key"),
    ):
        assert fuse([]).is_empty()
        assert fuse([EMPTY]).is_empty()
        assert fuse([EMPTY, full]).select("key", "text_rank").rows() == [("a", None)]


def weighed(*, salience: float, age_days: float, unused_days: float = 0.0, floor: float = 0.5) -> float:
    cell = row("cells", "c", salience=salience, confidence=1.0, event_time=NOW - timedelta(days=age_days))
    vitals = row("vitals", "c", last_accessed=NOW - timedelta(days=unused_days))
    both = rows("cells", cell).join(rows("vitals", vitals), on="cell_id")
    return both.select(prior(now=NOW, search=SearchSettings(prior_floor=floor), decay=DecaySettings())).item()


def test_the_prior_is_salience_times_age_times_what_is_left():
    assert weighed(salience=0.9, age_days=0) == pytest.approx(0.9)
    assert weighed(salience=1.0, age_days=50) == pytest.approx(0.6065306597, rel=1e-9)  # exp(-0.5)
    assert weighed(salience=1.0, age_days=0, unused_days=1) == pytest.approx(
        0.9048374180, rel=1e-9
    )  # exp(-0.1)
    left = 0.5 * 0.6065306597 * 0.2018965180  # exp(-0.1 * 32 ** 0.8)
    assert weighed(salience=0.5, age_days=50, unused_days=32, floor=0.0) == pytest.approx(left, rel=1e-9)


def test_the_prior_never_falls_below_its_floor_and_never_rises_above_one():
    assert weighed(salience=0.0, age_days=4000) == 0.5
    assert weighed(salience=0.9, age_days=4000, floor=0.25) == 0.25
    assert weighed(salience=1.0, age_days=-30) == 1.0
