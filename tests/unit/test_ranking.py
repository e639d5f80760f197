"""The prior of a search result."""

import pytest

from slowwave.search.fusing import prior
from slowwave.settings.groups import DecaySettings
from slowwave.settings.reading import SearchSettings


def weighed(*, salience: float, age_days: float, unused_days: float = 0.0, floor: float = 0.0) -> float:
    return prior(
        salience=salience,
        rate=0.1,
        age_days=age_days,
        unused_days=unused_days,
        search=SearchSettings(prior_floor=floor),
        decay=DecaySettings(),
    )


def test_the_prior_is_salience_times_age_times_what_is_left():
    assert weighed(salience=0.9, age_days=0) == pytest.approx(0.9)
    assert weighed(salience=1.0, age_days=50) == pytest.approx(0.6065306597, rel=1e-9)  # exp(-0.5)
    assert weighed(salience=1.0, age_days=0, unused_days=1) == pytest.approx(
        0.9048374180, rel=1e-9
    )  # exp(-0.1)
    left = 0.5 * 0.6065306597 * 0.2018965180  # exp(-0.1 * 32 ** 0.8)
    assert weighed(salience=0.5, age_days=50, unused_days=32) == pytest.approx(left, rel=1e-9)


def test_the_prior_never_falls_below_its_floor_and_never_rises_above_one():
    assert weighed(salience=0.0, age_days=4000, floor=0.5) == 0.5
    assert weighed(salience=0.9, age_days=4000, floor=0.25) == pytest.approx(0.25)
    assert weighed(salience=1.0, age_days=0, floor=0.5) == 1.0


def test_a_raw_turn_has_its_age_alone():
    turn = prior(age_days=50, search=SearchSettings(prior_floor=0.5), decay=DecaySettings())
    assert turn == pytest.approx(0.5 + 0.5 * 0.6065306597, rel=1e-9)


def test_of_two_old_memories_the_more_salient_one_still_comes_first():
    assert (
        weighed(salience=0.9, age_days=300, floor=0.5) > weighed(salience=0.3, age_days=300, floor=0.5) > 0.5
    )
