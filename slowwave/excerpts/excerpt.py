"""The units of a text that a question asks for, chosen within a length and kept in order."""

from collections.abc import Iterator, Sequence
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


def excerpt(text: str, asked: Asked, *, most: int) -> Excerpt:
    """At most `most` characters of a text: all of it where it is short, else the units that the terms stand in.

    Each term gets a unit, the rarest first, as long as there is room; then the units with the most of them and those
    beside them. Without any term it is the begin of the text. Parts are in order; none parts a character.
    """
    read = text[:READ_CHARACTERS]
    said = said_words(read, asked)
    if len(text) <= most:
        return Excerpt(text=text, parts=[(0, len(text))], words=[(word.start, word.end) for word in said])
    ranked = _Ranked(read, units_of(read), said, asked)
    room = max(most - len(CUT_LINE) - len(DOTS) - 1, 1)
    chosen = _chosen(ranked, room)
    parts = _parts(ranked.units, chosen) if chosen else _window(ranked, room)
    return _shown(text, parts, said)


@dataclass(frozen=True)
class _Ranked:
    """The units of a text with the words of the question in them."""

    text: str
    units: list[Unit]
    said: list[Word]
    asked: Asked

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
    def scores(self) -> list[float]:
        """Each unit's own score, and parts of those beside it."""
        follows = set(pairwise(self.asked.weights))
        own = [0.0] * len(self.units)
        for place, terms in enumerate(self.held):
            if terms:
                own[place] = sum(self.asked.weights[term] for term in dict.fromkeys(terms))
                pairs = {pair for pair in pairwise(terms) if pair in follows}
                own[place] += IN_ORDER * sum(min(self.asked.weights[term] for term in pair) for pair in pairs)
                unit = self.units[place]
                if is_machine_written(self.text[unit.start : unit.end]):
                    own[place] *= MACHINE
        worded = [place for place, unit in enumerate(self.units) if self.has_word(unit)]
        scores, carried = [0.0] * len(own), 0.0
        for place, after in zip(worded, [*worded[1:], None], strict=True):
            behind = own[after] if after is not None else 0.0
            scores[place] = own[place] + carried + BEHIND * behind
            carried = BEFORE * max(own[place], carried)
        return scores

    def beyond_wordless(self, place: int) -> set[int]:
        """The place before a unit, past those without a word."""
        before = place - 1
        while before >= 0 and not self.has_word(self.units[before]):
            before -= 1
        return {before}

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
        if not order:
            yield from range(len(self.units))


def _chosen(ranked: _Ranked, room: int) -> list[int]:
    """Places of the units that have room, in order; without any of the question's words none behind a gap."""
    chosen, units = set[int](), ranked.units

    def beside_one(place: int) -> bool:
        """Return whether a unit beside this one is chosen: without it, this one has nothing to tell."""
        return bool(chosen & {place - 1, place + 1} or chosen & ranked.beyond_wordless(place))

    for place in ranked.wanted():
        if place in chosen or (ranked.said and not ranked.held[place] and not beside_one(place)):
            continue
        cost = units[place].length + len(CUT_LINE)
        for beside in (place - 1, place + 1):
            if beside in chosen:
                cost += _gap(units, min(place, beside)) - len(CUT_LINE)
        if cost <= room:
            chosen.add(place)
            room -= cost
        elif not ranked.said or not chosen:
            break
    return _bridged(ranked, sorted(chosen), room)


def _bridged(ranked: _Ranked, chosen: list[int], room: int) -> list[int]:
    """The chosen units with the wordless ones between two of them, as far as there is room."""
    found, units = set(chosen), ranked.units
    for left, right in pairwise(chosen):
        between = range(left + 1, right)
        cost = units[right].start - units[left].end - len(CUT_LINE)
        if between and cost <= room and not any(ranked.has_word(units[place]) for place in between):
            found |= set(between)
            room -= cost
    return sorted(found)


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
    place = next(ranked.wanted(), None)
    if place is None:
        return []
    unit = ranked.units[place]
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
