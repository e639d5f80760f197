"""The tables of the graph: entities, who names them, edges, artifacts. `slowwave/schemas/tables.py` lists them."""

from typing import get_args

import pandera.polars as pa
import polars as pl

from slowwave.schemas.choices import ArtifactType, EntityType, Relation
from slowwave.schemas.table_parts import Owned, Timestamp


class Entities(Owned):
    """People and things that cells name, each under one name."""

    entity_id: str = pa.Field(unique=True)
    canonical_name: str
    entity_type: str = pa.Field(nullable=True, isin=list(get_args(EntityType)))
    aliases: pl.List = pa.Field(dtype_kwargs={"inner": pl.String})
    family: str
    summary: str = pa.Field(nullable=True)
    mention_count: int = pa.Field(ge=0)
    enriched_count: int = pa.Field(nullable=True, ge=0)
    needs_review: bool
    updated_at: Timestamp
    prompt_version: str = pa.Field(nullable=True)
    model: str = pa.Field(nullable=True)


class Mentions(Owned):
    """Which cell names which entity, and how it names it."""

    mention_id: str = pa.Field(unique=True)
    cell_id: str
    entity_id: str
    name: str
    entity_type: str = pa.Field(nullable=True, isin=list(get_args(EntityType)))
    family: str
    event_time: Timestamp


class Edges(Owned):
    """Typed relations between cells, turns and sessions."""

    edge_id: str = pa.Field(unique=True)
    source_id: str
    target_id: str
    relation: str = pa.Field(isin=list(get_args(Relation)))
    predicate: str = pa.Field(nullable=True)
    weight: float = pa.Field(ge=0, le=1)
    confidence: float = pa.Field(ge=0, le=1)
    valid_from: Timestamp
    valid_until: Timestamp = pa.Field(nullable=True)
    evidence: pl.List = pa.Field(dtype_kwargs={"inner": pl.String})
    recorded_at: Timestamp
    prompt_version: str = pa.Field(nullable=True)
    model: str = pa.Field(nullable=True)


class Artifacts(Owned):
    """Commits, pull requests, decision records and files that cells name."""

    artifact_id: str = pa.Field(unique=True)
    cell_id: str
    artifact_type: str = pa.Field(isin=list(get_args(ArtifactType)))
    reference: str
    event_time: Timestamp


class Links(pa.DataFrameModel):
    """Cells whose place in the graph is worked out, with the confirmations that they had then."""

    cell_id: str = pa.Field(unique=True)
    confirmations: int = pa.Field(ge=0)
    linked_at: Timestamp

    class Config:
        """Strict: a column that is not named here is a bug."""

        strict = True
