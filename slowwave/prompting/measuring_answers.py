"""Answers of a reader and of a judge, with which a memory is measured. No stage of the night asks for them."""

from typing import Literal

from pydantic import Field

from slowwave.prompting.answers import Answer, Line, Page, listed


class GivenAnswer(Answer):
    """The answer to one question."""

    question: int = Field(description="Number of the question")
    answer: Line = Field(description="A few words, or: not in memory")


class ReaderAnswer(Answer):
    """Exactly one answer to every question."""

    answers: list[GivenAnswer]

    def _problems(self, page: Page) -> list[str]:
        problems = problems_of_numbers(
            [given.question for given in self.answers], page, "question_numbers", "question"
        )
        empty = [given.question for given in self.answers if not given.answer]
        return problems + [
            f"the answer to question {number} is empty; write: not in memory" for number in empty
        ]


class Mark(Answer):
    """The mark of one given answer."""

    item: int = Field(description="Number of the item")
    reason: Line = Field(description="A few words")
    mark: Literal["right", "half", "wrong"]


class JudgeAnswer(Answer):
    """Exactly one mark for every item."""

    marks: list[Mark]

    def _problems(self, page: Page) -> list[str]:
        return problems_of_numbers([mark.item for mark in self.marks], page, "item_numbers", "item")


def problems_of_numbers(
    given: list[int], page: Page, key: Literal["question_numbers", "item_numbers"], name: str
) -> list[str]:
    """Why a list is refused that must name each number of the page once."""
    wanted = page.get(key)
    if wanted is None:
        return []
    strange = sorted(set(given) - wanted)
    missing = sorted(wanted - set(given))
    twice = sorted({number for number in given if given.count(number) > 1})
    problems = [f"there is no {name} {number} on this page; use {listed(wanted)}" for number in strange]
    problems += [f"{name} {number} is missing" for number in missing]
    return problems + [f"{name} {number} stands twice; name it once" for number in twice]
