"""The LanceDB store: derived tables, full-text and vector search. The one place that imports lancedb.

A store is a folder of generations and a file `CURRENT` that names the one in use; a rebuild or another
embedder fills a new generation beside the living one and switches at the end. Writing is for the holder of
the writer lock (`slowwave/home.py`) alone; reading is for anyone at any time. Everything here can be made
again from the journal.
"""

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

import lancedb
import numpy as np
import pandera.errors
import polars as pl
import pyarrow as pa
from lancedb.expr import Expr, col, lit
from lancedb.index import FTS, IvfSq
from lancedb.query import LanceVectorQueryBuilder, MatchQuery, MultiMatchQuery
from lancedb.table import Table
from numpy.typing import NDArray
from ulid import ULID

from slowwave.errors import ConfigError, ContractError, NotFoundError, TransientError
from slowwave.fold import TableChange, overlay
from slowwave.schemas.tables import KEYS, OWN, TABLES, VECTOR_TEXT, frame_schema

__all__ = ["Expr", "Store", "StoreMeta", "col", "create_store", "lit", "open_store", "owned_by", "same_owner"]

SCHEMA_VERSION = 1
TEXT_INDEX = {"turns": ("content",), "cells": ("content",), "topics": ("name", "summary")}
EMBEDDER_OF = {"vector": "embedder_id", "centroid": "centroid_embedder_id"}
"""For each vector column, the column that names its embedder; the empty text says that it must be computed."""
_KEYS_A_READ = 2_000
_APPLIED = "applied"


@dataclass(frozen=True)
class StoreMeta:
    """What a generation was made with; `embedder_id` is empty when it holds no vectors."""

    schema_version: int
    embedder_id: str
    dims: int


def owned_by(user_id: str, project_id: str) -> Expr:
    """The one place where scopes are enforced: rows that this user may see in this project.

    Private rows are seen by their user within the project, shared ones by everyone in the project, system
    rows by all.
    """
    private = (col("scope") == lit("user-private")) & (col("user_id") == lit(user_id))
    in_project = col("project_id") == lit(project_id)
    return ((private | (col("scope") == lit("project-shared"))) & in_project) | (
        col("scope") == lit("system")
    )


def same_owner(rows: pl.DataFrame) -> Expr:
    """Rows of exactly the owner of `rows`, which all have one: work on a memory never crosses owners."""
    user_id, project_id, scope = rows.select(OWN).row(0)
    return (
        (col("user_id") == lit(user_id))
        & (col("project_id") == lit(project_id))
        & (col("scope") == lit(scope))
    )


def create_store(root: Path, *, embedder_id: str, dims: int, make_current: bool = True) -> "Store":
    """A new, empty generation. With `make_current` it is the one that `open_store` finds."""
    name = f"g-{ULID()}"
    folder = root / name
    folder.mkdir(parents=True)
    meta = StoreMeta(SCHEMA_VERSION, embedder_id, dims)
    (folder / "meta.json").write_text(json.dumps(asdict(meta)), encoding="utf-8")
    store = Store(root, name, meta)
    store.make_tables()
    if make_current:
        store.make_current()
    return store


def open_store(root: Path) -> "Store":
    """The current generation.

    Raises:
        NotFoundError: there is no store yet.
        ConfigError: another version of Slowwave made it; `slowwave rebuild` makes it anew.
    """
    try:
        name = (root / "CURRENT").read_text(encoding="utf-8").strip()
        raw = json.loads((root / name / "meta.json").read_text(encoding="utf-8"))
        meta = StoreMeta(**raw)
    except FileNotFoundError as error:
        raise NotFoundError(
            "there is no memory yet: run `slowwave ingest PATH` and `slowwave run nightly`"
        ) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"the store at {root} is damaged ({type(error).__name__}); run `slowwave rebuild`"
        ) from error
    if meta.schema_version != SCHEMA_VERSION:
        raise ConfigError(
            f"the store at {root} has schema version {meta.schema_version}, this program needs {SCHEMA_VERSION}; "
            "run `slowwave rebuild`"
        )
    return Store(root, name, meta)


class Store:
    """One generation of the store."""

    def __init__(self, root: Path, name: str, meta: StoreMeta) -> None:
        self.root = root
        self.name = name
        self.meta = meta
        self._db = lancedb.connect(root / name, read_consistency_interval=timedelta(0))
        self._tables: dict[str, Table] = {}

    # -- life of a generation

    def make_tables(self) -> None:
        """Creates every table, empty. A generation without all of them is not made current."""
        for table in TABLES:
            self._db.create_table(table, schema=self._arrow_schema(table))
        self._db.create_table(_APPLIED, schema=pa.schema([pa.field("segment_id", pa.utf8(), nullable=False)]))

    def make_current(self) -> None:
        """Switches readers to this generation and removes generations before the last one."""
        pointer = self.root / "CURRENT"
        before = pointer.read_text(encoding="utf-8").strip() if pointer.exists() else None
        draft = self.root / ".CURRENT.draft"
        draft.write_text(self.name, encoding="utf-8")
        draft.replace(pointer)
        for folder in self.root.glob("g-*"):
            if folder.name not in {self.name, before}:
                shutil.rmtree(folder, ignore_errors=True)

    def is_current(self) -> bool:
        """Whether readers find this generation."""
        pointer = self.root / "CURRENT"
        return pointer.exists() and pointer.read_text(encoding="utf-8").strip() == self.name

    def discard(self) -> None:
        """Removes a generation that did not become current."""
        shutil.rmtree(self.root / self.name, ignore_errors=True)

    # -- reading

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
        key = KEYS[table]
        wanted = sorted(set(keys))
        parts = [
            self.rows(table, columns, col(key).isin(wanted[start : start + _KEYS_A_READ]))
            for start in range(0, len(wanted), _KEYS_A_READ)
        ]
        if not parts:
            return self.rows(table, columns, col(key) == lit(""))
        return pl.concat(parts).sort(key)

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
        found = pl.from_arrow(query.limit(k).select([key, "_distance"]).to_arrow())
        assert isinstance(found, pl.DataFrame)
        if "query_index" not in found.columns:
            found = found.with_columns(query_index=pl.lit(0))
        return found.select(
            pl.col("query_index").cast(pl.Int64), key, similarity=1.0 - pl.col("_distance").cast(pl.Float64)
        ).sort("query_index", "similarity", key, descending=[False, True, False])

    def matching(
        self, table: str, texts: Sequence[str], k: int, *, where: Expr | None = None
    ) -> pl.DataFrame:
        """The k best rows of each text by full text (BM25).

        Returns `query_index`, the table's key, `match_score` (>= 0, unbounded), best first within a query.
        """
        key = KEYS[table]
        columns = TEXT_INDEX[table]
        frames = [pl.DataFrame(schema={"query_index": pl.Int64, key: pl.String, "match_score": pl.Float64})]
        if not self._has_text_index(table):
            return frames[0]
        for index, text in enumerate(texts):
            if not text.strip():
                continue
            match = _match(text, columns)
            query = self._table(table).search(match).limit(k).select([key, "_score"])
            if where is not None:
                query = query.where(where, prefilter=True)
            found = pl.from_arrow(query.to_arrow())
            assert isinstance(found, pl.DataFrame)
            frames.append(
                found.select(
                    pl.lit(index, dtype=pl.Int64).alias("query_index"),
                    key,
                    match_score=pl.col("_score").cast(pl.Float64),
                )
            )
        return pl.concat(frames).sort("query_index", "match_score", key, descending=[False, True, False])

    def vectors(self, table: str, keys: Iterable[str], *, column: str = "vector") -> pl.DataFrame:
        """The key and the vector (`Array(Float32, dims)`) of the rows that have one."""
        frame = self.by_key(table, keys, [KEYS[table], column])
        return frame.drop_nulls(column)

    # -- writing

    def apply(self, changes: dict[str, TableChange]) -> dict[str, int]:
        """Writes collapsed changes; returns rows written or removed by table. Applying twice changes nothing.

        Raises:
            ContractError: a row breaks its table's model, or the store did not write what it was given.
            TransientError: the disk is full or the folder cannot be written.
        """
        done: dict[str, int] = {}
        try:
            for table, change in changes.items():
                done[table] = self._apply_table(change)
            self.ensure_text_indices(changes)
        except (OSError, RuntimeError) as error:  # lancedb raises both for a full disk
            raise TransientError(
                f"the store at {self.root} could not be written ({error}); the journal holds everything, "
                "the next run applies it"
            ) from error
        return done

    def applied_segments(self) -> set[str]:
        """Ids of the journal segments that this generation already holds."""
        return set(
            self._frame(self._table(_APPLIED).search().limit(None).to_arrow(), ["segment_id"])["segment_id"]
        )

    def mark_applied(self, segment_ids: Sequence[str]) -> None:
        """Notes that segments are in the tables; call it after `apply`."""
        if segment_ids:
            self._table(_APPLIED).add(pa.table({"segment_id": pa.array(list(segment_ids), pa.utf8())}))

    def without_centroid(self) -> list[str]:
        """Ids of the topics whose members changed since their centroid was computed."""
        return (
            self.rows("topics", ["topic_id"], col(EMBEDDER_OF["centroid"]) == lit(""))["topic_id"]
            .sort()
            .to_list()
        )

    def put_vectors(self, table: str, frame: pl.DataFrame, *, column: str = "vector") -> None:
        """Stores vectors for known rows: `frame` holds the key and `column` (list or array of float, dims wide)."""
        if frame.is_empty():
            return
        key = KEYS[table]
        names = self._all_columns(table)
        known = self.by_key(table, frame[key], names)
        fresh = frame.select(key, pl.col(column).cast(pl.Array(pl.Float32, self.meta.dims)))
        full = known.drop(column).join(fresh, on=key, how="inner", maintain_order="left")
        named = {EMBEDDER_OF[column]: pl.lit(self.meta.embedder_id)}
        self._upsert(table, full.with_columns(**named).select(names))

    def without_vector(self, table: str) -> pl.DataFrame:
        """Key and text of the rows that still lack a vector of this store's embedder, in key order."""
        key = KEYS[table]
        texts = VECTOR_TEXT[table]
        frame = self.rows(table, [key, *texts], col(EMBEDDER_OF["vector"]) == lit(""))
        text = pl.concat_str([pl.col(name) for name in texts], separator="\n", ignore_nulls=True)
        return frame.select(key, text=text).sort(key)

    def ensure_text_indices(self, tables: Iterable[str]) -> None:
        """Makes the full-text indices of tables that have rows and no index yet."""
        for table in tables:
            if (
                table in TEXT_INDEX
                and not self._has_text_index(table)
                and self._table(table).count_rows() > 0
            ):
                for column in TEXT_INDEX[table]:
                    self._table(table).create_index(
                        column,
                        config=FTS(
                            stem=True, remove_stop_words=False, ascii_folding=True, with_position=False
                        ),
                    )

    def optimize(self, *, vector_index_rows: int, keep_versions: timedelta) -> pl.DataFrame:
        """Compacts, folds new rows into the indices and drops old versions; makes vector indices where they pay.

        Returns `table` and `rows`.
        """
        report = []
        for table in (*TABLES, _APPLIED):
            handle = self._table(table)
            rows = handle.count_rows()
            if table in VECTOR_TEXT and rows >= vector_index_rows and not self._has_vector_index(table):
                handle.create_index("vector", config=IvfSq(distance_type="cosine"))
            handle.optimize(cleanup_older_than=keep_versions)
            report.append({"table": table, "rows": rows})
        return pl.DataFrame(report, schema={"table": pl.String, "rows": pl.Int64})

    def size_bytes(self) -> int:
        """Bytes of this generation on disk."""
        return sum(path.stat().st_size for path in (self.root / self.name).rglob("*") if path.is_file())

    # -- inside

    def _apply_table(self, change: TableChange) -> int:
        table, key = change.table, KEYS[change.table]
        gone = self.by_key(table, change.removed, self._all_columns(table)) if len(change.removed) else None
        if gone is not None:
            for start in range(0, gone.height, _KEYS_A_READ):
                self._table(table).delete(col(key).isin(gone[key][start : start + _KEYS_A_READ].to_list()))
            if table == "cells":
                self._forget_centroids(gone["topic_id"])
        if change.rows.is_empty():
            return len(change.removed)
        known = self.by_key(table, change.rows[key], self._all_columns(table))
        rows = overlay(change, known.select(frame_schema(table).names()))
        self._check(table, rows)
        if table in VECTOR_TEXT:
            rows = self._with_known_vectors(table, rows, known)
        self._upsert(table, rows)
        if table == "cells":
            self._forget_centroids(_left_and_joined(known, rows))
        return rows.height + len(change.removed)

    def _with_known_vectors(self, table: str, rows: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
        """Rows whose text did not change keep their vector; the others wait for a new one."""
        key, texts = KEYS[table], list(VECTOR_TEXT[table])
        extra = [name for name in self._all_columns(table) if name not in rows.columns]
        same = rows.select(key, *texts).join(
            known.select(key, *texts, *extra), on=[key, *texts], how="inner", nulls_equal=True
        )
        joined = rows.join(same.select(key, *extra), on=key, how="left", maintain_order="left")
        if table == "topics":  # a centroid follows the members, not the text
            names = ["centroid", EMBEDDER_OF["centroid"]]
            joined = joined.drop(names).join(
                known.select(key, *names), on=key, how="left", maintain_order="left"
            )
        unset = [EMBEDDER_OF[name] for name in EMBEDDER_OF if EMBEDDER_OF[name] in joined.columns]
        return joined.with_columns(pl.col(unset).fill_null("")).select(self._all_columns(table))

    def _forget_centroids(self, topic_ids: pl.Series) -> None:
        """Marks the centroids of topics whose members changed as to be computed."""
        topics = self.by_key("topics", topic_ids.drop_nulls().unique(), self._all_columns("topics"))
        if topics.height:
            self._upsert("topics", topics.with_columns(pl.lit("").alias(EMBEDDER_OF["centroid"])))

    def _upsert(self, table: str, rows: pl.DataFrame) -> None:
        if rows.is_empty():
            return
        data = rows.to_arrow().select(self._arrow_schema(table).names).cast(self._arrow_schema(table))
        merge = (
            self._table(table)
            .merge_insert(KEYS[table])
            .when_matched_update_all()
            .when_not_matched_insert_all()
        )
        result = merge.execute(data, on_bad_vectors="null")  # a row without a vector yet is no error
        written = result.num_inserted_rows + result.num_updated_rows
        if written != rows.height:
            raise ContractError(
                f"the store wrote {written} of {rows.height} rows of {table}; run `slowwave rebuild`"
            )

    def _check(self, table: str, rows: pl.DataFrame) -> None:
        try:
            TABLES[table].validate(rows, lazy=True)
        except pandera.errors.SchemaErrors as error:
            cases = (
                error.failure_cases.select("column", "check")
                .unique()
                .sort("column", "check")
                .head(3)
                .to_dicts()
            )
            raise ContractError(f"rows for table {table!r} break its schema: {cases}") from error

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

    def _has_vector_index(self, table: str) -> bool:
        return any("vector" in index.columns for index in self._table(table).list_indices())

    def _all_columns(self, table: str) -> list[str]:
        return list(self._arrow_schema(table).names)

    def _arrow_schema(self, table: str) -> pa.Schema:
        key = KEYS[table]
        fields = [
            pa.field(name, _arrow_type(dtype), nullable=name != key)
            for name, dtype in frame_schema(table).items()
        ]
        if table in VECTOR_TEXT:
            vector = pa.list_(pa.float32(), self.meta.dims)
            for name in ("vector", "centroid") if table == "topics" else ("vector",):
                fields += [pa.field(EMBEDDER_OF[name], pa.utf8(), nullable=False), pa.field(name, vector)]
        return pa.schema(fields)

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


def _left_and_joined(known: pl.DataFrame, rows: pl.DataFrame) -> pl.Series:
    """Topics that cells left or joined between `known` and `rows`."""
    before = known.select("cell_id", before="topic_id")
    moved = rows.select("cell_id", "topic_id").join(before, on="cell_id", how="left")
    moved = moved.filter(pl.col("topic_id").ne_missing(pl.col("before")))
    return pl.concat([moved["topic_id"], moved["before"]])


def _match(text: str, columns: Sequence[str]) -> MatchQuery | MultiMatchQuery:
    """User text as a full-text query: words to match, never query syntax."""
    if len(columns) == 1:
        return MatchQuery(text, columns[0])  # type: ignore[call-arg]  # its stubs call optional arguments required
    return MultiMatchQuery(text, list(columns))  # type: ignore[call-arg]


def _arrow_type(dtype: pl.DataType) -> pa.DataType:
    if isinstance(dtype, pl.Datetime):
        return pa.timestamp("us", tz="UTC")
    if isinstance(dtype, pl.List):
        return pa.list_(pa.utf8())
    return {pl.String: pa.utf8(), pl.Int64: pa.int64(), pl.Float64: pa.float64(), pl.Boolean: pa.bool_()}[
        dtype.base_type()
    ]
