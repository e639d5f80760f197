"""What a model of Pydantic refuses, in one line."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from slowwave.errors import InputError

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
