"""Questions about a home with the turns that answer them, and the figures of their recall.

The form that a person writes:

    {"questions": [{"question": "How hot is kiln 2?", "answer": "1040 degrees", "category": "number",
                    "evidence": ["4f504b424398a7c483beb2d7"]}]}

Evidence are turn ids of the home.
"""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

from slowwave.schemas.refusals import Frozen
from slowwave.schemas.search import Moment

_BETWEEN_IDS = re.compile(r"[;,\s]+")


def split_ids(value: object) -> object:
    """Ids of turns: of a text, or a list of texts, that may each hold several, split by `;`, commas or blanks."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        return value
    named = [name for part in parts for name in _BETWEEN_IDS.split(part) if name]
    return tuple(dict.fromkeys(named))


Ids = Annotated[tuple[str, ...], BeforeValidator(split_ids)]
Text = Annotated[str, Field(min_length=1)]


class Question(Frozen):
    """A question, its right answer, and the messages that answer it; `asked_at` hides what was said later."""

    question: Text
    answer: str | None = Field(default=None, description="The right answer, where answers are judged.")
    is_answerable: bool = Field(
        default=True, description="False where nothing that was said answers it, so that no answer is right."
    )
    evidence: Ids = ()
    category: str = Field(default="all", min_length=1, description="Figures are told by category as well.")
    asked_at: Moment | None = None


class QuestionFile(Frozen):
    """The questions of a file."""

    name: Text = "questions"
    questions: tuple[Question, ...]


Figures = dict[str, float]
"""`recall@5` to `recall@50`, 0..1, and `questions`, how many they are the mean of."""


class Evaluation(Frozen):
    """Recall of questions. Every figure can be computed again from the same questions and memory."""

    recall: Figures = Field(description="Mean share of a question's evidence turns among the first k.")
    by_category: dict[str, Figures]
    questions: int = Field(ge=0, description="Questions that count.")
    left_out: dict[str, int] = Field(description="What does not count, by reason.")
    embedder: str = Field(description='"" where search is by words alone.')
