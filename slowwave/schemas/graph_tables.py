"""The tables of the graph: entities, who names them, causes, artifacts. `slowwave/schemas/tables.py` lists them."""

import pandera.polars as pa
import polars as pl

from slowwave.schemas import choices
from slowwave.schemas.table_parts import (
    Made,
    Owned,
    Strict,
    Timestamp,
    count,
    key,
    nullable,
    one_of,
    share,
    strings,
)


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
