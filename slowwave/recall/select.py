"""Packing a context: which lines, in which form, within a budget of tokens. Pure; nothing here reads or counts."""

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from typing import Final

from slowwave.schemas.context import TIERS, TierName

CONTRADICTION: Final = "contradiction"
"""The kind of a line that tells both sides of an open contradiction."""


BEST_LINES = 20
"""Lines that stand before the weaker ones of their groups, which stand in groups of their own."""


SHORT_TOKENS, FULL_SHARE = 300, 0.3
"""On a page of so few tokens every line but the first takes at most this share of it in any form but its shortest."""


@dataclass(frozen=True)
class Candidate:
    """A line that a tier wants. `forms` are whole lines, longest first; `tokens` are theirs, line break included.

    `score` orders within a tier only. The ids are all that the line speaks of, and `rests_on` the turns behind it.
    `under` is the line above it and its like, where lines stand in groups. `wordings` are what it tells without marks,
    where another line may tell the same word for word: one, or both sides of a contradiction.
    """

    tier: TierName
    score: float
    kind: str
    forms: tuple[str, ...]
    event_time: datetime
    source_name: str
    why: str
    cell_ids: tuple[str, ...] = ()
    topic_ids: tuple[str, ...] = ()
    turn_ids: tuple[str, ...] = ()
    rests_on: frozenset[str] = frozenset()
    under: str = ""
    wordings: frozenset[str] = frozenset()
    tokens: tuple[int, ...] = ()

    @property
    def ids(self) -> frozenset[str]:
        """Everything that the line speaks of."""
        return frozenset((*self.cell_ids, *self.topic_ids, *self.turn_ids))

    @property
    def sayings(self) -> frozenset[tuple[str, str]]:
        """The turns that it quotes or rests on, each with every wording of the line."""
        return frozenset(product((*self.turn_ids, *self.rests_on), self.wordings))


@dataclass(frozen=True)
class Chosen:
    """A candidate that has its place, and the form that it has there."""

    candidate: Candidate
    form: int

    @property
    def text(self) -> str:
        """The line."""
        return self.candidate.forms[self.form]

    @property
    def tokens(self) -> int:
        """Its tokens."""
        return self.candidate.tokens[self.form]


def allot(budget_tokens: int, shares: Sequence[float]) -> dict[TierName, int]:
    """Tokens of each tier, rounded down; `shares` (0..1 each, in the order of `TIERS`) sum to 1 at most."""
    return {tier: int(budget_tokens * share) for tier, share in zip(TIERS, shares, strict=True)}


def pack(
    candidates: Sequence[Candidate],
    *,
    budget_tokens: int,
    shares: Sequence[float],
    heading_tokens: Mapping[TierName, int],
    shown: Collection[str] = (),
) -> list[Chosen]:
    """Lines that fit, tier by tier, best first; equal scores keep the order of `candidates`.

    What a tier leaves flows to the next one. An id stands in one line only, in the highest tier that wants it; one
    that is in `shown` stands in none. A line takes its longest form while that is at most half of what its tier has
    left, then its shortest; one that does not fit whole is left out. Of a turn and a memory of it in the same
    wording the first stands. The tokens of all lines and of the headings of tiers that have lines sum to
    `budget_tokens` at most.
    """
    allotted = allot(max(budget_tokens, 0), shares)
    taken, chosen, room, told = set(shown), list[Chosen](), 0, set[tuple[str, str]]()
    for tier in TIERS:
        room += allotted[tier]
        heading = heading_tokens[tier]
        wanted = (candidate for candidate in candidates if candidate.tier == tier)
        for candidate in sorted(wanted, key=lambda candidate: -candidate.score):
            if taken & candidate.ids or (told & candidate.sayings and candidate.kind != CONTRADICTION):
                continue
            form = _fitting(candidate.tokens, room - heading)
            if form is None:
                continue
            chosen.append(Chosen(candidate, form))
            taken |= candidate.ids
            told |= candidate.sayings
            room -= heading + candidate.tokens[form]
            heading = 0
    return chosen


def pack_best(
    candidates: Sequence[Candidate],
    *,
    budget_tokens: int,
    group_tokens: Mapping[str, int],
    told_weight: float,
    shown: Collection[str] = (),
) -> list[Chosen]:
    """Lines that fit, best first whatever their tier; equal scores keep the order of `candidates`.

    A quote of a turn that a chosen memory rests on waits with `told_weight` (0..1) of its score, and so does a memory
    of which every turn is quoted; with a weight of 0 it is left out. An open contradiction never waits. A quote in the
    wording of a memory that rests on it gives its place to the memory. A line takes its longest form that fits; the
    first line of a group pays for the line above it (`group_tokens` by `under`), once more after the `BEST_LINES`. An
    id stands once, and what is in `shown` not at all.
    """
    waiting = [(-line.score, place, False, line) for place, line in enumerate(_without_echoes(candidates))]
    heapq.heapify(waiting)
    taken, chosen, room = set(shown), list[Chosen](), budget_tokens
    groups, told, quoted = set[str](), set[str](), set[str]()
    while waiting:
        score, place, has_waited, line = heapq.heappop(waiting)
        if taken & line.ids:
            continue
        known = told if line.turn_ids else quoted
        if not has_waited and line.kind != CONTRADICTION and line.rests_on and line.rests_on <= known:
            if not told_weight:
                continue
            heapq.heappush(waiting, (score * told_weight, place, True, line))
            continue
        above = 0 if line.under in groups else group_tokens.get(line.under, 0)
        is_short = budget_tokens <= SHORT_TOKENS
        most = max(FULL_SHARE * budget_tokens, min(line.tokens) + above) if is_short and chosen else room
        form = next(
            (form for form, count in enumerate(line.tokens) if count + above <= min(most, room)), None
        )
        if form is None:
            continue
        chosen.append(Chosen(line, form))
        taken |= line.ids
        groups = set() if len(chosen) == BEST_LINES else groups | {line.under}
        room -= above + line.tokens[form]
        told |= line.rests_on
        quoted |= line.rests_on if line.turn_ids else frozenset()
    return chosen


def _without_echoes(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The lines without quotes that a memory of the turn tells in the same words; it takes the better score of both."""
    quotes = {(turn, said): line for line in candidates for said in line.wordings for turn in line.turn_ids}
    kept, echoes = list[Candidate](), set[Candidate]()
    for line in candidates:
        if line.cell_ids and (echo := [quotes[way] for way in line.sayings if way in quotes]):
            echoes.update(echo)
            kept.append(replace(line, score=max(line.score, *(quote.score for quote in echo))))
        else:
            kept.append(line)
    return [line for line in kept if line not in echoes]


def _fitting(tokens: Sequence[int], room: int) -> int | None:
    """The place of the form to take, or None where none fits."""
    for place, count in enumerate(tokens):
        if 2 * count <= room:
            return place
    fitting = [place for place, count in enumerate(tokens) if count <= room]
    return min(fitting, key=lambda place: tokens[place], default=None)
