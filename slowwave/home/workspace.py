"""A workspace: a home under the writer lock, with everything committed applied, for a stage or for a person's edit.

The language model's client is imported and opened only where it is asked for: edits and readers never pay for it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from slowwave.errors import ConfigError, ContractError, NotFoundError, OutputError, TransientError
from slowwave.home.lock import COMMIT_SECONDS, leasing, writing
from slowwave.home.lost_segments import loss_note, lost_segments
from slowwave.home.paths import Home, open_home
from slowwave.home.stored_embedder import base_embedder, embedder_of, wanted_space
from slowwave.home.swept import ADVICE, keep_fresh, needs_sweep
from slowwave.home.topic_counts import with_counts
from slowwave.home.vectors import centroids, take_over_vectors
from slowwave.journal.catalogue import EventRows, encode, encode_plan
from slowwave.journal.changes import collapse
from slowwave.journal.derivations import in_force, last_switch
from slowwave.journal.fold import fold
from slowwave.journal.segments import Journal, Problem
from slowwave.models.embed.choice import open_embedder
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.space import base_of
from slowwave.progress import progress
from slowwave.schemas.tables import VECTOR_TEXT
from slowwave.settings.tree import Settings
from slowwave.store import (
    Embed,
    OutdatedStoreError,
    Store,
    StoreMeta,
    create_beside,
    create_store,
    filling,
    give_memory_back,
    open_store,
)
from slowwave.store import col as column

if TYPE_CHECKING:
    from slowwave.models.gateway import LLM

Clock = Callable[[], datetime]
"""Source of the present moment, in UTC."""

EMBED_ROWS, MOST_EMBED_ROWS = 1_024, 4_096
"""Rows embedded and stored together, so that a kill loses little; in a table of many more, since each read of it costs
the more, the more often it was written."""

MANY_ROWS = 20_000

EMBED_BYTES, READ_ROWS = 8_000_000, 512
"""Bytes of texts that are embedded together at about the most, and rows whose texts are read at once."""


def wall_clock() -> datetime:
    """The machine's own time."""
    return datetime.now(UTC)


@dataclass
class Workspace:
    """A home with its gateways, held under the writer lock while a stage or an edit works.

    `notes` are for the report: which embedder serves, whether there is a language model.
    """

    home: Home
    store: Store
    embedder: Embedder | None
    notes: list[str] = field(default_factory=list)
    is_introduced: bool = False
    """Whether the notes were said in this run's first report already."""
    last_segment: str = ""
    """The newest segment that is applied."""
    clock: Clock = wall_clock
    """Every time that a night writes down is read from it."""
    is_short: bool = False
    """Whether somebody waits for it: then few texts are written with their vectors, in one write."""

    @property
    def settings(self) -> Settings:
        """Settings of the home."""
        return self.home.settings

    @cached_property
    def llm(self) -> "LLM | None":
        """The language model, opened when it is first asked for; None where the settings name none.

        Raises:
            ConfigError: it cannot be used as configured.
        """
        if self.settings.llm.provider == "none":
            return None
        from slowwave.models.gateway import open_llm  # noqa: PLC0415 - its client takes a second to import

        return open_llm(self.settings.llm, self.home.cache_path)

    def require_llm(self) -> None:
        """Refuses settings of the language model that cannot be used, before a night or a stage changes anything.

        Raises:
            ConfigError: they cannot be used.
        """
        _ = self.llm

    def close(self) -> None:
        """Closes the language model where it was opened."""
        if (llm := self.__dict__.get("llm")) is not None:
            llm.close()

    def apply_all(self) -> list[Problem]:
        """Applies everything that is committed; returns the files that were skipped.

        Where a derivation took the place of the memory, it is folded into a new generation.
        """
        # read before: what another process commits meanwhile is applied with this one's first commit
        self.last_segment = self.home.journal.last_id() or ""
        try:
            return apply_pending(self.home.journal, self.store, embed=self._embed)
        except SwitchedError:
            donors = [self.store]
            with suppress(NotFoundError, ConfigError):  # vectors are computed again then
                donors.append(open_store(self.home.derivation_root / "store"))
            empty = create_beside(self.store)
            self.store, self.embedder, problems = filled(self.home, empty, self.embedder, donors)
            return problems

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The writer lock for one change of the store, with what others committed meanwhile applied.

        Raises:
            BusyError: an edit is being written for longer than `COMMIT_SECONDS`.
        """
        with writing(self.home, work="run", patience_seconds=COMMIT_SECONDS):
            yield

    def commit_plan(self, plan: EventRows, *, now: datetime | None = None) -> dict[str, int]:
        """Commits a plan as one segment, with the counts of topics that it changes, and applies it; rows by kind.

        What rests on a memory that somebody changed since it was read is left out, and counted in `changed_meanwhile`:
        it stays pending, and the next run reads it anew.
        """
        with self.writing():
            kept, self.changed_meanwhile = without_changed(plan, self._changed_by_others())
            self.take_up()
            parts = with_counts(self.store, kept)
            if parts:
                self.commit(encode_plan(parts), now=now or self.clock())
        return {kind: rows.height for kind, rows in parts.items()}

    def commit(self, events: pl.DataFrame, now: datetime) -> None:
        """Commits events as one segment and applies it.

        After the commit nothing is lost: if applying is cut off, the next writer applies the segment.
        """
        with self.writing():
            if self.home.journal.commit(events, now=now) is not None:
                self.take_up()  # what another process committed meanwhile comes first, as in a rebuild

    def take_up(self) -> None:
        """Applies what was committed since this workspace last looked at the journal."""
        with self.writing():
            if pending := self._waiting():
                apply_segments(self.home.journal, self.store, pending, embed=self._embed)
                self.last_segment = pending[-1]

    def _changed_by_others(self) -> list[str]:
        """The memories that others changed since this workspace last looked at the journal."""
        events = self.home.journal.read(self._waiting()).events
        changes = events.filter(~pl.col("kind").is_in([*MAKING, *USING]))
        names = changes["payload"].str.json_path_match("$.cell_id")
        return names.drop_nulls().unique().to_list()

    @property
    def _embed(self) -> Embed | None:
        return vectors_or_none(self.embedder) if self.is_short and self.embedder is not None else None

    def _waiting(self) -> list[str]:
        if self.last_segment:
            return self.home.journal.segment_ids_after(self.last_segment)
        return sorted({*self.home.journal.segment_ids()} - self.store.applied_segments())

    def refresh_vectors(self) -> dict[str, int]:
        """`refresh_vectors` of this workspace."""
        return refresh_vectors(self.store, self.embedder, holding=self.writing)


MAKING = frozenset(
    {
        *("turn.recorded", "source.recorded", "chunk.cut", "chunk.gated", "chunk.extracted", "chunk.failed"),
        *("cell.extracted", "cell.imported", "topic.opened", "night.completed", "space.fitted"),
    }
)
"""Kinds of events that make something new, or settle what was read: they change no memory that is there."""

USING = frozenset({"usage.recorded", "usage.folded", "cell_usage.folded"})
"""Kinds of events that count a use: the memory stays what it is."""


def without_changed(plan: EventRows, changed: list[str]) -> tuple[EventRows, int]:
    """The rows of a plan that name no changed memory, and the number of the others.

    What makes a new row stays in any case: a memory that was just read is not lost because its neighbour changed.
    """
    if not changed:
        return plan, 0
    kept: EventRows = {}
    for kind, rows in plan.items():
        if kind in MAKING or rows.is_empty():
            kept[kind] = rows
        else:
            kept[kind] = rows.filter(~encode(kind, rows)["payload"].str.contains_any(changed))
    return kept, sum(rows.height - kept[kind].height for kind, rows in plan.items())


def vectors_or_none(embedder: Embedder, notes: list[str] | None = None) -> Embed:
    """Vectors of few texts at once; where the embedder makes none they wait, and it is added to the notes why."""

    def embed(texts: Sequence[str]) -> list[list[float] | None]:
        try:
            made = embedder.embed_documents(texts)
        except (TransientError, OutputError) as error:
            if notes is not None:
                notes.append(str(error))
            return [None] * len(texts)
        return [None if place in made.failures else row.tolist() for place, row in enumerate(made.vectors)]

    return embed


def refresh_vectors(
    store: Store,
    embedder: Embedder | None,
    *,
    holding: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> dict[str, int]:
    """Computes vectors that are missing (new rows, or an embedder that was down) and topics' centroids.

    `holding` takes the writer lock for each write: texts are embedded without it, which may take long.

    Returns rows embedded, by table, and `failed` for texts that the embedder refused.

    Raises:
        TransientError: the embedder does not answer; what is stored stays, the rest waits.
    """
    done: dict[str, int] = {}
    if embedder is None:
        return done
    for table in VECTOR_TEXT:
        missing = store.without_vector(table)
        for looked_at, part in text_batches(store, table, missing):
            if part.is_empty():
                continue
            embedded = embedder.embed_documents(part["text"].to_list())
            rows = part.select(part.columns[0], vector=pl.Series(embedded.vectors))
            kept = rows.with_row_index("row").filter(~pl.col("row").is_in([*embedded.failures])).drop("row")
            with holding():
                store.put_vectors(table, kept)
            done[table] = done.get(table, 0) + kept.height
            done["failed"] = done.get("failed", 0) + len(embedded.failures)
            progress(f"embed {table}", looked_at, len(missing))
            if len(missing) >= MANY_ROWS:
                give_memory_back()
    if stale := store.without_centroid():
        means = centroids(store.rows("cells", ["topic_id", "vector"], column("topic_id").isin(stale)))
        with holding():
            store.put_vectors("topics", means.rename({"vector": "centroid"}), column="centroid")
    return done


def text_batches(store: Store, table: str, keys: pl.Series) -> Iterator[tuple[int, pl.DataFrame]]:
    """Keys and texts to embed together, few enough to bound memory, and how many of `keys` were looked at so far."""
    most_rows = EMBED_ROWS if len(keys) < MANY_ROWS else MOST_EMBED_ROWS
    waiting: list[pl.DataFrame] = []
    for looked_at in range(READ_ROWS, len(keys) + READ_ROWS, READ_ROWS):
        waiting.append(store.embedded_texts(table, keys.slice(looked_at - READ_ROWS, READ_ROWS)))
        size = sum(int(part["text"].str.len_bytes().sum()) for part in waiting)
        row_count = sum(part.height for part in waiting)
        if looked_at >= len(keys) or row_count >= most_rows or size >= EMBED_BYTES:
            yield min(looked_at, len(keys)), pl.concat(waiting)
            waiting = []


_OPEN: dict[Path, Workspace] = {}
"""Workspaces that this process holds: the stages of a night share one lock, one budget and one embedder."""


@contextmanager
def open_workspace(
    path: Home | Path | str | None = None,
    *,
    flow: str = "",
    clock: Clock = wall_clock,
    is_alone: bool = False,
) -> Iterator[Workspace]:
    """A workspace of a run, with everything that is committed applied: it takes the writer lock for each commit.

    The message for whoever is kept out meanwhile names the `flow`. With `is_alone` it holds that lock for its whole
    time, so that nobody edits beside it.
    Opened again within one process, it is the same one, with the clock of the first opening: who lives through
    other days than today (a simulation) opens it around its nights with a clock of its own.

    Raises:
        BusyError: another process is writing.
        ConfigError: settings or embedder cannot be used as configured.
    """
    home = path if isinstance(path, Home) else open_home(path)
    key = home.root.resolve()
    if key in _OPEN:
        yield _OPEN[key]
        return
    with ExitStack() as held:
        held.enter_context(leasing(home, flow=flow))
        with writing(home, work="run", patience_seconds=COMMIT_SECONDS):
            workspace = workspace_of(home, clock=clock)
        if is_alone:
            held.enter_context(writing(home, work="run", patience_seconds=COMMIT_SECONDS))
        workspace.store.hold_tables()
        if home.settings.llm.provider == "none":
            workspace.notes.append("No language model is configured; the stages ran without one.")
        if home.erase_path.exists():
            workspace.notes.append("an erase was cut off: `slowwave erase --resume` ends it")
        if home.redact_path.exists():
            workspace.notes.append("a redaction was cut off: `slowwave run redact` ends it")
        elif needs_sweep(home):
            workspace.notes.append(ADVICE)
        _OPEN[key] = workspace
        try:
            yield workspace
        finally:
            del _OPEN[key]
            workspace.close()


def workspace_of(home: Home, *, clock: Clock) -> Workspace:
    """The workspace of a home whose writer lock the caller holds; its store is made where there is none yet.

    Raises:
        DamageError: a table of the store is missing or cut.
    """
    try:
        store = open_store(home.store_root)
    except NotFoundError:
        keep_fresh(home, now=clock())
        embedder, note = open_embedder(home.settings.embedding)
        store = new_store(home.store_root, embedder)
    except OutdatedStoreError as outdated:
        store, embedder, note = _migrated(home, outdated.meta)
    else:
        store.require_tables()
        embedder, note = embedder_of(home, store)
    workspace = Workspace(home, store, embedder, [note], clock=clock)
    workspace.notes += [
        f"skipped in the journal: {problem.path.name} ({problem.reason})" for problem in workspace.apply_all()
    ]
    if lost := lost_segments(home.journal, workspace.store):
        workspace.notes.append(loss_note(len(lost)))
    return workspace


def _migrated(home: Home, old: StoreMeta) -> tuple[Store, Embedder | None, str]:
    """A store of this version in place of an older one, folded from the journal; its vectors are made by the next run.

    A kill in between leaves the old store, and the next writer begins again.
    """
    embedder, note = base_embedder(home, old.embedder_id)
    empty = new_store(home.store_root, embedder, make_current=False)
    fresh, embedder, _ = filled(home, empty, embedder, ())
    made = f"the store of an older version ({old.schema_version}) was rebuilt from the journal"
    return fresh, embedder, f"{made}; {note}" if note else made


def new_store(root: Path, embedder: Embedder | None, *, make_current: bool = True) -> Store:
    """A new, empty generation for the vectors of this embedder (`create_store`)."""
    name, dims = (embedder.embedder_id, embedder.dims) if embedder else ("", 1)
    return create_store(root, embedder_id=name, dims=dims, make_current=make_current)


class SwitchedError(ContractError):
    """A derivation took the place of what a store holds: only a new store can hold it."""


def apply_pending(journal: Journal, store: Store, *, embed: Embed | None = None) -> list[Problem]:
    """Applies every committed segment that the store does not hold yet; returns files that were skipped.

    Raises:
        SwitchedError: the store holds what a derivation among them took the place of.
    """
    done = store.applied_segments()
    segment_ids, problems = journal.listing()
    pending = [segment for segment in segment_ids if segment not in done]
    switch = last_switch(journal, pending)
    if min(done, default=switch) < switch:
        raise SwitchedError("a derivation cannot be folded over another memory: run `slowwave run rebuild`")
    for part in journal.portions(pending):
        problems += apply_segments(journal, store, part, switch=switch, embed=embed)
    return problems


def filled(
    home: Home, empty: Store, embedder: Embedder | None, donors: Sequence[Store]
) -> tuple[Store, Embedder | None, list[Problem]]:
    """A new generation folded from the whole journal and made current, the embedder in its space, and skipped files.

    Texts that a donor has too take its vectors. Readers find the old memory until all of the new one is there.
    """
    with filling(empty) as fresh:
        problems = apply_pending(home.journal, fresh)
        if embedder is not None:
            embedder = wanted_space(fresh, base_of(embedder))
            fresh.name_space(embedder.embedder_id)
        for donor in donors:
            take_over_vectors(donor, fresh)
        fresh.make_current()
    return fresh, embedder, problems


def apply_segments(
    journal: Journal,
    store: Store,
    segment_ids: Sequence[str],
    *,
    switch: str = "",
    embed: Embed | None = None,
) -> list[Problem]:
    """Folds segments into the store as one collapsed change, and notes them as applied.

    What was derived before the segment `switch` is left out.
    """
    scan = journal.read(segment_ids)
    store.apply(collapse(fold(in_force(scan.events, switch))), embed=embed)
    torn = {problem.path.stem for problem in scan.problems}
    store.mark_applied([segment for segment in segment_ids if segment not in torn])
    return list(scan.problems)
