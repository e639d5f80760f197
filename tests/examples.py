"""How many examples a property gets: its own number, and no more than the profile that runs."""

from hypothesis import HealthCheck, Phase, settings


def at_most(number: int) -> int:
    """That number, or the profile's where it is smaller: `make test` has fewer than continuous integration."""
    return min(number, settings().max_examples)


def of_homes(number: int) -> settings:
    """For examples that fill a whole home: `make test` takes the written ones alone, the rest that many drawn ones."""
    is_quick = settings().max_examples <= 10
    return settings(
        max_examples=number,
        phases=[Phase.explicit] if is_quick else list(Phase),
        suppress_health_check=[HealthCheck.too_slow],
    )
