"""Work for which no answer of the model could be used: listed, and sent back to work."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import polars as pl

from slowwave.edits.session import edit_session
from slowwave.errors import InputError, NotFoundError
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


SHORTEST_ID = 6
"""Characters of an id that name it, as everywhere."""

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
        InputError: a chunk is not in quarantine.
        BusyError: another process is writing.
    """
    open_store(home.store_root)  # a release never makes a store
    with edit_session(home, now=now) as session:
        kinds = {waiting.chunk_id: waiting.kind for waiting in _quarantined(session.store)}
        named = kinds if chunk_ids is None else [_whole(given, kinds) for given in chunk_ids]
        wanted = list(dict.fromkeys(named))
        _check(session.store, set(wanted) - set(kinds))
        plan = {}
        for kind, (event, key) in RELEASED.items():
            ids = [name for name in wanted if kinds[name] == kind]
            plan[event] = pl.DataFrame({key: ids}, schema={key: pl.String})
        session.commit_plan(plan)
    return wanted


def _whole(given: str, kinds: Iterable[str]) -> str:
    """The id in quarantine that begins so, if there is exactly one; else what was given."""
    found = [one for one in kinds if one.startswith(given)] if len(given) >= SHORTEST_ID else []
    return found[0] if len(found) == 1 else given


def _check(store: Store, others: set[str]) -> None:
    """Refuse ids that cannot be released, with the reason."""
    if not others:
        return
    first = min(others)
    known = store.by_key("chunks", [first], ["chunk_id", "status"])
    if known.is_empty():
        raise NotFoundError(
            f"nothing in quarantine is called {first}. `slowwave quarantine list` shows the ids."
        )
    raise InputError(f"chunk {first} is {known['status'][0]}, not quarantined; nothing was released")


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
