"""Answers that tell of several memories: a topic's summary, an episode, an entity, causes, and who is whom."""

from typing import Annotated

from pydantic import AfterValidator, Field

from slowwave.models.answers.fields import (
    LABEL_WORDS,
    Answer,
    Compressed,
    Line,
    LineOrBlank,
    Name,
    Paragraph,
    label,
    number_of,
    of_page,
    some_words,
)

MAX_CAUSES = 30
MAX_PEOPLE = 40
MAX_GROUPS = 300
WHY_WORDS = 20
TITLE_WORDS = 12
"""Bounds that are enforced; the prompts ask for 8 and 12 words, since small models miscount."""


class SummaryAnswer(Answer):
    """A topic's name, its summary of the current state, and one compressed line."""

    name: Name
    summary: Annotated[Paragraph, some_words("max_words")]
    compressed: Compressed


class EpisodeAnswer(Answer):
    """A conversation told: its title, what happened, and two shorter forms."""

    title: Annotated[Line, some_words(TITLE_WORDS)]
    narrative: Annotated[Paragraph, some_words("max_words")]
    summary: Annotated[Paragraph, some_words("summary_words")]
    compressed: Compressed
    index_label: Annotated[str, AfterValidator(label)]

    def _problems(self) -> list[str]:
        self.index_label = self.index_label or label(self.title)
        return []


class EntityAnswer(Answer):
    """Who or what an entity is, from the memories that name it."""

    summary: Annotated[Paragraph, some_words("max_words")]


class Cause(Answer):
    """One memory of the page that led to another."""

    cause: Annotated[int, number_of("page_numbers")]
    effect: Annotated[int, number_of("effect_numbers")]
    why: Annotated[Line, some_words(WHY_WORDS)]


class CausesAnswer(Answer):
    """What led to the memories that the page asks about; an empty list is a good answer."""

    causes: list[Cause] = Field(max_length=MAX_CAUSES)

    def _problems(self) -> list[str]:
        """None; a pair named twice becomes one, and what is said to have led to itself is left out."""
        pairs = {(cause.cause, cause.effect): cause for cause in reversed(self.causes)}
        told = [cause for cause in pairs.values() if cause.cause != cause.effect]
        self.causes = sorted(told, key=lambda cause: (cause.cause, cause.effect))
        return []


class MemoryGroup(Answer):
    """New memories of one matter: a topic that there is, or a new one with its name."""

    topic: Annotated[int, number_of("topic_numbers", or_none=True)]
    name: LineOrBlank
    memories: list[Annotated[int, number_of("page_numbers")]]

    def _problems(self) -> list[str]:
        self.memories = sorted(set(self.memories))
        is_named = self.topic or 0 < len(self.name.split()) <= LABEL_WORDS
        return [] if is_named else ["a new topic needs a name of 2-5 words"]


class GroupsAnswer(Answer):
    """The topics of new memories; a memory that is left out keeps the name that it has."""

    groups: list[MemoryGroup] = Field(max_length=MAX_GROUPS)

    def _problems(self) -> list[str]:
        """A memory of two groups stays in the first; most of the page must be filed."""
        filed = set[int]()
        for group in self.groups:
            group.memories = [number for number in group.memories if number not in filed]
            filed |= set(group.memories)
        self.groups = [group for group in self.groups if group.memories]
        left = (of_page("page_numbers") or set()) - filed
        if len(left) > len(filed):
            return [f"{len(left)} memories are in no group: put every number into exactly one"]
        return []


class SamePerson(Answer):
    """Two numbers of the page that are one person."""

    described: Annotated[int, number_of("described_numbers")]
    person: Annotated[int, number_of("page_numbers")]


class PeopleAnswer(Answer):
    """Who the people are that are only described; an empty list is a good answer."""

    same: list[SamePerson] = Field(max_length=MAX_PEOPLE)

    def _problems(self) -> list[str]:
        """The same pair twice becomes one; somebody who is said to be two others is refused."""
        pairs = {(one.described, one.person): one for one in reversed(self.same)}
        self.same = sorted(
            (one for one in pairs.values() if one.described != one.person), key=lambda one: one.described
        )
        described = [one.described for one in self.same]
        twice = sorted({number for number in described if described.count(number) > 1})
        return [f"{number} can be only one other person; name the surest" for number in twice]
