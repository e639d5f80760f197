"""A table of the store in memory: the same queries as on disk, answered in a fraction of the time.

LanceDB's cost of a read is fixed (some 5 to 10 ms of work each, whatever the size), and a question makes a dozen of
them. A copy is one version of one table and never changes; `table_cache.py` says when the table is read again.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from slowwave.schemas.tables import KEYS, VECTOR_TEXT
from slowwave.store.bm25 import Bits, TextIndex
from slowwave.store.conditions import And, Expr, IsIn, Or, as_filter
from slowwave.store.layout import EMBEDDER_OF, MATCHED, TEXT_INDEX
from slowwave.store.memory_vectors import Floats, Mask, MemoryVectors, Places, best

Row = dict[str, Any]

LOOKED_UP = frozenset(
    {
        "cell_id", "turn_id", "topic_id", "session_id", "entity_id", "family",
        "source_id", "target_id", "superseded_by", "subject", "head_id", "property", "cell_a", "cell_b",
    }
)  # fmt: skip
"""Columns by whose values rows are looked up; the others are compared row by row."""

OF_FEW_VALUES = frozenset({"cell_type", "status", "scope", "source_type", "scale"})
"""Columns whose lists of values come again with other questions."""

MOST_MASKS, MOST_SCORES = 64, 8
"""Conditions and questions whose rows are kept: those of one question are asked by several lists."""

MOST_LISTED = 50_000
"""Rows up to which the columns that questions show are kept as Python values, too: some 20 MB of 10,000 memories."""

MOST_CHUNKS = 16
"""Pieces of a frame in memory: of more, reading a few rows takes longer than putting them together."""

Kept = TypeVar("Kept")


class Searched(NamedTuple):
    """The rows that a search found in a table: places, and for each its BM25, its cosine and the terms that it has."""

    places: Places
    text_scores: Floats
    similarities: Floats
    held: Bits


@dataclass(frozen=True)
class MemoryTable:
    """One version of a table: its rows, its full text by column, and its vectors.

    An indexed one has its rows in the order of their keys, or behind them rows that came since: then `ranks` has the
    place of each in that order. One that is not indexed has rows alone, in no particular order.
    """

    table: str
    version: int
    frame: pl.DataFrame
    texts: dict[str, TextIndex] = field(default_factory=dict)
    text_hashes: dict[str, pl.Series] = field(default_factory=dict)
    vectors: MemoryVectors | None = None
    is_indexed: bool = True
    ranks: Places | None = None
    _masks: "OrderedDict[Hashable, Mask]" = field(default_factory=OrderedDict, repr=False)
    _columns: dict[str, list[Any]] = field(default_factory=dict, repr=False)
    _scores: "OrderedDict[Hashable, Floats]" = field(default_factory=OrderedDict, repr=False)
    _held: "OrderedDict[Hashable, tuple[Floats, Bits]]" = field(default_factory=OrderedDict, repr=False)
    _lookups: dict[str, dict[str, list[int]]] = field(default_factory=dict, repr=False)
    _orders: dict[str, Places] = field(default_factory=dict, repr=False)

    def rows(self, columns: Sequence[str], where: Expr | None) -> pl.DataFrame:
        """The named columns of the rows that a condition holds for."""
        if where is None:
            return self.frame.select(columns)
        if self.is_indexed:
            return self.frame.select(columns)[self.places(where)]
        return self.frame.filter(as_filter(where)).select(columns)  # look-ups would be made for each version

    def after_write(
        self, version: int, rows: pl.DataFrame | None, removed: pl.Series | None
    ) -> "MemoryTable":
        """A table of rows alone after whole rows came in the place of those with their keys, or keys went."""
        frame, key = self.frame, KEYS[self.table]
        gone = rows[key] if rows is not None else removed
        if gone is not None:
            frame = frame.join(gone.to_frame(key), on=key, how="anti")
        if rows is not None:
            frame = pl.concat([frame, rows.select(frame.columns).cast(dict(frame.schema.items()))])
        return MemoryTable(self.table, version, frame, is_indexed=False)

    def with_rows(self, version: int, rows: pl.DataFrame, vectors: Floats | None) -> "MemoryTable":
        """An indexed table after whole rows, each key once, came in the place of those with their keys, or behind all.

        `vectors` has one for each row, zeros for none. What is kept for questions is kept for the new version, too.
        """
        key, height = KEYS[self.table], self.frame.height
        known = self._lookup(key)
        is_new = [one not in known for one in rows[key]]
        new = iter(range(height, height + sum(is_new)))
        places = np.array([known[one][0] if one in known else next(new) for one in rows[key]], np.intp)
        height += sum(is_new)
        shaped = rows.select(self.frame.columns).cast(dict(self.frame.schema.items()))
        texts, hashes = dict(self.texts), dict(self.text_hashes)
        for name in self.texts:
            text = _text_of(rows, name)
            texts[name], hashes[name] = texts[name].with_texts(hashes[name], text, places, height=height)
        of_rows = None
        if self.vectors is not None and vectors is not None:
            of_rows = self.vectors.with_rows(places, vectors, vector_hashes(self.table, rows), height=height)
        ranks = _ranks(self.frame[key], self.ranks, rows[key].filter(pl.Series(is_new, dtype=pl.Boolean)))
        frame = _with_rows(self.frame, shaped, places)
        made = MemoryTable(self.table, version, frame, texts, hashes, of_rows, ranks=ranks)
        if height <= MOST_LISTED:
            made._columns.update(
                (name, _list_with(values, places, shaped[name].to_list()))
                for name, values in list(self._columns.items())
            )
        made._lookups.update(
            (name, _found_at(found, places, self.frame[name], shaped[name]))
            for name, found in list(self._lookups.items())
        )
        return made

    def take(self, places: Places, columns: Sequence[str]) -> list[Row]:
        """Rows at these places, by column name."""
        wanted = places.tolist()
        if self.frame.height > MOST_LISTED:
            return self.frame.select(list(dict.fromkeys(columns)))[places].rows(named=True)
        rows: list[Row] = [{} for _ in wanted]
        # by column: a row at a time, `dict(zip(...))` takes twice as long for a thousand rows of twelve columns
        for name in columns:
            values = self._values(name)
            for row, place in zip(rows, wanted, strict=True):
                row[name] = values[place]
        return rows

    def search(
        self,
        words: str,
        vector: Floats | None,
        k: int,
        where: Expr | None,
        *,
        fields: Sequence[str] = (),
        also: Sequence[str] = (),
        parts: Sequence[Expr] = (),
    ) -> Searched:
        """The union of the best rows by text, by vector and by key, as `SearchQuery` says."""
        names = [*(fields or MATCHED.get(self.table, ()))] if words.strip() else []
        mask = self.mask(where)
        masks = [mask & self.mask(one) for one in parts] or [mask]
        found, likeness = list[Places](), None
        scores, held = self._scored(names, words)
        if names:
            found += [best(scores, part & (scores > 0), k, self.ranks)[0] for part in masks]
        if vector is not None and self.vectors is not None:
            vectors, unit = self.vectors, vector
            likeness = _kept(self._scores, vector.tobytes(), MOST_SCORES, lambda: vectors.first_look(unit))
            found += [vectors.nearest(vector, likeness, k, part, self.ranks)[0] for part in masks]
        if also:
            named = self._rows_with(IsIn(KEYS[self.table], tuple(also)))
            found.append(named[mask[named]])
        places = np.array(list(dict.fromkeys(np.concatenate(found).tolist())) if found else [], np.intp)
        similarities = np.zeros(places.size, np.float32)
        if likeness is not None and vector is not None and self.vectors is not None:
            similarities = self.vectors.cosines(vector, places)
        return Searched(places, scores[places], similarities, held[places])

    def _scored(self, names: Sequence[str], words: str) -> tuple[Floats, Bits]:
        """BM25 of every row by the best of some fields, and the terms that any of them has."""
        if not names:
            return np.zeros(self.frame.height, np.float32), np.zeros(self.frame.height, np.int64)

        def score() -> tuple[Floats, Bits]:
            parts = [self.texts[name].scores_and_held(words) for name in names]
            scores = np.maximum.reduce([part[0] for part in parts])
            return scores, np.bitwise_or.reduce([part[1] for part in parts])

        return _kept(self._held, (*names, words), MOST_SCORES, score)

    def places(self, where: Expr | None) -> Places:
        """Places of the rows that a condition holds for, in the order of their keys."""
        if where is None:
            return self._in_order(np.arange(self.frame.height))
        found = self._looked_up(where)
        return self._in_order(np.flatnonzero(self.mask(where)) if found is None else self._left(where, found))

    def first(self, by: str, k: int, where: Expr | None) -> Places:
        """Places of the first `k` rows that a condition holds for: highest `by` first, ties by key."""
        if by not in self._orders:
            values = self.frame[by].to_physical().to_numpy()
            ties = np.arange(len(values)) if self.ranks is None else self.ranks
            self._orders[by] = np.lexsort((ties, -values))
        order = self._orders[by]
        return order[self.mask(where)[order]][:k]

    def mask(self, where: Expr | None) -> Mask:
        """Return whether a condition holds, for every row."""
        if where is None:
            return np.ones(self.frame.height, bool)
        if isinstance(where, And):
            return self.mask(where.left) & self.mask(where.right)
        if isinstance(where, Or):
            return self.mask(where.left) | self.mask(where.right)
        if isinstance(where, IsIn) and where.column in LOOKED_UP:
            held = np.zeros(self.frame.height, bool)
            held[self._rows_with(where)] = True
            return held
        return _kept(
            self._masks,
            where,
            MOST_MASKS,
            lambda: self.frame.select(as_filter(where)).to_series().to_numpy(),
        )

    def make_ready(self, before: "MemoryTable") -> None:
        """Make what questions made of an earlier version, so that none of them waits for it."""
        if self.frame.height <= MOST_LISTED:
            for column in list(before._columns):
                self._values(column)
        for column in list(before._lookups):
            self._lookup(column)

    # -- inside

    def _in_order(self, places: Places) -> Places:
        """Places in the order of their keys."""
        return places if self.ranks is None else places[np.argsort(self.ranks[places])]

    def _values(self, column: str) -> list[Any]:
        """The values of a column, made once: a frame of a few rows costs more than all that is asked of them."""
        if column not in self._columns:
            self._columns[column] = self.frame[column].to_list()
        return self._columns[column]

    def _few_values(self, column: str, places: Places) -> Iterable[Any]:
        """The values of a column at some places."""
        if self.frame.height > MOST_LISTED:
            return self.frame[column].gather(places)
        values = self._values(column)
        return [values[place] for place in places.tolist()]

    def _looked_up(self, where: Expr) -> Places | None:
        """Places of all rows that a condition may hold for, by a look-up; None where every row must be compared."""
        if isinstance(where, IsIn) and where.column in LOOKED_UP:
            return self._rows_with(where)
        if isinstance(where, And):
            sides = [side for side in map(self._looked_up, (where.left, where.right)) if side is not None]
            return min(sides, key=len) if sides else None
        if isinstance(where, Or):
            left, right = self._looked_up(where.left), self._looked_up(where.right)
            return None if left is None or right is None else self._either(left, right)
        return None

    def _either(self, left: Places, right: Places) -> Places:
        """Places that are among the one or the other, in their order."""
        if left.size == 0 or right.size == 0:
            return left if right.size == 0 else right
        held = np.zeros(self.frame.height, bool)
        held[left] = held[right] = True
        return np.flatnonzero(held)

    def _left(self, where: Expr, places: Places) -> Places:
        """Of some places those that a condition holds for."""
        if places.size == 0:
            return places
        if isinstance(where, And):
            return self._left(where.right, self._left(where.left, places))
        if isinstance(where, Or):
            return self._either(self._left(where.left, places), self._left(where.right, places))
        if isinstance(where, IsIn) and where.column in LOOKED_UP:
            return places[self.mask(where)[places]]
        if isinstance(where, IsIn) and where.column not in OF_FEW_VALUES:
            column, wanted = self._few_values(where.column, places), set(where.values)
            return np.array(
                [place for place, value in zip(places.tolist(), column, strict=True) if value in wanted],
                np.intp,
            )
        return places[self.mask(where)[places]]

    def _rows_with(self, where: IsIn) -> Places:
        rows_of = self._lookup(where.column)
        return np.array(sorted({row for value in where.values for row in rows_of.get(value, ())}), np.intp)

    def _lookup(self, column: str) -> dict[str, list[int]]:
        if column not in self._lookups:
            if column == KEYS[self.table]:
                rows_of = {key: [row] for row, key in enumerate(self.frame[column])}
            else:
                named = self.frame.select(column).with_row_index("row").drop_nulls(column)
                grouped = named.group_by(column).agg("row")
                rows_of = dict(zip(grouped[column], grouped["row"].to_list(), strict=True))
            self._lookups[column] = rows_of
        return self._lookups[column]


def read_table(
    table: str, version: int, rows: pl.DataFrame, *, vectors: MemoryVectors | None, before: MemoryTable | None
) -> MemoryTable:
    """The table in memory from its rows as stored, in the order of their keys.

    What `before`, an earlier version of the same table, has of the full text is used again.
    """
    key = KEYS[table]
    texts, hashes = {}, {}
    for name in TEXT_INDEX.get(table, ()):
        text = _text_of(rows, name)
        hashes[name] = text.hash()
        texts[name] = _index(name, rows[key], text, hashes[name], before)
    if table == "passages":
        rows = rows.drop("content")  # the terms are all that is asked of it
    return MemoryTable(table, version, rows, texts, hashes, vectors)


def vector_hashes(table: str, rows: pl.DataFrame) -> pl.Series:
    """Tell of what text and embedder the vectors of rows are."""
    texts = [*VECTOR_TEXT[table], EMBEDDER_OF["vector"]]
    return rows.select(pl.concat_str(texts, separator="\n", ignore_nulls=True).hash()).to_series()


def _text_of(rows: pl.DataFrame, name: str) -> pl.Series:
    return rows[name].list.join(" ") if rows.schema[name].is_nested() else rows[name]


def _with_rows(frame: pl.DataFrame, rows: pl.DataFrame, places: Places) -> pl.DataFrame:
    """A frame with rows at some places; places from its height on are behind it, in their order."""
    parts, begin = [], 0
    for number in np.argsort(places).tolist():
        place = int(places[number])
        parts += [frame[begin:place], rows[number : number + 1]]
        begin = place + 1
    made = pl.concat([part for part in (*parts, frame[begin:]) if part.height])
    return made.rechunk() if made.n_chunks() > MOST_CHUNKS else made


def _list_with(before: list[Any], places: Places, values: list[Any]) -> list[Any]:
    """A list with values at some places; places from its length on are behind it, in their order."""
    made = list(before)
    for place, value in sorted(zip(places.tolist(), values, strict=True), key=itemgetter(0)):
        made[place : place + 1] = [value]
    return made


def _found_at(
    found: dict[str, list[int]], places: Places, before: pl.Series, after: pl.Series
) -> dict[str, list[int]]:
    """The places of each value after the rows at some places got others."""
    made = dict(found)
    for place, value in zip(places.tolist(), after, strict=True):
        was = before[place] if place < len(before) else None
        if was != value:
            if was is not None:
                made[was] = [one for one in made[was] if one != place]
            if value is not None:
                made[value] = sorted([*made.get(value, ()), place])
    return made


def _ranks(keys: pl.Series, ranks: Places | None, new: pl.Series) -> Places | None:
    """The place of each row in the order of the keys, after new ones came behind the others."""
    if new.is_empty():
        return ranks
    known = np.arange(len(keys)) if ranks is None else ranks
    order = new.arg_sort().to_numpy()
    lower = np.array([int((keys < new[int(place)]).sum()) for place in order], np.intp)
    of_new = np.empty(len(new), np.intp)
    of_new[order] = lower + np.arange(len(new))
    return np.concatenate([known + np.searchsorted(lower, known, side="right"), of_new])


def _index(
    name: str, keys: pl.Series, text: pl.Series, hashes: pl.Series, before: MemoryTable | None
) -> TextIndex:
    new = pl.DataFrame({"key": keys, "hash": hashes}).with_row_index("row")
    if before is None:
        index, kept = TextIndex((), 0), pl.Series(dtype=pl.Int32)
    else:
        old_keys = before.frame[KEYS[before.table]]
        old = pl.DataFrame({"key": old_keys, "hash": before.text_hashes[name]})
        index = before.texts[name]
        kept = old.join(new, on=["key", "hash"], how="left", maintain_order="left")["row"].fill_null(-1)
        kept = kept.cast(pl.Int32)
    fresh = np.ones(len(keys), bool)
    fresh[kept.filter(kept >= 0).to_numpy()] = False
    places = np.flatnonzero(fresh).astype(np.int32)
    stays = index.height == len(keys) and (kept.to_numpy() == np.arange(len(keys))).all()
    if stays:  # not so where a copy grew: it has new rows behind the others
        return index
    return index.updated(places, text.gather(places), kept=kept.to_numpy(), height=len(keys))


def _kept(kept: "OrderedDict[Hashable, Kept]", key: Hashable, most: int, make: Callable[[], Kept]) -> Kept:
    """The value that was made for a key before, or is made now; of more than `most` the oldest go.

    Threads may race to make it: they make the same.
    """
    found = kept.get(key)
    if found is None:
        found = kept[key] = make()
        while len(kept) > most:
            kept.popitem(last=False)
    return found
