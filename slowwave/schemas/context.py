"""The request and the answer of a context assembly."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from slowwave.schemas.moments import Said
from slowwave.schemas.refusals import CLEAN, Frozen, Request, Text
from slowwave.schemas.search import FROM_WITHIN, Query

Activity = Literal["feature", "debugging", "reviewing", "general"]
TierName = Literal["critical", "relevant", "background", "index"]
TIERS: tuple[TierName, ...] = ("critical", "relevant", "background", "index")
"""Highest first: what two tiers want stands in the first of them, and unused budget flows to the next."""

MAX_ERRORS = 5
"""Recent errors that are looked up; of more, the last ones."""


Path = Annotated[str, Field(max_length=4_096), CLEAN]
Label = Annotated[str, Field(max_length=1_000), CLEAN]


class ContextRequest(Request):
    """Signals of the moment, all optional; without any, open matters and the newest memories are told."""

    question: Query = Field(default="", description="The user's question, or the task at hand.")
    activity: Activity = Field(
        default="general", description="The kind of work; it decides how the budget is shared."
    )
    current_file: Path | None = Field(default=None, description="Path of the file that is being edited.")
    recent_errors: tuple[Text, ...] = Field(
        default=(), description=f"The text of a recent error; the last {MAX_ERRORS} are looked up."
    )
    branch: Label | None = Field(default=None, description="Branch of version control.")
    budget_tokens: int | None = Field(
        default=None,
        ge=1,
        description="The most tokens that the text may have (default: the setting context.budget_tokens).",
    )
    conversation_id: Label | None = Field(
        default=None,
        description="The conversation that reads it; the short form never shows it the same memory twice.",
    )
    small: bool = Field(
        default=False,
        description="The short form for every message: only what is relevant and not yet shown.",
    )
    opening: bool = Field(
        default=False,
        description="The form for the start of a conversation: what is open, and core memory; no question is asked.",
    )
    project: Label | None = Field(default=None, min_length=1, description=FROM_WITHIN)
    ids: bool = Field(
        default=False,
        description="Name each memory by the start of its id (mem:1a2b3c4d), so that an answer can cite it.",
    )

    @model_validator(mode="after")
    def _is_one_form(self) -> "ContextRequest":
        if self.opening and (self.small or self.question):
            raise ValueError("opening asks nothing, and is another form than small: choose one")
        return self


class ContextLine(Frozen):
    """One line: a memory, the two sides of a contradiction, a quote, or a pointer to more."""

    kind: str = Field(
        description="A cell type, or `contradiction`, `fix`, `error`, `summary`, `quote`, `pointer`."
    )
    text: str = Field(
        description="The line as it stands in the text; its date and source stand in it, or in the heading above."
    )
    tokens: int = Field(ge=0)
    event_time: Said
    source_name: str
    why: str = Field(description="What brought it here.")
    cell_ids: tuple[str, ...] = ()
    topic_ids: tuple[str, ...] = ()
    turn_ids: tuple[str, ...] = ()


class ContextTier(Frozen):
    """A tier with its lines, best first. `budget_tokens` is its share, before anything flowed down to it."""

    name: TierName
    budget_tokens: int = Field(ge=0)
    tokens: int = Field(ge=0)
    lines: list[ContextLine]


class Context(Frozen):
    """The context for an agent. `text` is fenced as recalled memory; it is empty where there is nothing to say."""

    activity: Activity
    small: bool
    budget_tokens: int
    tokens: int = Field(ge=0, description="Tokens of `text`, fence and headings included.")
    tiers: list[ContextTier]
    notes: list[str]
    text: str

    @property
    def lines(self) -> list[ContextLine]:
        """All lines, in the order of the text."""
        return [line for tier in self.tiers for line in tier.lines]
