"""A question as the search takes it: its words, its vector, its intent, and the time that it names."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import NamedTuple

from slowwave.language.intents import intent_by_words
from slowwave.language.query_words import QUERY_WORDS, names_a_thing, telling_words
from slowwave.language.terms import distinct_terms, held_terms, term_bits
from slowwave.language.times import TimeRange, time_of_question
from slowwave.models.embed.relevance import Relevance, Vectors
from slowwave.recall.conditions import cell_condition, scope_condition
from slowwave.recall.graph import SAID_MOST, cells_naming, cells_saying
from slowwave.recall.reader import Reader
from slowwave.schemas.search import Filters, Intent
from slowwave.settings.groups import ScopeSettings
from slowwave.settings.tree import Settings
from slowwave.store import Expr, Query, Row, RowsQuery, Store, col
from slowwave.store.chains import STAND

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""From here on calendars can be counted back."""


FEW_MESSAGES = 10
"""Weight, in messages, of the mean idf of a question's terms beside what the messages of the home say."""

USUAL_TERMS, LEAST_EXTENT = 4.0, 0.5
NO_TERM = "\0"
"""A term that no text has."""

MOST_CELLS = 100
"""Memories that each list of a question brings, whatever the limit: a smaller limit shows the first of the same."""

ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|long|often|far|big|large|old|late|early|high|fast)\b|\bwhat (?:time|date|day|port|number|"
    r"price|size|version|year|amount|percentage)\b|\bwhen\b",
    re.IGNORECASE,
)


_NUMBER = re.compile(
    r"\d+(?:[.,:/-]\d+)*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|"
    r"fifty|sixty|ninety|hundred|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|"
    r"august|september|october|november|december|noon|midnight)\b"
)
"""Of a text in lower case: without regard to case the same expression takes three times as long."""


@lru_cache(maxsize=5_000)  # messages and memories come again with every question
def numbers_in(text: str) -> frozenset[str]:
    """Numbers, weekdays and months of a text: what a question for an amount or a time may be answered by."""
    return frozenset(_NUMBER.findall(text.lower()))


@dataclass(frozen=True)
class Question:
    """A question as the tiers take it.

    `store` and `settings` are the ones that answer it. `text` is as it was asked, `words` what full text looks for.
    `where` holds for the cells that may be found. `period` is a time that it names: with both ends it draws cells
    near, and it excludes none, unless the question is about nothing but that time (`is_about_time`).
    """

    store: Store
    settings: Settings
    text: str
    words: str
    vector: Vectors | None
    filters: Filters
    where: Expr
    period: TimeRange | None
    is_about_time: bool
    intent: Intent
    now: datetime
    weights: tuple[float, ...] = ()
    """The idf of each term of `words`, in their order."""
    most_weight: float = 1.0
    """The idf of a term that no message of the home has."""
    relevance: Relevance | None = None
    """The noise of this home's vector space, as measured at its last fit; null without a vector."""
    known_cells: int = 0
    known_turns: int = 0
    """Memories and messages of the home: the best of many unrelated ones scores more than the best of few."""
    most_cells: int = MOST_CELLS
    has_raw: bool = True
    """Whether raw memories are found; where they are not, the messages that they hold answer."""

    @property
    def draws_by_time(self) -> bool:
        """Return whether what is of the named time comes near: not before or after something, where nearly all is."""
        period = self.period
        return period is not None and (self.is_about_time or None not in (period.start, period.end))

    @property
    def bits(self) -> Mapping[str, int]:
        """The bit of each term."""
        return term_bits(self.words)

    @cached_property
    def disputes(self) -> list[Row]:
        """Contradictions of which both sides are active, read once for all lists of one answer."""
        (rows,) = self.store.find([standing_disputes(self.settings.owner)])
        return rows

    @cached_property
    def asks_number(self) -> bool:
        """Return whether the question asks for a number, an amount or a time."""
        return ASKS_NUMBER.search(self.text) is not None

    def has_shape(self, text: str) -> bool:
        """Return whether a value may be what is asked: a number or time for how many and when, a name for who."""
        if self.asks_number:
            return self.has_number(text)
        return self.intent != "who" or not any(map(str.isdigit, text))

    def has_number(self, text: str) -> bool:
        """Return whether a text has a number that the question itself has not, in digits or as a word."""
        return bool(numbers_in(text) - self._numbers)

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return numbers_in(self.text)

    def strength(self, similarity: float, known: int) -> float:
        """A cosine on a scale of all models and sizes, 0..1: 0.5 is the best of `known` unrelated texts."""
        return self.relevance.strength(similarity, known) if self.relevance is not None else 0.0

    @cached_property
    def extent(self) -> float:
        """The weight of all that is asked: 1 for `USUAL_TERMS` unknown terms, with their number its square root.

        A share of a long question is more words than the same share of a short one; all of a single word is enough.
        Of 45 questions that nothing answers 21 get nothing so (18 by the share alone), with as many right first lines.
        """
        terms = sum(self.weights) / self.most_weight
        return math.sqrt(max(terms / USUAL_TERMS, LEAST_EXTENT))

    def share(self, held: int) -> float:
        """The share, 0..1 by weight, of the question's terms that a text has (`held_terms`)."""
        known = self._shares
        if held not in known:
            total = sum(self.weights) or 1.0
            known[held] = sum(w for place, w in enumerate(self.weights) if held >> place & 1) / total
        return known[held]

    def share_of(self, text: str) -> float:
        """The share, 0..1 by weight, of the question's terms that a text has."""
        return self.share(held_terms(text, self.bits))

    @cached_property
    def _shares(self) -> dict[int, float]:
        return {}


def standing_disputes(owner: ScopeSettings) -> Query:
    """The standing contradictions that the asking owner may see."""
    columns = ("cell_a", "cell_b", "status", "note", "detected_at")
    return RowsQuery("contradictions", columns, scope_condition(owner) & STAND)


def understand(
    reader: Reader, store: Store, query: str, vector: Vectors | None, filters: Filters, *, now: datetime
) -> Question:
    """The question as the tiers take it; a time that it names counts from `filters.as_of` where that is given."""
    embedder = reader.embedder
    time = _time_asked(query, now=max(filters.as_of or now, EARLIEST))
    words = telling_words(time.words or query, most=QUERY_WORDS)
    *weights, most_weight = _weights(store, (*distinct_terms(words), NO_TERM))
    return Question(
        store=store,
        settings=reader.settings,
        text=query,
        words=words,
        weights=tuple(weights),
        most_weight=most_weight,
        relevance=embedder.relevance if embedder is not None and vector is not None else None,
        known_cells=store.count("cells"),
        known_turns=store.count("turns"),
        vector=vector,
        filters=filters,
        where=_findable(reader, store, filters),
        period=time.period,
        is_about_time=time.period is not None and not names_a_thing(time.rest),
        intent=intent_by_words(query),
        now=now,
    )


def _weights(store: Store, terms: Sequence[str]) -> list[float]:
    """The idf of each term, near their mean in a home of few messages.

    There a word that no message has would weigh ten times as much as one that two of two have, and "which editor does
    Anna use?" would find nothing about Anna's editor.
    """
    rarities, count = list(store.rarities("passages", terms)), store.count("turns")
    mean = sum(rarities) / len(rarities)
    return [(count * rarity + FEW_MESSAGES * mean) / (count + FEW_MESSAGES) for rarity in rarities]


class _Time(NamedTuple):
    """A time that a question names, what it says beside it, and what of the question full text looks for."""

    period: TimeRange | None
    rest: str
    words: str


def _time_asked(query: str, *, now: datetime) -> _Time:
    """The time that a question names.

    What is to come was said before it came: such a time draws nothing. "Before August" is not about August: such words
    are not looked for.
    """
    named = time_of_question(query, now=now)
    if named is None or (named.start is not None and named.start > now):
        return _Time(None, query, query)
    rest = query.replace(named.text, " ", 1)
    return _Time(named, rest, query if named.start is not None and named.end is not None else rest)


def _findable(reader: Reader, store: Store, filters: Filters) -> Expr:
    """The condition of the cells that may be found; a person or thing that is wanted is looked up once."""
    owner = reader.settings.owner
    where = cell_condition(owner, filters)
    return where if filters.entity is None else where & naming(store, owner, where, filters.entity)


def naming(store: Store, owner: ScopeSettings, where: Expr, entity: str, *, most: int = SAID_MOST) -> Expr:
    """The condition of the cells that name a person or thing; who only says the name is looked for in `where`."""
    named = set(cells_naming(store, owner, entity))
    return col("cell_id").isin(sorted(named | cells_saying(store, where, entity, most=most)))
