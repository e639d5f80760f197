"""Question sets: questions with the turns that answer them, and where they stand.

The form that a person writes (one JSON object):

    {"conversations": [{
        "name": "kiln",
        "sessions": [{"session_id": "june", "turns": [
            {"id": "a1", "speaker": "Mara", "content": "Kiln 2 runs at 1040 degrees.",
             "timestamp": "2026-06-05T09:00:00Z"}]}],
        "memories": [{"content": "Kiln 2 runs at 1040 degrees.", "evidence": ["a1"]}],
        "questions": [{"question": "How hot is kiln 2?", "answer": "1040 degrees", "evidence": ["a1"],
                       "category": "number"}]}]}

As JSONL, each line is one such conversation. A conversation without sessions asks about a memory that is there
already: its evidence are turn ids of that home.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

_BETWEEN_IDS = re.compile(r"[;,\s]+")


def split_ids(value: object) -> object:
    """Ids of turns: of a text, or a list of texts, that may each hold several, split by `;`, commas or blanks."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        return value
    named = [name for part in parts for name in _BETWEEN_IDS.split(part) if name]
    return tuple(dict.fromkeys(named))


def _with_zone(value: object) -> object:
    """A time without a zone is UTC."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return value
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Ids = Annotated[tuple[str, ...], BeforeValidator(split_ids)]
Moment = Annotated[
    AwareDatetime, BeforeValidator(_with_zone), AfterValidator(lambda moment: moment.astimezone(UTC))
]
Text = Annotated[str, Field(min_length=1)]


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class SaidTurn(_Frozen):
    """One message of a question set's session."""

    id: Text = Field(description="Unique in its conversation; evidence names it.")
    content: Text
    timestamp: Moment = Field(description="When it was said; without a zone it is UTC.")
    speaker: str | None = None
    role: Literal["user", "assistant"] = "user"


class SaidSession(_Frozen):
    """One session of a question set, its messages in order."""

    session_id: Text
    turns: tuple[SaidTurn, ...]


class GivenMemory(_Frozen):
    """A memory that someone else made of the sessions, with the messages that it came from."""

    content: Text
    evidence: Ids


class Question(_Frozen):
    """A question, its right answer, and the messages that answer it; `asked_at` hides what was said later."""

    question: Text
    answer: str | None = Field(default=None, description="The right answer, where answers are judged.")
    is_answerable: bool = Field(
        default=True, description="False where nothing that was said answers it, so that no answer is right."
    )
    evidence: Ids = ()
    category: str = Field(default="all", min_length=1, description="Figures are told by category as well.")
    asked_at: Moment | None = None


class Conversation(_Frozen):
    """Questions about one memory: its own sessions, or a home that is there already."""

    name: Text = "questions"
    sessions: tuple[SaidSession, ...] = ()
    memories: tuple[GivenMemory, ...] = ()
    questions: tuple[Question, ...]


class QuestionSet(_Frozen):
    """All conversations of a file."""

    conversations: tuple[Conversation, ...] = Field(min_length=1)

    @property
    def brings_sessions(self) -> bool:
        """Return whether it is asked in homes of its own."""
        return any(conversation.sessions for conversation in self.conversations)


class Parameter(_Frozen):
    """A number that a measurement stands on, and what it is."""

    value: float | str
    meaning: str


Figures = dict[str, float]
"""`recall@5` to `recall@50`, 0..1, and `questions`, how many they are the mean of."""


class CoverageLine(_Frozen):
    """Evidence coverage of one way to show memory, as means over the questions."""

    way: str = Field(
        description="`context`, `search`, `turns`, `ranked turns`, or `memories`: all there are."
    )
    budget_tokens: int | None = Field(description="Most tokens of a page; null for all memories.")
    coverage: float = Field(
        ge=0, le=1, description="Share of a question's evidence turns that a page rests on."
    )
    complete: float = Field(ge=0, le=1, description="Share of the questions with all of their evidence.")
    tokens: float = Field(ge=0, description="Tokens of a page.")
    questions: int = Field(ge=0)
    by_category: dict[str, float] = Field(description="`coverage` by the set's own categories.")


class Evaluation(_Frozen):
    """Retrieval quality on a question set. Every figure can be computed again from the same set and memory."""

    recall: Figures = Field(description="Mean share of a question's evidence turns among the first k.")
    sessions: Figures = Field(
        description="The same of whole sessions, each where its best turn stands: `recall@10` is among ten sessions."
    )
    by_category: dict[str, Figures]
    baselines: dict[str, Figures] = Field(
        description="The same questions by full text, by vectors, by both fused."
    )
    granularities: dict[str, dict[str, Figures]] = Field(
        description="`alone`: each list; `without`: the whole but that list."
    )
    coverage: list[CoverageLine] = Field(
        default=[], description="What is shown for a question rests on its evidence, by way and budget."
    )
    tokens_returned: float = Field(ge=0, description="Mean tokens of the first 10 turns.")
    tokenizer: str
    questions: int = Field(ge=0, description="Questions that count.")
    left_out: dict[str, int] = Field(description="What does not count, by reason.")
    embedder: str = Field(description='"" where search is by words alone.')
    parameters: dict[str, Parameter]
    seconds: float = Field(ge=0)
