"""What a language model must answer about a conversation, in the form of `answers.py`."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from slowwave.prompting.answer_text import label, paragraph, word_count
from slowwave.prompting.answers import SUMMARY_COMPRESSED_WORDS, Answer, Line

TITLE_WORDS = 12
"""Enforced; the prompt asks for 8, since small models miscount."""


class EpisodeAnswer(Answer):
    """A conversation told: its title, what happened, and two shorter forms."""

    title: Line = Field(description="What it was about, in 3-8 words")
    narrative: Annotated[str, AfterValidator(paragraph)] = Field(
        description="What was wanted, what happened and how it ended, exact values kept"
    )
    summary: Annotated[str, AfterValidator(paragraph)] = Field(
        description="Aim, outcome and what stayed open"
    )
    compressed: Line = Field(description="The outcome in at most 15 words, telegraphic")
    index_label: Annotated[str, AfterValidator(label)] = Field(description="1-3 words in snake_case")

    @model_validator(mode="after")
    def _is_usable(self, info: ValidationInfo) -> Self:
        self.index_label = self.index_label or label(self.title)
        limits = info.context or {}
        problems = []
        for name, most in (
            ("title", TITLE_WORDS),
            ("narrative", limits.get("max_words")),
            ("summary", limits.get("summary_words")),
            ("compressed", SUMMARY_COMPRESSED_WORDS),
        ):
            text: str = getattr(self, name)
            count = word_count(text)
            if not text:
                problems.append(f"{name} is empty; write it from what the page says")
            if most is not None and count > most:
                problems.append(
                    f"{name} has {count} words, at most {most} are allowed; drop the least important"
                )
        if problems:
            raise ValueError("; ".join(problems))
        return self
