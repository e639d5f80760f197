"""How many examples a property gets: its own number, and no more than the profile that runs."""

from hypothesis import settings


def at_most(number: int) -> int:
    """That number, or the profile's where it is smaller: `make test` has fewer than continuous integration."""
    return min(number, settings().max_examples)
