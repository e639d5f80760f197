"""Chunks and conversations whose answers could not be used after all tries: looking at them, and sending them back."""

from collections.abc import Sequence
from datetime import datetime

import polars as pl
from pydantic import BaseModel, ConfigDict
from rich.table import Column

from slowwave.entrypoints.show import flat, number, results, table
from slowwave.errors import InputError, NotFoundError
from slowwave.home import Home, open_home
from slowwave.schemas.events import encode
from slowwave.schemas.tables import OWN
from slowwave.store import Store, col, lit, open_store
from slowwave.workspace import open_workspace

RELEASED = {"chunk.released": "chunk_id", "episode.released": "cell_id"}
"""Events that send back to work, with the column of the id."""


class QuarantinedChunk(BaseModel):
    """A chunk in quarantine, or a whole conversation as an episode, and why it is there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    chunk_id: str
    event_time: datetime
    source_name: str
    attempts: int
    error: str | None


def list_chunks(home: Home) -> list[QuarantinedChunk]:
    """Quarantined chunks, oldest first; none where there is no store yet."""
    try:
        store = open_store(home.store_root)
    except NotFoundError:
        return []
    return _quarantined(store)


def release_chunks(home: str | None, chunk_ids: Sequence[str] | None, *, now: datetime) -> list[str]:
    """Commits that chunks go back to work, all of them when none is named; returns their ids.

    Raises:
        NotFoundError: there is no store, or no chunk with such an id.
        InputError: a chunk is not in quarantine.
        BusyError: another process is writing.
    """
    open_store(open_home(home).store_root)  # a release never makes a store
    with open_workspace(home) as workspace:
        held = [chunk.chunk_id for chunk in _quarantined(workspace.store)]
        wanted = held if chunk_ids is None else list(dict.fromkeys(chunk_ids))
        _check(workspace.store, set(wanted) - set(held))
        told = set(_quarantined_episodes(workspace.store)["chunk_id"])
        ids = {
            "chunk.released": [name for name in wanted if name not in told],
            "episode.released": [name for name in wanted if name in told],
        }
        events = [
            encode(kind, pl.DataFrame({key: ids[kind]}, schema={key: pl.String}))
            for kind, key in RELEASED.items()
        ]
        workspace.commit(pl.concat(events), now=now)
    return wanted


def _check(store: Store, others: set[str]) -> None:
    """Tells why these ids cannot be released."""
    if not others:
        return
    first = min(others)
    known = store.by_key("chunks", [first], ["chunk_id", "status"])
    if known.is_empty():
        raise NotFoundError(f"there is no chunk {first}. `slowwave quarantine list` shows the ids.")
    raise InputError(f"chunk {first} is {known['status'][0]}, not quarantined; nothing was released")


def _quarantined(store: Store) -> list[QuarantinedChunk]:
    columns = list(QuarantinedChunk.model_fields)
    chunks = store.rows("chunks", columns, col("status") == lit("quarantined"))
    held = pl.concat([chunks, _quarantined_episodes(store).select(columns)]).sort("event_time", "chunk_id")
    return [QuarantinedChunk(**row) for row in held.to_dicts()]


def _quarantined_episodes(store: Store) -> pl.DataFrame:
    """Conversations in quarantine, in the columns of a chunk; the id is that of the episode."""
    columns = ["cell_id", *OWN, "session_id", "attempts", "error"]
    held = store.rows("episodes", columns, col("status") == lit("quarantined"))
    on = [*OWN, "session_id"]
    turns = store.having("turns", "session_id", held["session_id"], [*on, "event_time", "source_name"])
    said = turns.group_by(on).agg(pl.col("event_time").max(), pl.col("source_name").last())
    return held.join(said, on=on, how="inner").rename({"cell_id": "chunk_id"})


def show_chunks(chunks: Sequence[QuarantinedChunk]) -> None:
    """The chunks as a table."""
    console = results()
    if not chunks:
        console.print("Nothing is in quarantine.")
        return
    made = table(Column("chunk", min_width=24), "date", "source", number("tries"), "reason")
    for chunk in chunks:
        made.add_row(
            chunk.chunk_id,
            f"{chunk.event_time:%Y-%m-%d}",
            flat(chunk.source_name),
            str(chunk.attempts),
            flat(chunk.error or "no reason kept"),
        )
    console.print(made)
