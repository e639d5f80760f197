"""The catalogue of journal events: one row a kind, with its payload and the changes of tables that it asks for.

One event is one line; its payload is flat, so that a frame of events of one kind is a frame of rows. A raw
event says what came in, a derived one what was decided, naming the prompt version and model behind it. Payloads carry
absolute values, never increments: folding twice is folding once. `docs/events.md` says what each kind means, and a test
holds it against this file.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

import polars as pl

from slowwave.journal.event_kind import (
    RECORDED,
    EventKind,
    Value,
    birth,
    derived,
    patch,
    raw,
    removals,
    row_of,
    whole,
)
from slowwave.schemas.moments import day_of
from slowwave.schemas.tables import IMPORTED, TIMESTAMP

SCAN_SCHEMA = pl.Schema(
    {
        "segment_id": pl.String(),
        "event_id": pl.String(),
        "kind": pl.String(),
        "version": pl.Int64(),
        "recorded_at": TIMESTAMP,
        "payload": pl.String(),
    }
)
"""A scanned journal: one row an event in segment order, the payload as JSON text."""


OF_EPISODES = (
    "cell_id OWNER session_id source_type source_id source_name subject content summary compressed index_label "
    "salience confidence origin valid_from valid_until event_time decay_rate evidence artifacts MADE_BY "
    "content_hash turn_count cell_ids"
)
"""Columns of a cell that `episode.written` carries; an episode is born with fixed values in the others."""

OF_IMPORTS = (
    "cell_id topic_id status supersedes superseded_by superseded_at valid_until needs_review is_judged is_summarized "
    "protected confidence evidence summary last_accessed retrieved_at retrieval_count citation_count ignore_count "
    "confirmations archived_count archived_at revived_count revived_at imported_from"
)
"""State and use of a memory that came from another home: all that changed since it was made there."""


def _with_note(said: str, note: object) -> str:
    return f"{said}: {note}" if note else said


def _causes(rows: pl.DataFrame) -> pl.DataFrame:
    """Edges from causes to effects; older versions also drew what other tables say."""
    return rows.filter(pl.col("relation") == "causal")


def _named_cells(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each cell that a topic's summary names."""
    return rows.select("order", cell_id="cell_ids").explode("cell_id").drop_nulls()


TRIES_OVER: dict[str, Value] = {"attempts": 0, "error": None, "retry_at": None}
NO_SUMMARY: dict[str, Value] = {"summary": None, "prompt_version": None, "model": None}
USAGE_AT_BIRTH = birth(
    "cell_usage",
    last_accessed=RECORDED,  # what was learned today was not yet there to be used
    retrieval_count=0,
    citation_count=0,
    ignore_count=0,
    confirmations=0,
    archived_count=0,
    revived_count=0,
)
EPISODE_AT_BIRTH = birth(
    "cells",
    cell_type="episode",
    status="active",
    is_judged=True,  # an episode is neither judged against other memories
    is_summarized=True,  # nor part of a topic
    needs_review=False,
    protected=False,
    is_wish=False,
    recorded_at=RECORDED,
)
PUT_BACK = patch("cell_usage", demoted_at=None).taking()
TO_TOMBSTONE = [whole("tombstones", deleted_at=RECORDED), *removals("cells", "cell_usage", "judging", "core")]

SETTLED = patch("judging", status="settled", **TRIES_OVER).taking()


KINDS = (
    raw("turn.recorded", row_of("turns"), whole("turns", recorded_at=RECORDED)),
    raw("source.recorded", row_of("sources"), whole("sources")),
    raw("usage.recorded", row_of("usage", without=("folded_at",)), birth("usage")),
    raw(
        "cell.deleted",
        "cell_id content_hash note OWNER content evidence",
        *TO_TOMBSTONE,
        added=({"content": None}, {"evidence": []}),
        status="deleted",
        sentence=lambda row: _with_note("deleted by a person", row["note"]),
    ),
    raw("chunk.released", "chunk_id", patch("chunks", status="pending", **TRIES_OVER)),
    derived("chunk.cut", row_of("chunks"), birth("chunks", recorded_at=RECORDED)),
    derived(
        "chunk.gated",
        "chunk_id is_worth reason MADE_BY",
        patch("chunks", status="gated_out").of(lambda rows: rows.filter(~pl.col("is_worth"))),
    ),
    derived(
        "chunk.extracted",
        "chunk_id cell_count rejected_count MADE_BY",
        patch("chunks", status="extracted", error=None, retry_at=None),
    ),
    derived("chunk.failed", "chunk_id TRIED MADE_BY", patch("chunks")),
    derived(
        "cell.extracted",
        row_of("cells"),
        birth("cells", recorded_at=RECORDED),
        USAGE_AT_BIRTH,
        added=(
            {"steps": [], "template": None},
            {"valid_precision": None},
            {"is_wish": False},
            {"question": None},
        ),
        sentence=lambda row: (
            "written down by another program"
            if row["prompt_version"] == IMPORTED
            else f"made, by {row['model'] or row['prompt_version']}"
        ),
    ),
    derived(
        "cell.imported",
        OF_IMPORTS,
        patch("cell_usage"),
        patch("cells"),
        sentence=lambda row: f"imported from {row['imported_from']}",
    ),
    derived(
        "cell.confirmed",
        "cell_id confirmed_by confirmations evidence last_accessed MADE_BY",
        patch("cell_usage"),
        patch("cells").taking("evidence"),
        sentence=lambda row: f"confirmed ({row['confirmations']} times): {row['confirmed_by']}",
    ),
    derived(
        "cell.merged",
        "cell_id superseded_by superseded_at",
        patch("cells"),
        status="superseded",
        sentence=lambda row: f"lives on in {row['superseded_by']}",
    ),
    derived(
        "cell.retired",
        "cell_id superseded_at",
        patch("cells"),
        status="superseded",
        sentence=lambda _: "made way",
    ),
    derived(
        "cell.superseded",
        "cell_id superseded_by superseded_at valid_until verdict MADE_BY",
        # the prompt and the model behind a judgement are not those behind the memory
        patch("cells").taking("superseded_by", "superseded_at", "valid_until"),
        status="superseded",
        sentence=lambda row: f"{row['verdict']}: superseded by {row['superseded_by']}",
    ),
    derived(
        "cell.succeeded",
        "cell_id supersedes summary MADE_BY",
        patch("cells").taking("supersedes", "summary"),
        sentence=lambda row: (
            f"took the place of {row['supersedes']}"
            if row["supersedes"]
            else "it took the place of nothing any more"
        ),
    ),
    derived("cell.labelled", "cell_id compressed index_label", patch("cells")),
    derived(
        "cell.judged",
        "cell_id",
        patch("cells", is_judged=True),
        SETTLED,
    ),
    derived(
        "cell.flagged",
        "cell_id reason",
        patch("cells", needs_review=True),
        sentence=lambda row: f"needs review: {row['reason']}",
    ),
    derived(
        "cell.archived",
        "cell_id effective_confidence reason archived_count",
        patch("cell_usage", archived_at=RECORDED),
        patch("cells"),
        added=({"archived_count": 1},),
        status="archived",
        sentence=lambda row: f"archived: {row['reason']}",
    ),
    derived(
        "cell.revived",
        "cell_id revived_count last_accessed reason",
        patch("cell_usage", revived_at=RECORDED),
        patch("cells"),
        added=({"reason": None},),
        status="active",
        sentence=lambda _: "back from the archive",
    ),
    derived(
        "cell.pruned",
        "cell_id reason",
        *removals("cells", "cell_usage", "judging"),
        sentence=lambda row: f"pruned: {row['reason']}",
    ),
    derived("cell.assigned", "cell_id topic_id similarity", patch("cells")),
    derived(
        "episode.written",
        OF_EPISODES,
        # told anew, the text of an episode changes, and what happened to the memory stays
        EPISODE_AT_BIRTH,
        patch("cells", recorded_at=RECORDED, needs_review=False),
        USAGE_AT_BIRTH,
        whole("episodes", status="written", attempts=0, written_at=RECORDED),
    ),
    derived(
        "episode.failed",
        "cell_id OWNER session_id status turn_count attempts error retry_at MADE_BY",
        birth("episodes"),
        patch("episodes").taking("status", "turn_count", "attempts", "error", "retry_at"),
    ),
    derived("episode.dropped", "cell_id reason", *removals("cells", "cell_usage", "episodes", "core")),
    raw("episode.released", "cell_id", patch("episodes", status="failed", **TRIES_OVER)),
    raw("judging.released", "cell_id", SETTLED),
    derived(
        "cell.reviewed",
        "cell_id verdict reason MADE_BY",
        patch("cells", needs_review=False).taking(),
        SETTLED,
    ),
    derived(
        "cell.reinstated",
        "cell_id",
        patch("cells", superseded_by=None, superseded_at=None, valid_until=None),
        status="active",
        sentence=lambda _: "holds by itself again: another value held in between",
    ),
    derived("judging.failed", "cell_id TRIED MADE_BY", whole("judging")),
    raw(
        "cell.protected",
        "cell_id confidence note",
        patch("cells", protected=True),
        PUT_BACK,
        sentence=lambda row: _with_note("confirmed by a person", row["note"]),
    ),
    raw(
        "cell.restored",
        "cell_id status superseded_by superseded_at valid_until",
        patch("cells"),
        sentence=lambda row: f"{row['status']} again, by a person's word",
    ),
    raw(
        "cell.dated",
        "cell_id valid_from",
        patch("cells"),
        sentence=lambda row: f"true since {day_of(cast('datetime', row['valid_from']))}, as a person said",
    ),
    raw("cell.readmitted", "cell_id", *removals("tombstones")),
    raw("cell.erased", "cell_id content_hash OWNER", *TO_TOMBSTONE),
    raw(
        "turn.erased",
        "turn_id source_id content_hash OWNER",
        whole("erasures", erased_at=RECORDED),
        *removals("turns"),
    ),
    derived(
        "cell_usage.folded",
        row_of("cell_usage", without=("archived_count", "archived_at", "revived_at", "demoted_at")),
        patch("cell_usage"),
        added=({"retrieved_at": None},),
    ),
    derived("usage.folded", "usage_id", patch("usage", folded_at=RECORDED)),
    derived(
        "cell.linked",
        "cell_id confirmations",
        birth("links", linked_at=RECORDED),
        patch("links", linked_at=RECORDED),
    ),
    derived("cell.examined", "cell_id", patch("links", examined_at=RECORDED)),
    derived("cell.unlinked", "cell_id", *removals("links")),
    derived(
        "topic.opened",
        "topic_id name OWNER MADE_BY",
        birth("topics", cell_count=0, unsummarized_count=0, needs_review=False, updated_at=RECORDED),
        added=({"prompt_version": None, "model": None},),
    ),
    derived("topic.counted", "topic_id cell_count unsummarized_count", patch("topics")),
    derived("topic.merged", "topic_id merged_into", patch("topics")),
    derived("topic.renamed", "topic_id name", patch("topics")),
    derived(
        "topic.summarized",
        "topic_id summary compressed cell_ids MADE_BY",
        patch(
            "topics", summarized_at=RECORDED, updated_at=RECORDED, unsummarized_count=0, needs_review=False
        ),
        patch("cells", is_summarized=True).of(_named_cells),
    ),
    derived("topic.flagged", "topic_id reason", patch("topics", needs_review=True)),
    derived(
        "pair.judged", row_of("judgements", without=("judged_at",)), whole("judgements", judged_at=RECORDED)
    ),
    derived(
        "contradiction.opened",
        "contradiction_id cell_a cell_b subject attribute note OWNER MADE_BY",
        birth("contradictions", status="open", detected_at=RECORDED),
    ),
    derived("contradiction.imported", row_of("contradictions", without=()), birth("contradictions")),
    derived(
        "contradiction.closed",
        "contradiction_id resolution note",
        patch("contradictions", status="resolved", resolved_at=RECORDED),
    ),
    raw(
        "contradiction.resolved",
        "contradiction_id resolution resolution_note winner_id",
        patch("contradictions", status="resolved", resolved_at=RECORDED),
        added=({},),
    ),
    raw(
        "contradiction.reopened",
        "contradiction_id",
        patch("contradictions", status="open", resolution=None, resolution_note=None, resolved_at=None),
    ),
    derived(
        "topic.unsummarized",
        "topic_id cell_ids reason",
        patch("topics", **NO_SUMMARY, compressed=None, summarized_at=None, needs_review=True),
        patch("cells", is_summarized=False).of(_named_cells),
    ),
    derived(
        "core.promoted",
        row_of("core", "reason MADE_BY", without=("promoted_at",)),
        whole("core", promoted_at=RECORDED),
        PUT_BACK,
        sentence=lambda row: f"line {row['line_rank']} of core memory",
    ),
    derived("core.moved", "cell_id line_rank", patch("core")),
    derived(
        "core.demoted",
        "cell_id reason",
        *removals("core"),
        sentence=lambda row: f"left core memory: {row['reason']}",
    ),
    raw(
        "core.struck",
        "cell_id",
        *removals("core"),
        patch("cell_usage", demoted_at=RECORDED),
        sentence=lambda _: "a person took it out of core memory",
    ),
    derived(
        "entity.resolved",
        "entity_id OWNER canonical_name entity_type aliases family mention_count",
        # a new entity is born without a summary; a known one keeps the one that it has
        birth("entities", needs_review=False, updated_at=RECORDED),
        patch("entities", updated_at=RECORDED),
    ),
    derived("entity.merged", "entity_id merged_into", *removals("entities")),
    derived("entity.dropped", "entity_id", *removals("entities")),
    derived(
        "entity.enriched",
        "entity_id summary enriched_count MADE_BY",
        patch("entities", needs_review=False, updated_at=RECORDED),
    ),
    derived("entity.flagged", "entity_id reason", patch("entities", needs_review=True)),
    derived(
        "entity.unsummarized",
        "entity_id reason",
        patch("entities", **NO_SUMMARY, enriched_count=None, needs_review=False),
    ),
    derived("identity.recorded", row_of("identities"), whole("identities", recorded_at=RECORDED)),
    derived("identity.dropped", "identity_id", *removals("identities")),
    derived("mention.recorded", row_of("mentions"), whole("mentions")),
    derived("mention.dropped", "mention_id", *removals("mentions")),
    derived("artifact.recorded", row_of("artifacts"), whole("artifacts")),
    derived("artifact.dropped", "artifact_id", *removals("artifacts")),
    derived("edge.drawn", row_of("edges"), whole("edges", recorded_at=RECORDED).of(_causes)),
    derived("edge.dropped", "edge_id", *removals("edges")),
    raw("derivation.switched", "derivation_id"),
    derived("text.redacted", "redaction_id event_id secret_kind secret_count rules_id"),
    derived(
        "space.fitted",
        row_of("spaces", without=("fitted_at",)),
        whole("spaces", fitted_at=RECORDED),
        added=({"noise_mean": None, "noise_std": None, "kin": None},),
    ),
    derived("night.completed", row_of("nights"), whole("nights")),
)

CATALOGUE: dict[str, EventKind] = {kind.kind: kind for kind in KINDS}

FORMER_KINDS = {"vitals.folded": "cell_usage.folded"}
"""Names that kinds have in segments of an older Slowwave, with the names of today."""

DEAD_KINDS = frozenset({"cell.scanned", "edge.ended", "edge.examined"})
"""Kinds in segments of an older Slowwave that change nothing any more."""

PLURALS = {
    "cell": "memories",
    "cell_usage": "usage counts",
    "core": "lines of core memory",
    "entity": "entities",
    "identity": "identities",
    "judging": "judgements of memories",
    "usage": "records of use",
}
"""What kinds of events speak of, where that is not their noun with an s."""


def title_of(name: str) -> str:
    """A kind of event in counts, such as "memories archived"; any other name of a count is its own title."""
    noun, _, verb = name.partition(".")
    return f"{PLURALS.get(noun, f'{noun}s')} {verb}" if name in CATALOGUE else name


def rows_of(kind: str, rows: Sequence[tuple[object, ...] | dict[str, object]]) -> pl.DataFrame:
    """Rows of one kind's payload, from tuples in the order of its columns or from dicts."""
    return pl.DataFrame(rows, schema=CATALOGUE[kind].payload, orient="row")


ISO = "%Y-%m-%dT%H:%M:%S%.6fZ"
"""A time as it stands in a segment."""


def from_iso(column: str) -> pl.Expr:
    """The times of a column of texts."""
    return pl.col(column).str.to_datetime(ISO, time_unit="us", time_zone="UTC")


def encode(kind: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Events of one kind from rows that hold at least the payload's columns: `kind` and `payload` as JSON text."""
    payload = CATALOGUE[kind].payload
    wire = rows.select(
        pl.col(name).cast(TIMESTAMP).dt.strftime(ISO) if dtype == TIMESTAMP else pl.col(name).cast(dtype)
        for name, dtype in payload.items()
    )
    return wire.select(kind=pl.lit(kind), payload=pl.struct(pl.all()).struct.json_encode())


EventRows = dict[str, pl.DataFrame]
"""Rows by event kind, in the order in which they are committed."""


def encode_plan(plan: EventRows) -> pl.DataFrame:
    """The events of a plan, which has one kind at least."""
    return pl.concat([encode(kind, rows) for kind, rows in plan.items()])


def decode(kind: str, events: pl.DataFrame) -> pl.DataFrame:
    """Payloads of events that all are of `kind`, in their order, with `event_recorded_at` and `order`."""
    payload = CATALOGUE[kind].payload
    frames = [
        _decode_version(kind, part, payload) for part in events.partition_by("version", maintain_order=True)
    ]
    return pl.concat(frames).sort("order") if frames else _decode_version(kind, events, payload)


def _decode_version(kind: str, events: pl.DataFrame, payload: pl.Schema) -> pl.DataFrame:
    version = int(events["version"][0]) if events.height else CATALOGUE[kind].version
    defaults = CATALOGUE[kind].defaults(version)
    wire = {name: pl.String if dtype == TIMESTAMP else dtype for name, dtype in payload.items()}
    decoded = events.select(
        pl.col("payload").str.json_decode(pl.Struct(wire)),
        event_recorded_at=pl.col("recorded_at"),
        order=pl.col("order"),
    ).unnest("payload")
    columns = [
        pl.lit(defaults[name], dtype=dtype).alias(name)
        if name in defaults
        else from_iso(name)
        if dtype == TIMESTAMP
        else pl.col(name)
        for name, dtype in payload.items()
    ]
    return decoded.select(*columns, "event_recorded_at", "order")
