"""The units of a text that a question asks for, chosen within a length and kept in order."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from slowwave.excerpts.terms import Asked, Word, said_words
from slowwave.excerpts.units import Unit, cut_before, is_machine_written, units_of
from slowwave.schemas.search import Excerpt, Place

READ_CHARACTERS = 100_000
"""Of a longer text only so much is looked through."""

DOTS = "..."
CUT, CUT_LINE = f" {DOTS} ", f"\n{DOTS} "
"""Stand where something is left out: within a line, and between lines."""

BEFORE, BEHIND = 0.4, 0.2
"""Parts of its score that a unit gives the one behind it, where what it asks or heads is told, and the one before."""

IN_ORDER = 0.5
"""Part of the lesser weight that two terms add which follow each other as they do in the question."""

MACHINE = 0.4
"""Left of the score of a unit that machines wrote: what they print repeats words and tells little."""


CUE = 2.0
"""Weights of the rarest term that a unit gets which is all that a cue looks for."""

Cue = Callable[[str], float]
"""The degree, 0..1, to which a unit is of a wanted kind, whatever words it has."""


def excerpt(text: str, asked: Asked, *, most: int, cue: Cue | None = None) -> Excerpt:
    """At most `most` characters of a text: all of it where it is short, else the units that the terms stand in.

    Each term gets a unit, the rarest first, as long as there is room; then the units with the most of them, and what
    stands beside them. Without any term it is the begin of the text. Parts are in order; none parts a character. `cue`
    raises units of a kind.
    """
    read = text[:READ_CHARACTERS]
    said = said_words(read, asked)
    if len(text) <= most:
        return Excerpt(text=text, parts=[(0, len(text))], words=[(word.start, word.end) for word in said])
    ranked = _Ranked(read, units_of(read), said, asked, cue)
    room = max(most - len(CUT_LINE) - len(DOTS) - 1, 1)
    chosen = _chosen(ranked, room)
    parts = _parts(ranked.units, chosen) if chosen else _window(ranked, room)
    return _shown(text, parts, said)


def quoted(text: str, asked: Asked, *, most: int, cue: Cue | None = None) -> str:
    """A text as a quote in one line of at most `most` characters: all of it, else its excerpt."""
    plain = " ".join(text.split())
    return plain if len(plain) <= most else " ".join(excerpt(text, asked, most=most, cue=cue).text.split())


@dataclass(frozen=True)
class _Ranked:
    """The units of a text with the words of the question in them."""

    text: str
    units: list[Unit]
    said: list[Word]
    asked: Asked
    cue: Cue | None

    @cached_property
    def held(self) -> list[list[str]]:
        """The asked terms in each unit, in order."""
        found = [list[str]() for _ in self.units]
        place = 0
        for word in self.said:
            while place < len(self.units) and self.units[place].end <= word.start:
                place += 1
            if place < len(self.units):
                found[place] += word.terms
        return found

    @cached_property
    def own(self) -> list[float]:
        """Each unit's score by its own words."""
        weights = self.asked.weights
        follows, rarest = set(pairwise(weights)), max(weights.values(), default=1.0)
        own = [0.0] * len(self.units)
        for place, (unit, terms) in enumerate(zip(self.units, self.held, strict=True)):
            text = self.text[unit.start : unit.end]
            if terms:
                pairs = {pair for pair in pairwise(terms) if pair in follows}
                own[place] = sum(weights[term] for term in dict.fromkeys(terms))
                own[place] += IN_ORDER * sum(min(weights[term] for term in pair) for pair in pairs)
                own[place] *= MACHINE if is_machine_written(text) else 1.0
            if self.cue is not None:
                own[place] += CUE * rarest * self.cue(text)
        return own

    @cached_property
    def scores(self) -> list[float]:
        """Each unit's own score, and parts of those beside it."""
        own = self.own
        worded = [place for place, unit in enumerate(self.units) if self.has_word(unit)]
        scores, carried = [0.0] * len(own), 0.0
        for place, after in zip(worded, [*worded[1:], None], strict=True):
            behind = own[after] if after is not None else 0.0
            scores[place] = own[place] + carried + BEHIND * behind
            carried = BEFORE * max(own[place], carried)
        return scores

    def last_worded(self, place: int) -> int:
        """The place of the last unit before this one that has a word; -1 where there is none."""
        before = place - 1
        while before >= 0 and not self.has_word(self.units[before]):
            before -= 1
        return before

    def has_word(self, unit: Unit) -> bool:
        """Return whether a unit says anything: no rule, no fence of a code block."""
        text = self.text[unit.start : unit.end]
        return not text.startswith("```") and any(map(str.isalnum, text))

    def wanted(self) -> Iterator[int]:
        """Places of units: the best for each term, the rarest term first; then all with a score, best first."""
        order = sorted(
            (place for place, score in enumerate(self.scores) if score > 0),
            key=lambda place: (-self.scores[place], place),
        )
        best = dict[str, int]()
        for place in order:
            for term in self.held[place]:
                best.setdefault(term, place)
        covered = set[str]()
        for term in sorted(best, key=lambda term: -self.asked.weights[term]):
            if term not in covered:
                covered |= set(self.held[best[term]])
                yield best[term]
        yield from order


def _chosen(ranked: _Ranked, room: int) -> list[int]:
    """Places of the units that have room, in order: those wanted, then more and more of what stands beside them."""
    chosen, units = set[int](), ranked.units

    def cost(place: int) -> int:
        """Characters that a unit takes beside the chosen ones, with the cuts around it."""
        beside = (gap for gap in (place - 1, place) if {gap, gap + 1} - {place} <= chosen)
        return units[place].length + len(CUT_LINE) + sum(_gap(units, gap) - len(CUT_LINE) for gap in beside)

    def is_told_by(place: int) -> bool:
        """Return whether a unit has a score of its own, or one is chosen that it follows or precedes."""
        return ranked.own[place] > 0 or bool(chosen & {place - 1, place + 1, ranked.last_worded(place)})

    for place in ranked.wanted():
        if place not in chosen and is_told_by(place) and cost(place) <= room:
            room -= cost(place)
            chosen.add(place)
    waiting = deque(sorted(chosen) or [-1])
    while waiting:
        place = waiting.popleft()
        for beside in (place + 1, place - 1):
            if 0 <= beside < len(units) and beside not in chosen and cost(beside) <= room:
                room -= cost(beside)
                chosen.add(beside)
                waiting.append(beside)
    return sorted(chosen)


def _gap(units: Sequence[Unit], place: int) -> int:
    """Characters that stand between a unit and the next one in an excerpt with both: white space, or a cut."""
    return min(units[place + 1].start - units[place].end, len(CUT_LINE))


def _parts(units: Sequence[Unit], chosen: Sequence[int]) -> list[Place]:
    parts = list[Place]()
    for place in chosen:
        unit = units[place]
        if parts and place - 1 in chosen and unit.start - parts[-1][1] <= len(CUT_LINE):
            parts[-1] = (parts[-1][0], unit.end)
        else:
            parts.append((unit.start, unit.end))
    return parts


def _window(ranked: _Ranked, room: int) -> list[Place]:
    """A part of the best unit, where not even that has room: around the question's first word in it."""
    if not ranked.units:
        return []
    unit = ranked.units[next(ranked.wanted(), 0)]
    words = [word.start for word in ranked.said if unit.start <= word.start < unit.end]
    start = max(unit.start, words[0] - room // 3) if words else unit.start
    start = cut_before(ranked.text, start) if start > unit.start else start
    return [(start, max(cut_before(ranked.text, min(start + room, unit.end)), start))]


def _shown(text: str, parts: Sequence[Place], said: Sequence[Word]) -> Excerpt:
    shown, words, last, at = "", list[Place](), 0, 0
    for start, end in parts:
        between = text[last:start]
        if between.strip():
            shown += (CUT_LINE if "\n" in between else CUT) if shown else f"{DOTS} "
        elif shown:
            shown += between[: len(CUT_LINE)]
        while at < len(said) and said[at].end <= end:
            if said[at].start >= start:
                moved = len(shown) - start
                words.append((said[at].start + moved, said[at].end + moved))
            at += 1
        shown += text[start:end]
        last = end
    shown += f" {DOTS}" if text[last:].strip() else ""
    return Excerpt(text=shown, parts=list(parts), words=words)
