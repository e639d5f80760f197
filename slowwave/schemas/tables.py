"""The tables of the store as strict Pandera models, in one vocabulary of columns.

A column has the same name, meaning and unit in every table; a test holds `data/README.md` against this file. Vectors
are not here: their width belongs to the embedder, so the store adds them to the tables in `VECTOR_TEXT` itself.
"""

from functools import cache
from typing import Any, get_args

import pandera.polars as pa
import polars as pl

from slowwave.schemas.choices import (
    CellStatus,
    CellType,
    ChunkStatus,
    Effect,
    EpisodeStatus,
    JudgingStatus,
    Origin,
    Resolution,
    Scale,
    SourceType,
    Verdict,
)
from slowwave.schemas.graph_tables import Artifacts, Edges, Entities, Links, Mentions
from slowwave.schemas.table_parts import OWNER, TIMESTAMP, Dtype, Owned, Timestamp

__all__ = [
    "KEYS",
    "OWNER",
    "RAW_PROMPT",
    "TABLES",
    "TIMESTAMP",
    "VECTOR_TEXT",
    "Dtype",
    "Timestamp",
    "empty",
    "frame_schema",
]

RAW_PROMPT = "raw"
"""`prompt_version` of cells that were made without a language model."""


def _one_of(choices: Any) -> Any:
    return pa.Field(isin=list(get_args(choices)))


def _nullable() -> Any:
    return pa.Field(nullable=True)


class Turns(Owned):
    """Messages of conversations and sections of files, immutable."""

    turn_id: str = pa.Field(unique=True)
    session_id: str
    turn_index: int = pa.Field(ge=0)
    role: str = pa.Field(isin=["user", "assistant", "document"])
    speaker: str = _nullable()
    content: str
    origin: str = _one_of(Origin)
    event_time: Timestamp
    recorded_at: Timestamp
    source_type: str = _one_of(SourceType)
    source_id: str
    source_name: str
    cwd: str = _nullable()
    git_branch: str = _nullable()
    content_hash: str


class Sources(Owned):
    """Files that were taken in, with the hash they had."""

    source_id: str = pa.Field(unique=True)
    source_type: str = _one_of(SourceType)
    source_name: str
    hash: str
    turn_count: int = pa.Field(ge=0)
    indexed_at: Timestamp
    consolidated_at: Timestamp = _nullable()


class Chunks(Owned):
    """Windows of consecutive turns, and what became of them."""

    chunk_id: str = pa.Field(unique=True)
    session_id: str
    source_type: str = _one_of(SourceType)
    source_id: str
    source_name: str
    first_turn_index: int = pa.Field(ge=0)
    last_turn_index: int = pa.Field(ge=0)
    first_char: int = pa.Field(ge=0)
    last_char: int = pa.Field(ge=0)
    turn_ids: pl.List = pa.Field(dtype_kwargs={"inner": pl.String})
    content_hash: str
    token_count: int = pa.Field(ge=0)
    event_time: Timestamp
    recorded_at: Timestamp
    status: str = _one_of(ChunkStatus)
    attempts: int = pa.Field(ge=0)
    error: str = _nullable()
    retry_at: Timestamp = _nullable()
    prompt_version: str = _nullable()
    model: str = _nullable()


class Passages(Owned):
    """The raw turns at three scales, for full text: derived from `turns` and `chunks`, never from an event."""

    passage_id: str = pa.Field(unique=True)
    session_id: str
    scale: str = _one_of(Scale)
    turn_ids: pl.List = pa.Field(dtype_kwargs={"inner": pl.String})
    content: str
    event_time: Timestamp
    source_type: str = _one_of(SourceType)


class Cells(Owned):
    """Atomic typed memories with their provenance."""

    cell_id: str = pa.Field(unique=True)
    topic_id: str = _nullable()
    topic_hint: str = _nullable()
    cell_type: str = _one_of(CellType)
    subject: str = _nullable()
    attribute: str = _nullable()
    value: str = _nullable()
    content: str
    summary: str = _nullable()
    compressed: str = _nullable()
    index_label: str = _nullable()
    steps: pl.List = pa.Field(dtype_kwargs={"inner": pl.String})
    template: str = _nullable()
    salience: float = pa.Field(ge=0, le=1)
    confidence: float = pa.Field(ge=0, le=1)
    status: str = _one_of(CellStatus)
    supersedes: str = _nullable()
    superseded_by: str = _nullable()
    superseded_at: Timestamp = _nullable()
    needs_review: bool
    is_judged: bool
    is_summarized: bool
    origin: str = _one_of(Origin)
    valid_from: Timestamp
    valid_until: Timestamp = _nullable()
    event_time: Timestamp
    recorded_at: Timestamp
    decay_rate: float = pa.Field(ge=0)
    protected: bool
    chunk_id: str = _nullable()
    session_id: str
    source_type: str = _one_of(SourceType)
    source_id: str
    source_name: str
    evidence: pl.List = pa.Field(dtype_kwargs={"inner": pl.String})
    entities: pl.List = pa.Field(dtype_kwargs={"inner": pl.String})
    artifacts: pl.List = pa.Field(dtype_kwargs={"inner": pl.String})
    prompt_version: str
    model: str = _nullable()
    content_hash: str


class Episodes(Owned):
    """What became of a conversation as an episode; `cell_id` is the episode's. The text itself is in `cells`."""

    cell_id: str = pa.Field(unique=True)
    session_id: str
    status: str = _one_of(EpisodeStatus)
    turn_count: int = pa.Field(ge=0)
    attempts: int = pa.Field(ge=0)
    error: str = _nullable()
    retry_at: Timestamp = _nullable()
    written_at: Timestamp = _nullable()
    prompt_version: str = _nullable()
    model: str = _nullable()


class CellUsage(pa.DataFrameModel):
    """What changes often about a cell, kept narrow so that the cell itself is not rewritten."""

    cell_id: str = pa.Field(unique=True)
    last_accessed: Timestamp
    retrieved_at: Timestamp = _nullable()
    retrieval_count: int = pa.Field(ge=0)
    citation_count: int = pa.Field(ge=0)
    ignore_count: int = pa.Field(ge=0)
    confirmations: int = pa.Field(ge=0)
    archived_count: int = pa.Field(ge=0)
    archived_at: Timestamp = _nullable()
    revived_count: int = pa.Field(ge=0)
    revived_at: Timestamp = _nullable()

    class Config:
        """Strict: a column that is not named here is a bug."""

        strict = True


class Judging(pa.DataFrameModel):
    """How reconciliation stands with a cell: tries that failed, and when its neighbours were last looked at."""

    cell_id: str = pa.Field(unique=True)
    status: str = _one_of(JudgingStatus)
    attempts: int = pa.Field(ge=0)
    error: str = _nullable()
    retry_at: Timestamp = _nullable()
    scanned_at: Timestamp = _nullable()

    class Config:
        """Strict: a column that is not named here is a bug."""

        strict = True


class Topics(Owned):
    """Themes found in the cells."""

    topic_id: str = pa.Field(unique=True)
    name: str
    summary: str = _nullable()
    compressed: str = _nullable()
    cell_count: int = pa.Field(ge=0)
    unsummarized_count: int = pa.Field(ge=0)
    needs_review: bool
    summarized_at: Timestamp = _nullable()
    updated_at: Timestamp
    merged_into: str = _nullable()
    prompt_version: str = _nullable()
    model: str = _nullable()


class Contradictions(Owned):
    """Pairs of cells that cannot both hold, open until resolved. `cell_a` is the one known longer."""

    contradiction_id: str = pa.Field(unique=True)
    cell_a: str
    cell_b: str
    subject: str = _nullable()
    attribute: str = _nullable()
    detected_at: Timestamp
    status: str = pa.Field(isin=["open", "resolved"])
    resolution: str = pa.Field(nullable=True, isin=list(get_args(Resolution)))
    resolved_at: Timestamp = _nullable()
    note: str = _nullable()
    resolution_note: str = _nullable()


class Judgements(Owned):
    """What was decided about a pair of a new cell and a known one; `unjudged` waits for a model."""

    judgement_id: str = pa.Field(unique=True)
    cell_id: str
    target_id: str
    verdict: str = _one_of(Verdict)
    effect: str = _one_of(Effect)
    reason: str = _nullable()
    judged_at: Timestamp
    prompt_version: str = _nullable()
    model: str = _nullable()


class Usage(pa.DataFrameModel):
    """How memories were used; `folded_at` is null until the counts reached cell usage."""

    usage_id: str = pa.Field(unique=True)
    cell_id: str
    usage_type: str = pa.Field(isin=["retrieved", "cited", "ignored"])
    used_at: Timestamp
    context: str = _nullable()
    folded_at: Timestamp = _nullable()

    class Config:
        """Strict: a column that is not named here is a bug."""

        strict = True


class Tombstones(Owned):
    """Deleted memories, that no later run brings back: said again (`content`), or told again (turns in `evidence`)."""

    cell_id: str = pa.Field(unique=True)
    content: str = _nullable()
    content_hash: str
    evidence: pl.List = pa.Field(dtype_kwargs={"inner": pl.String})
    deleted_at: Timestamp
    note: str = _nullable()


class Erasures(Owned):
    """Turns whose text was erased: what no later run takes in again. Nothing of the text is kept."""

    turn_id: str = pa.Field(unique=True)
    source_id: str
    content_hash: str
    erased_at: Timestamp


class Core(Owned):
    """Core memory: the lines of `MEMORY.md`, in order."""

    cell_id: str = pa.Field(unique=True)
    line_rank: int = pa.Field(ge=1)
    line: str
    promoted_at: Timestamp


class Nights(pa.DataFrameModel):
    """Nights that ended, for the gate of the next one and for `status`."""

    night_id: str = pa.Field(unique=True)
    started_at: Timestamp
    finished_at: Timestamp
    outcome: str = pa.Field(isin=["completed", "gated", "stopped"])
    has_llm: bool
    call_count: int = pa.Field(ge=0)
    token_count: int = pa.Field(ge=0)
    cost: float = _nullable()
    note: str = _nullable()

    class Config:
        """Strict: a column that is not named here is a bug."""

        strict = True


TABLES: dict[str, type[pa.DataFrameModel]] = {
    "turns": Turns,
    "sources": Sources,
    "chunks": Chunks,
    "passages": Passages,
    "cells": Cells,
    "episodes": Episodes,
    "cell_usage": CellUsage,
    "judging": Judging,
    "topics": Topics,
    "contradictions": Contradictions,
    "judgements": Judgements,
    "usage": Usage,
    "tombstones": Tombstones,
    "erasures": Erasures,
    "core": Core,
    "nights": Nights,
    "entities": Entities,
    "mentions": Mentions,
    "edges": Edges,
    "artifacts": Artifacts,
    "links": Links,
}

KEYS: dict[str, str] = {
    "turns": "turn_id",
    "sources": "source_id",
    "chunks": "chunk_id",
    "passages": "passage_id",
    "cells": "cell_id",
    "episodes": "cell_id",
    "cell_usage": "cell_id",
    "judging": "cell_id",
    "topics": "topic_id",
    "contradictions": "contradiction_id",
    "judgements": "judgement_id",
    "usage": "usage_id",
    "tombstones": "cell_id",
    "erasures": "turn_id",
    "core": "cell_id",
    "nights": "night_id",
    "entities": "entity_id",
    "mentions": "mention_id",
    "edges": "edge_id",
    "artifacts": "artifact_id",
    "links": "cell_id",
}

VECTOR_TEXT: dict[str, tuple[str, ...]] = {
    "turns": ("speaker", "content"),
    "cells": ("content",),
    "topics": ("name", "summary"),
    "entities": ("canonical_name", "summary"),
    "tombstones": ("content",),
}
"""Tables with a vector, and the columns whose text it is made from, joined by a line break."""


@cache
def frame_schema(table: str) -> pl.Schema:
    """Names and Polars types of a table without its vector, key first, in the model's order."""
    columns = TABLES[table].to_schema().columns
    types = {name: column.dtype.type for name, column in columns.items()}
    key = KEYS[table]
    return pl.Schema({key: types[key], **{name: kind for name, kind in types.items() if name != key}})


def empty(table: str) -> pl.DataFrame:
    """A frame of no rows in the table's shape."""
    return pl.DataFrame(schema=frame_schema(table))
