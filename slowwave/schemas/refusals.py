"""Input of callers: made clean, or refused in one line where it is impossible."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError

from slowwave.errors import InputError

EPOCH_YEAR = 1970
FIRST_YEAR_TOO_LATE = 2200
"""From this year on a time is a mistake, and not everything here could hold it."""

_NO_FIELDS = ("self", "now", "words")
"""Names in a method that are no field of its request."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Text that can be stored: no NUL, surrogate pairs joined, lone surrogates as replacement characters."""
    if not isinstance(text, str):
        raise InputError(f"a text is wanted, not a value of type {type(text).__name__}")
    text = text.replace("\x00", "")
    if _LONE_SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _clean_field(given: object) -> str:
    """The text of a field, clean; what is no text is an error of Pydantic's, which knows the field."""
    if not isinstance(given, str):
        raise ValueError("give a text")  # of a TypeError Pydantic makes no error of the field
    return clean_text(given)


CLEAN = BeforeValidator(_clean_field)
LONGEST_ASKED = 100_000
"""Characters of a text of a caller that nothing narrower bounds: beyond it something else was passed by mistake."""

Text = Annotated[str, Field(max_length=LONGEST_ASKED), CLEAN]

Switch = Annotated[bool, Strict()]
"""On or off: a text such as "false" is neither, and would begin what it was to prevent."""
"""Text of a caller, clean."""


class Frozen(BaseModel):
    """Base of requests and results: no other fields, and no change."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Request(Frozen):
    """Base of the models that say what can be asked: bounds, defaults and descriptions stand there and nowhere else."""


Model = TypeVar("Model", bound=BaseModel)


def possible(model: type[Model], given: Mapping[str, Any]) -> Model:
    """A model of the given fields.

    Raises:
        InputError: names the first field that is not possible.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InputError(sentence_of(model, error)) from error


def possible_time(said_at: datetime) -> datetime:
    """The time of a message; one beyond the years that anybody writes in is a mistake."""
    if not EPOCH_YEAR <= said_at.year < FIRST_YEAR_TOO_LATE:
        raise ValueError(f"choose {EPOCH_YEAR} to {FIRST_YEAR_TOO_LATE - 1}")
    return said_at


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


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC; one without a zone is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def moment_of(now: datetime | None) -> datetime:
    """The present moment that a caller names, in UTC; else the machine's."""
    return datetime.now(UTC) if now is None else in_utc(possible_moment(now))


def request_of(model: type[Model], given: dict[str, Any]) -> Model:
    """A request of what a method was called with: its `locals()`, and for a search its filters."""
    fields = {name: value for name, value in given.items() if name not in _NO_FIELDS}
    for name, value in fields.items():
        if isinstance(value, Iterable) and not isinstance(value, str):  # a list, or a column of a frame
            fields[name] = tuple(value)
    return possible(model, fields)


_SAID = {
    "missing": "it is missing: give it",
    "extra_forbidden": "there is no such field",
    "literal_error": "choose one of {expected}",
    "less_than_equal": "choose at most {le}",
    "greater_than_equal": "choose at least {ge}",
    "string_too_short": "give at least {min_length} characters",
    "string_too_long": "give at most {max_length} characters",
    "too_short": "give at least {min_length}",
    "too_long": "{actual_length} are too many: give at most {max_length}",
    "string_pattern_mismatch": "an id is letters, digits, _ or -: give it whole, or 6 characters or more",
    "string_type": "give a text",
    "tuple_type": "give a list",
    "list_type": "give a list",
    **dict.fromkeys(("bool_type", "bool_parsing"), "give true or false"),
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_from_float", "float_type", "float_parsing"), "give a number"
    ),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "give an object"),
}
"""Errors of Pydantic's by their type, as a person says them."""

_WITH_VALUE = ("literal_error", "less_than_equal", "greater_than_equal", "string_pattern_mismatch")
"""Types of errors whose value is short, and helps to see what is wrong."""


_UNION = ("datetime", "str")
"""Members of the one union in our requests; Pydantic adds them to the path of a field."""


def plainly(error: Mapping[str, Any]) -> str:
    """An error of a field in words that know no Python; one of a rare type in Pydantic's own."""
    if error["type"] not in _SAID:
        return str(error["msg"]).removeprefix("Value error, ")
    return _SAID[error["type"]].format(**error.get("ctx", {}))


def sentence_of(model: type[BaseModel], error: ValidationError) -> str:
    """The first error as one line that says what to do; a long text is never repeated in it."""
    first = error.errors(include_url=False)[0]
    said, place = plainly(first), first["loc"]
    if not place:
        return said
    if first["type"] == "extra_forbidden" and len(place) == 1:
        said = f"choose of {', '.join(model.model_fields)}"
    value = f" {first['input']!r:.40}" if first["type"] in _WITH_VALUE else ""
    return f"{named(place)}{value} is not possible: {said}"


def named(place: Iterable[int | str]) -> str:
    """The name of a field; of one within an entry of a list with the entry, such as `turns[0].role`."""
    parts = (f"[{one}]" if isinstance(one, int) else f".{one}" for one in place if one not in _UNION)
    return "".join(parts).removeprefix(".")
