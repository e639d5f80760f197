"""Reading one generation of the store: anyone may, at any time, without a lock."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import lancedb
import numpy as np
import polars as pl
import pyarrow as pa
from lancedb.query import LanceVectorQueryBuilder
from lancedb.table import Table
from numpy.typing import NDArray

from slowwave.errors import ConfigError, ContractError
from slowwave.schemas.tables import KEYS, VECTOR_TEXT, frame_schema
from slowwave.store.layout import (
    APPLIED,
    EMBEDDER_OF,
    KEYS_A_READ,
    MATCHED,
    TEXT_INDEX,
    StoreMeta,
    arrow_schema,
    text_query,
)
from slowwave.store.legs import Leg, Legs, TextLeg, nothing_found
from slowwave.store.scopes import Expr, col, lit

SEARCHES_AT_ONCE = 4

TIE_MARGIN = 32
"""Rows fetched beyond those wanted: which of equal ones LanceDB cuts off changes from run to run."""


class StoreReader:
    """Tables, vectors and full text of one generation."""

    def __init__(self, root: Path, name: str, meta: StoreMeta) -> None:
        self.root = root
        self.name = name
        self.meta = meta
        self._db = lancedb.connect(root / name, read_consistency_interval=timedelta(0))
        self._tables: dict[str, Table] = {}
        self._legs = Legs(root / name)
        self._indexed: set[str] = set()

    def rows(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        where: Expr | None = None,
        *,
        missing: str | None = None,
    ) -> pl.DataFrame:
        """Rows of a table, in no particular order: the table's columns (never vectors) or the named ones.

        `missing` names a column that must be null in the rows wanted.
        """
        names = list(columns) if columns is not None else frame_schema(table).names()
        query = self._table(table).search().select(names)
        if missing is not None:
            query = query.where(self._condition(table, where, missing))
        elif where is not None:
            query = query.where(where)
        return self._frame(query.limit(None).to_arrow(), names)

    def count(self, table: str, where: Expr | None = None, *, missing: str | None = None) -> int:
        """Number of rows."""
        if where is None and missing is None:
            return int(self._table(table).count_rows())
        return self.rows(table, [KEYS[table]], where, missing=missing).height

    def by_key(self, table: str, keys: Iterable[str], columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Rows with these keys, in key order; keys that are not there are left out."""
        return self.having(table, KEYS[table], keys, columns).sort(KEYS[table])

    def having(
        self, table: str, column: str, values: Iterable[str], columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows whose `column` has one of these values, in no particular order."""
        wanted = sorted(set(values))
        parts = [
            self.rows(table, columns, col(column).isin(wanted[start : start + KEYS_A_READ]))
            for start in range(0, len(wanted), KEYS_A_READ)
        ]
        return pl.concat(parts) if parts else self.rows(table, columns, col(column) == lit(""))

    def nearest(
        self,
        table: str,
        vectors: NDArray[np.float32],
        k: int,
        *,
        where: Expr | None = None,
        exact: bool = False,
    ) -> pl.DataFrame:
        """The k nearest rows of each query vector by cosine.

        Returns `query_index`, the table's key, `similarity` (-1..1), best first within a query, ties by key.
        `exact` passes by the vector index: the same answer whatever state the index is in.
        """
        key = KEYS[table]
        shape = {"query_index": pl.Int64, key: pl.String, "similarity": pl.Float64}
        if len(vectors) == 0 or self._table(table).count_rows() == 0:
            return pl.DataFrame(schema=shape)
        wanted = np.ascontiguousarray(vectors, dtype=np.float32)
        query = self._table(table).search(wanted, vector_column_name="vector", query_type="vector")
        assert isinstance(query, LanceVectorQueryBuilder)
        query = query.distance_type("cosine")
        query = query.bypass_vector_index() if exact else query.refine_factor(5)
        present = col("embedder_id") == lit(self.meta.embedder_id)
        query = query.where(present & where if where is not None else present, prefilter=True)
        found = pl.from_arrow(query.limit(k + TIE_MARGIN).select([key, "_distance"]).to_arrow())
        assert isinstance(found, pl.DataFrame)
        if "query_index" not in found.columns:
            found = found.with_columns(query_index=pl.lit(0))
        scored = found.select(
            pl.col("query_index").cast(pl.Int64), key, similarity=1.0 - pl.col("_distance").cast(pl.Float64)
        )
        return _best(scored, "similarity", key, k)

    def matching(
        self, table: str, texts: Sequence[str], k: int, *, where: Expr | None = None
    ) -> pl.DataFrame:
        """The k best rows of each text by full text (BM25).

        Returns `query_index`, the table's key, `match_score` (>= 0, unbounded), best first within a query.
        """
        key = KEYS[table]
        columns = MATCHED[table]
        frames = [pl.DataFrame(schema={"query_index": pl.Int64, key: pl.String, "match_score": pl.Float64})]
        if not self._has_text_index(table):
            return frames[0]
        handle = self._table(table)

        def search(index: int) -> pl.DataFrame:
            query = (
                handle.search(text_query(texts[index], columns)).limit(k + TIE_MARGIN).select([key, "_score"])
            )
            if where is not None:
                query = query.where(where, prefilter=True)
            found = pl.from_arrow(query.to_arrow())
            assert isinstance(found, pl.DataFrame)
            return found.select(
                pl.lit(index, dtype=pl.Int64).alias("query_index"),
                key,
                match_score=pl.col("_score").cast(pl.Float64),
            )

        asked = [index for index, text in enumerate(texts) if text.strip()]
        with ThreadPoolExecutor(SEARCHES_AT_ONCE) as pool:
            frames.extend(pool.map(search, asked))
        return _best(pl.concat(frames), "match_score", key, k)

    def at_once(self, legs: Sequence[Leg]) -> list[pl.DataFrame]:
        """What each leg of a search finds, all read at once; a table without full text matches nothing."""
        silent = {
            place: nothing_found(leg)
            for place, leg in enumerate(legs)
            if isinstance(leg, TextLeg) and not self._can_match(leg)
        }
        found = iter(self._legs.run([leg for place, leg in enumerate(legs) if place not in silent]))
        return [silent[place] if place in silent else next(found) for place in range(len(legs))]

    def _can_match(self, leg: TextLeg) -> bool:
        """Whether there are words to look for and an index to find them with; once there, an index stays."""
        if leg.table not in self._indexed and self._has_text_index(leg.table):
            self._indexed.add(leg.table)
        return leg.table in self._indexed and bool(leg.text.strip())

    def vectors(self, table: str, keys: Iterable[str], *, column: str = "vector") -> pl.DataFrame:
        """The key and the vector (`Array(Float32, dims)`) of the rows that have one."""
        frame = self.by_key(table, keys, [KEYS[table], column])
        return frame.drop_nulls(column)

    def applied_segments(self) -> set[str]:
        """Ids of the journal segments that this generation already holds."""
        return set(
            self._frame(self._table(APPLIED).search().limit(None).to_arrow(), ["segment_id"])["segment_id"]
        )

    def without_centroid(self) -> list[str]:
        """Ids of the topics whose members changed since their centroid was computed."""
        return (
            self.rows("topics", ["topic_id"], col(EMBEDDER_OF["centroid"]) == lit(""))["topic_id"]
            .sort()
            .to_list()
        )

    def without_vector(self, table: str) -> pl.DataFrame:
        """Key and text of the rows that still lack a vector of this store's embedder, in key order."""
        key = KEYS[table]
        texts = VECTOR_TEXT[table]
        frame = self.rows(table, [key, *texts], col(EMBEDDER_OF["vector"]) == lit(""))
        text = pl.concat_str([pl.col(name) for name in texts], separator="\n", ignore_nulls=True)
        return (
            frame.select(key, text=text).filter(pl.col("text") != "").sort(key)
        )  # a tombstone may have none

    def size_bytes(self) -> int:
        """Bytes of this generation on disk."""
        return sum(path.stat().st_size for path in (self.root / self.name).rglob("*") if path.is_file())

    # -- inside

    def _table(self, table: str) -> Table:
        if table not in self._tables:
            try:
                self._tables[table] = self._db.open_table(table)
            except (FileNotFoundError, ValueError) as error:
                raise ConfigError(
                    f"table {table!r} is missing from the store at {self.root}; run `slowwave rebuild`"
                ) from error
        return self._tables[table]

    def _has_text_index(self, table: str) -> bool:
        indexed = {name for index in self._table(table).list_indices() for name in index.columns}
        return set(TEXT_INDEX[table]) <= indexed

    def _all_columns(self, table: str) -> list[str]:
        return list(arrow_schema(table, self.meta.dims).names)

    def _condition(self, table: str, where: Expr | None, missing: str) -> str:
        """SQL of a condition with a null in it, which `Expr` cannot say. Its values are constants of this program.

        `Expr.to_sql` does not escape a quote behind a backslash, so such a text is refused here.
        """
        if missing not in frame_schema(table):
            raise ContractError(f"table {table!r} has no column {missing!r}")
        sql = "" if where is None else f"({where.to_sql()}) AND "
        if "\\" in sql:
            raise ContractError("a text with a backslash cannot be part of a condition with a null in it")
        return f"{sql}{missing} IS NULL"

    def _frame(self, arrow: pa.Table, names: Sequence[str]) -> pl.DataFrame:
        frame = pl.from_arrow(arrow)
        assert isinstance(frame, pl.DataFrame)
        return frame.select(names)


def _best(found: pl.DataFrame, score: str, key: str, k: int) -> pl.DataFrame:
    """The k best rows of each query, ties by key."""
    ordered = found.sort("query_index", score, key, descending=[False, True, False])
    return ordered.group_by("query_index", maintain_order=True).head(k)
