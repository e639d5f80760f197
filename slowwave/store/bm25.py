"""Full text in memory: for each term the rows that have it and how often, and BM25 over them.

An index is a few segments, each built once and never changed. New texts make a new segment, texts that went away are
masked: what a change costs follows what changed. With many segments an index is made anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from slowwave.language.terms import query_terms, term_bits, terms_of

TERM_SATURATION = 1.2
LENGTH_SHARE = 0.75
"""k1 and b of BM25, as LanceDB's index has them (Robertson and Zaragoza, 2009)."""

MOST_SEGMENTS, FEW_GONE = 8, 100
"""Pieces of an index, beyond those of a large table, and texts that are gone, with which it is used on."""

TEXTS_AT_ONCE = 20_000
"""Texts that are cut into terms together: it bounds the memory that building takes."""

Floats = NDArray[np.float32]
Places = NDArray[np.int32]
Bits = NDArray[np.int64]


@dataclass(frozen=True)
class Segment:
    """Texts that were indexed together.

    The postings of term number t are `places[starts[t] : starts[t + 1]]` (numbers of texts) and as many `counts`.
    `lengths` has the terms of each text, `rows` its row in the table, -1 where it is gone.
    """

    numbers: dict[str, int]
    starts: NDArray[np.int64]
    places: Places
    counts: Floats
    lengths: Floats
    rows: Places

    def postings(self, term: str) -> tuple[Places, Places, Floats]:
        """The texts that have a term and are there: their numbers, their rows, and how often they have it."""
        number = self.numbers.get(term)
        at = slice(0, 0) if number is None else slice(self.starts[number], self.starts[number + 1])
        places, counts = self.places[at], self.counts[at]
        rows = self.rows[places]
        is_there = rows >= 0
        return (
            (places, rows, counts) if is_there.all() else (places[is_there], rows[is_there], counts[is_there])
        )


@dataclass(frozen=True)
class TextIndex:
    """Full text over one or several columns, joined, of a table of `height` rows."""

    segments: tuple[Segment, ...]
    height: int

    def scores(self, text: str) -> Floats:
        """BM25 of every row, (height,), as `scores_and_held` has it."""
        return self.scores_and_held(text)[0]

    def scores_and_held(self, text: str) -> tuple[Floats, Bits]:
        """BM25 of every row, and the terms of the text that each has, both (height,).

        BM25 is the sum over the terms of idf * saturated count, 0 where none occurs; idf is
        ln(1 + (n - df + 0.5) / (df + 0.5)) over the texts that are not empty. The terms
        that a row has are the sum of their `term_bits`.
        """
        found, held = np.zeros(self.height, np.float32), np.zeros(self.height, np.int64)
        count, resistances = self._measured
        bits = term_bits(text)
        for term in query_terms(text) if count else ():
            parts = [segment.postings(term) for segment in self.segments]
            worth = np.float32(_rarity(count, parts) * (TERM_SATURATION + 1))
            for (places, rows, counts), resistance in zip(parts, resistances, strict=True):
                found[rows] += worth * counts / (counts + resistance[places])  # a row is once among them
                held[rows] |= np.int64(bits.get(term, 0))
        return found, held

    def rarities(self, terms: Sequence[str]) -> list[float]:
        """The idf of each term, above 0: the fewer texts have it the higher."""
        count, _ = self._measured
        return [_rarity(count, [segment.postings(term) for segment in self.segments]) for term in terms]

    def joined(self, behind: "TextIndex", is_gone: NDArray[np.bool_]) -> "TextIndex":
        """One index of the rows here that are not gone, and of others that come behind all of them."""
        if not behind.height and not is_gone.any():
            return self
        kept = np.where(is_gone, -1, np.arange(self.height))
        here = [replace(part, rows=_moved(part.rows, kept)) for part in self.segments]
        after = np.arange(behind.height) + self.height
        there = [replace(part, rows=_moved(part.rows, after)) for part in behind.segments if behind.height]
        return TextIndex((*here, *there), self.height + behind.height)

    @cached_property
    def _measured(self) -> tuple[int, list[Floats]]:
        """Texts that are not empty, and what each sets against the count of a term, k1 (1 - b + b l / mean)."""
        lengths = [segment.lengths[segment.rows >= 0] for segment in self.segments]
        count = sum(int(np.count_nonzero(part)) for part in lengths)
        if count == 0:
            return 0, []
        mean = sum(float(part.sum()) for part in lengths) / count
        share = np.float32(TERM_SATURATION * LENGTH_SHARE / mean)
        least = np.float32(TERM_SATURATION * (1 - LENGTH_SHARE))
        return count, [least + share * segment.lengths for segment in self.segments]

    @property
    def is_worn(self) -> bool:
        """Return whether it is better made anew: of many pieces, or with many texts that are gone."""
        gone = sum(int((part.rows < 0).sum()) for part in self.segments)
        most = MOST_SEGMENTS + self.height // TEXTS_AT_ONCE
        return len(self.segments) > most or gone > max(self.height // 4, FEW_GONE)

    def updated(
        self, rows: NDArray[np.intp], texts: pl.Series, *, kept: NDArray[np.int32], height: int
    ) -> "TextIndex":
        """The index after a change of the table.

        `kept` has for each row before the change its row after it, -1 where its text went away or changed; `texts` are
        new, at `rows`. `height` is the table's number of rows after the change.
        """
        moved = [replace(part, rows=_moved(part.rows, kept)) for part in self.segments]
        fresh = [
            _segment(texts[start : start + TEXTS_AT_ONCE], rows[start : start + TEXTS_AT_ONCE])
            for start in range(0, len(texts), TEXTS_AT_ONCE)
        ]
        return TextIndex((*moved, *fresh), height)


def _rarity(count: int, parts: Sequence[tuple[Places, Places, Floats]]) -> float:
    """The idf of a term of these postings among `count` texts."""
    frequency = sum(rows.size for _, rows, _ in parts)
    return float(np.log1p((count - frequency + 0.5) / (frequency + 0.5)))


def _moved(rows: Places, kept: NDArray[np.int_] | Places) -> Places:
    return np.where(rows >= 0, kept[rows] if kept.size else -1, -1).astype(np.int32)


def _segment(texts: pl.Series, rows: NDArray[np.intp]) -> Segment:
    terms = terms_of(texts)
    counted = terms.group_by("term", "row").len("count").sort("term", "row")
    by_term = counted.group_by("term", maintain_order=True).len("size")
    lengths = np.zeros(len(texts), np.float32)
    of_text = terms.group_by("row").len("size")
    lengths[of_text["row"].to_numpy()] = of_text["size"].to_numpy()
    return Segment(
        numbers={term: number for number, term in enumerate(by_term["term"])},
        starts=np.concatenate([[0], np.cumsum(by_term["size"].to_numpy(), dtype=np.int64)]),
        places=counted["row"].to_numpy().astype(np.int32),
        counts=counted["count"].to_numpy().astype(np.float32),
        lengths=lengths,
        rows=rows.astype(np.int32),
    )
