"""The shape of every answer of a language model: one flat model a prompt, checked against the page that it was shown.

No field is a union, so that strict tool schemas accept them and a small local model can follow them: an empty string
or the number 0 says "none". A field may be left out only where most answers would say "none" for it. What is harmless
is put right in silence (blanks, "n/a", a date with a time of day); what is not is refused, and the message tells the
model how to mend its answer.
"""

from collections.abc import Set as AbstractSet
from typing import Annotated, Self, TypedDict, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from slowwave.prompting.answer_text import (
    blank_if_none,
    date_or_blank,
    label,
    one_line,
    paragraph,
    word_count,
)

LABEL_WORDS = 8
COMPRESSED_WORDS = 18
SUMMARY_COMPRESSED_WORDS = 22
"""Bounds that are enforced; the prompts ask for less (4, 12 and 15 words), since small models miscount."""

_LONG_LIST = 5

Line = Annotated[str, AfterValidator(one_line)]
LineOrBlank = Annotated[str, AfterValidator(blank_if_none)]
Paragraph = Annotated[str, AfterValidator(paragraph)]
Label = Annotated[str, AfterValidator(label)]
Date = Annotated[str, AfterValidator(date_or_blank)]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Page(TypedDict, total=False):
    """The validation context: numbers and bounds of a page. A check whose key is missing is left out."""

    turn_numbers: AbstractSet[int]
    known_numbers: AbstractSet[int]
    new_numbers: AbstractSet[int]
    page_numbers: AbstractSet[int]
    candidate_numbers: AbstractSet[int]
    change_numbers: AbstractSet[int]
    question_numbers: AbstractSet[int]
    item_numbers: AbstractSet[int]
    effect_numbers: AbstractSet[int]
    described_numbers: AbstractSet[int]
    topic_numbers: AbstractSet[int]
    max_words: int
    summary_words: int
    max_lines: int


class Answer(BaseModel):
    """Base of all answers: unknown fields are refused, and so is an answer with problems."""

    model_config = ConfigDict(extra="forbid")

    def _problems(self, page: Page) -> list[str]:
        """Puts right what is harmless; returns the rest, each as a sentence that says how to mend it."""
        return []

    @model_validator(mode="after")
    def _is_usable(self, info: ValidationInfo) -> Self:
        problems = self._problems(cast("Page", info.context or {}))
        if problems:
            raise ValueError("; ".join(problems))
        return self


def problems_of_length(name: str, text: str, most: int | None, *, if_empty: str, if_long: str) -> list[str]:
    """Why a text is refused: it is empty, or has more than `most` words."""
    if not text:
        return [f"{name} is empty; {if_empty}"]
    count = word_count(text)
    if most is not None and count > most:
        return [f"{name} has {count} words, at most {most} are allowed; {if_long}"]
    return []


def is_off(number: int, numbers: AbstractSet[int] | None) -> bool:
    """Return whether a number is none of those that the page showed."""
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
