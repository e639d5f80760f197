"""The layout of tables in LanceDB: columns, vectors, indices and the shape of a full-text query."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl
import pyarrow as pa
from lancedb.query import MatchQuery, MultiMatchQuery

from slowwave.schemas.tables import KEYS, OWNER, VECTOR_TEXT, frame_schema
from slowwave.whole_file import read_plain

SCHEMA_VERSION = 10

MATCHED = {"passages": ("content",), "cells": ("content",), "topics": ("name", "summary")}
"""Columns that full text looks in, together."""
TEXT_INDEX = {**MATCHED, "cells": ("content", "entities", "question")}
"""Columns with a full-text index."""
FILTER_INDEX = {
    "turns": (*OWNER, "embedder_id"),
    "passages": ("scale", *OWNER),
    "cells": ("status", *OWNER, "embedder_id"),
    "topics": (*OWNER, "embedder_id"),
}
"""Columns of few values by which searches filter."""
LOOKUP_INDEX = {
    "turns": ("turn_id", "session_id"),
    "cells": ("cell_id", "superseded_by", "subject", "head_id", "property"),
    "cell_usage": ("cell_id",),
    "entities": ("entity_id", "family"),
    "mentions": ("cell_id", "entity_id", "family"),
    "edges": ("source_id", "target_id"),
    "judgements": ("cell_id", "target_id"),
    "artifacts": ("cell_id", "reference"),
}
"""Columns of many values by which searches look rows up."""
DERIVED = {"cells": ("head_id", "property")}
"""Columns that the store computes when it applies changes (`chain_columns.py`); no event carries them."""
EMBEDDER_OF = {"vector": "embedder_id", "centroid": "centroid_embedder_id"}
"""For each vector column, the column that names its embedder; the empty text says that it must be computed."""

KEYS_A_READ = 2_000
"""Keys of one read: what a condition holds without slowing down."""

META_FILE = "meta.json"
"""The file that holds a generation's `StoreMeta`."""

POINTER = "CURRENT"
"""The file that names the generation in use."""

_GENERATION = re.compile(r"g-[0-9A-Z]{26}")

APPLIED = "applied"
"""The table of segments that are applied."""


@dataclass(frozen=True)
class StoreMeta:
    """The schema of a generation, and the embedder and fit of its vectors; `embedder_id` is empty where it has none.

    `store_id` is the mark that each of its tables carries, so that no other store's is taken for one of them; empty in
    stores made before there was one.
    """

    schema_version: int
    embedder_id: str
    dims: int
    store_id: str = ""


def pointed_at(root: Path) -> str:
    """The generation that the pointer names; empty where it names none.

    Raises:
        OSError: the pointer is missing or cannot be read.
    """
    name = read_plain(root / POINTER).decode(errors="replace").strip()
    return name if _GENERATION.fullmatch(name) else ""


def arrow_schema(table: str, dims: int) -> pa.Schema:
    """Names and types of a stored table, key first, its vectors last."""
    key = KEYS[table]
    fields = [
        pa.field(name, _arrow_type(dtype), nullable=name != key)
        for name, dtype in frame_schema(table).items()
    ]
    fields += [pa.field(name, pa.utf8()) for name in DERIVED.get(table, ())]
    if table in VECTOR_TEXT:
        vector = pa.list_(pa.float32(), dims)
        for name in ("vector", "centroid") if table == "topics" else ("vector",):
            fields += [pa.field(EMBEDDER_OF[name], pa.utf8(), nullable=False), pa.field(name, vector)]
    return pa.schema(fields)


def marked_schema(table: str, meta: StoreMeta) -> pa.Schema:
    """Names and types of a table of this store as it is made: with its own name and its store's as a mark."""
    if table == APPLIED:
        plain = pa.schema([pa.field("segment_id", pa.utf8(), nullable=False)])
    else:
        plain = arrow_schema(table, meta.dims)
    mark = {"slowwave.table": table, "slowwave.store": meta.store_id}
    return plain.with_metadata(mark) if meta.store_id else plain


@cache
def plain_columns(table: str) -> tuple[str, ...]:
    """The columns of a stored table apart from its vectors."""
    return tuple(name for name in arrow_schema(table, 1).names if name not in EMBEDDER_OF)


def full_text_query(text: str, columns: Sequence[str]) -> MatchQuery | MultiMatchQuery:
    """User text as a full-text query: words to match, never query syntax."""
    if len(columns) == 1:
        return MatchQuery(text, columns[0])  # type: ignore[call-arg]  # its stubs call optional arguments required
    return MultiMatchQuery(text, list(columns))  # type: ignore[call-arg]


def left_and_joined(known: pl.DataFrame, rows: pl.DataFrame) -> pl.Series:
    """Topics that cells left or joined between `known` and `rows`."""
    before = known.select("cell_id", before="topic_id")
    moved = rows.select("cell_id", "topic_id").join(before, on="cell_id", how="left")
    moved = moved.filter(pl.col("topic_id").ne_missing(pl.col("before")))
    return pl.concat([moved["topic_id"], moved["before"]])


def _arrow_type(dtype: pl.DataType) -> pa.DataType:
    if isinstance(dtype, pl.Datetime):
        return pa.timestamp("us", tz="UTC")
    if isinstance(dtype, pl.List):
        return pa.list_(pa.utf8())
    return {pl.String: pa.utf8(), pl.Int64: pa.int64(), pl.Float64: pa.float64(), pl.Boolean: pa.bool_()}[
        dtype.base_type()
    ]
