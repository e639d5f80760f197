"""Events of what memories form together: topics, pairs, contradictions, core memory, the graph, nights."""

import polars as pl

from slowwave.journal.event_kind import OWNER_FIELDS, PROVENANCE, STRINGS, kind_of, row_of
from slowwave.schemas.tables import TIMESTAMP

OF_RELATIONS = (
    kind_of(
        "topic.opened", {"topic_id": pl.String, "name": pl.String, **OWNER_FIELDS}, "A topic was opened."
    ),
    kind_of(
        "topic.counted",
        {"topic_id": pl.String, "cell_count": pl.Int64, "unsummarized_count": pl.Int64},
        "A topic's live and unsummarized cells were counted again.",
    ),
    kind_of(
        "topic.merged",
        {"topic_id": pl.String, "merged_into": pl.String},
        "A topic was found near-identical to another.",
    ),
    kind_of("topic.renamed", {"topic_id": pl.String, "name": pl.String}, "A topic got a better name."),
    kind_of(
        "topic.summarized",
        {
            "topic_id": pl.String,
            "summary": pl.String,
            "compressed": pl.String,
            "cell_ids": STRINGS,
            **PROVENANCE,
        },
        "A topic's summary was written from the live cells named.",
    ),
    kind_of(
        "topic.flagged",
        {"topic_id": pl.String, "reason": pl.String},
        "A topic's summary depends on a superseded memory.",
    ),
    kind_of(
        "pair.judged",
        row_of("judgements", without=("judged_at",)),
        "A pair of memories was judged, or noted as unjudged.",
    ),
    kind_of(
        "contradiction.opened",
        {
            "contradiction_id": pl.String,
            "cell_a": pl.String,
            "cell_b": pl.String,
            "subject": pl.String,
            "attribute": pl.String,
            "note": pl.String,
            **OWNER_FIELDS,
            **PROVENANCE,
        },
        "Two memories cannot both hold.",
    ),
    kind_of(
        "contradiction.closed",
        {
            "contradiction_id": pl.String,
            "resolution": pl.String,
            "note": pl.String,
        },
        "A contradiction ended because one of its memories no longer stands.",
    ),
    kind_of(
        "contradiction.resolved",
        {
            "contradiction_id": pl.String,
            "resolution": pl.String,
            "resolution_note": pl.String,
            "winner_id": pl.String,
            "former_supersedes": pl.String,
            "former_summary": pl.String,
        },
        "A person settled a contradiction; the former fields of the winner are what taking it back restores.",
        is_raw=True,
    ),
    kind_of(
        "contradiction.reopened",
        {"contradiction_id": pl.String},
        "A person took the resolution of a contradiction back.",
        is_raw=True,
    ),
    kind_of(
        "topic.unsummarized",
        {"topic_id": pl.String, "cell_ids": STRINGS, "reason": pl.String},
        "A topic's summary held what a person took away: it is gone, and the live cells named wait for a new one.",
    ),
    kind_of(
        "core.promoted",
        row_of("core", without=("promoted_at",), reason=pl.String(), **{k: pl.String() for k in PROVENANCE}),
        "A memory stands in core memory at this line.",
    ),
    kind_of(
        "core.moved",
        {"cell_id": pl.String, "line_rank": pl.Int64},
        "A line of core memory has another place, because of lines before it that came or left.",
    ),
    kind_of(
        "core.demoted",
        {"cell_id": pl.String, "reason": pl.String},
        "A memory left core memory; it stays in the store.",
    ),
    kind_of(
        "entity.resolved",
        {
            "entity_id": pl.String,
            **OWNER_FIELDS,
            "canonical_name": pl.String,
            "entity_type": pl.String,
            "aliases": STRINGS,
            "family": pl.String,
            "mention_count": pl.Int64,
        },
        "A person or thing was found, or its names and mentions changed.",
    ),
    kind_of(
        "entity.merged",
        {"entity_id": pl.String, "merged_into": pl.String},
        "An entity turned out to be another one, which took over its names.",
    ),
    kind_of("entity.dropped", {"entity_id": pl.String}, "No memory names this entity any more."),
    kind_of(
        "entity.enriched",
        {"entity_id": pl.String, "summary": pl.String, "enriched_count": pl.Int64, **PROVENANCE},
        "A model wrote who or what an entity is, from this many mentions.",
    ),
    kind_of(
        "entity.flagged",
        {"entity_id": pl.String, "reason": pl.String},
        "An entity's summary rests on a memory that was superseded.",
    ),
    kind_of(
        "entity.unsummarized",
        {"entity_id": pl.String, "reason": pl.String},
        "An entity's summary may tell what a person took away: it is gone, and the next one is written without it.",
    ),
    kind_of("mention.recorded", row_of("mentions"), "A memory names this entity."),
    kind_of("mention.dropped", {"mention_id": pl.String}, "The memory that named an entity is gone."),
    kind_of(
        "artifact.recorded",
        row_of("artifacts"),
        "A memory names a commit, pull request, record or file.",
    ),
    kind_of("artifact.dropped", {"artifact_id": pl.String}, "The memory that named an artifact is gone."),
    kind_of("edge.drawn", row_of("edges"), "Two memories, or a memory and its evidence, belong together."),
    kind_of(
        "edge.ended",
        {"edge_id": pl.String, "valid_until": TIMESTAMP, "reason": pl.String},
        "A relation holds no longer.",
    ),
    kind_of(
        "edge.dropped", {"edge_id": pl.String}, "An end of this relation is gone, or it took another way."
    ),
    kind_of(
        "edge.examined",
        {"edge_id": pl.String, **PROVENANCE},
        "A model was asked what of the later end the earlier one caused.",
    ),
    kind_of("night.completed", row_of("nights"), "A night ended: what it did and what it cost."),
)
