"""Fusion of ranked lists: by reciprocal ranks for topics, by stretched scores for cells and turns; and the prior.

Plain Python: a question's lists are short, and one operation on a frame costs more than all of their rows.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import NamedTuple, TypeVar

import polars as pl

from slowwave.decay.retention import retention_of
from slowwave.language.alike import asks_for_past, newest_of_alike
from slowwave.schemas.search import CellHit, Share, TurnHit
from slowwave.settings.groups import DecaySettings
from slowwave.settings.reading import SearchSettings

SomeHit = TypeVar("SomeHit", CellHit, TurnHit)


class Given(NamedTuple):
    """The part of one list in a key's score: its rank there (1-based), the value behind it, its share of the score."""

    list_name: str
    rank: int
    value: float
    share: float


@dataclass(frozen=True)
class RankedList:
    """One list of a search: the value of each key (higher is better), and what the list weighs."""

    name: str
    values: Mapping[str, float]
    weight: float


@dataclass(frozen=True)
class Fused:
    """A key with the sum of what the lists gave it."""

    key: str
    score: float
    given: tuple[Given, ...]

    def shares(self) -> list[Share]:
        """The part of each list, largest share first."""
        ordered = sorted(self.given, key=lambda part: -part.share)
        return [Share.model_construct(**part._asdict()) for part in ordered]


def fuse_ranks(lists: Sequence[RankedList], *, rank_constant: int) -> list[Fused]:
    """Reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009): sum of weight / (rank_constant + rank).

    Best first; equal values rank by key, and so do equal scores.
    """

    def shares_of(values: Sequence[float], weight: float) -> list[float]:
        return [weight / (rank_constant + rank) for rank in range(1, len(values) + 1)]

    return _fused(lists, shares_of)


def fuse_scores(lists: Sequence[RankedList], *, most: int | None = None) -> list[Fused]:
    """Sum of weight * (value - worst) / (best - worst) over the lists: min-max or relative score fusion.

    It keeps what ranks lose: by how much the first one leads. A list with one row, or with equal values, gives
    its weight to all. Best first, as `fuse_ranks`; the best `most` of them.
    """
    return _fused(lists, _stretched, most)


def fused_scores(lists: Sequence[RankedList]) -> dict[str, float]:
    """The scores of `fuse_scores` alone, by key, for long lists of which nobody asks what each list gave."""
    totals = defaultdict[str, float](float)
    for entry in lists:
        if entry.values:
            shares = _stretched(list(entry.values.values()), entry.weight)
            for key, share in zip(entry.values, shares, strict=True):
                totals[key] += share
    return dict(totals)


def with_given(ranked: Sequence[Fused], given: Mapping[str, Mapping[str, float]]) -> list[Fused]:
    """Entries with further shares of their scores, by list and key: best first, ties by key; none of share 0."""
    parts: dict[str, list[Given]] = {}
    for name, shares in given.items():
        ordered = sorted(shares.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
        for rank, (key, share) in enumerate(ordered, start=1):
            if share:
                parts.setdefault(key, []).append(Given(name, rank, share, share))
    entries = [
        Fused(
            entry.key,
            entry.score + sum(part.share for part in parts[entry.key]),
            (*entry.given, *parts[entry.key]),
        )
        if entry.key in parts
        else entry
        for entry in ranked
    ]
    return sorted(entries, key=lambda entry: (-entry.score, entry.key))


def newest_first(hits: Sequence[SomeHit], question: str, words: Sequence[str]) -> list[SomeHit]:
    """Hits in their order, but of statements alike (`newest_of_alike`) the newest is as good as the best of them.

    A question for what was so once keeps its order.
    """
    if asks_for_past(question):
        return list(hits)
    texts, times = [hit.content for hit in hits], [hit.event_time for hit in hits]
    order = newest_of_alike(texts, times, [hit.origin for hit in hits], asked=words)
    return [
        hits[newest] if newest == place else hits[newest].model_copy(update={"score": hits[place].score})
        for place, newest in enumerate(order)
    ]


def as_frame(fused: Sequence[Fused], *, key: str) -> pl.DataFrame:
    """`key`, `fused_score` and for each list `<name>_rank`, `<name>_value` and `<name>_share`; null where it is silent.

    For looking at many questions together (`slowwave/evaluation/retrieval.py`).
    """
    rows = [
        {
            key: entry.key,
            "fused_score": entry.score,
            **{
                f"{part.list_name}_{name}": value
                for part in entry.given
                for name, value in zip(("rank", "value", "share"), part[1:], strict=True)
            },
        }
        for entry in fused
    ]
    names = dict.fromkeys(part.list_name for entry in fused for part in entry.given)
    schema = {key: pl.String(), "fused_score": pl.Float64()}
    for name in names:
        schema |= {f"{name}_rank": pl.Int64(), f"{name}_value": pl.Float64(), f"{name}_share": pl.Float64()}
    return pl.DataFrame(rows, schema=schema)


def _stretched(values: Sequence[float], weight: float) -> list[float]:
    """The share of each value between the worst and the best of them."""
    best, worst = max(values), min(values)
    if best == worst:
        return [weight] * len(values)
    width = best - worst
    return [weight * (value - worst) / width for value in values]


def _fused(
    lists: Sequence[RankedList],
    shares_of: Callable[[Sequence[float], float], list[float]],
    most: int | None = None,
) -> list[Fused]:
    totals: dict[str, float] = {}
    placed: list[tuple[str, dict[str, tuple[int, float, float]]]] = []
    for entry in lists:
        ordered = sorted(entry.values.items(), key=lambda pair: (-pair[1], pair[0]))
        shares = shares_of([value for _, value in ordered], entry.weight) if ordered else []
        at: dict[str, tuple[int, float, float]] = {}
        for rank, ((key, value), share) in enumerate(zip(ordered, shares, strict=True), start=1):
            totals[key] = totals.get(key, 0.0) + share
            at[key] = (rank, value, share)
        placed.append((entry.name, at))
    best = sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    return [
        Fused(key, score, tuple(Given(name, *at[key]) for name, at in placed if key in at))
        for key, score in best
    ]


def prior(
    *,
    age_days: float,
    salience: float = 1.0,
    rate: float = 0.0,
    unused_days: float = 0.0,
    search: SearchSettings,
    decay: DecaySettings,
) -> float:
    """Salience * exp(-age_rate * age_days) * retention, between the floor and 1: it reorders and never buries.

    The product is stretched over what the floor leaves and not cut off at it, so that of two old memories the one that
    is more salient, or was used since, still comes first. `age_days` counts from when it was last said, `rate` is the
    decay rate of a cell (0 for a protected one). A raw turn has its age alone.
    """
    kept = retention_of(rate, unused_days, exponent=decay.exponent)
    weight = salience * exp(-search.age_rate * age_days) * kept
    return search.prior_floor + (1.0 - search.prior_floor) * min(weight, 1.0)
