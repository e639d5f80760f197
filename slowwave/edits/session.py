"""Where a word is written: under the writer lock, with everything committed applied, as one segment.

A word changes what it looked at, so nobody else may write between the look and the commit. While another process
writes, a word waits for `edits.lock_seconds` and then says who is at work.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from slowwave.embeddings import Embedder, open_embedder
from slowwave.errors import InputError, NotFoundError, OutputError, TransientError
from slowwave.home.core_file import write_core_file
from slowwave.home.lock import locked
from slowwave.home.paths import Home
from slowwave.home.stored_embedder import embedder_of
from slowwave.home.topic_counts import counts_after
from slowwave.home.usage import whole_ids
from slowwave.journal.catalogue import encode
from slowwave.schemas.tables import OWNER
from slowwave.store import Store, create_store, open_store

Plan = Mapping[str, pl.DataFrame]
"""Rows by event kind, in the order in which they are committed."""


@dataclass
class EditSession:
    """A home under the writer lock, for one word."""

    home: Home
    store: Store
    embedder: Embedder | None
    now: datetime

    @property
    def owner(self) -> dict[str, str]:
        """Whose memory the home's settings speak of."""
        return owner_of(self.home)

    def cell(self, cell_id: str) -> dict[str, object]:
        """The memory that an id stands for, cut or whole, as a row of `cells`.

        Raises:
            InputError: no such memory, several of them, or one that this owner may read and not change.
        """
        (found,) = whole_ids(self.home, self.store, [cell_id])
        row = self.store.by_key("cells", [found]).row(0, named=True)
        refuse_foreign(self.home, row)
        return row

    def commit(self, plan: Plan) -> tuple[dict[str, int], list[str]]:
        """Commits a plan as one segment and applies it: counts by kind, and what a person should know."""
        parts = {kind: rows for kind, rows in plan.items() if rows.height}
        counted = counts_after(self.store, parts)
        parts |= {"topic.counted": counted} if counted.height else {}
        if not parts:
            return {}, []
        self.home.journal.commit(
            pl.concat([encode(kind, rows) for kind, rows in parts.items()]), now=self.now
        )
        apply_committed(self.home, self.store)
        write_core_file(self.home, self.store)
        note = embed(self.store, self.embedder)
        return {kind: rows.height for kind, rows in parts.items()}, [note] if note else []


@contextmanager
def edit_session(home: Home, *, now: datetime) -> Iterator[EditSession]:
    """A desk for one word.

    Raises:
        NotFoundError: there is no memory yet.
        BusyError: someone else writes the store, for longer than `edits.lock_seconds`.
    """
    if not home.store_root.is_dir() and not home.journal.segment_ids():
        raise NotFoundError("there is no memory yet: run `slowwave ingest PATH` and `slowwave run nightly`")
    with locked(home):
        store, embedder = open_or_make(home)
        apply_committed(home, store)
        yield EditSession(home, store, embedder, now)


def open_or_make(home: Home) -> tuple[Store, Embedder | None]:
    """The home's store, made where there is none yet, and the embedder of its vectors."""
    try:
        store = open_store(home.store_root)
    except NotFoundError:
        from slowwave.home.workspace import store_identity  # noqa: PLC0415 - imports the model's client

        embedder, _ = open_embedder(home.settings.embedding, home.calibration_path)
        return create_store(home.store_root, **store_identity(embedder)), embedder
    return store, embedder_of(home, store)[0]


def apply_committed(home: Home, store: Store) -> None:
    """Takes what is committed and not yet applied into the store."""
    from slowwave.home.workspace import apply_pending  # noqa: PLC0415 - as above

    apply_pending(home.journal, store)


def embed(store: Store, embedder: Embedder | None) -> str:
    """Computes missing vectors; a sentence where they have to wait."""
    from slowwave.home.workspace import refresh_vectors  # noqa: PLC0415 - as above

    try:
        refresh_vectors(store, embedder)
    except (TransientError, OutputError) as error:
        return f"found by its words alone until a vector is there: {error}"
    return ""


def owner_of(home: Home) -> dict[str, str]:
    """The columns `OWN` as the home's settings say them."""
    return {name: str(getattr(home.settings.owner, name)) for name in OWNER}


def refuse_foreign(home: Home, row: Mapping[str, object]) -> None:
    """What everyone may read is changed only from a home whose own scope it is.

    Raises:
        InputError: the row is of scope `system`, and the home's settings are not.
    """
    if row["scope"] == "system" and home.settings.owner.scope != "system":
        raise InputError(
            f"memory {row['cell_id']} belongs to the system: change it from a home with owner.scope system"
        )
