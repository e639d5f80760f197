"""The parts of every answer of a language model: its base, its fields, and the page that it is checked against.

No field is a union, so that strict tool schemas accept them and a small local model can follow them: an empty string
or the number 0 says "none". A field may be left out only where most answers would say "none" for it. What is harmless
is put right in silence (blanks, "n/a", a date with a time of day); what is not is refused, and the message tells the
model how to mend its answer.
"""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from slowwave.language.lexicon import NOTHING

LABEL_WORDS, COMPRESSED_WORDS = 8, 22
"""Bounds that are enforced; the prompts ask for less (4 and 15 words), since small models miscount."""

Bound = Literal["max_words", "summary_words", "max_lines"]
"""Most words of a text of the answer, most numbers of a list: the page says how many."""

_LONG_LIST = 5
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_NO_PAGE: Mapping[str, object] = {}
_PAGE = ContextVar("page", default=_NO_PAGE)


@contextmanager
def checked_against(page: Mapping[str, object]) -> Iterator[None]:
    """A block in which answers are checked against what a page showed: its numbers by kind, and its bounds.

    A check whose numbers or bound are missing is left out. The page holds for the thread that enters the block.
    """
    token = _PAGE.set(page)
    try:
        yield
    finally:
        _PAGE.reset(token)


def of_page(name: str) -> AbstractSet[int] | None:
    """The numbers of this name on the page; null where it has none."""
    found = _PAGE.get().get(name)
    return found if isinstance(found, AbstractSet) else None


def bound_of_page(name: Bound) -> int | None:
    """The bound of this name on the page; null where it has none."""
    found = _PAGE.get().get(name)
    return found if isinstance(found, int) else None


def bare(schema: dict[str, Any]) -> None:
    """Takes out the titles and defaults of fields: the prompt says what each holds, and every call pays for them."""
    for shape in schema.get("properties", {}).values():
        shape.pop("title", None)
        shape.pop("default", None)


class Answer(BaseModel):
    """Base of all answers: unknown fields are refused, and so is an answer with problems."""

    # what a model said stands in its own message: an error need not repeat it
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, json_schema_extra=bare)

    def _problems(self) -> list[str]:
        """Puts right what is harmless; returns the rest, each as a sentence that says how to mend it."""
        return []

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        if problems := self._problems():
            raise ValueError("; ".join(problems))
        return self


A = TypeVar("A", bound=Answer)


def read_answer(kind: type[A], text: str, page: Mapping[str, object]) -> A | None:
    """The answer in a JSON text; null where it is none that this page allows."""
    with checked_against(page):
        try:
            return kind.model_validate_json(text)
        except ValidationError:
            return None


def one_line(text: str) -> str:
    """Text without control characters, every run of white space as one blank."""
    return " ".join(_CONTROL.sub(" ", text).split())


def paragraph(text: str) -> str:
    """Text with its line breaks, without other control characters and without blanks around its lines."""
    lines = (one_line(line) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def blank_if_none(text: str) -> str:
    """One line of text; "" for words that only say that there is nothing."""
    line = one_line(text)
    return "" if line.lower() in NOTHING else line


def label(text: str) -> str:
    """1-4 words in snake_case; words past the fourth are cut off."""
    words = re.findall(r"[^\W_]+", text.lower())
    return "_".join(words[:4])


def some_words(
    most: int | Bound, advice: str = "drop the least important, keep exact values"
) -> AfterValidator:
    """A text of one word at least and so many at most: a number, or what the page says under that name."""

    def checked(text: str) -> str:
        bound = most if isinstance(most, int) else bound_of_page(most)
        count = len(text.split())
        if not count:
            raise ValueError("it is empty; write it from what the page says")
        if bound is not None and count > bound:
            raise ValueError(f"it has {count} words, at most {bound} are allowed; {advice}")
        return text

    return AfterValidator(checked)


def number_of(name: str, *, or_none: bool = False) -> AfterValidator:
    """A number that the page shows under this name; with `or_none` also 0."""

    def checked(number: int) -> int:
        if is_off(number, name) and (number or not or_none):
            raise ValueError(f"{number} is not on this page; use only {listed(of_page(name))}")
        return number

    return AfterValidator(checked)


def is_off(number: int, name: str) -> bool:
    """Return whether a number is none of those that the page shows under this name."""
    numbers = of_page(name)
    return numbers is not None and number not in numbers


def listed(numbers: AbstractSet[int] | None) -> str:
    """Numbers in words for a message: "the numbers 1, 2, 3", "the numbers 1 to 40"."""
    if not numbers:
        return (
            "the numbers on this page" if numbers is None else "none (there is no such number on this page)"
        )
    ordered = sorted(numbers)
    if len(ordered) == 1:
        return f"the number {ordered[0]}"
    if len(ordered) > _LONG_LIST and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"the numbers {ordered[0]} to {ordered[-1]}"
    return "the numbers " + ", ".join(str(number) for number in ordered)


Line = Annotated[str, AfterValidator(one_line)]
LineOrBlank = Annotated[str, AfterValidator(blank_if_none)]
Paragraph = Annotated[str, AfterValidator(paragraph)]
Name = Annotated[Line, some_words(LABEL_WORDS, "it is a label of 2-4 words")]
Compressed = Annotated[Line, some_words(COMPRESSED_WORDS)]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
