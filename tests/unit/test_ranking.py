"""Fusion of ranked lists and the priors on them."""

from datetime import timedelta

import polars as pl
import pytest

from slowwave.settings import DecaySettings, SearchSettings
from slowwave.transforms.ranking import fuse_ranks, prior
from tests.rows import NOW, row, rows


def listed(value: str, **scores: float) -> pl.DataFrame:
    return pl.DataFrame(
        {"key": list(scores), value: list(scores.values())}, schema={"key": pl.String, value: pl.Float64}
    )


def test_ranks_of_several_lists_add_up_by_their_weights():
    text = (listed("match", a=9.0, b=8.0), "match", "text", 2.0)
    vector = (listed("near", b=0.9, c=0.8), "near", "vector", 1.0)
    fused = fuse_ranks([text, vector], key="key", rank_constant=60)
    assert fused.columns == ["key", "text_rank", "vector_rank", "fused_score"]
    assert fused.select("key", "text_rank", "vector_rank").rows() == [
        ("b", 2, 1),
        ("a", 1, None),
        ("c", None, 2),
    ]
    assert fused["fused_score"].to_list() == pytest.approx([2 / 62 + 1 / 61, 2 / 61, 1 / 62])


def test_equal_values_rank_by_key_and_equal_scores_too():
    one = (listed("match", b=1.0, a=1.0), "match", "text", 1.0)
    other = (listed("near", b=0.5, a=0.4), "near", "vector", 1.0)
    assert fuse_ranks([one, other], key="key", rank_constant=60)["key"].to_list() == ["a", "b"]


def test_no_list_and_empty_lists_find_nothing():
    assert fuse_ranks([], key="key", rank_constant=60).is_empty()
    empty = (listed("match"), "match", "text", 1.0)
    full = (listed("near", a=0.5), "near", "vector", 1.0)
    assert fuse_ranks([empty], key="key", rank_constant=60).is_empty()
    assert fuse_ranks([empty, full], key="key", rank_constant=60).select("key", "text_rank").rows() == [
        ("a", None)
    ]


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
