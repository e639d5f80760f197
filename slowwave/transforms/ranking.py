"""The bounded prior of a search result: what is salient, recent and alive comes before its equals.

Plain numbers: a question weighs a few dozen rows, and one operation on a frame costs more than all of them.
"""

from math import exp

from slowwave.reading_settings import SearchSettings
from slowwave.setting_groups import DecaySettings
from slowwave.transforms.decay import retention_of


def prior(
    *,
    salience: float,
    rate: float,
    age_days: float,
    unused_days: float,
    search: SearchSettings,
    decay: DecaySettings,
) -> float:
    """Salience * exp(-age_rate * age_days) * retention, never below the floor: it reorders and never buries.

    0..1, from the salience and the decay rate of a cell (0 for a protected one), days since the memory was last said
    and days since it was last used, both fractions from 0.
    """
    kept = retention_of(rate, unused_days, exponent=decay.exponent)
    weight = salience * exp(-search.age_rate * age_days) * kept
    return min(max(weight, search.prior_floor), 1.0)
