"""Raw messages as candidates of an answer: how well each matches, and which later one overrides it.

A message speaks for itself only as long as no memory does. Without a model that is always so, and then nothing but the
messages say what changed: of persons' statements with the same asked terms the newer one leads.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp

from slowwave.decay.retention import days_ago
from slowwave.language.lexicon import CHANGED
from slowwave.language.query_words import telling_words
from slowwave.language.sentences import straight
from slowwave.recall.gather import Gathered
from slowwave.recall.modes import Mode
from slowwave.recall.question import Question
from slowwave.schemas.moments import latest_of
from slowwave.store import Row
from slowwave.store.terms import held_terms

RANKED = 60
"""Messages, best first, that are looked at."""

SALIENCE = 0.5
"""A message's, in the prior: nobody weighed it."""

STATEMENT_WORDS = 40
"""Telling words of a statement at most: one of more is a paste or a report."""

SAME_TERMS = 0.6
"""Share of an earlier statement's asked terms, by weight, that a later one on the same thing has."""

_CHANGED = re.compile(rf"\b(?:{'|'.join(map(re.escape, CHANGED))})\b")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass
class Said:
    """A message that may answer, with its score and the columns behind it; `changed_by` is a later one on the same."""

    row: Row
    score: float
    held: int
    columns: dict[str, float] = field(default_factory=dict)
    changed_by: "Said | None" = None

    @property
    def turn_id(self) -> str:
        """The id of the message."""
        return str(self.row["turn_id"])


def score_said(question: Question, gathered: Gathered, mode: Mode) -> list[Said]:
    """The best messages by score, best first, ties by id; one that a later statement changed stands behind that."""
    ranked = [key for key in gathered.turns if key in gathered.turn_rows][:RANKED]
    best = max((gathered.turns[key] for key in ranked), default=0.0) or 1.0
    said = [_scored(question, gathered, key, best=best, mode=mode) for key in ranked]
    if not question.filters.is_historical:
        _find_changes(question, said)
    return sorted(said, key=lambda one: (-one.score, one.turn_id))


def _scored(question: Question, gathered: Gathered, key: str, *, best: float, mode: Mode) -> Said:
    """One message by the formula of memories: its list is the fused one, its property is what is said around it."""
    row = gathered.turn_rows[key]
    settings = question.settings.search
    held = held_terms(f"{row['speaker'] or ''} {row['content']}", question.terms)
    around = held | gathered.windows.get(key, 0)
    similarity = gathered.turn_similarity.get(key, 0.0)
    near = min(max(similarity, 0.0) / (2 * question.relevance), 1.0) if question.relevance else 0.0
    fused = max(gathered.turns[key], 0.0) / best
    coverage, window = question.share(held), question.share(around)
    match = 0.3 + 0.7 * (0.6 * max(coverage, near) + 0.4 * window)
    age = exp(-settings.age_rate * days_ago(row["event_time"], now=question.filters.as_of or question.now))
    prior = settings.prior_floor + (1 - settings.prior_floor) * SALIENCE * age
    shape = 1.0 if not question.asks_number or _NUMBER.search(row["content"]) else 0.8
    score = fused * match * prior * shape * mode.turns + mode.period * (key in gathered.timely)
    columns = {
        "fused": fused,
        "coverage": coverage,
        "window": window,
        "similarity": similarity,
        "prior": prior,
    }
    return Said(row, score, held, columns)


def _find_changes(question: Question, said: Sequence[Said]) -> None:
    """Let the newest statement on the same thing lead those that it changes."""
    newest = sorted(filter(is_statement, said), key=lambda one: one.row["event_time"], reverse=True)
    for earlier in sorted(newest, key=lambda one: -one.score):
        later = next((one for one in newest if _changes(question, one, earlier)), None)
        if later is not None:
            earlier.changed_by = later
            later.score = max(later.score, earlier.score)
            earlier.score *= 0.5


def _changes(question: Question, later: Said, earlier: Said) -> bool:
    """Return whether a statement of another day is about the same asked thing and names a change or another number."""
    if later.row["event_time"] <= latest_of(earlier.row["event_time"]):
        return False
    if later.row["session_id"] == earlier.row["session_id"] or later.changed_by is not None:
        return False
    asked = question.share(earlier.held)
    if not asked or question.share(later.held & earlier.held) < SAME_TERMS * asked:
        return False
    numbers, others = (set(_NUMBER.findall(one.row["content"])) for one in (later, earlier))
    return names_change(later.row["content"]) or bool(numbers - others and others - numbers)


def names_change(text: str) -> bool:
    """Return whether a text says that something is otherwise than before ("moved to", "no longer")."""
    return _CHANGED.search(straight(text)) is not None


def is_statement(one: Said) -> bool:
    """Return whether a message is a few sentences of a person, and no paste or report."""
    words = telling_words(one.row["content"], most=STATEMENT_WORDS + 1).split()
    return bool(one.row["role"] == "user" and 0 < len(words) <= STATEMENT_WORDS)
