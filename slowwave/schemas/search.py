"""The question of a search, with its filters, and the excerpt of a text that answers it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Generic, Literal, TypedDict, TypeVar

from pydantic import AfterValidator, Field, model_validator

from slowwave.schemas.choices import CellType, SourceType
from slowwave.schemas.refusals import CLEAN, Frozen, Request, Text, in_utc

DetailLevel = Literal["summary", "full", "evidence"]
Intent = Literal["why", "when", "who", "what", "general"]
Scope = Literal["user-private", "project-shared", "system"]
MAX_LIMIT = 25
MAX_QUERY_CHARACTERS = 100_000
"""Longest question: beyond it something else was passed by mistake."""


Moment = Annotated[datetime, AfterValidator(in_utc)]
Direction = Literal["back", "forward"]
"""`back` goes to causes and to what was there before, `forward` to effects and to what came after."""

Query = Annotated[str, Field(max_length=MAX_QUERY_CHARACTERS), CLEAN]
Time = TypeVar("Time")


FROM_WITHIN = (
    "Only what is of this project (its id, the beginning of that, or the path of a folder in it) or of the home's own "
    "(default: what is yours in all of them)."
)


class Narrowing(Request, Generic[Time]):
    """Filters of a search. None shows another user's private memories, or those of a project that is not asked for."""

    cell_types: tuple[CellType, ...] = Field(default=(), description="Only this type of memory.")
    source_type: SourceType | None = Field(default=None, description="Only from this kind of source.")
    entity: Text | None = Field(default=None, description="Only memories that name this person or thing.")
    after: Time | None = Field(
        default=None, description="Only from this time on: 2026-05-01, 2026-05, last_week, 3_days_ago."
    )
    before: Time | None = Field(default=None, description="Only from before this time.")
    as_of: Time | None = Field(
        default=None, description="What was true at the end of this time; nothing said later is shown."
    )
    known_at: Time | None = Field(
        default=None, description="What Slowwave had recorded by the end of this time."
    )
    scope: Scope | None = Field(default=None, description="Only memories of this scope.")
    project: Text | None = Field(default=None, description=FROM_WITHIN)


When = datetime | str
"""A moment, or the words for one ("2026-05-01", "last_week"); without a zone it is UTC."""


class SearchRequest(Narrowing[When]):
    """A question with what its answers must be. A time may be words, such as `last_week`."""

    query: Query = Field(description="A question, or a few words.")
    limit: int | None = Field(
        default=None,
        ge=1,
        le=MAX_LIMIT,
        description="The most summaries and memories to show together (default: the setting search.limit).",
    )
    detail_level: DetailLevel = Field(
        default="full",
        description="summary: topic summaries only; full: memories too; evidence: also the turns behind them.",
    )
    conversation_id: Text = Field(default="", description="The conversation in which the answer is used.")


class Filters(Narrowing[Moment]):
    """Filters of a search, with times as moments."""

    @property
    def is_narrow(self) -> bool:
        """Return whether only some of the memories are wanted that the asking owner may see."""
        return bool(self.narrowed_by)

    @property
    def narrowed_by(self) -> list[str]:
        """The filters that are set, by their options on the command line; not owner, scope and past state."""
        wanted = {
            "type": self.cell_types or None,
            "source": self.source_type,
            "entity": self.entity,
            "after": self.after,
            "before": self.before,
        }
        return [name for name, part in wanted.items() if part is not None]

    @model_validator(mode="after")
    def _has_a_time(self) -> "Filters":
        if self.after is not None and self.before is not None and self.after >= self.before:
            raise ValueError(
                f"after {self.after:%Y-%m-%d %H:%M} and before {self.before:%Y-%m-%d %H:%M} leave no time"
            )
        return self

    @property
    def is_historical(self) -> bool:
        """Return whether a past state is asked for."""
        return self.as_of is not None or self.known_at is not None

    @property
    def past_state(self) -> "Filters":
        """The same past state, without any other filter."""
        return Filters(as_of=self.as_of, known_at=self.known_at)


class FilterWords(TypedDict, total=False):
    """The fields of `Filters` as keywords of `Memory.search`."""

    cell_types: Sequence[CellType]
    source_type: SourceType | None
    entity: str | None
    after: When | None
    before: When | None
    scope: Scope | None
    project: str | None
    as_of: When | None
    known_at: When | None


Place = tuple[int, int]
"""Begin and end in a text, in characters; the end is the first that does not belong to it."""


class Excerpt(Frozen):
    """The parts of a text that tell what a question asks; a short text whole."""

    text: str = Field(description="The parts in their order, with `...` where something is left out.")
    parts: list[Place] = Field(description="Begin and end of each part in the text that it is taken from.")
    words: list[Place] = Field(
        description="Begin and end of each word of the question in the excerpt's `text`."
    )
