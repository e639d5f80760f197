"""Events of what came in and of single memories: turns, files, chunks, cells, episodes, their use."""

import polars as pl

from slowwave.journal.event_kind import OWNER_FIELDS, PROVENANCE, STRINGS, kind_of, row_of
from slowwave.schemas.tables import TIMESTAMP

NOT_OF_EPISODES = (
    "recorded_at", "topic_id", "topic_hint", "cell_type", "attribute", "value", "steps", "template", "status",
    "supersedes", "superseded_by", "superseded_at", "needs_review", "is_judged", "is_summarized", "protected",
    "chunk_id", "entities",
)  # fmt: skip
"""Columns of a cell that an episode has no say in: it is born with fixed values there."""

OF_MEMORIES = (
    kind_of("turn.recorded", row_of("turns"), "A message or a section of a file came in.", is_raw=True),
    kind_of("source.recorded", row_of("sources"), "A file was taken in whole, with this hash.", is_raw=True),
    kind_of(
        "usage.recorded",
        row_of("usage", without=("folded_at",)),
        "A memory was retrieved, cited or ignored.",
        is_raw=True,
    ),
    kind_of(
        "cell.deleted",
        {
            "cell_id": pl.String,
            "content_hash": pl.String,
            "note": pl.String,
            **OWNER_FIELDS,
            "content": pl.String,
            "evidence": STRINGS,
        },
        "A person deleted a memory: a tombstone that no later run undoes.",
        is_raw=True,
        version=3,
    ),
    kind_of(
        "chunk.released",
        {"chunk_id": pl.String},
        "A person sent a chunk back to work: a quarantined one, or one of which a part was erased.",
        is_raw=True,
    ),
    kind_of("chunk.cut", row_of("chunks"), "A window of turns was cut for extraction."),
    kind_of(
        "chunk.gated",
        {"chunk_id": pl.String, "is_worth": pl.Boolean, "reason": pl.String, **PROVENANCE},
        "The gate said whether a chunk holds anything worth remembering.",
    ),
    kind_of(
        "chunk.extracted",
        {"chunk_id": pl.String, "cell_count": pl.Int64, "rejected_count": pl.Int64, **PROVENANCE},
        "A chunk's memories were extracted.",
    ),
    kind_of(
        "chunk.failed",
        {
            "chunk_id": pl.String,
            "attempts": pl.Int64,
            "status": pl.String,
            "error": pl.String,
            "retry_at": TIMESTAMP,
            **PROVENANCE,
        },
        "A model's answers for a chunk could not be used.",
    ),
    kind_of(
        "cell.extracted",
        row_of("cells"),
        "A memory was made from a chunk.",
        version=2,
    ),
    kind_of(
        "cell.confirmed",
        {
            "cell_id": pl.String,
            "confirmed_by": pl.String,
            "confirmations": pl.Int64,
            "evidence": STRINGS,
            "last_accessed": TIMESTAMP,
            **PROVENANCE,
        },
        "A known memory was said again: the new count and the joined evidence.",
    ),
    kind_of(
        "cell.merged",
        {"cell_id": pl.String, "superseded_by": pl.String, "superseded_at": TIMESTAMP},
        "A memory said exactly or, as judged, the same as another and lives on in it.",
    ),
    kind_of(
        "cell.retired",
        {"cell_id": pl.String, "superseded_at": TIMESTAMP},
        "A memory made way: a raw one for the extracted ones of its chunk, a merged one for the two it stood for.",
    ),
    kind_of(
        "cell.superseded",
        {
            "cell_id": pl.String,
            "superseded_by": pl.String,
            "superseded_at": TIMESTAMP,
            "valid_until": TIMESTAMP,
            "verdict": pl.String,
            **PROVENANCE,
        },
        "A memory was corrected or updated by another.",
    ),
    kind_of(
        "cell.succeeded",
        {"cell_id": pl.String, "supersedes": pl.String, "summary": pl.String, **PROVENANCE},
        "A memory took the place of another; its summary carries the timeline.",
    ),
    kind_of(
        "cell.labelled",
        {"cell_id": pl.String, "compressed": pl.String, "index_label": pl.String},
        "A memory got the short forms that it lacked, from its own words.",
    ),
    kind_of("cell.judged", {"cell_id": pl.String}, "A new memory went through reconciliation."),
    kind_of(
        "cell.flagged",
        {"cell_id": pl.String, "reason": pl.String},
        "A memory depends on one that was superseded and needs review.",
    ),
    kind_of(
        "cell.archived",
        {
            "cell_id": pl.String,
            "effective_confidence": pl.Float64,
            "reason": pl.String,
            "archived_count": pl.Int64,
        },
        "A faded memory left default search; it can be revived.",
        version=2,
    ),
    kind_of(
        "cell.revived",
        {
            "cell_id": pl.String,
            "revived_count": pl.Int64,
            "last_accessed": TIMESTAMP,
            "reason": pl.String,
        },
        "An archived memory came back.",
        version=2,
    ),
    kind_of(
        "cell.pruned",
        {"cell_id": pl.String, "reason": pl.String},
        "A long superseded memory left the store; the journal keeps it.",
    ),
    kind_of(
        "cell.assigned",
        {"cell_id": pl.String, "topic_id": pl.String, "similarity": pl.Float64},
        "A memory joined a topic.",
    ),
    kind_of(
        "episode.written",
        {**row_of("cells", without=NOT_OF_EPISODES), "turn_count": pl.Int64, "cell_ids": STRINGS},
        "A conversation was told as one memory, from its turns and the memories named; or told anew.",
    ),
    kind_of(
        "episode.failed",
        {
            "cell_id": pl.String,
            **OWNER_FIELDS,
            "session_id": pl.String,
            "status": pl.String,
            "turn_count": pl.Int64,
            "attempts": pl.Int64,
            "error": pl.String,
            "retry_at": TIMESTAMP,
            **PROVENANCE,
        },
        "A model's answers for a conversation's episode could not be used.",
    ),
    kind_of(
        "episode.dropped",
        {"cell_id": pl.String, "reason": pl.String},
        "An episode left the store: its conversation is gone, or a person deleted a memory of it.",
    ),
    kind_of(
        "episode.released",
        {"cell_id": pl.String},
        "A person sent a quarantined conversation back to be told.",
        is_raw=True,
    ),
    kind_of(
        "judging.released",
        {"cell_id": pl.String},
        "A person sent a memory that no answer could judge back to work.",
        is_raw=True,
    ),
    kind_of(
        "cell.reviewed",
        {"cell_id": pl.String, "verdict": pl.String, "reason": pl.String, **PROVENANCE},
        "A memory that was marked for review was judged again; the mark is gone.",
    ),
    kind_of("cell.scanned", {"cell_id": pl.String}, "A memory's neighbours were looked at again."),
    kind_of(
        "cell.reinstated",
        {"cell_id": pl.String},
        "A repetition holds by itself: another value held between it and what it repeated.",
    ),
    kind_of(
        "judging.failed",
        {
            "cell_id": pl.String,
            "attempts": pl.Int64,
            "status": pl.String,
            "error": pl.String,
            "retry_at": TIMESTAMP,
            **PROVENANCE,
        },
        "A model's judgement of a memory could not be used.",
    ),
    kind_of(
        "cell.protected",
        {"cell_id": pl.String, "confidence": pl.Float64, "note": pl.String},
        "A person confirmed a memory: it never fades, and no judge retires it.",
        is_raw=True,
    ),
    kind_of(
        "cell.restored",
        {
            "cell_id": pl.String,
            "status": pl.String,
            "superseded_by": pl.String,
            "superseded_at": TIMESTAMP,
            "valid_until": TIMESTAMP,
        },
        "By a person's word a memory stands again as it stood before.",
        is_raw=True,
    ),
    kind_of(
        "cell.erased",
        {"cell_id": pl.String, "content_hash": pl.String, **OWNER_FIELDS},
        "A person erased a memory: its text left the journal too, and it stays out.",
        is_raw=True,
    ),
    kind_of(
        "turn.erased",
        {"turn_id": pl.String, "source_id": pl.String, "content_hash": pl.String, **OWNER_FIELDS},
        "A person erased what was said: its text left the journal too, and it stays out.",
        is_raw=True,
    ),
    kind_of(
        "cell_usage.folded",
        row_of("cell_usage", without=("archived_count", "archived_at", "revived_at")),
        "A memory's counts after usage was folded in.",
        version=2,
    ),
    kind_of("usage.folded", {"usage_id": pl.String}, "A usage record reached cell usage."),
    kind_of(
        "cell.linked",
        {"cell_id": pl.String, "confirmations": pl.Int64},
        "A memory got its place in the graph.",
    ),
    kind_of("cell.unlinked", {"cell_id": pl.String}, "A memory that is gone left the graph."),
)
