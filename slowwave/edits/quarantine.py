"""Work for which no answer of the model could be used: listed, and sent back to work."""

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from slowwave.edits.session import edit_session
from slowwave.errors import NotFoundError
from slowwave.home.ids import whole_ids
from slowwave.home.paths import Home
from slowwave.schemas.results import QuarantinedChunk
from slowwave.schemas.tables import OWNER
from slowwave.store import Store, col, lit, open_store

RELEASED = {
    "chunk": ("chunk.released", "chunk_id"),
    "conversation": ("episode.released", "cell_id"),
    "memory": ("judging.released", "cell_id"),
}
"""For each kind of work the event that sends it back, and the column of its id."""

IN_QUARANTINE = col("status") == lit("quarantined")


def list_chunks(home: Home) -> list[QuarantinedChunk]:
    """List the work in quarantine, oldest first; none where there is no store yet."""
    try:
        store = open_store(home.store_root)
    except NotFoundError:
        return []
    return _quarantined(store)


def release_chunks(home: Home, chunk_ids: Sequence[str] | None, *, now: datetime) -> list[str]:
    """Send work in quarantine back, all of it when none is named; return the ids.

    Raises:
        NotFoundError: there is no store, or nothing in quarantine with such an id.
        InputError: an id stands for several.
        BusyError: another process is writing.
    """
    open_store(home.store_root)  # a release never makes a store
    with edit_session(home, now=now) as work:
        kinds = {waiting.chunk_id: waiting.kind for waiting in _quarantined(work.store)}
        wanted = whole_ids(
            work.store,
            kinds if chunk_ids is None else chunk_ids,
            owner=work.settings.owner,
            tables=(),
            noun="quarantined id",
            hint="`slowwave quarantine list` shows the ids",
            elsewhere=lambda begins: [one for one in kinds if one.startswith(begins)],
        )
        work.commit_plan(
            {
                event: pl.DataFrame({key: [one for one in wanted if kinds[one] == kind]}, {key: pl.String})
                for kind, (event, key) in RELEASED.items()
            }
        )
    return wanted


def _quarantined(store: Store) -> list[QuarantinedChunk]:
    columns = list(QuarantinedChunk.model_fields)
    parts = {
        "chunk": store.rows("chunks", columns[1:], IN_QUARANTINE),
        "conversation": _conversations(store),
        "memory": _memories(store),
    }
    held = pl.concat(
        [
            part.select(kind=pl.lit(kind), **{name: name for name in columns[1:]})
            for kind, part in parts.items()
        ]
    )
    return [QuarantinedChunk(**row) for row in held.sort("event_time", "chunk_id").to_dicts()]


def _conversations(store: Store) -> pl.DataFrame:
    """Conversations without a usable episode, by the id of their episode."""
    held = store.rows("episodes", ["cell_id", *OWNER, "session_id", "attempts", "error"], IN_QUARANTINE)
    on = [*OWNER, "session_id"]
    turns = store.having("turns", "session_id", held["session_id"], [*on, "event_time", "source_name"])
    said = turns.group_by(on).agg(pl.col("event_time").max(), pl.col("source_name").last())
    return held.join(said, on=on, how="inner").rename({"cell_id": "chunk_id"})


def _memories(store: Store) -> pl.DataFrame:
    """Memories without a usable judgement."""
    held = store.rows("judging", ["cell_id", "attempts", "error"], IN_QUARANTINE)
    cells = store.by_key("cells", held["cell_id"], ["cell_id", "event_time", "source_name"])
    return held.join(cells, on="cell_id", how="inner").rename({"cell_id": "chunk_id"})
