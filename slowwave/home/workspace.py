"""A workspace: a home with all gateways open, under the writer lock, with everything committed applied."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

import polars as pl

from slowwave.embeddings import Embedder, open_embedder
from slowwave.errors import NotFoundError
from slowwave.home.centroids import centroids
from slowwave.home.lock import writing
from slowwave.home.paths import Home, open_home
from slowwave.home.stored_embedder import embedder_of
from slowwave.journal.changes import collapse
from slowwave.journal.fold import fold
from slowwave.journal.segments import Journal, Problem
from slowwave.llm import LLM, open_llm
from slowwave.progress import progress
from slowwave.schemas.tables import VECTOR_TEXT
from slowwave.settings.tree import Settings
from slowwave.store import Store, create_store, open_store
from slowwave.store import col as column

Clock = Callable[[], datetime]
"""What the present moment is asked of, in UTC."""

SEGMENTS_A_FOLD = 200
"""Segments folded together: enough to be fast, few enough to bound memory."""

EMBED_ROWS = 1_024
"""Rows embedded and stored together, so that a kill loses little."""


def wall_clock() -> datetime:
    """The machine's own time."""
    return datetime.now(UTC)


@dataclass
class Workspace:
    """A home with its gateways open, held under the writer lock while a stage works.

    `notes` are said in every report: which embedder serves, whether there is a language model.
    """

    home: Home
    store: Store
    embedder: Embedder | None
    llm: LLM | None
    notes: list[str] = field(default_factory=list)
    is_introduced: bool = False
    """Whether the notes were said in this run's first report already."""
    last_segment: str = ""
    """The newest segment that is applied."""
    clock: Clock = wall_clock
    """Every time that a night writes down is read from it."""

    @property
    def settings(self) -> Settings:
        """Settings of the home."""
        return self.home.settings

    def commit(self, events: pl.DataFrame, *, now: datetime) -> int:
        """Commits a plan's events as one segment and applies it; returns the number of events.

        After the commit nothing is lost: if applying is cut off, the next writer applies the segment.
        """
        segment = self.home.journal.commit(events, now=now)
        if segment is None:
            return 0
        others = self.home.journal.segment_ids_after(self.last_segment) if self.last_segment else []
        # what another process committed meanwhile comes first, as in a rebuild
        pending = sorted({*others, segment.segment_id})
        apply_segments(self.home.journal, self.store, pending)
        self.last_segment = pending[-1]
        return segment.event_count

    def refresh_vectors(self) -> dict[str, int]:
        """`refresh_vectors` of this workspace."""
        return refresh_vectors(self.store, self.embedder)


def refresh_vectors(store: Store, embedder: Embedder | None) -> dict[str, int]:
    """Computes vectors that are missing (new rows, or an embedder that was down) and topics' centroids.

    Returns rows embedded, by table, and `failed` for texts that the embedder refused.

    Raises:
        TransientError: the embedder does not answer; what is stored stays, the rest waits.
    """
    done: dict[str, int] = {}
    if embedder is None:
        return done
    for table in VECTOR_TEXT:
        missing = store.without_vector(table)
        for start in range(0, missing.height, EMBED_ROWS):
            part = missing.slice(start, EMBED_ROWS)
            embedded = embedder.embed_documents(part["text"].to_list())
            rows = part.select(part.columns[0], vector=pl.Series(embedded.vectors))
            kept = rows.with_row_index("row").filter(~pl.col("row").is_in([*embedded.failures])).drop("row")
            store.put_vectors(table, kept)
            done[table] = done.get(table, 0) + kept.height
            done["failed"] = done.get("failed", 0) + len(embedded.failures)
            progress(f"embed {table}", min(start + EMBED_ROWS, missing.height), missing.height)
    _refresh_centroids(store)
    return done


def _refresh_centroids(store: Store) -> None:
    stale = store.without_centroid()
    if stale:
        members = store.rows("cells", ["topic_id", "vector"], column("topic_id").isin(stale)).drop_nulls(
            "vector"
        )
        means = centroids(members) if members.height else members.clear()
        store.put_vectors("topics", means.rename({"vector": "centroid"}), column="centroid")


_OPEN: dict[Path, Workspace] = {}
"""Workspaces that this process holds: the stages of a night share one lock, one budget and one embedder."""


@contextmanager
def open_workspace(path: Path | str | None = None, *, clock: Clock = wall_clock) -> Iterator[Workspace]:
    """A workspace under the writer lock, with everything that is committed applied.

    Opened again within one process, it is the same one, with the clock of the first opening: who lives through
    other days than today (a simulation) opens it around its nights with a clock of its own.

    Raises:
        BusyError: another process is writing.
        ConfigError: settings, embedder or language model cannot be used as configured.
    """
    home = open_home(path)
    key = home.root.resolve()
    if key in _OPEN:
        yield _OPEN[key]
        return
    with writing(home, patience_seconds=home.settings.edits.lock_seconds):
        store, embedder, notes = _open_store_and_embedder(home)
        store.hold_tables()
        llm = open_llm(home.settings.llm, home.cache_path)
        if llm is None:
            notes.append("no language model: stages do what they can without one")
        workspace = Workspace(home, store, embedder, llm, notes, clock=clock)
        try:
            if home.erase_path.exists():
                notes.append("an erase was cut off: `slowwave erase --resume` ends it")
            # read before: what another process commits meanwhile is applied with this one's first commit
            workspace.last_segment = home.journal.last_id() or ""
            notes.extend(_told(problem) for problem in apply_pending(home.journal, store))
            _OPEN[key] = workspace
            yield workspace
        finally:
            _OPEN.pop(key, None)
            if llm is not None:
                llm.close()


def _open_store_and_embedder(home: Home) -> tuple[Store, Embedder | None, list[str]]:
    try:
        store = open_store(home.store_root)
    except NotFoundError:
        embedder, note = open_embedder(home.settings.embedding, home.calibration_path)
        return create_store(home.store_root, **store_identity(embedder)), embedder, [note]
    embedder, note = embedder_of(home, store)
    return store, embedder, [note]


class Identity(TypedDict):
    """What a generation of the store is made with."""

    embedder_id: str
    dims: int


def store_identity(embedder: Embedder | None) -> Identity:
    """What a store that this embedder fills is made with."""
    return {"embedder_id": embedder.embedder_id if embedder else "", "dims": embedder.dims if embedder else 1}


def apply_pending(journal: Journal, store: Store) -> list[Problem]:
    """Applies every committed segment that the store does not hold yet; returns files that were skipped."""
    done = store.applied_segments()
    segment_ids, problems = journal.listing()
    pending = [segment for segment in segment_ids if segment not in done]
    for start in range(0, len(pending), SEGMENTS_A_FOLD):
        problems += apply_segments(journal, store, pending[start : start + SEGMENTS_A_FOLD])
    return problems


def apply_segments(journal: Journal, store: Store, segment_ids: Sequence[str]) -> list[Problem]:
    """Folds segments into the store as one collapsed change, and notes them as applied."""
    scan = journal.read(segment_ids)
    store.apply(collapse(fold(scan.events)))
    torn = {problem.path.stem for problem in scan.problems}
    store.mark_applied([segment for segment in segment_ids if segment not in torn])
    return list(scan.problems)


def _told(problem: Problem) -> str:
    return f"skipped in the journal: {problem.path.name} ({problem.reason})"
