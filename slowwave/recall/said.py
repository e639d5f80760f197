"""Raw messages as candidates of an answer: how well each matches, and which later one overrides it.

A message speaks for itself only as long as no memory does. Without a model that is always so, and nothing but the
messages say what changed: of those that match about as well the newest leads, and the others are marked as earlier.

Measured on two invented worlds without a model (189 questions): an older value in the first line for 34 and 11 % of
the questions by score alone, for 9 and 6 % with the newest first, and the current value for 9 and 11 points more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp

from slowwave.language.query_words import telling_words
from slowwave.language.terms import held_terms
from slowwave.language.units import units_of
from slowwave.lifecycle.retention import days_ago
from slowwave.recall.gather import Gathered
from slowwave.recall.modes import Mode
from slowwave.recall.question import Question
from slowwave.recall.score import prior_of
from slowwave.schemas.moments import latest_of
from slowwave.store import Row

SALIENCE = 0.5
"""A message's, in the prior: nobody weighed it."""

LEAST = 0.05
"""Match of a message that shares no word with a question."""

STATEMENT_WORDS = 40
"""Telling words of a statement at most: one of more is a paste or a report."""

AMONG, NEAR_BEST, SAME_TERMS = 8, 0.4, 0.3
"""The newest leads of so many messages that have these shares of the best score and of the most asked terms."""

OF_THE_TIME = 0.5
"""Added to the score of a message of the time that a question names."""

WITH_NUMBER = 1.2
"""Weight of a message with a number that the question has not: most values that change have one."""


@dataclass
class Said:
    """A message that may answer, with its score and the columns behind it; `later` is a newer one about the same."""

    row: Row
    score: float
    held: int
    columns: dict[str, float] = field(default_factory=dict)
    later: "Said | None" = None

    @property
    def turn_id(self) -> str:
        """The id of the message."""
        return str(self.row["turn_id"])


def score_said(question: Question, gathered: Gathered, mode: Mode) -> list[Said]:
    """The best messages by score, best first, ties by id; of those that match about as well the newest leads."""
    ranked = [key for key in gathered.turns if key in gathered.turn_rows][: mode.most_said]
    best = max((gathered.turns[key] for key in ranked), default=0.0) or 1.0
    said = [_scored(question, gathered, key, best=best, mode=mode) for key in ranked]
    said.sort(key=lambda one: (-one.score, one.turn_id))
    return said if question.filters.is_historical else newest_first(question, said)


def _scored(question: Question, gathered: Gathered, key: str, *, best: float, mode: Mode) -> Said:
    """One message by its fused list and by what two of its sentences that follow each other have of the question.

    A message is about many things: words of the question that stand far apart in it belong to none of them.
    """
    row = gathered.turn_rows[key]
    held = gathered.held_by_turn.get(key)
    if held is None:
        held = held_terms(f"{row['speaker'] or ''} {row['content']}", question.bits)
    around = held | gathered.windows.get(key, 0)
    near = question.strength(gathered.turn_similarity.get(key, 0.0), question.known_turns)
    told = _told_together(question, row)
    fused = max(gathered.turns[key], 0.0) / best
    days = days_ago(row["event_time"], now=question.filters.as_of or question.now)
    age = exp(-question.settings.search.age_rate * days)
    prior = prior_of(SALIENCE * age)
    shape = WITH_NUMBER if question.has_number(row["content"]) else 1.0
    score = fused * (LEAST + told + 2 * LEAST * near) * prior * shape * mode.turns
    score += OF_THE_TIME * (key in gathered.timely)  # whatever its words: no list need have brought it
    columns = {
        "fused": fused,
        "coverage": told,
        "window": question.share(around),
        "strength": near,
        "prior": prior,
    }
    return Said(row, score, held, columns)


def _told_together(question: Question, row: Row) -> float:
    """The largest share of the question's terms that a sentence and the next one have, under the speaker's name."""
    speaker = held_terms(row["speaker"] or "", question.bits)
    held = [held_terms(sentence, question.bits) for sentence in _sentences(row["content"])]
    pairs = zip(held, [*held[1:], 0], strict=True)
    return max((question.share(speaker | one | other) for one, other in pairs), default=0.0)


@lru_cache(maxsize=5_000)  # a message comes again with every question about the same
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(unit.of(text) for unit in units_of(text))


def newest_first(question: Question, said: Sequence[Said]) -> list[Said]:
    """The messages in their order, but of those that match about as well the newest first."""
    if not said:
        return []
    most = max(question.share(one.held) for one in said[:AMONG])
    same = [
        one
        for one in said[:AMONG]
        if one.score >= NEAR_BEST * said[0].score and question.share(one.held) >= SAME_TERMS * most
    ]
    newest = max(same, key=lambda one: (latest_of(one.row["event_time"]), one.turn_id), default=said[0])
    newest.score = said[0].score
    for one in said:
        is_same = question.share(one.held) >= SAME_TERMS * most
        if is_same and latest_of(one.row["event_time"]) < newest.row["event_time"]:
            one.later = newest
    return [newest, *(one for one in said if one is not newest)]


def is_statement(one: Said) -> bool:
    """Return whether a message is a few sentences of a person, and no paste or report."""
    words = telling_words(one.row["content"], most=STATEMENT_WORDS + 1).split()
    return bool(one.row["role"] == "user" and 0 < len(words) <= STATEMENT_WORDS)
