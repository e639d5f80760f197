"""The tables of the graph: entities, who names them, edges, artifacts. `slowwave/schemas/tables.py` lists them."""

import pandera.polars as pa
import polars as pl

from slowwave.schemas.choices import ArtifactType, EntityType, Relation
from slowwave.schemas.table_parts import (
    Made,
    Owned,
    Strict,
    Timestamp,
    count,
    key,
    nullable,
    share,
    strings,
    words,
)


class Entities(Made, Owned):
    """People and things that cells name, each under one name."""

    entity_id: str = key()
    canonical_name: str
    entity_type: str = nullable(isin=words(EntityType))
    aliases: pl.List = strings()
    family: str
    summary: str = nullable()
    mention_count: int = count()
    enriched_count: int = pa.Field(nullable=True, ge=0)
    needs_review: bool
    updated_at: Timestamp


class Mentions(Owned):
    """Which cell names which entity, and how it names it."""

    mention_id: str = key()
    cell_id: str
    entity_id: str
    name: str
    entity_type: str = nullable(isin=words(EntityType))
    family: str
    event_time: Timestamp


class Edges(Made, Owned):
    """Typed relations between cells, turns and sessions."""

    edge_id: str = key()
    source_id: str
    target_id: str
    relation: str = pa.Field(isin=words(Relation))
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
    artifact_type: str = pa.Field(isin=words(ArtifactType))
    reference: str
    event_time: Timestamp


class Links(Strict):
    """Cells whose place in the graph is worked out, with the confirmations that they had then."""

    cell_id: str = key()
    confirmations: int = count()
    linked_at: Timestamp
