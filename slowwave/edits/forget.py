"""`forget`: a person deletes a memory. A tombstone keeps it out, also when it is said in other words.

The turns stay, and no context quotes them unless another memory of them holds; `erase` removes the text itself.
Summaries of the topic and of entities, and the episode of the conversation, go until they are written anew without the
memory.
"""

from datetime import datetime

import polars as pl

from slowwave.edits.chain_repair import bridging, chains_of
from slowwave.edits.consequences import cascade, joined, settled_by, without_tellings
from slowwave.edits.passages import meant_by, part, stays
from slowwave.edits.session import cell_of, commit_edit, edit_session
from slowwave.errors import InputError
from slowwave.ingest.statements import read_note
from slowwave.journal.catalogue import EventRows, rows_of
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
        gone = _same(work.store, work.store.by_key("cells", [str(row["cell_id"])]))
        parted = part(work, gone, _meant(work.store, row, request.only))
        if request.dry_run:
            return parted.preview(str(parted.gone["content"][0]))
        gone, ids = parted.gone, parted.gone["cell_id"].to_list()
        deleted, stranded = deletion(work.store, gone, note=note, is_whole=not parted.rest.height)
        plan = joined(stays(parted, note=note), deleted)
        said = work.store.by_key("turns", gone["evidence"].explode().drop_nulls(), ["turn_id"])
        changed, notes = commit_edit(work, plan)
        return Done(
            cell_id=ids[0],
            content=str(gone["content"][0]),
            replaced=ids[1:],
            changed=changed,
            rest=parted.rest["cell_id"].to_list(),
            left_out=parted.left_out,
            notes=[
                *parted.notes(),
                *_stranded(stranded),
                *([_words_stay(ids[0])] if said.height else []),
                *notes,
            ],
        )


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


def deletion(
    store: Store, gone: pl.DataFrame, *, note: str, is_whole: bool = True
) -> tuple[EventRows, list[str]]:
    """Events by which memories (rows of `cells`) leave for good, with what was written from them.

    Where only parts of raw talk go (`is_whole` is False), a model may still read the rest. Returns them with the ids of
    the memories that nothing holds the place of any more.
    """
    ids = gone["cell_id"].to_list()
    raw = gone.filter(pl.lit(is_whole) & (pl.col("prompt_version") == RAW_PROMPT)).drop_nulls("chunk_id")
    gated = rows_of(
        "chunk.gated",
        [{"chunk_id": chunk, "is_worth": False, "reason": WHY} for chunk in raw["chunk_id"].unique().sort()],
    )
    chains = chains_of(store, ids)
    bridges = chains.without(ids)
    bridged = bridging(chains, bridges, ids, why=WHY)
    dead = gone.select(
        "cell_id", "content_hash", *OWNER, "content", "evidence", note=pl.lit(note or None, dtype=pl.String)
    )
    plan = joined(
        {"cell.deleted": dead, "chunk.gated": gated},
        bridged,
        _written_from(store, gone),
        {"contradiction.resolved": settled_by(store, ids, why=note or WHY)},
    )
    return plan, bridges.stranded


def _written_from(store: Store, gone: pl.DataFrame) -> EventRows:
    """Events that remove texts written from memories that go, and flag other memories that rest on them."""
    follows = cascade(store, gone, why="was deleted by a person")
    topics, entities = follows.pop("topic.flagged"), follows.pop("entity.flagged")
    follows.pop("core.demoted")  # what is deleted leaves core memory with its row
    return {
        "topic.unsummarized": unsummarized(store, topics["topic_id"], gone=gone, why=WHY),
        "entity.unsummarized": entities,
        **without_tellings(store, follows["cell.flagged"]),
    }


def _words_stay(cell_id: str) -> str:
    """A note on the messages that the deleted memory came from."""
    return f"what was said stays in the record, for a search at `evidence`: `slowwave erase {cell_id}` takes it, too"


def _stranded(cell_ids: list[str]) -> list[str]:
    """A note on the memories that the deleted one had replaced."""
    if not cell_ids:
        return []
    which = ", ".join(cell_ids)
    return [
        f"it had taken the place of {which}: that stays retired, and `slowwave confirm ID` believes it again"
    ]


def unsummarized(store: Store, topic_ids: pl.Series, *, gone: pl.DataFrame, why: str) -> pl.DataFrame:
    """Rows of `topic.unsummarized` for topics whose summary may speak of memories that go.

    Until the next summary such a topic answers by its memories alone.
    """
    topics = store.by_key("topics", topic_ids, ["topic_id", "summary"]).drop_nulls("summary")
    live = col("topic_id").isin(topics["topic_id"].to_list()) & (col("status") == lit("active"))
    cells = store.rows("cells", ["cell_id", "topic_id"], live)
    left = cells.filter(~pl.col("cell_id").is_in(gone["cell_id"].implode())).sort("cell_id")
    by_topic = left.group_by("topic_id").agg(cell_ids=pl.col("cell_id"))
    return (
        topics.select("topic_id")
        .join(by_topic, on="topic_id", how="left")
        .with_columns(pl.col("cell_ids").fill_null([]), reason=pl.lit(why))
        .sort("topic_id")
    )


def _same(store: Store, cell: pl.DataFrame) -> pl.DataFrame:
    """The memory first, then those that say exactly the same, and those that live on in it as said again."""
    cell_id, digest = cell["cell_id"][0], cell["content_hash"][0]
    exact = store.rows("cells", where=same_owner(cell) & (col("content_hash") == lit(digest)))
    merged = store.rows("cells", where=col("superseded_by") == lit(cell_id))
    merged = merged.filter(pl.col("valid_until").is_null())
    others = pl.concat([exact, merged]).unique("cell_id").filter(pl.col("cell_id") != cell_id)
    return pl.concat([cell, others.sort("cell_id")])
