"""The tables of the store as strict Pandera models, in one vocabulary of columns.

A column has the same name, meaning and unit in every table; a test holds `data/README.md` against this file. Vectors
are not here: their width belongs to the embedder, so the store adds them to the tables in `VECTOR_TEXT` itself.
"""

from collections.abc import Mapping
from functools import cache
from types import NoneType
from typing import get_args

import pandera.polars as pa
import polars as pl

from slowwave.schemas import choices
from slowwave.schemas.choices import RAW_PROMPT
from slowwave.schemas.table_parts import (
    OWNER,
    TIMESTAMP,
    Dtype,
    Made,
    Owned,
    Sourced,
    Strict,
    Timestamp,
    Tried,
    count,
    key,
    nullable,
    one_of,
    share,
    strings,
)

__all__ = [
    "IMPORTED",
    "KEYS",
    "OWNER",
    "RAW_PROMPT",
    "REMEMBERED",
    "STATED",
    "TABLES",
    "TIMESTAMP",
    "VECTOR_TEXT",
    "Dtype",
    "Timestamp",
    "empty",
    "frame_schema",
]

REMEMBERED = "remembered"
"""`source_id` and `prompt_version` of a person's statement, and the beginning of its session's name."""

IMPORTED = "imported"
"""The same of a memory that another program had written down, and that came from its export."""

STATED = (REMEMBERED, IMPORTED)
"""`source_id` and `prompt_version` of what is kept word by word: no model reads it again."""


class Turns(Sourced, Owned):
    """Messages of conversations and sections of files, immutable."""

    turn_id: str = key()
    turn_index: int = count()
    role: str = pa.Field(isin=["user", "assistant", "document"])
    speaker: str = nullable()
    content: str
    origin: str = one_of(choices.Origin)
    event_time: Timestamp
    recorded_at: Timestamp
    cwd: str = nullable()
    git_branch: str = nullable()
    content_hash: str


class Sources(Owned):
    """Files that were taken in, with the hash they had."""

    source_id: str = key()
    source_type: str = one_of(choices.SourceType)
    source_name: str
    hash: str
    turn_count: int = count()
    indexed_at: Timestamp
    consolidated_at: Timestamp = nullable()


class Chunks(Made, Tried, Sourced, Owned):
    """Windows of consecutive turns, and the state of their extraction."""

    chunk_id: str = key()
    first_turn_index: int = count()
    last_turn_index: int = count()
    first_char: int = count()
    last_char: int = count()
    turn_ids: pl.List = strings()
    content_hash: str
    token_count: int = count()
    event_time: Timestamp
    recorded_at: Timestamp
    status: str = one_of(choices.ChunkStatus)


class Passages(Owned):
    """The raw turns at three scales, for full text: derived from `turns` and `chunks`, never from an event."""

    passage_id: str = key()
    session_id: str
    scale: str = one_of(choices.Scale)
    turn_ids: pl.List = strings()
    content: str
    event_time: Timestamp
    source_type: str = one_of(choices.SourceType)


class Cells(Sourced, Owned):
    """Atomic typed memories with their provenance."""

    cell_id: str = key()
    topic_id: str = nullable()
    topic_hint: str = nullable()
    cell_type: str = one_of(choices.CellType)
    subject: str = nullable()
    attribute: str = nullable()
    value: str = nullable()
    content: str
    question: str = nullable()
    summary: str = nullable()
    compressed: str = nullable()
    index_label: str = nullable()
    steps: pl.List = strings()
    template: str = nullable()
    salience: float = share()
    confidence: float = share()
    is_wish: bool
    status: str = one_of(choices.CellStatus)
    supersedes: str = nullable()
    superseded_by: str = nullable()
    superseded_at: Timestamp = nullable()
    needs_review: bool
    is_judged: bool
    is_summarized: bool
    origin: str = one_of(choices.Origin)
    valid_from: Timestamp
    valid_precision: str = one_of(choices.Precision, nullable=True)
    valid_until: Timestamp = nullable()
    event_time: Timestamp
    recorded_at: Timestamp
    decay_rate: float = pa.Field(ge=0)
    protected: bool
    chunk_id: str = nullable()
    evidence: pl.List = strings()
    entities: pl.List = strings()
    artifacts: pl.List = strings()
    prompt_version: str
    model: str = nullable()
    content_hash: str


class Episodes(Made, Tried, Owned):
    """The state of each conversation as an episode; `cell_id` is the episode's, whose text is in `cells`."""

    cell_id: str = key()
    session_id: str
    status: str = one_of(choices.EpisodeStatus)
    turn_count: int = count()
    written_at: Timestamp = nullable()


class CellUsage(Strict):
    """Counts and times that change often about a cell, apart so that the cell itself is not rewritten."""

    cell_id: str = key()
    last_accessed: Timestamp
    retrieved_at: Timestamp = nullable()
    retrieval_count: int = count()
    citation_count: int = count()
    ignore_count: int = count()
    confirmations: int = count()
    archived_count: int = count()
    archived_at: Timestamp = nullable()
    revived_count: int = count()
    revived_at: Timestamp = nullable()
    demoted_at: Timestamp = nullable()


class Judging(Tried):
    """Failed tries to reconcile a cell."""

    cell_id: str = key()
    status: str = one_of(choices.JudgingStatus)


class Topics(Made, Owned):
    """Themes found in the cells."""

    topic_id: str = key()
    name: str
    summary: str = nullable()
    compressed: str = nullable()
    cell_count: int = count()
    unsummarized_count: int = count()
    needs_review: bool
    summarized_at: Timestamp = nullable()
    updated_at: Timestamp
    merged_into: str = nullable()


class Contradictions(Owned):
    """Pairs of cells that cannot both hold, open until resolved. `cell_a` is the one known longer."""

    contradiction_id: str = key()
    cell_a: str
    cell_b: str
    subject: str = nullable()
    attribute: str = nullable()
    detected_at: Timestamp
    status: str = pa.Field(isin=["open", "resolved"])
    resolution: str = one_of(choices.Resolution, nullable=True)
    resolved_at: Timestamp = nullable()
    note: str = nullable()
    resolution_note: str = nullable()


class Judgements(Made, Owned):
    """Verdicts on pairs of a new cell and a known one; `unjudged` waits for a model."""

    judgement_id: str = key()
    cell_id: str
    target_id: str
    verdict: str = one_of(choices.Verdict)
    effect: str = one_of(choices.Effect)
    reason: str = nullable()
    judged_at: Timestamp


class Usage(Strict):
    """Uses of memories; `folded_at` is null until the counts reached cell usage."""

    usage_id: str = key()
    cell_id: str
    usage_type: str = pa.Field(isin=["retrieved", "cited", "ignored"])
    used_at: Timestamp
    context: str = nullable()
    folded_at: Timestamp = nullable()


class Tombstones(Owned):
    """Deleted memories, that no later run brings back: said again (`content`), or told again (turns in `evidence`)."""

    cell_id: str = key()
    content: str = nullable()
    content_hash: str
    evidence: pl.List = strings()
    deleted_at: Timestamp
    note: str = nullable()


class Erasures(Owned):
    """Turns whose text was erased: keyed digests of their ids and texts, which no later run takes in again."""

    turn_id: str = key()
    source_id: str
    content_hash: str
    erased_at: Timestamp


class Core(Owned):
    """Core memory: the lines of `MEMORY.md`, in order."""

    cell_id: str = key()
    line_rank: int = pa.Field(ge=1)
    line: str
    promoted_at: Timestamp


class Nights(Strict):
    """Nights that ended, for the gate of the next one and for `status`."""

    night_id: str = key()
    started_at: Timestamp
    finished_at: Timestamp
    outcome: str = pa.Field(isin=["completed", "gated", "stopped", "learned"])
    has_llm: bool
    call_count: int = count()
    token_count: int = count()
    cost: float = nullable()
    note: str = nullable()


class Spaces(Strict):
    """Fits of the vector space: what all texts of the home shared, which its vectors leave out."""

    space_id: str = key()
    base_embedder_id: str
    text_count: int = count()
    directions: str
    noise_mean: float = nullable()
    noise_std: float = nullable()
    kin: float = nullable()
    fitted_at: Timestamp


class Entities(Made, Owned):
    """People and things that cells name, each under one name."""

    entity_id: str = key()
    canonical_name: str
    entity_type: str = one_of(choices.EntityType, nullable=True)
    aliases: pl.List = strings()
    family: str
    summary: str = nullable()
    mention_count: int = count()
    enriched_count: int = pa.Field(nullable=True, ge=0)
    needs_review: bool
    updated_at: Timestamp


class Identities(Made, Owned):
    """Descriptions of people ("evans wife") that were held against other people.

    `name` and `same_as` are names without case and signs. The row goes when a memory that it rests on does.
    """

    identity_id: str = key()
    name: str
    same_as: str = nullable()
    mention_count: int = count()
    evidence: pl.List = strings()
    recorded_at: Timestamp


class Mentions(Owned):
    """Entities that cells name, with the name that each cell uses."""

    mention_id: str = key()
    cell_id: str
    entity_id: str
    name: str
    entity_type: str = one_of(choices.EntityType, nullable=True)
    family: str
    event_time: Timestamp


class Edges(Made, Owned):
    """Causes: cells that led to others. Other relations of cells are read from the tables that say them."""

    edge_id: str = key()
    source_id: str
    target_id: str
    relation: str = one_of(choices.Relation)
    predicate: str = nullable()
    weight: float = share()
    confidence: float = share()
    valid_from: Timestamp
    valid_until: Timestamp = nullable()
    evidence: pl.List = strings()
    recorded_at: Timestamp


class Artifacts(Owned):
    """Commits, pull requests, decision records and files that cells name."""

    artifact_id: str = key()
    cell_id: str
    artifact_type: str = one_of(choices.ArtifactType)
    reference: str
    event_time: Timestamp


class Links(Strict):
    """Cells whose place in the graph is worked out, with the confirmations that they had then.

    `examined_at` is when causes were last looked for with this cell among them; null for not yet.
    """

    cell_id: str = key()
    confirmations: int = count()
    linked_at: Timestamp
    examined_at: Timestamp = nullable()


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
    "spaces": Spaces,
    "entities": Entities,
    "identities": Identities,
    "mentions": Mentions,
    "edges": Edges,
    "artifacts": Artifacts,
    "links": Links,
}

TYPES: dict[object, Dtype] = {
    str: pl.String,
    int: pl.Int64,
    float: pl.Float64,
    bool: pl.Boolean,
    Timestamp: TIMESTAMP,
    pl.List: pl.List(pl.String),
}
"""The Polars type of each annotation of a table's model."""

KEYS: dict[str, str] = {name: next(iter(model.__annotations__)) for name, model in TABLES.items()}
"""The column that names a row of each table: the first of its own model."""

VECTOR_TEXT: dict[str, tuple[str, ...]] = {
    "turns": ("speaker", "content"),
    "cells": ("content", "question"),
    "topics": ("name", "summary"),
    "entities": ("canonical_name", "summary"),
    "tombstones": ("content",),
}
"""Tables with a vector, and the columns whose text it is made from, joined by a line break."""


@cache
def frame_schema(table: str) -> pl.Schema:
    """Names and Polars types of a table without its vector, key first, in the model's order.

    Read from the annotations: making Pandera's schemas of all tables takes longer than importing Polars.
    """
    models = [model for model in reversed(TABLES[table].__mro__) if issubclass(model, Strict)]
    types = {name: _type_of(kind) for model in models for name, kind in model.__annotations__.items()}
    key = KEYS[table]
    return pl.Schema({key: types[key], **{name: kind for name, kind in types.items() if name != key}})


def empty(table: str) -> pl.DataFrame:
    """A frame of no rows in the table's shape."""
    return pl.DataFrame(schema=frame_schema(table))


def shaped(rows: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Rows in the columns and types of a schema; a column that is not given is null."""
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None).alias(name)).cast(dtype)
        for name, dtype in schema.items()
    )


def _type_of(annotation: object) -> Dtype:
    """The Polars type of an annotation, with or without `| None`."""
    if annotation in TYPES:
        return TYPES[annotation]
    return next(TYPES[kind] for kind in get_args(annotation) if kind is not NoneType)
