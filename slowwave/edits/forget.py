"""`forget`: a person deletes a memory. A tombstone keeps it out, also when it is said in other words.

The turns stay, and no context quotes them unless another memory of them holds; `erase` removes the text itself.
Summaries of the topic and of entities, and the episode of the conversation, go until they are written anew without the
memory.
"""

from datetime import datetime

import polars as pl

from slowwave.edits.consequences import (
    cascade,
    contraction,
    joined,
    settled_by,
    unsummarized,
    without_tellings,
)
from slowwave.edits.passages import Parted, meant_by, part, stays
from slowwave.edits.session import cell_of, commit_edit, edit_session
from slowwave.errors import InputError
from slowwave.ingest.statements import read_note
from slowwave.journal.catalogue import EventRows
from slowwave.recall.reader import Reader
from slowwave.schemas.requests import ForgetRequest
from slowwave.schemas.results import Done
from slowwave.schemas.tables import OWNER, RAW_PROMPT
from slowwave.store import Row, Store, col, lit, same_owner
from slowwave.trust.origins import is_passage

WHY = "a person deleted it"


def forget(reader: Reader, request: ForgetRequest, *, now: datetime) -> Done:
    """Deletes a memory and what says exactly the same, as `Memory.forget` says."""
    note = read_note(request.note)
    with edit_session(reader.home, now=now, reader=reader) as work:
        row = cell_of(work, request.cell_id)
        same = _same(work.store, work.store.by_key("cells", [row["cell_id"]]))
        parted = part(work, same, _meant(work.store, row, request.only))
        gone = parted.gone
        if request.dry_run:
            return parted.preview(gone["content"][0])
        stranded, plan = _deletion(work.store, parted, note=note)
        notes = parted.notes()
        if stranded:
            notes.append(
                f"it had taken the place of {', '.join(stranded)}: that stays retired, and `slowwave confirm ID` "
                "believes it again"
            )
        if work.store.by_key("turns", gone["evidence"].explode().drop_nulls(), ["turn_id"]).height:
            notes.append(
                "what was said stays in the record, for a search at `evidence`: "
                f"`slowwave erase {row['cell_id']}` takes it, too"
            )
        done = Done(
            cell_id=row["cell_id"],
            content=gone["content"][0],
            replaced=gone["cell_id"].to_list()[1:],
            rest=parted.rest["cell_id"].to_list(),
            left_out=parted.left_out,
            notes=notes,
        )
        return commit_edit(work, plan, done)


def _meant(store: Store, row: Row, only: str) -> set[str]:
    """The statements of raw talk that are to go; none where all of it is.

    Raises:
        InputError: words of a part are given, and the memory has no such part.
    """
    if not only.strip():
        return set()
    if not is_passage(row):
        raise InputError(f"memory {row['cell_id']} is one statement: leave out --only to delete it")
    meant = meant_by(store, row, only)
    if not meant:
        raise InputError(f"memory {row['cell_id']} says nothing about {only.strip()!r}: nothing was changed")
    return meant


def _deletion(store: Store, parted: Parted, *, note: str) -> tuple[list[str], EventRows]:
    """The memories that nothing follows any more, and the events by which memories leave for good.

    What was written from them leaves as well. Where only parts of raw talk go, a model may still read the rest.
    """
    gone, ids = parted.gone, parted.gone["cell_id"].to_list()
    unread = gone.filter(pl.lit(parted.rest.is_empty()) & (pl.col("prompt_version") == RAW_PROMPT))
    chunks = unread.select("chunk_id").drop_nulls().unique().sort("chunk_id")
    made_by = dict.fromkeys(("prompt_version", "model"), pl.lit(None, dtype=pl.String))
    bridges, bridged = contraction(store, ids, why=WHY)
    follows = cascade(store, gone, why="was deleted by a person")
    topics = store.by_key("topics", follows["topic.flagged"]["topic_id"], ["topic_id", "summary"])
    summaries = topics.drop_nulls("summary")
    # a line of core memory leaves with the row of what is deleted
    plan = joined(
        stays(parted, note=note),
        {
            "cell.deleted": gone.select(
                "cell_id",
                "content_hash",
                *OWNER,
                "content",
                "evidence",
                note=pl.lit(note or None, dtype=pl.String),
            ),
            "chunk.gated": chunks.with_columns(is_worth=pl.lit(value=False), reason=pl.lit(WHY), **made_by),
        },
        bridged,
        {
            "topic.unsummarized": unsummarized(store, summaries, gone=ids, why=WHY),
            "entity.unsummarized": follows["entity.flagged"],
            **without_tellings(store, follows["cell.flagged"]),
            "contradiction.resolved": settled_by(store, ids, why=note or WHY),
        },
    )
    return bridges.stranded, plan


def _same(store: Store, cell: pl.DataFrame) -> pl.DataFrame:
    """The memory first, then those that say exactly the same, and those that live on in it as said again."""
    cell_id, digest = cell["cell_id"][0], cell["content_hash"][0]
    exact = store.rows("cells", where=same_owner(cell) & (col("content_hash") == lit(digest)))
    merged = store.rows("cells", where=col("superseded_by") == lit(cell_id))
    merged = merged.filter(pl.col("valid_until").is_null())
    others = pl.concat([exact, merged]).unique("cell_id").filter(pl.col("cell_id") != cell_id)
    return pl.concat([cell, others.sort("cell_id")])
