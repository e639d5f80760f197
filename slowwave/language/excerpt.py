"""Excerpts: the units of a long text that have a question's words, within a length, in order. Pure; no model."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.language.terms import query_terms, word_terms
from slowwave.language.units import Rarity, Unit, cut_before, units_of
from slowwave.schemas.search import Excerpt, Place

READ_CHARACTERS = 100_000
"""Characters of a text that are looked through."""

DOTS = "..."
CUT, CUT_LINE = f" {DOTS} ", f"\n{DOTS} "
"""Show that something is left out: within a line, and between lines."""

MACHINE = 0.4
"""Share of its score that a unit of data keeps: dumps and logs repeat words and answer little."""

BEFORE, BEHIND = 0.5, 0.3
"""Shares of a unit's score that the one behind it and the one before it get: an answer follows the words of its
question. Without them 600 characters of a LoCoMo session hold 44 % of the evidence of its
questions instead of 62 %."""

CUE = 2.0
"""Score of a unit that a cue is sure of, in weights of the rarest term."""

Cue = Callable[[str], float]
"""The degree, 0..1, to which a unit is of a wanted kind, whatever its words."""

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_RUN = re.compile(r"\S{80}")
_SIGN = re.compile(r"[{}\[\]\"\\<>=;&%$^]")
_SIGN_SHARE = 0.3
"""Share of brackets, quotes and the like from which on a unit is data, such as JSON."""


Asked = dict[str, float]
"""The terms of a question in their order, each with its weight above 0: the rarer, the higher."""


class _Word(NamedTuple):
    """A word of a text, and the asked terms that it or a part of `camelCase` has."""

    start: int
    end: int
    terms: tuple[str, ...]


def asked_terms(question: str, rarity: Rarity | None = None) -> Asked:
    """The terms of a question's words without stop words, each with its `rarity`; without one all weigh 1."""
    terms = list(dict.fromkeys(query_terms(telling_words(question, most=QUERY_WORDS))))
    return dict(zip(terms, rarity(terms) if rarity is not None else [1.0] * len(terms), strict=True))


def asked_words(words: Iterable[str]) -> Asked:
    """The terms of words, each of weight 1."""
    return dict.fromkeys((term for word in words for term in word_terms(word)), 1.0)


def excerpt(text: str, asked: Asked, *, most: int, cue: Cue | None = None) -> Excerpt:
    """At most `most` characters of a text: all of it if it is short, else the units with the asked terms.

    The best unit for each term comes first, from the rarest term on, then the other units with terms, then what is
    next to these; without any term it is the begin of the text. `cue` raises units of a kind.
    """
    read = text[:READ_CHARACTERS]
    words = _asked_in(read, asked)
    if len(text) <= most:
        return Excerpt(text=text, parts=[(0, len(text))], words=[(word.start, word.end) for word in words])
    room = max(most - len(CUT_LINE) - len(DOTS) - 1, 1)
    units = units_of(read)
    order = list(_ranked(read, units, words, asked, cue))
    chosen = _chosen(units, order, room)
    if chosen or not units:
        return _shown(text, _parts(units, chosen), words)
    best = units[order[0] if order else 0]
    return _shown(text, [_window(read, best, words, room)], words)


def quoted(text: str, asked: Asked, *, most: int, cue: Cue | None = None) -> str:
    """A text as a quote in one line of at most `most` characters: all of it, else its excerpt."""
    plain = " ".join(text.split())
    return plain if len(plain) <= most else " ".join(excerpt(text, asked, most=most, cue=cue).text.split())


# Inside


def _asked_in(text: str, asked: Asked) -> list[_Word]:
    """The question's words in a text, in order; what `_`, `-`, `/` or `.` join are several words."""
    found = list[_Word]()
    for match in _WORD.finditer(text):
        terms = tuple(term for term in _terms(match[0]) if term in asked)
        if terms:
            found.append(_Word(match.start(), match.end(), terms))
    return found


@lru_cache(maxsize=50_000)
def _terms(word: str) -> tuple[str, ...]:
    parts = dict.fromkeys([word, *_HUMP.split(word)])
    return tuple(dict.fromkeys(term for part in parts for term in word_terms(part)))


def _ranked(
    text: str, units: Sequence[Unit], words: Sequence[_Word], asked: Asked, cue: Cue | None
) -> Iterator[int]:
    """Places of units: the best for each term, the rarest term first, then all with a score, the best first."""
    terms = _terms_in(units, words)
    scores = [
        sum(asked[term] for term in held) * (MACHINE if held and _is_data(unit.of(text)) else 1.0)
        for unit, held in zip(units, terms, strict=True)
    ]
    if cue is not None:
        most = CUE * max(asked.values(), default=1.0)
        scores = [score + most * cue(unit.of(text)) for unit, score in zip(units, scores, strict=True)]
    scores = _with_neighbours(scores)
    order = [place for place in sorted(range(len(units)), key=lambda one: -scores[one]) if scores[place] > 0]
    best = dict[str, int]()
    for place in order:
        for term in terms[place]:
            best.setdefault(term, place)
    covered = set[str]()
    for term in sorted(best, key=lambda term: -asked[term]):
        if term not in covered:
            covered |= terms[best[term]]
            yield best[term]
    yield from order


def _with_neighbours(scores: Sequence[float]) -> list[float]:
    """Each unit's score, with parts of the score of the unit behind it and of those before it."""
    shared, carried = list[float](), 0.0
    for score, behind in zip(scores, [*scores[1:], 0.0], strict=True):
        shared.append(score + carried + BEHIND * behind)
        carried = BEFORE * max(score, carried)
    return shared


def _terms_in(units: Sequence[Unit], words: Sequence[_Word]) -> list[set[str]]:
    """The asked terms of each unit."""
    terms, place = [set[str]() for _ in units], 0
    for word in words:
        while place < len(units) and units[place].end <= word.start:
            place += 1
        if place < len(units):
            terms[place].update(word.terms)
    return terms


def _is_data(text: str) -> bool:
    """Return whether a machine wrote a unit: a run of 80 characters without a blank, or mostly brackets and quotes."""
    return bool(_RUN.search(text)) or len(_SIGN.findall(text)) > _SIGN_SHARE * max(len(text), 1)


def _chosen(units: Sequence[Unit], order: Sequence[int], room: int) -> list[int]:
    """Places of the units that fit, in order: the ranked ones, then more and more of what is next to them."""
    chosen = set[int]()

    def take(place: int) -> bool:
        """Take a unit if it fits with the cuts around it."""
        nonlocal room
        beside = (gap for gap in (place - 1, place) if {gap, gap + 1} - {place} <= chosen)
        cost = units[place].length + len(CUT_LINE) + sum(_gap(units, gap) - len(CUT_LINE) for gap in beside)
        is_new = place not in chosen and cost <= room
        if is_new:
            room -= cost
            chosen.add(place)
        return is_new

    for place in order:
        take(place)
    waiting = deque(sorted(chosen) or [-1])
    while waiting:
        place = waiting.popleft()
        waiting += [other for other in (place + 1, place - 1) if 0 <= other < len(units) and take(other)]
    return sorted(chosen)


def _gap(units: Sequence[Unit], place: int) -> int:
    """Characters shown between a unit and the next one: their white space, or a cut."""
    return min(units[place + 1].start - units[place].end, len(CUT_LINE))


def _parts(units: Sequence[Unit], chosen: Sequence[int]) -> list[Place]:
    """The ranges of chosen units; neighbours are one range."""
    parts = list[Place]()
    for place in chosen:
        unit = units[place]
        if parts and place - 1 in chosen and unit.start - parts[-1][1] <= len(CUT_LINE):
            parts[-1] = (parts[-1][0], unit.end)
        else:
            parts.append((unit.start, unit.end))
    return parts


def _window(text: str, unit: Unit, words: Sequence[_Word], room: int) -> Place:
    """The part of a unit longer than the room, around the question's first word in it."""
    first = next((word.start for word in words if unit.start <= word.start < unit.end), unit.start)
    start = cut_before(text, max(unit.start, first - room // 3))
    return start, max(cut_before(text, min(start + room, unit.end)), start)


def _shown(text: str, parts: Sequence[Place], words: Sequence[_Word]) -> Excerpt:
    shown, places, last = "", list[Place](), 0
    for start, end in parts:
        between = text[last:start]
        if between.strip():
            shown += (CUT_LINE if "\n" in between else CUT) if shown else f"{DOTS} "
        elif shown:
            shown += between[: len(CUT_LINE)]
        moved = len(shown) - start
        within = (word for word in words if start <= word.start and word.end <= end)
        places += [(word.start + moved, word.end + moved) for word in within]
        shown += text[start:end]
        last = end
    shown += f" {DOTS}" if text[last:].strip() else ""
    return Excerpt(text=shown, parts=list(parts), words=places)
