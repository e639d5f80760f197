"""What a language model must answer about the graph; the rules are those of `slowwave/prompting/answers.py`.

Context keys: `max_words`, `earlier_numbers`, `later_numbers` (sets of int).
"""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from slowwave.prompting.answer_text import listed, paragraph, shown, word_count
from slowwave.prompting.answers import Answer, Line

MAX_CAUSES = 12
PREDICATE_WORDS = 16
"""The bound that is enforced; the prompt asks for 8 words, since small models miscount."""


class EntityAnswer(Answer):
    """Who or what an entity is, from the memories that name it."""

    summary: Annotated[str, AfterValidator(paragraph)] = Field(
        description="Who or what it is now, in one to three plain sentences"
    )

    @model_validator(mode="after")
    def _is_usable(self, info: ValidationInfo) -> Self:
        most, count = (info.context or {}).get("max_words"), word_count(self.summary)
        if not self.summary:
            raise ValueError("summary is empty; write what the memories say of it")
        if most is not None and count > most:
            raise ValueError(
                f"summary has {count} words, at most {most} are allowed; keep what it is and what holds now"
            )
        return self


class Cause(Answer):
    """One memory of the earlier conversation that led to one of the later."""

    cause: int = Field(description="Number of the earlier memory")
    effect: int = Field(description="Number of the later memory that it led to")
    predicate: Line = Field(description="How it led to it, at most 8 words")

    @model_validator(mode="after")
    def _is_usable(self, info: ValidationInfo) -> Self:
        problems = []
        earlier, later = shown(info, "earlier_numbers"), shown(info, "later_numbers")
        if earlier is not None and self.cause not in earlier:
            problems.append(f"cause {self.cause} is not an earlier memory; use only {listed(earlier)}")
        if later is not None and self.effect not in later:
            problems.append(f"effect {self.effect} is not a later memory; use only {listed(later)}")
        count = word_count(self.predicate)
        if not 0 < count <= PREDICATE_WORDS:
            problems.append(f"predicate has {count} words; say in 1 to 8 words how it led to it")
        if problems:
            raise ValueError("; ".join(problems))
        return self


class CausesAnswer(Answer):
    """What of the later conversation the earlier one caused; an empty list is a good answer."""

    causes: list[Cause] = Field(max_length=MAX_CAUSES)

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        """The same pair named twice is one."""
        pairs = {(cause.cause, cause.effect): cause for cause in reversed(self.causes)}
        self.causes = sorted(pairs.values(), key=lambda cause: (cause.cause, cause.effect))
        return self
