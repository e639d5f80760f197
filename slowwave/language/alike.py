"""Statements that tell nearly the same of one matter: while nothing settled which holds, the later goes first. Pure."""

import re
from collections.abc import Sequence
from datetime import datetime

from slowwave.language.intents import asks_for_list
from slowwave.language.lexicon import DECIDED, HAPPENED, PAST, STOP_WORDS
from slowwave.language.query_words import plain_words
from slowwave.language.sentences import straight
from slowwave.language.signals import stem

ALIKE = 0.6
"""Share of all their telling words that two statements both have."""

FEWEST_WORDS, MOST_WORDS = 3, 40
"""Telling words of a statement: fewer tell of no matter, more are a paste or a report."""

_PAST = re.compile(rf"(?<!\bhow )\b(?:{'|'.join(map(re.escape, PAST))})\b")


def asks_for_past(question: str) -> bool:
    """Return whether a question asks what was so once ("what did we use before?")."""
    return _PAST.search(straight(question)) is not None


def asks_what_holds(question: str) -> bool:
    """Return whether a question may ask what holds: not for the past, for what happened, or for a list of things."""
    words = plain_words(question)
    is_of_event = bool(words & HAPPENED) and not words & DECIDED
    return not (is_of_event or asks_for_past(question) or asks_for_list(question))


def newest_of_alike(
    texts: Sequence[str], times: Sequence[datetime], kinds: Sequence[str], *, asked: Sequence[str]
) -> list[int]:
    """Places of texts in their order, but of those alike the newest stands where the first of them stood, and so on.

    Alike are texts of one kind that share `ALIKE` of their telling words, and the same of those that are asked.
    """
    stems = [frozenset(map(stem, plain_words(text) - STOP_WORDS)) for text in texts]
    wanted = frozenset(map(stem, asked))
    groups: list[list[int]] = []
    for place, words in enumerate(stems):
        is_statement = FEWEST_WORDS <= len(words) <= MOST_WORDS
        group = next(
            (
                group
                for group in groups
                if is_statement
                and kinds[group[0]] == kinds[place]
                and stems[group[0]] & wanted == words & wanted
                and len(stems[group[0]] & words) >= ALIKE * len(stems[group[0]] | words)
            ),
            None,
        )
        if group is None:
            groups.append([place])
        else:
            group.append(place)
    order = list(range(len(texts)))
    for group in groups:
        for place, newest in zip(group, sorted(group, key=lambda at: times[at], reverse=True), strict=True):
            order[place] = newest
    return order
