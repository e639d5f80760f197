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

_NO_FIELDS = ("self", "now", "filters", "words")
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


def bounds(model: type[BaseModel], field: str) -> tuple[float | None, float | None]:
    """The least and the greatest value of a numeric field; None where it has no such bound."""
    rules = model.model_fields[field].metadata
    low = next((rule.ge for rule in rules if hasattr(rule, "ge")), None)
    high = next((rule.le for rule in rules if hasattr(rule, "le")), None)
    return low, high


_WORDS = (
    (r"Value error, ", ""),
    (r"Input should be less than or equal to (\S+)", r"choose at most \1"),
    (r"Input should be greater than or equal to (\S+)", r"choose at least \1"),
    (r"Input should be a valid (?:number|integer).*", "give a number"),
    (r"Input should be a valid boolean.*", "give true or false"),
    (r"(?:Tuple|List) should have at least (\d+) items?.*", r"give at least \1"),
    (r"(?:Tuple|List) should have at most (\d+) items?.*", r"give at most \1"),
    (r"String should have at (least|most) (\d+) characters?", r"give at \1 \2 characters"),
    (r"Input should be a valid dictionary.*", "give an object"),
    (
        r"String should match pattern '\^\[0-9A-Za-z_-\]\{(\d+),(\d+)\}\$'",
        r"an id has \1 to \2 letters, digits, _ or -: give one",
    ),
    (r"Input should be ('.*)", r"choose one of \1"),
    (r"Field required", "it is missing: give it"),
)
"""What Pydantic says of a value, and how a person says it."""


def plainly(message: str) -> str:
    """A message of Pydantic's in words that know no Python; any other as it is."""
    for pattern, words in _WORDS:
        message = re.sub(rf"^{pattern}", words, message)
    return message


def sentence_of(model: type[BaseModel], error: ValidationError) -> str:
    """The first error as one line that says what to do; a long text is never repeated in it."""
    first = error.errors(include_url=False)[0]
    if not first["loc"]:
        return plainly(first["msg"])
    field, value, rule = _place(first["loc"]), first["input"], first.get("ctx", {})
    match first["type"]:
        case "missing":
            return f"{field} is missing: give it"
        case "string_too_long":
            place = f"an entry of {field}" if len(first["loc"]) == 2 else field  # noqa: PLR2004
            most = rule["max_length"]
            return f"{place} has {len(value)} characters, at most {most} are possible: say it shorter"
        case "too_long":
            return f"{rule['actual_length']} {field} are too many: name at most {rule['max_length']}"
        case "literal_error":
            known = rule["expected"].replace("'", "").replace(" or ", ", ")
            return f"{field} {str(value)[:40]!r} is not possible: choose one of {known}"
        case "extra_forbidden" if len(first["loc"]) > 1:
            return f"{field} is not possible: there is no such field"
        case "greater_than_equal" | "less_than_equal":
            low, high = bounds(model, field)
            return f"{field} {value} is not possible: choose {low} " + (f"to {high}" if high else "or more")
        case "string_type":
            return f"{field} is not possible: give a text"
        case "tuple_type":
            return f"{field} is not possible: give a list"
        case "extra_forbidden":
            return f"{field} is not possible: choose of {', '.join(model.model_fields)}"
    return f"{field} is not possible: {plainly(first['msg'])}"


def _place(place: tuple[int | str, ...]) -> str:
    """The name of a field; of one within an entry of a list with the entry, such as `turns[0].role`."""
    if len(place) <= 2:  # noqa: PLR2004 - an entry by itself is told by its list
        return str(place[0])
    return f"{place[0]}[{place[1]}].{'.'.join(map(str, place[2:]))}"
