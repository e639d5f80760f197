"""Things that were looked for: fading and archived memories, topics, sources, secrets."""

from datetime import datetime
from pathlib import Path

from pydantic import Field

from slowwave.schemas.moments import Said
from slowwave.schemas.refusals import Frozen


class Fading(Frozen):
    """A memory that will be archived if nobody uses it."""

    cell_id: str
    cell_type: str
    content: str
    event_time: Said
    source_name: str
    whose: str = Field(description="Whose word it is; empty where a person said it.")
    effective_confidence: float
    last_accessed: datetime
    fades_at: datetime
    retrieval_count: int


class ForgottenCell(Frozen):
    """An archived memory that matches the words."""

    cell_id: str
    cell_type: str
    content: str
    subject: str | None
    attribute: str | None
    value: str | None
    match_score: float = Field(description="BM25, from 0, unbounded.")


class TopicSummary(Frozen):
    """A topic with its summary."""

    topic_id: str
    name: str
    summary: str | None = Field(description="null as long as no night has summarized it.")
    cell_count: int
    updated_at: datetime
    project_id: str


class FoundSource(Frozen):
    """A place of a coding agent on this machine that holds something to read."""

    source: str = Field(description="The agent.")
    place: str = Field(description="Its folder.")
    file_count: int
    byte_count: int
    newest_at: datetime = Field(description="When the last of the files was changed.")
    paths: tuple[Path, ...] = Field(exclude=True, description="The files.")


class SecretPlace(Frozen):
    """A secret that redaction would take: where it begins, its kind, and its line without it."""

    file: str
    line: int = Field(ge=1, description="The first line is 1.")
    column: int = Field(ge=1, description="Characters, the first is 1.")
    kind: str
    rule: str
    shown: str = Field(description="What stands around it, with a mark in its place.")
