"""A table of the store in memory: the same queries as on disk, answered in a fraction of the time.

LanceDB's cost of a read is fixed (some 5 to 10 ms of work each, whatever the size), and a question makes a dozen of
them. A table in memory has two parts: a base, as LanceDB held it at some moment, and a small tail of what was committed
since. Neither ever changes: rows that are new make a new tail and hide the same ones of the base (`index.py`).
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl

from slowwave.schemas.tables import KEYS, VECTOR_TEXT
from slowwave.store.bm25 import Bits, TextIndex
from slowwave.store.conditions import And, Expr, IsIn, Or, as_filter
from slowwave.store.layout import EMBEDDER_OF, MATCHED, TEXT_INDEX
from slowwave.store.memory_vectors import Floats, Mask, MemoryVectors, Places, best, memory_vectors
from slowwave.store.queries import FOUND, Query, Row, RowsQuery, SearchQuery

LOOKED_UP = frozenset(
    {
        "cell_id", "turn_id", "topic_id", "session_id", "entity_id", "family",
        "source_id", "target_id", "superseded_by", "subject", "head_id", "property", "cell_a", "cell_b",
    }
)  # fmt: skip
"""Columns by whose values rows are looked up; the others are compared row by row."""

MOST_MASKS, MOST_SCORES = 64, 8
"""Conditions and questions whose rows are kept: those of one question are asked by several lists."""

MOST_LISTED = 50_000
"""Rows up to which the columns that questions show are kept as Python values, too: some 20 MB of 10,000 memories."""

MOST_ROWS = 20_000
"""Rows of one set of columns that are kept as they were shown, before they are made anew: 25 MB of memories."""

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Part:
    """Rows of a table in the order of their keys, their full text by column and their vectors."""

    table: str
    frame: pl.DataFrame
    texts: dict[str, TextIndex]
    text_hashes: dict[str, pl.Series]
    vectors: MemoryVectors | None
    _masks: "OrderedDict[Hashable, Mask]" = field(default_factory=OrderedDict, repr=False)
    _columns: dict[str, list[Any]] = field(default_factory=dict, repr=False)
    _rows: dict[tuple[str, ...], dict[int, Row]] = field(default_factory=dict, repr=False)
    _lookups: dict[str, dict[str, list[int]]] = field(default_factory=dict, repr=False)

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.frame.height

    def places(self, where: Expr | None) -> Places:
        """Places of the rows that a condition holds for, in the order of their keys."""
        found = self._looked_up(where)
        return np.flatnonzero(self.mask(where)) if found is None else found

    def places_of(self, keys: Iterable[str]) -> Places:
        """Places of the rows with these keys; those that are not there are left out."""
        return self._rows_with(KEYS[self.table], keys)

    def first(self, by: str, k: int, wanted: Mask) -> tuple[Places, Floats]:
        """Places and values of the first `k` rows of a mask: highest `by` first, ties by key; null is lowest."""
        values = self.frame[by].to_physical()
        values = values.cast(pl.Float64).fill_null(float("-inf")) if values.null_count() else values
        return best(values.to_numpy(), wanted, k)

    def take(self, places: Places, columns: Sequence[str]) -> list[Row]:
        """Rows at these places, by column name; whoever gets them may add to them."""
        # a row of 37 columns takes 6 microseconds to make and half a one to copy, and questions find the same rows
        wanted, known = places.tolist(), self._rows.setdefault(tuple(columns), {})
        if len(known) > MOST_ROWS:
            known = self._rows[tuple(columns)] = {}
        if missing := [place for place in wanted if place not in known]:
            known.update(zip(missing, self._made(missing, columns), strict=True))
        return [known[place].copy() for place in wanted]

    def lacks_vector(self, embedder_id: str) -> Mask:
        """Return whether a row has a text and no vector of this embedder."""
        text = pl.concat_str(VECTOR_TEXT[self.table], ignore_nulls=True)
        lacks = (pl.col(EMBEDDER_OF["vector"]) != embedder_id) & (text != "")
        return _kept(
            self._masks,
            ("lacks vector", embedder_id),
            MOST_MASKS,
            lambda: self.frame.select(lacks).to_series().to_numpy(),
        )

    def make_ready(self, before: "Part") -> None:
        """Make what questions made of an earlier part, so that none of them waits for it."""
        if self.height <= MOST_LISTED:
            for column in list(before._columns):
                self._values(column)
        for column in list(before._lookups):
            self._lookup(column)

    def mask(self, where: Expr | None) -> Mask:
        """Return whether a condition holds, for every row; whoever gets it changes nothing in it."""
        if where is None:
            return np.ones(self.height, bool)
        if (found := self._looked_up(where)) is not None:
            held = np.zeros(self.height, bool)
            held[found] = True
            return held
        return _kept(self._masks, where, MOST_MASKS, lambda: self._compared(where))

    # -- inside

    def _compared(self, where: Expr) -> Mask:
        """A condition row by row; its parts are kept, since questions differ in few of them."""
        if isinstance(where, And):
            return self.mask(where.left) & self.mask(where.right)
        if isinstance(where, Or):
            return self.mask(where.left) | self.mask(where.right)
        return self.frame.select(as_filter(where)).to_series().to_numpy()

    def _looked_up(self, where: Expr | None) -> Places | None:
        """Places of the rows that a condition holds for, where it names values to look up; else None."""
        if isinstance(where, IsIn) and where.column in LOOKED_UP:
            return self._rows_with(where.column, where.values)
        if isinstance(where, And):
            for one, other in ((where.left, where.right), (where.right, where.left)):
                if (found := self._looked_up(one)) is not None:
                    return found[self.mask(other)[found]]
        elif isinstance(where, Or):
            left, right = self._looked_up(where.left), self._looked_up(where.right)
            if left is not None and right is not None:
                return np.union1d(left, right)
        return None

    def _made(self, places: Sequence[int], columns: Sequence[str]) -> list[Row]:
        """Rows at these places, made by column: a row at a time takes twice as long."""
        if self.height > MOST_LISTED:
            return self.frame.select(list(dict.fromkeys(columns)))[places].rows(named=True)
        rows: list[Row] = [{} for _ in places]
        for name in columns:
            values = self._values(name)
            for row, place in zip(rows, places, strict=True):
                row[name] = values[place]
        return rows

    def _values(self, column: str) -> list[Any]:
        """The values of a column, made once: a frame of a few rows costs more than all that is asked of them."""
        if column not in self._columns:
            self._columns[column] = self.frame[column].to_list()
        return self._columns[column]

    def _rows_with(self, column: str, values: Iterable[str]) -> Places:
        rows_of = self._lookup(column)
        return np.array(sorted({row for value in values for row in rows_of.get(value, ())}), np.intp)

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


@dataclass(frozen=True)
class IndexedTable:
    """A table in memory: its base, its tail, and the rows of the base that the tail has anew or that went.

    A place is the number of a row: those of the tail come behind those of the base.
    """

    base: Part
    tail: Part
    is_hidden: Mask
    _scores: "OrderedDict[Hashable, tuple[Floats, Bits]]" = field(default_factory=OrderedDict, repr=False)
    _looks: "OrderedDict[Hashable, Floats]" = field(default_factory=OrderedDict, repr=False)
    _lacking: dict[str, list[str]] = field(default_factory=dict, repr=False)

    @property
    def table(self) -> str:
        """The table's name."""
        return self.base.table

    @cached_property
    def height(self) -> int:
        """Number of rows that are there."""
        return self.base.height - int(self.is_hidden.sum()) + self.tail.height

    @cached_property
    def texts(self) -> dict[str, TextIndex]:
        """Full text over both parts: a term is as rare as it is in the whole table."""
        return {
            name: index.joined(self.tail.texts[name], self.is_hidden)
            for name, index in self.base.texts.items()
        }

    def with_rows(
        self, rows: pl.DataFrame, vectors: Floats | None = None, *, removed: Iterable[str] = ()
    ) -> "IndexedTable":
        """The table after whole rows came in the place of those with their keys, or keys went.

        `vectors` has one for each row, zeros for none.
        """
        key = KEYS[self.table]
        new = {*rows[key], *removed}
        if not new:
            return self
        is_hidden = self.is_hidden.copy()
        is_hidden[self.base.places_of(new)] = True
        stays = np.ones(self.tail.height, bool)
        stays[self.tail.places_of(new)] = False
        types = self.tail.frame.schema
        frame = pl.concat([self.tail.frame.filter(stays), rows.select(types.names()).cast(types)])
        order = frame[key].arg_sort()
        whole = None
        if self.tail.vectors is not None and vectors is not None:
            whole = np.concatenate([self.tail.vectors.whole[stays], vectors])[order.to_numpy()]
        tail = part_of(self.table, frame[order], whole, before=self.tail)
        return IndexedTable(self.base, tail, is_hidden)

    def vectors_of(self, keys: Iterable[str]) -> tuple[list[str], Floats]:
        """The keys that are there, and their vectors, (keys, dims), zeros for none."""
        places = self._there(keys)
        base, tail = self._parted(places)
        assert self.base.vectors is not None
        assert self.tail.vectors is not None
        found = np.concatenate([self.base.vectors.whole[base], self.tail.vectors.whole[tail]])
        return self._keys(places), found.astype(np.float32)

    def without_vector(self, embedder_id: str) -> list[str]:
        """Keys of the rows with a text that have no vector of this embedder; every question asks for them."""
        if embedder_id not in self._lacking:
            base = self.base.lacks_vector(embedder_id) & ~self.is_hidden
            lacks = np.concatenate([base, self.tail.lacks_vector(embedder_id)])
            self._lacking[embedder_id] = self._keys(np.flatnonzero(lacks))
        return self._lacking[embedder_id]

    def rows(self, columns: Sequence[str], where: Expr | None) -> pl.DataFrame:
        """The named columns of the rows that a condition holds for, in no particular order."""
        base, tail = self._parted(self._places(where))
        found = self.base.frame.select(columns)[base]
        return found if not tail.size else pl.concat([found, self.tail.frame.select(columns)[tail]])

    def find(self, wanted: Query) -> list[Row]:
        """The rows of a query."""
        if isinstance(wanted, SearchQuery):
            return self._search(wanted)
        if isinstance(wanted, RowsQuery):
            return self._take(self._in_key_order(wanted.where), wanted.columns)
        base, tail = self._split(self.mask(wanted.where))
        k, by = wanted.k, wanted.by
        return self._take(
            self._merged(self.base.first(by, k, base), self.tail.first(by, k, tail), k), wanted.columns
        )

    def mask(self, where: Expr | None) -> Mask:
        """Return whether a row is there and a condition holds, for every place."""
        return np.concatenate([self.base.mask(where) & ~self.is_hidden, self.tail.mask(where)])

    # -- inside

    def _search(self, wanted: SearchQuery) -> list[Row]:
        key, k = KEYS[self.table], wanted.k
        names = [*(wanted.fields or MATCHED.get(self.table, ()))] if wanted.words.strip() else []
        vector = wanted.vector if self.base.vectors is not None else None
        mask = self.mask(wanted.where)
        masks = [mask & self.mask(one) for one in wanted.parts] or [mask]
        scores, held = self._scored(names, wanted.words)
        found = [self._best(scores, part & (scores > 0), k) for part in masks if names]
        if vector is not None:
            found += [self._nearest(vector, k, part) for part in masks]
        if wanted.also:
            named = self._there(wanted.also)
            found.append(named[mask[named]])
        places = np.array(list(dict.fromkeys(np.concatenate(found).tolist())) if found else [], np.intp)
        likeness = np.zeros(places.size) if vector is None else self._cosines(vector, places)
        rows = self._take(places, (key, *wanted.columns))
        values = (scores[places].tolist(), likeness.tolist(), held[places].tolist())
        for row, given in zip(rows, zip(*values, strict=True), strict=True):
            row.update(zip(FOUND, given, strict=True))
        return rows

    def _take(self, places: Places, columns: Sequence[str]) -> list[Row]:
        """Rows at these places, by column name."""
        base, tail = self._parted(places)
        here = self.base.take(base, columns)
        if not tail.size:
            return here
        parts = iter(here), iter(self.tail.take(tail, columns))
        return [next(parts[place >= self.base.height]) for place in places.tolist()]

    def _in_key_order(self, where: Expr | None) -> Places:
        """Places of the rows that a condition holds for, in the order of their keys."""
        places = self._places(where)
        if not places.size or places[-1] < self.base.height:
            return places
        keys = self._keys(places)
        return places[sorted(range(len(keys)), key=keys.__getitem__)]

    def _split(self, of_all: Any) -> tuple[Any, Any]:
        """The values of the base and of the tail."""
        return of_all[: self.base.height], of_all[self.base.height :]

    def _parted(self, places: Places) -> tuple[Places, Places]:
        """Places within the base, and within the tail."""
        is_behind = places >= self.base.height
        return places[~is_behind], places[is_behind] - self.base.height

    def _places(self, where: Expr | None) -> Places:
        return self._joined(self.base.places(where), self.tail.places(where))

    def _there(self, keys: Iterable[str]) -> Places:
        """Places of the rows with these keys."""
        return self._joined(self.base.places_of(keys), self.tail.places_of(keys))

    def _joined(self, base: Places, tail: Places) -> Places:
        """Places within the base, without what is hidden there, and within the tail, as those of the table."""
        return np.concatenate([base[~self.is_hidden[base]], tail + self.base.height])

    def _keys(self, places: Places) -> list[str]:
        key = KEYS[self.table]
        return [row[key] for row in self._take(places, [key])]

    def _merged(self, base: tuple[Places, Floats], tail: tuple[Places, Floats], k: int) -> Places:
        """The `k` best places of two lists, best first, ties by key."""
        if not tail[0].size:
            return base[0]
        places = np.concatenate([base[0], tail[0] + self.base.height])
        values, keys = [*base[1].tolist(), *tail[1].tolist()], self._keys(places)
        return places[sorted(range(len(keys)), key=lambda at: (-values[at], keys[at]))[:k]]

    def _best(self, values: Floats, wanted: Mask, k: int) -> Places:
        parts = zip(self._split(values), self._split(wanted), strict=True)
        base, tail = (best(of_part, mask, k) for of_part, mask in parts)
        return self._merged(base, tail, k)

    def _nearest(self, vector: Floats, k: int, wanted: Mask) -> Places:
        assert self.base.vectors is not None
        assert self.tail.vectors is not None
        look = _kept(self._looks, vector.tobytes(), MOST_SCORES, lambda: self._look(vector))
        of_base, of_tail = self._split(look)
        base, tail = self._split(wanted)
        return self._merged(
            self.base.vectors.nearest(vector, of_base, k, base),
            self.tail.vectors.nearest(vector, of_tail, k, tail),
            k,
        )

    def _look(self, vector: Floats) -> Floats:
        parts = [part.vectors for part in (self.base, self.tail)]
        return np.concatenate([vectors.first_look(vector) for vectors in parts if vectors is not None])

    def _cosines(self, vector: Floats, places: Places) -> Floats:
        found = np.zeros(places.size, np.float32)
        is_behind = places >= self.base.height
        for part, mask, within in zip(
            (self.base, self.tail), (~is_behind, is_behind), self._parted(places), strict=True
        ):
            assert part.vectors is not None
            found[mask] = part.vectors.cosines(vector, within)
        return found

    def _scored(self, names: Sequence[str], words: str) -> tuple[Floats, Bits]:
        """BM25 of every row by the best of some fields, and the terms that any of them has."""
        height = self.base.height + self.tail.height
        if not names:
            return np.zeros(height, np.float32), np.zeros(height, np.int64)

        def score() -> tuple[Floats, Bits]:
            parts = [self.texts[name].scores_and_held(words) for name in names]
            scores = np.maximum.reduce([part[0] for part in parts])
            return scores, np.bitwise_or.reduce([part[1] for part in parts])

        return _kept(self._scores, (*names, words), MOST_SCORES, score)


def indexed(base: Part, none: pl.DataFrame) -> IndexedTable:
    """A table of this base, to which nothing came yet; `none` has no rows, and the columns of those that may come."""
    whole = None if base.vectors is None else np.zeros((0, base.vectors.whole.shape[1]), np.float32)
    return IndexedTable(base, part_of(base.table, none, whole), np.zeros(base.height, bool))


def part_of(
    table: str,
    rows: pl.DataFrame,
    vectors: Floats | MemoryVectors | None,
    *,
    before: Part | None = None,
) -> Part:
    """Rows as stored, in the order of their keys, as a part; `vectors` has one a row, zeros for none.

    What `before`, an earlier part of the same table, has of the full text is used again.
    """
    key = KEYS[table]
    texts, hashes = {}, {}
    for name in TEXT_INDEX.get(table, ()):
        text = _text_of(rows, name)
        hashes[name] = text.hash()
        texts[name] = _index(name, rows[key], text, hashes[name], before)
    if vectors is not None and not isinstance(vectors, MemoryVectors):
        vectors = memory_vectors(vectors)
    return Part(table, rows, texts, hashes, vectors)


def _text_of(rows: pl.DataFrame, name: str) -> pl.Series:
    return rows[name].list.join(" ") if rows.schema[name].is_nested() else rows[name]


def _index(name: str, keys: pl.Series, text: pl.Series, hashes: pl.Series, before: Part | None) -> TextIndex:
    """Full text of a column, of which what `before` has is used again while that is worth it."""
    if before is None or before.texts[name].is_worn:
        return TextIndex((), 0).updated(
            np.arange(len(keys)), text, kept=np.empty(0, np.int32), height=len(keys)
        )
    new = pl.DataFrame({"key": keys, "hash": hashes}).with_row_index("row")
    old = pl.DataFrame({"key": before.frame[KEYS[before.table]], "hash": before.text_hashes[name]})
    kept = old.join(new, on=["key", "hash"], how="left", maintain_order="left")["row"].cast(pl.Int32)
    stays = kept.fill_null(-1).to_numpy()
    fresh = np.ones(len(keys), bool)
    fresh[stays[stays >= 0]] = False
    places = np.flatnonzero(fresh)
    return before.texts[name].updated(places, text.gather(places), kept=stays, height=len(keys))


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
