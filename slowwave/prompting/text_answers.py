"""Answers that tell of several memories: a topic's summary, an episode, an entity, causes, and who is whom."""

from pydantic import Field

from slowwave.prompting.answer_text import label, word_count
from slowwave.prompting.answers import (
    LABEL_WORDS,
    SUMMARY_COMPRESSED_WORDS,
    Answer,
    Label,
    Line,
    LineOrBlank,
    Page,
    Paragraph,
    is_off,
    listed,
    problems_of_length,
)

MAX_CAUSES = 30
MAX_PEOPLE = 40
MAX_GROUPS = 300
WHY_WORDS = 20
TITLE_WORDS = 12
"""Bounds that are enforced; the prompts ask for 8 and 12 words, since small models miscount."""


class SummaryAnswer(Answer):
    """A topic's name, its summary of the current state, and one compressed line."""

    name: Line = Field(description="Name of the topic")
    summary: Paragraph = Field(description="What is so and what happened")
    compressed: Line = Field(description="Its core")

    def _problems(self, page: Page) -> list[str]:
        most, short_count = page.get("max_words"), word_count(self.compressed)
        problems = []
        if not self.name or word_count(self.name) > LABEL_WORDS:
            problems.append("name must be a label of 2-4 words")
        advice = "drop history and the least important details, keep exact values"
        problems += problems_of_length(
            "summary", self.summary, most, if_empty="write what the memories say now", if_long=advice
        )
        if not 0 < short_count <= SUMMARY_COMPRESSED_WORDS:
            problems.append(
                f"compressed has {short_count} words; write the core of the topic in 1 to 15 words"
            )
        return problems


class EpisodeAnswer(Answer):
    """A conversation told: its title, what happened, and two shorter forms."""

    title: Line = Field(description="What it was about, in 3-8 words")
    narrative: Paragraph = Field(
        description="What was wanted, what happened and how it ended, exact values kept"
    )
    summary: Paragraph = Field(description="Aim, outcome and what stayed open")
    compressed: Line = Field(description="The outcome in at most 15 words, telegraphic")
    index_label: Label = Field(description="1-3 words in snake_case")

    def _problems(self, page: Page) -> list[str]:
        self.index_label = self.index_label or label(self.title)
        bounds = {
            "title": TITLE_WORDS,
            "narrative": page.get("max_words"),
            "summary": page.get("summary_words"),
            "compressed": SUMMARY_COMPRESSED_WORDS,
        }
        return [
            problem
            for name, most in bounds.items()
            for problem in problems_of_length(
                name,
                getattr(self, name),
                most,
                if_empty="write it from what the page says",
                if_long="drop the least important",
            )
        ]


class EntityAnswer(Answer):
    """Who or what an entity is, from the memories that name it."""

    summary: Paragraph = Field(description="Who or what it is, then what is known of it")

    def _problems(self, page: Page) -> list[str]:
        return problems_of_length(
            "summary",
            self.summary,
            page.get("max_words"),
            if_empty="write what the memories say of it",
            if_long="keep what it is and what holds now",
        )


class Cause(Answer):
    """One memory of the page that led to another."""

    cause: int = Field(description="Number of the memory that led to the other")
    effect: int = Field(description="Number of the memory that it led to")
    why: Line = Field(description="At most 12 words")

    def _problems(self, page: Page) -> list[str]:
        problems = []
        shown, effects = page.get("page_numbers"), page.get("effect_numbers")
        if is_off(self.cause, shown):
            problems.append(f"cause {self.cause} is not on the page; use only {listed(shown)}")
        if is_off(self.effect, effects):
            problems.append(f"effect {self.effect} was not asked about; use only {listed(effects)}")
        count = word_count(self.why)
        if not 0 < count <= WHY_WORDS:
            problems.append(f"why has {count} words; say in 1 to 12 words how it led to it")
        return problems


class CausesAnswer(Answer):
    """What led to the memories that the page asks about; an empty list is a good answer."""

    causes: list[Cause] = Field(max_length=MAX_CAUSES)

    def _problems(self, page: Page) -> list[str]:
        """None; a pair named twice becomes one, and what is said to have led to itself is left out."""
        pairs = {(cause.cause, cause.effect): cause for cause in reversed(self.causes)}
        told = [cause for cause in pairs.values() if cause.cause != cause.effect]
        self.causes = sorted(told, key=lambda cause: (cause.cause, cause.effect))
        return []


class MemoryGroup(Answer):
    """New memories of one matter: a topic that there is, or a new one with its name."""

    topic: int = Field(description="Number of the topic that it goes on with; 0 for a new one")
    name: LineOrBlank = Field(description="Name of a new topic in 2-5 words; else empty")
    memories: list[int] = Field(description="Numbers of the new memories")

    def _problems(self, page: Page) -> list[str]:
        problems = []
        known, shown = page.get("topic_numbers"), page.get("page_numbers")
        if self.topic and is_off(self.topic, known):
            problems.append(f"topic {self.topic} is not on the page; use only {listed(known)}, or 0")
        if not self.topic and not 0 < word_count(self.name) <= LABEL_WORDS:
            problems.append("a new topic needs a name of 2-5 words")
        wrong = [number for number in self.memories if is_off(number, shown)]
        if wrong:
            problems.append(f"memories {wrong[:5]} are not on the page; use only {listed(shown)}")
        self.memories = sorted(set(self.memories))
        return problems


class GroupsAnswer(Answer):
    """The topics of new memories; a memory that is left out keeps the name that it has."""

    groups: list[MemoryGroup] = Field(max_length=MAX_GROUPS)

    def _problems(self, page: Page) -> list[str]:
        """A memory of two groups stays in the first; most of the page must be filed."""
        filed = set[int]()
        for group in self.groups:
            group.memories = [number for number in group.memories if number not in filed]
            filed |= set(group.memories)
        self.groups = [group for group in self.groups if group.memories]
        left = sorted(page.get("page_numbers", set()) - filed)
        if len(left) > len(filed):
            return [f"{len(left)} memories are in no group: put every number into exactly one"]
        return []


class SamePerson(Answer):
    """Two numbers of the page that are one person."""

    described: int = Field(description="Number of the person asked about")
    person: int = Field(description="Number of who that is")

    def _problems(self, page: Page) -> list[str]:
        problems = []
        asked, shown = page.get("described_numbers"), page.get("page_numbers")
        if is_off(self.described, asked):
            problems.append(f"described {self.described} was not asked about; use only {listed(asked)}")
        if is_off(self.person, shown):
            problems.append(f"person {self.person} is not on the page; use only {listed(shown)}")
        return problems


class PeopleAnswer(Answer):
    """Who the people are that are only described; an empty list is a good answer."""

    same: list[SamePerson] = Field(max_length=MAX_PEOPLE)

    def _problems(self, page: Page) -> list[str]:
        """The same pair twice becomes one; somebody who is said to be two others is refused."""
        pairs = {(one.described, one.person): one for one in reversed(self.same)}
        self.same = sorted(
            (one for one in pairs.values() if one.described != one.person), key=lambda one: one.described
        )
        twice = sorted(
            {one.described for one in self.same if sum(o.described == one.described for o in self.same) > 1}
        )
        return [f"{number} can be only one other person; name the surest" for number in twice]
