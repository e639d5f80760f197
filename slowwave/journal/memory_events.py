"""Events of what came in and of single memories: turns, files, chunks, cells, episodes, their use."""

from datetime import datetime
from typing import cast

from slowwave.journal.event_kind import kind_of, row_of
from slowwave.schemas.moments import day_of
from slowwave.schemas.tables import IMPORTED

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


OF_MEMORIES = (
    kind_of(
        "turn.recorded",
        row_of("turns"),
        "turns taken in",
        "A message or a section of a file came in.",
        is_raw=True,
    ),
    kind_of(
        "source.recorded",
        row_of("sources"),
        "files taken in",
        "A file was taken in whole, with this hash.",
        is_raw=True,
    ),
    kind_of(
        "usage.recorded",
        row_of("usage", without=("folded_at",)),
        "usage records taken in",
        "A memory was retrieved, cited or ignored.",
        is_raw=True,
    ),
    kind_of(
        "cell.deleted",
        "cell_id content_hash note OWNER content evidence",
        "deleted memories kept out",
        "A person deleted a memory: a tombstone that no later run undoes.",
        is_raw=True,
        added=({"content": None}, {"evidence": []}),
        status="deleted",
        sentence=lambda row: _with_note("deleted by a person", row["note"]),
    ),
    kind_of(
        "chunk.released",
        "chunk_id",
        "chunks sent back to work",
        "A person sent a chunk back to work: a quarantined one, or one of which a part was erased.",
        is_raw=True,
    ),
    kind_of("chunk.cut", row_of("chunks"), "chunks cut", "A window of turns was cut for extraction."),
    kind_of(
        "chunk.gated",
        "chunk_id is_worth reason MADE_BY",
        "chunks through the gate",
        "The gate said whether a chunk holds anything worth remembering.",
    ),
    kind_of(
        "chunk.extracted",
        "chunk_id cell_count rejected_count MADE_BY",
        "chunks extracted",
        "A chunk's memories were extracted.",
    ),
    kind_of(
        "chunk.failed",
        "chunk_id TRIED MADE_BY",
        "chunks whose answers could not be used",
        "A model's answers for a chunk could not be used.",
    ),
    kind_of(
        "cell.extracted",
        row_of("cells"),
        "memories made",
        "A memory was made from a chunk.",
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
    kind_of(
        "cell.imported",
        OF_IMPORTS,
        "memories imported",
        "A memory came from a file of another memory, in the state and with the use that it had there.",
        sentence=lambda row: f"imported from {row['imported_from']}",
    ),
    kind_of(
        "cell.confirmed",
        "cell_id confirmed_by confirmations evidence last_accessed MADE_BY",
        "memories said again",
        "A known memory was said again: the new count and the joined evidence.",
        sentence=lambda row: f"confirmed ({row['confirmations']} times): {row['confirmed_by']}",
    ),
    kind_of(
        "cell.merged",
        "cell_id superseded_by superseded_at",
        "exact repetitions merged",
        "A memory said exactly or, as judged, the same as another and lives on in it.",
        status="superseded",
        sentence=lambda row: f"lives on in {row['superseded_by']}",
    ),
    kind_of(
        "cell.retired",
        "cell_id superseded_at",
        "raw memories replaced by extracted ones",
        "A memory made way: a raw one for the extracted ones of its chunk, a merged one for the two it stood for.",
        status="superseded",
        sentence=lambda _: "made way",
    ),
    kind_of(
        "cell.superseded",
        "cell_id superseded_by superseded_at valid_until verdict MADE_BY",
        "memories superseded",
        "A memory was corrected or updated by another.",
        status="superseded",
        sentence=lambda row: f"{row['verdict']}: superseded by {row['superseded_by']}",
    ),
    kind_of(
        "cell.succeeded",
        "cell_id supersedes summary MADE_BY",
        "memories that took the place of others",
        "A memory took the place of another; its summary carries the timeline.",
        sentence=lambda row: (
            f"took the place of {row['supersedes']}" if row["supersedes"] else "its timeline was told anew"
        ),
    ),
    kind_of(
        "cell.labelled",
        "cell_id compressed index_label",
        "memories given their short forms",
        "A memory got the short forms that it lacked, from its own words.",
    ),
    kind_of("cell.judged", "cell_id", "memories reconciled", "A new memory went through reconciliation."),
    kind_of(
        "cell.flagged",
        "cell_id reason",
        "memories marked for review",
        "A memory depends on one that was superseded and needs review.",
        sentence=lambda row: f"needs review: {row['reason']}",
    ),
    kind_of(
        "cell.archived",
        "cell_id effective_confidence reason archived_count",
        "memories archived",
        "A faded memory left default search; it can be revived.",
        added=({"archived_count": 1},),
        status="archived",
        sentence=lambda row: f"archived: {row['reason']}",
    ),
    kind_of(
        "cell.revived",
        "cell_id revived_count last_accessed reason",
        "memories revived",
        "An archived memory came back.",
        added=({"reason": None},),
        status="active",
        sentence=lambda _: "back from the archive",
    ),
    kind_of(
        "cell.pruned",
        "cell_id reason",
        "superseded memories pruned",
        "A long superseded memory left the store; the journal keeps it.",
        sentence=lambda row: f"pruned: {row['reason']}",
    ),
    kind_of(
        "cell.assigned", "cell_id topic_id similarity", "memories given a topic", "A memory joined a topic."
    ),
    kind_of(
        "episode.written",
        OF_EPISODES,
        "episodes written",
        "A conversation was told as one memory, from its turns and the memories named; or told anew.",
    ),
    kind_of(
        "episode.failed",
        "cell_id OWNER session_id status turn_count attempts error retry_at MADE_BY",
        "episodes whose answers could not be used",
        "A model's answers for a conversation's episode could not be used.",
    ),
    kind_of(
        "episode.dropped",
        "cell_id reason",
        "episodes dropped with their conversation",
        "An episode left the store: its conversation is gone, or a person deleted a memory of it.",
    ),
    kind_of(
        "episode.released",
        "cell_id",
        "conversations sent back to work",
        "A person sent a quarantined conversation back to be told.",
        is_raw=True,
    ),
    kind_of(
        "judging.released",
        "cell_id",
        "memories sent back to be judged",
        "A person sent a memory that no answer could judge back to work.",
        is_raw=True,
    ),
    kind_of(
        "cell.reviewed",
        "cell_id verdict reason MADE_BY",
        "memories reviewed",
        "A memory that was marked for review was judged again; the mark is gone.",
    ),
    kind_of(
        "cell.scanned",
        "cell_id",
        "memories whose neighbours were looked at again",
        "A memory's neighbours were looked at again.",
    ),
    kind_of(
        "cell.reinstated",
        "cell_id",
        "repetitions that hold by themselves",
        "A repetition holds by itself: another value held between it and what it repeated.",
        status="active",
        sentence=lambda _: "holds by itself again: another value held in between",
    ),
    kind_of(
        "judging.failed",
        "cell_id TRIED MADE_BY",
        "memories whose judgement could not be used",
        "A model's judgement of a memory could not be used.",
    ),
    kind_of(
        "cell.protected",
        "cell_id confidence note",
        "protections passed on",
        "A person confirmed a memory: it never fades, and no judge retires it.",
        is_raw=True,
        sentence=lambda row: _with_note("confirmed by a person", row["note"]),
    ),
    kind_of(
        "cell.restored",
        "cell_id status superseded_by superseded_at valid_until",
        "memories restored",
        "By a person's word a memory stands again as it stood before.",
        is_raw=True,
        sentence=lambda row: f"{row['status']} again, by a person's word",
    ),
    kind_of(
        "cell.dated",
        "cell_id valid_from",
        "memories given another day",
        "A person said from which day a memory is true.",
        is_raw=True,
        sentence=lambda row: f"true since {day_of(cast('datetime', row['valid_from']))}, as a person said",
    ),
    kind_of(
        "cell.readmitted",
        "cell_id",
        "deletions taken back",
        "A person said again what was deleted: its tombstone is gone.",
        is_raw=True,
    ),
    kind_of(
        "cell.erased",
        "cell_id content_hash OWNER",
        "memories erased",
        "A person erased a memory: its text left the journal too, and keyed digests keep it out.",
        is_raw=True,
    ),
    kind_of(
        "turn.erased",
        "turn_id source_id content_hash OWNER",
        "turns erased",
        "A person erased what was said: its text left the journal too, and keyed digests keep it out.",
        is_raw=True,
    ),
    kind_of(
        "cell_usage.folded",
        row_of("cell_usage", without=("archived_count", "archived_at", "revived_at", "demoted_at")),
        "usage counts updated",
        "A memory's counts after usage was folded in.",
        added=({"retrieved_at": None},),
    ),
    kind_of("usage.folded", "usage_id", "usage records folded in", "A usage record reached cell usage."),
    kind_of(
        "cell.linked", "cell_id confirmations", "memories linked", "A memory got its place in the graph."
    ),
    kind_of(
        "cell.examined",
        "cell_id",
        "memories looked at for causes",
        "It was asked what led to this memory and what it led to, among the memories that there were.",
    ),
    kind_of(
        "cell.unlinked", "cell_id", "memories that left the graph", "A memory that is gone left the graph."
    ),
)
