"""What a reader and a judge are asked when a memory is measured, and what they answer. No night asks for it."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from slowwave.models.answers.fields import Answer, Line, listed, number_of, of_page, some_words
from slowwave.models.prompts import PromptFile, read_prompt_file

FOLDER = Path(__file__).parent / "prompts"


def prompt_file(name: str) -> PromptFile:
    """The prompt file of this name and version."""
    path = FOLDER / f"{name}.md"
    return read_prompt_file(path.name, path.read_text(encoding="utf-8"))


READER = prompt_file("answer_question.v1")
JUDGE = prompt_file("judge_answer.v1")


class GivenAnswer(Answer):
    """The answer to one question."""

    question: Annotated[int, number_of("question_numbers")] = Field(description="Number of the question")
    answer: Annotated[Line, some_words(1_000, "write: not in memory")] = Field(
        description="A few words, or: not in memory"
    )


class ReaderAnswer(Answer):
    """Exactly one answer to every question."""

    answers: list[GivenAnswer]

    def _problems(self) -> list[str]:
        return problems_of_numbers([given.question for given in self.answers], "question")


class Mark(Answer):
    """The mark of one given answer."""

    item: Annotated[int, number_of("item_numbers")] = Field(description="Number of the item")
    reason: Line = Field(description="A few words")
    mark: Literal["right", "half", "wrong"]


class JudgeAnswer(Answer):
    """Exactly one mark for every item."""

    marks: list[Mark]

    def _problems(self) -> list[str]:
        return problems_of_numbers([mark.item for mark in self.marks], "item")


def problems_of_numbers(given: list[int], name: Literal["question", "item"]) -> list[str]:
    """Why a list is refused that must name each number of the page once."""
    wanted = of_page(f"{name}_numbers")
    if wanted is None or sorted(given) == sorted(wanted):
        return []
    return [f"name each {name} once: {listed(wanted)}"]
