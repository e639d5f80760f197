"""Writing one generation of the store: for the holder of the writer lock alone (`slowwave/home/paths.py`)."""

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import cast

import pandera.errors
import polars as pl
import pyarrow as pa
from lancedb.index import FTS, Bitmap, BTree, IvfSq

from slowwave.errors import ContractError
from slowwave.journal.changes import TableChange, overlay
from slowwave.schemas.tables import KEYS, TABLES, VECTOR_TEXT, frame_schema
from slowwave.store.chain_columns import with_chains
from slowwave.store.checking import assert_rows
from slowwave.store.conditions import col, on_disk
from slowwave.store.damage import writing
from slowwave.store.index import Embed
from slowwave.store.layout import (
    APPLIED,
    EMBEDDER_OF,
    FILTER_INDEX,
    KEYS_A_READ,
    LOOKUP_INDEX,
    META_FILE,
    POINTER,
    TEXT_INDEX,
    arrow_schema,
    left_and_joined,
    marked_schema,
    pointed_at,
)
from slowwave.store.passages import changed_passages
from slowwave.store.reading import MOST_EMBEDDED, VECTOR_INDEX_ROWS, StoreReader
from slowwave.whole_file import write_whole

LARGE_ROWS = 20_000
"""Below it taking rows into the indices is cheap, and done at once."""

STALE_SHARE = 0.02
"""Rows outside the indices of a large table: 4,000 of 200,000 cost a search 2 ms."""

MOST_FRAGMENTS = 200

FEW_FRAGMENTS = 8
"""Pieces of a small table that cost a read next to nothing."""

INDEXED_ROWS = 2_000
"""Rows from which an index of a column is read faster than the column."""


class Store(StoreReader):
    """A generation that is also written."""

    def make_tables(self) -> None:
        """Create every table, empty. A generation without all of them is not made current."""
        with writing(self.root):
            for table in (*TABLES, APPLIED):
                self.stored.db.create_table(table, schema=marked_schema(table, self.meta))

    def name_space(self, embedder_id: str) -> None:
        """Say which embedder and fit this generation's vectors are of, before it has any."""
        self.meta = self.stored.meta = replace(self.meta, embedder_id=embedder_id)
        write_whole(self.root / self.name / META_FILE, json.dumps(asdict(self.meta)))
        self._stamp = self._stamp_now()

    def forget_vectors(self) -> None:
        """Drop all vectors and their indices, to be computed anew: for a generation that nobody reads yet.

        The columns are made anew, empty: no row is read or written, and the old vectors go with the next compaction.
        """
        for table in VECTOR_TEXT:
            handle, before = self.stored.table(table), int(self.stored.table(table).version)
            shape = arrow_schema(table, self.meta.dims)
            columns = [name for name in shape.names if name in {*EMBEDDER_OF, *EMBEDDER_OF.values()}]
            for index in handle.list_indices():
                if {*index.columns} & {*columns}:
                    handle.drop_index(index.name)
            handle.drop_columns(columns)
            for name in columns:  # one by one, in their order
                handle.add_columns(shape.field(name) if name in EMBEDDER_OF else {name: "''"})
            self.stored.wrote(table, before)

    def make_current(self) -> None:
        """Switch readers to this generation and remove generations before the last one."""
        try:
            before = pointed_at(self.root)
        except OSError:
            before = ""
        write_whole(self.root / POINTER, self.name)
        for folder in self.root.glob("g-*"):
            if folder.name not in {self.name, before}:
                shutil.rmtree(folder, ignore_errors=True)

    def is_current(self) -> bool:
        """Return whether readers find this generation."""
        try:
            return pointed_at(self.root) == self.name
        except OSError:
            return False

    def discard(self) -> None:
        """Remove a generation that did not become current."""
        shutil.rmtree(self.root / self.name, ignore_errors=True)

    def apply(self, changes: dict[str, TableChange], *, embed: Embed | None = None) -> None:
        """Write collapsed changes. Applying twice changes nothing.

        With `embed` few new texts are written with their vectors, and not a second time for these.

        Raises:
            ContractError: a row breaks its table's model, or the store did not write what it was given.
            TransientError: the disk is full or the folder cannot be written.
            DamageError: a table cannot be read or written as it is.
        """
        with writing(self.root):
            for change in changes.values():
                self._apply_table(change, embed)
            self._upsert("passages", changed_passages(self.stored, changes))
            self.ensure_text_indices([*changes, "passages"])
        if self._index is not None:
            self._index.look()

    def mark_applied(self, segment_ids: Sequence[str]) -> None:
        """Note that segments are in the tables; call it after `apply`."""
        if not segment_ids:
            return
        with writing(self.root):
            self.stored.table(APPLIED).add(pa.table({"segment_id": pa.array(list(segment_ids), pa.utf8())}))

    def put_vectors(self, table: str, frame: pl.DataFrame, *, column: str = "vector") -> None:
        """Store vectors for known rows: `frame` holds the key and `column` (list or array of float, dims wide)."""
        if frame.is_empty():
            return
        key = KEYS[table]
        names = self._all_columns(table)
        known = self.stored.by_key(table, frame[key], names)
        fresh = frame.select(key, pl.col(column).cast(pl.Array(pl.Float32, self.meta.dims)))
        full = known.drop(column).join(fresh, on=key, how="inner", maintain_order="left")
        named = {EMBEDDER_OF[column]: pl.lit(self.meta.embedder_id)}
        self._upsert(table, full.with_columns(**named).select(names))

    def ensure_text_indices(self, tables: Iterable[str]) -> None:
        """Make the full-text indices of tables that have rows and no index yet."""
        config = FTS(stem=True, remove_stop_words=False, ascii_folding=True, with_position=False)
        for table in set(tables) & set(TEXT_INDEX):
            if not self._has_text_index(table) and self.stored.table(table).count_rows() > 0:
                for column in TEXT_INDEX[table]:
                    self.stored.table(table).create_index(column, config=config)

    def optimize(self, *, keep_versions: timedelta, vector_index_rows: int = VECTOR_INDEX_ROWS) -> int:
        """Compact, fold new rows into the indices, drop old versions, and make vector indices where they pay.

        Returns the number of rows.
        """
        total = 0
        for table in (*TABLES, APPLIED):
            handle = self.stored.table(table)
            rows, before = handle.count_rows(), int(handle.version)
            is_large = table in VECTOR_TEXT and rows >= vector_index_rows
            if is_large and not any("vector" in index.columns for index in handle.list_indices()):
                handle.create_index("vector", config=IvfSq(distance_type="cosine"))
            if rows >= INDEXED_ROWS:
                self._index_columns(table)
            # a night that changed a few rows leaves a table as it is
            few = FEW_FRAGMENTS if rows < LARGE_ROWS else MOST_FRAGMENTS
            if self._has_grown(table, rows, most_fragments=few):
                handle.optimize(cleanup_older_than=keep_versions)
            if table in TABLES:
                self.stored.wrote(table, before)
            total += rows
        return total

    def index_if_stale(self, table: str) -> None:
        """Take new rows into the indices once there are enough of them.

        LanceDB writes a full-text index anew each time, and a search scans what is not in it: in a large table a
        night's few rows wait until they are `STALE_SHARE` of it, so that the work follows what is new.
        """
        rows = self.stored.table(table).count_rows()
        if rows < LARGE_ROWS or self._has_grown(table, rows, most_fragments=MOST_FRAGMENTS):
            self.index_new_rows(table)

    def _has_grown(self, table: str, rows: int, *, most_fragments: int) -> bool:
        handle = self.stored.table(table)
        sizes = cast("dict[str, dict[str, int]]", handle.stats())  # a dict, whatever its annotation says
        if sizes["fragment_stats"]["num_fragments"] > most_fragments:
            return True
        outside = [index.num_unindexed_rows or 0 for index in handle.list_indices()]
        return max(outside, default=0) > STALE_SHARE * rows

    def index_new_rows(self, table: str) -> None:
        """Take new and changed rows into the table's indices: before many searches, since each scans the rest."""
        before = int(self.stored.table(table).version)
        self.stored.table(table).optimize()
        self.stored.wrote(table, before)

    # -- inside

    def _apply_table(self, change: TableChange, embed: Embed | None) -> None:
        table, key = change.table, KEYS[change.table]
        if len(change.removed):
            gone = self.stored.by_key(table, change.removed, self._all_columns(table))
            if table == "cells":  # first: cut off in between, nothing would tell that members had left
                self._forget_centroids(gone["topic_id"])
                none = gone.clear()
                self._upsert("cells", with_chains(self.stored, none, none, gone, none.columns))
            before = int(self.stored.table(table).version)
            for start in range(0, gone.height, KEYS_A_READ):
                self.stored.table(table).delete(
                    on_disk(col(key).isin(gone[key][start : start + KEYS_A_READ].to_list()))
                )
            self.stored.wrote(table, before, removed=gone[key])
        if change.rows.is_empty():
            return
        known = self.stored.by_key(table, change.rows[key], self._all_columns(table))
        rows = overlay(change, known.select(frame_schema(table).names()))
        self._check(table, rows)
        if table in VECTOR_TEXT:
            rows = self._with_known_vectors(table, rows, known)
            rows = self._embedded(table, rows, embed) if embed is not None else rows
        if table == "cells":
            self._forget_centroids(left_and_joined(known, rows))
            rows = with_chains(self.stored, rows, known, known.clear(), rows.columns)
        self._upsert(table, rows, are_new=known.is_empty() and rows.height == change.rows.height)

    def _with_known_vectors(self, table: str, rows: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
        """Rows with the known vectors of unchanged texts; the others wait for a new one."""
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

    def _embedded(self, table: str, rows: pl.DataFrame, embed: Embed) -> pl.DataFrame:
        """Rows with vectors for the texts that wait for one, where these are few."""
        text = pl.concat_str(VECTOR_TEXT[table], separator="\n", ignore_nulls=True)
        waits = (pl.col(EMBEDDER_OF["vector"]) == "") & (text != "")
        waiting = rows.filter(waits).select(KEYS[table], text=text)
        if waiting.is_empty() or waiting.height > MOST_EMBEDDED:
            return rows
        made = pl.Series(embed(waiting["text"].to_list()), dtype=pl.Array(pl.Float32, self.meta.dims))
        fresh = waiting.select(KEYS[table], vector=made).drop_nulls("vector")
        named = fresh.with_columns(pl.lit(self.meta.embedder_id).alias(EMBEDDER_OF["vector"]))
        return rows.cast({"vector": made.dtype}).update(named, on=KEYS[table])

    def _forget_centroids(self, topic_ids: pl.Series) -> None:
        """Drop the centroids of topics whose members change, to be computed anew; an emptied topic has none."""
        topics = self.stored.by_key("topics", topic_ids.drop_nulls().unique(), self._all_columns("topics"))
        if topics.height:
            nothing = pl.lit(None, dtype=topics.schema["centroid"])
            gone = topics.with_columns(nothing.alias("centroid"), pl.lit("").alias(EMBEDDER_OF["centroid"]))
            self._upsert("topics", gone)

    def _upsert(self, table: str, rows: pl.DataFrame, *, are_new: bool = False) -> None:
        """Put rows in the place of those with their keys; rows of which none is there are appended, for less work."""
        if rows.is_empty():
            return
        shape = arrow_schema(table, self.meta.dims)
        data = rows.to_arrow().select(shape.names).cast(shape)
        handle = self.stored.table(table)
        before = int(handle.version)
        with writing(self.root):  # a row without a vector yet is no error
            if are_new:
                handle.add(data, on_bad_vectors="null")
                written = rows.height
            else:
                merge = (
                    handle.merge_insert(KEYS[table]).when_matched_update_all().when_not_matched_insert_all()
                )
                result = merge.execute(data, on_bad_vectors="null")
                written = result.num_inserted_rows + result.num_updated_rows
        self.stored.wrote(table, before, rows=rows)
        if written != rows.height:
            raise ContractError(
                f"the store wrote {written} of {rows.height} rows of {table}; run `slowwave run rebuild`"
            )

    def _check(self, table: str, rows: pl.DataFrame) -> None:
        try:
            assert_rows(table, rows)
        except pandera.errors.SchemaErrors as error:
            cases = error.failure_cases.select("column", "check").unique().sort("column", "check")
            raise ContractError(
                f"rows for table {table!r} break its schema: {cases.head(3).to_dicts()}"
            ) from error

    def _index_columns(self, table: str) -> None:
        """Indices of the columns that searches filter and look up by; without them every query reads these whole."""
        indexed = {name for index in self.stored.table(table).list_indices() for name in index.columns}
        for columns, config in ((FILTER_INDEX, Bitmap()), (LOOKUP_INDEX, BTree())):
            for column in set(columns.get(table, ())) - indexed:
                self.stored.table(table).create_index(column, config=config)
