"""The raw record, from the living journal into the derivation's: what came in, and what a person said or deleted.

Nothing that was derived is taken. The windows of conversations are cut anew, as the settings of today say.
"""

import polars as pl

from slowwave.journal.catalogue import CATALOGUE
from slowwave.journal.derivations import is_statement
from slowwave.journal.segments import Journal
from slowwave.language.tokens import count_tokens
from slowwave.models.prompts import prompt_files
from slowwave.progress import progress
from slowwave.readers.chunking import cut_chunks, with_overlap
from slowwave.rederive.beside import Rederiving
from slowwave.schemas.derivation import Estimate
from slowwave.schemas.tables import STATED, shaped
from slowwave.settings.groups import ChunkSettings
from slowwave.settings.tree import Settings
from slowwave.stages.ingest.vector_space import compute_vectors
from slowwave.stages.run import Stage
from slowwave.store import Store, col, is_none_of, lit

RECORD = [
    "turn.recorded", "source.recorded", "cell.deleted", "cell.readmitted", "cell.dated", "cell.erased", "turn.erased",
]  # fmt: skip
"""Kinds of events that a derivation starts from, beside a person's statements."""

SPACES = ["space.fitted"]
"""Kinds of what the living memory found out about its texts, and what a derivation begins with as well."""

COPIED = ["kind", "payload", "version", "recorded_at"]
"""Columns of a scanned event that another segment takes over."""

SHARED = ["turn.recorded", "source.recorded"]
"""Kinds that the living journal has as they are: a switch leaves them where they stand."""

EDITED = [
    "cell.protected",
    "core.struck",
    "cell.restored",
    "contradiction.resolved",
    "contradiction.reopened",
]
"""Kinds of a person's edits that are carried over to the memories of the derivation."""


def take_record(work: Rederiving) -> None:
    """Takes in the segments that are new since the last time, and cuts what was said into pages that wait.

    A deletion of a memory that the derivation has by now is left to `carry_deletions`, which also takes away what was
    written from it.
    """
    run = Stage("record", work.night.workspace, dry_run=False, steps=work.night.steps)
    journal = work.living.journal
    # what no writer applied yet waits for the next time: edits are read from the living store
    waiting = sorted(work.living_store.applied_segments() - set(work.state.taken))
    known = len(work.state.taken)
    for part in journal.portions(waiting):
        events = record_of(journal, part)
        deleted = pl.col("payload").str.json_path_match("$.cell_id")
        is_deleted = pl.col("kind") == "cell.deleted"
        alive = run.store.by_key("cells", events.filter(is_deleted).select(deleted).to_series(), ["cell_id"])
        kept = events.filter(~(is_deleted & deleted.is_in(alive["cell_id"].implode())))
        if kept.height:
            run.steps.commit(run.workspace, kept.select(COPIED), run.now)
        run.count(**dict(kept.group_by("kind").len().sort("kind").iter_rows()))
        work.took(part)
        progress("take in the record", len(work.state.taken) - known, len(waiting))
    run.report.rows_in = len(waiting)
    pages = uncut_pages(run.store, run.settings.chunks, cut=cut_turns(run.store))
    pending = pages.with_columns(status=pl.lit("pending"), attempts=pl.lit(0))
    run.commit({"chunk.cut": shaped(pending, CATALOGUE["chunk.cut"].payload)})
    compute_vectors(run)
    work.night.stages.append(run.report)


def record_of(journal: Journal, segment_ids: list[str]) -> pl.DataFrame:
    """Scanned events of these segments that a derivation starts from."""
    events = journal.read(segment_ids).events
    return events.filter(pl.col("kind").is_in([*RECORD, *SPACES]) | is_statement())


def came_since(journal: Journal, taken: set[str]) -> dict[str, int]:
    """Turns and edits in the segments that a derivation has not taken, counted by kind of event."""
    waiting = [segment for segment in journal.segment_ids() if segment not in taken]
    events = journal.read(waiting).events
    told = events.filter(pl.col("kind").is_in([*RECORD, *EDITED]) | is_statement())
    return dict(told.group_by("kind").len().sort("kind").iter_rows())


def uncut_pages(store: Store, window: ChunkSettings, *, cut: pl.Series) -> pl.DataFrame:
    """Windows (`cut_chunks`) of a store's turns that are not among those cut; what is kept word by word needs none."""
    turns = store.rows("turns", where=is_none_of("source_id", STATED))
    new = turns.filter(~pl.col("turn_id").is_in(cut.implode()))["turn_id"]
    overlap = window.overlap_tokens
    context = with_overlap(turns, new_turn_ids=new, overlap_tokens=overlap)
    return cut_chunks(context, window_tokens=window.window_tokens, overlap_tokens=overlap)


def cut_turns(store: Store) -> pl.Series:
    """Ids of the turns that stand in a page."""
    return store.rows("chunks", ["turn_ids"])["turn_ids"].explode().drop_nulls().unique()


def waiting_pages(store: Store) -> pl.DataFrame:
    """Pages for which no answer was had yet; those whose answers could not be used are left to the next nights."""
    return store.rows("chunks", ["session_id", "token_count"], col("status") == lit("pending"))


def estimate(living: Store, derived: Store | None, settings: Settings) -> Estimate:
    """Work that waits for a derivation, and tokens that it may take; `derived` is what there is of it."""
    cut = pl.Series(dtype=pl.String) if derived is None else cut_turns(derived)
    new = uncut_pages(living, settings.chunks, cut=cut)
    columns = ["session_id", "token_count"]
    pending = [] if derived is None else [waiting_pages(derived).select(columns)]
    windows = pl.concat([new.select(columns), *pending])
    of_session = windows.group_by("session_id").agg(pl.col("token_count").sum())
    pages = of_session.select((pl.col("token_count") / settings.night.page_tokens).ceil().sum()).item() or 0
    read = living.count("chunks", col("status").isin(["extracted", "gated_out"]))
    nights = living.rows("nights", ["token_count"], col("token_count") > lit(0))["token_count"]
    turns = new["turn_ids"].explode().drop_nulls()
    (instructions,) = count_tokens([prompt_files()["extract_cells"].system])
    return Estimate(
        turns=turns.filter(~turns.is_in(cut.implode())).n_unique(),
        pages=int(pages),
        least_tokens=int(windows["token_count"].sum() + pages * instructions),
        likely_tokens=round(nights.sum() * windows.height / read) if len(nights) and read else None,
    )
