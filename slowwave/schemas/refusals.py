"""What is given and not possible, refused in one line."""

from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from slowwave.errors import InputError

EPOCH_YEAR = 1970
FIRST_YEAR_TOO_LATE = 2200
"""From this year on a time is a mistake, and not everything here could hold it."""

Model = TypeVar("Model", bound=BaseModel)


def possible(model: type[Model], given: dict[str, Any], *, what: str = "") -> Model:
    """A model of what was given.

    Raises:
        InputError: the first thing that is not possible, after `what`.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = f"{first['loc'][0]} is not possible: " if first["loc"] else ""
        raise InputError(f"{what}{place}{first['msg'].removeprefix('Value error, ')}") from error


def possible_moment(now: datetime) -> datetime:
    """The moment given as the present one.

    Raises:
        InputError: it is none, or lies where the journal's times do not reach.
    """
    if not isinstance(now, datetime):
        raise InputError(f"now is a datetime, not {now!r}")
    if not EPOCH_YEAR <= now.year < FIRST_YEAR_TOO_LATE:
        raise InputError(
            f"now = {now.isoformat()} is not possible: choose {EPOCH_YEAR} to {FIRST_YEAR_TOO_LATE - 1}"
        )
    return now
