"""The bounded prior of a search result: what is salient, recent and alive comes before its equals.

Plain numbers: a question weighs a few dozen rows, and one operation on a frame costs more than all of them.
"""

from math import exp

from slowwave.decay.retention import retention_of
from slowwave.settings.groups import DecaySettings
from slowwave.settings.reading import SearchSettings


def prior(
    *,
    age_days: float,
    salience: float = 1.0,
    rate: float = 0.0,
    unused_days: float = 0.0,
    search: SearchSettings,
    decay: DecaySettings,
) -> float:
    """Salience * exp(-age_rate * age_days) * retention, between the floor and 1: it reorders and never buries.

    The product is stretched over what the floor leaves and not cut off at it, so that of two old memories the one that
    is more salient, or was used since, still comes first. `age_days` counts from when it was last said, `rate` is the
    decay rate of a cell (0 for a protected one). A raw turn has its age alone.
    """
    kept = retention_of(rate, unused_days, exponent=decay.exponent)
    weight = salience * exp(-search.age_rate * age_days) * kept
    return search.prior_floor + (1.0 - search.prior_floor) * min(weight, 1.0)
