"""Storing what was read in parts: many small files together, a large file piece by piece.

A part is one segment: it survives a kill as soon as it is committed. The hash of a file is recorded with its last
part, so that a file that was cut off is read again, and what is known of it is passed by.
"""

import os
from collections import Counter
from dataclasses import dataclass

import polars as pl

from slowwave.home.kept_out import without_erased_turns
from slowwave.home.lock import recording
from slowwave.journal.catalogue import CATALOGUE
from slowwave.readers.bounds import with_possible_times
from slowwave.readers.chunking import cut_chunks, with_overlap
from slowwave.readers.files import named
from slowwave.readers.reading import READ_SCHEMA
from slowwave.schemas.tables import OWNER, shaped
from slowwave.stages.ingest.conversations import COLUMNS, mixed_conversations, placed, with_owner
from slowwave.stages.ingest.places import Places
from slowwave.stages.ingest.redacted_turns import as_stored
from slowwave.stages.run import Stage
from slowwave.store import col, give_memory_back, lit

ERASED = "erased by a person"
"""The reason under which turns are counted that stay out since somebody erased them."""


@dataclass(frozen=True)
class SourceFile:
    """A file with the hash that is recorded for it."""

    source_id: str
    source_name: str
    hash: str
    source_type: str


class Parts:
    """Turns that wait to be committed, and the files that are complete with them."""

    def __init__(self, run: Stage, places: Places) -> None:
        self._run = run
        self._places = places
        self._turn_count: Counter[str] = Counter()
        self._counted: list[pl.DataFrame] = []
        """Turns that a dry run counted, and would have stored."""
        self._clear()

    def _clear(self) -> None:
        self._frames: list[pl.DataFrame] = []
        self._earlier: list[pl.DataFrame] = []
        self._finished: list[SourceFile] = []
        self._file_of: dict[str, str] = {}
        self._late: list[str] = []
        self._turn_total = self._size = 0

    def add(self, turns: pl.DataFrame, source_id: str, earlier: pl.DataFrame | None) -> None:
        """Adds the turns of a part of a file; `earlier` has those of the part before it."""
        names = {*turns["turn_id"], *turns["session_id"].unique()}
        if any(self._file_of.get(name, source_id) != source_id for name in names):
            self.commit()  # another file that waits has a turn or a session of these: it comes first
        self._frames.append(self._possible(turns))
        if earlier is not None:
            self._earlier.append(self._possible(earlier.tail(self._run.settings.chunks.overlap_tokens)))
        self._file_of.update(dict.fromkeys(names, source_id))
        self._turn_total += turns.height
        self._size += int(turns["content"].str.len_chars().sum())
        self._commit_if_full()

    def _possible(self, turns: pl.DataFrame) -> pl.DataFrame:
        """The turns with times at which they can have been said."""
        possible, is_late = with_possible_times(turns, now=self._run.now, bounds=self._run.settings.readers)
        self._late += turns.filter(is_late)["turn_id"].to_list()
        return possible

    def finish(self, source: SourceFile) -> None:
        """Says that all parts of a file were added."""
        self._finished.append(source)
        self._commit_if_full()

    def _commit_if_full(self) -> None:
        bounds = self._run.settings.readers
        if (
            self._turn_total >= bounds.part_turns
            or self._size >= bounds.part_characters
            or len(self._finished) >= bounds.part_files
        ):
            self.commit()
            give_memory_back()  # after a full part: there may be many

    def commit(self) -> None:
        """Commits what waits in one segment: new turns, their chunks, and the hashes of files that are complete.

        Those that record messages wait until it is in the journal, and what they committed is looked at first: a place
        in a conversation is given once.
        """
        workspace = self._run.workspace
        has_turns = any(frame.height for frame in self._frames)
        if self._run.report.dry_run or not has_turns:
            self._commit()
            return
        with workspace.writing(), workspace.until_committed as held:  # in this order, as an edit takes them
            workspace.take_up()  # most of it before, so that little is written while recorders wait
            held.enter_context(recording(workspace.home))
            workspace.take_up()
            self._commit()

    def _commit(self) -> None:
        run, window = self._run, self._run.settings.chunks
        empty = pl.DataFrame(schema=READ_SCHEMA)
        added = self._not_erased(pl.concat([empty, *self._frames]))
        known = self._known(added)
        new = added.join(known, on=["turn_id", "content_hash"], how="anti", maintain_order="left")
        if new.height:
            added = as_stored(added, new, self._texts_beside(new, known))
            # what is as stored now has another hash, and is not new any more
            new = added.join(new, on=["turn_id", "content_hash"], how="semi", maintain_order="left")
        whole = pl.concat([empty, *self._earlier, added.select(empty.columns)])
        if new.height:
            said = new.filter(pl.col("role") != "document")  # a document has the places of its file
            mixed = mixed_conversations(run.store, whole, said, known) if said.height else said
            whole, new = placed(whole, mixed), placed(new, mixed)
        beside = self._projects_beside(new)
        owned = with_owner(whole, owner=run.settings.owner, new=new, stored=beside)
        context = with_overlap(owned, new_turn_ids=new["turn_id"], overlap_tokens=window.overlap_tokens)
        cut = cut_chunks(context, window_tokens=window.window_tokens, overlap_tokens=window.overlap_tokens)
        pending = cut.with_columns(status=pl.lit("pending"), attempts=pl.lit(0))
        if run.report.dry_run:
            self._counted.append(new.select("content_hash", *COLUMNS))
        self._turn_count.update(added["source_id"].to_list())
        self._show(new, cut)
        self._places.count_late(new.filter(pl.col("turn_id").is_in(self._late)).height)
        recorded = with_owner(new, owner=run.settings.owner, new=new, stored=beside)
        self._tell_gone(recorded)
        chunks = shaped(pending, CATALOGUE["chunk.cut"].payload)
        run.commit(
            {
                "turn.recorded": recorded,
                "chunk.cut": chunks,
                "source.recorded": self._sources(),
            }
        )
        self._clear()

    def _known(self, turns: pl.DataFrame) -> pl.DataFrame:
        """Ids, hashes and places of the turns that are stored, or would be by now."""
        columns = ["content_hash", *COLUMNS]
        stored = self._run.store.by_key("turns", turns["turn_id"], columns)
        if not self._counted:
            return stored
        counted = [frame.join(turns, on="turn_id", how="semi") for frame in self._counted]
        return pl.concat([*reversed(counted), stored.select(columns)]).unique(
            "turn_id", keep="first", maintain_order=True
        )

    def _texts_beside(self, turns: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
        """Stored texts in whose place these would come: of the same messages, and of the same documents.

        Of a conversation only what changes is read: it may have any number of turns.
        """
        columns = ["turn_id", "session_id", "content", "content_hash"]
        documents = turns.filter(pl.col("role") == "document")["session_id"].unique()
        changed = turns.join(known, on="turn_id", how="semi")["turn_id"]
        store = self._run.store
        found = [
            store.having("turns", "session_id", documents, columns),
            store.by_key("turns", changed, columns),
        ]
        return pl.concat(found).unique("turn_id")

    def _projects_beside(self, turns: pl.DataFrame) -> pl.DataFrame:
        """The project of the sessions of these turns, in a row of each session that is stored."""
        columns, store = ["session_id", "turn_index", "project_id"], self._run.store
        wanted = turns["session_id"].unique()
        first = store.rows("turns", columns, col("session_id").isin(wanted) & (col("turn_index") == lit(0)))
        others = wanted.filter(~wanted.is_in(first["session_id"].implode()))
        return pl.concat([first, store.having("turns", "session_id", others, columns)])

    def _tell_gone(self, turns: pl.DataFrame) -> None:
        """Says which folders are not there, so that nothing tells the repository of what was said in them."""
        owner = self._run.settings.owner
        own = turns.filter(pl.col("project_id") == owner.project_id).drop_nulls("cwd")
        gone = [cwd for cwd in own["cwd"].unique().sort() if not os.path.isdir(cwd)]  # noqa: PTH112 - no error
        if owner.project_from == "repository" and gone:
            more = f" and {len(gone) - 1:,} more are" if len(gone) > 1 else " is"
            self._run.note(
                f"{named(gone[0])}{more} not there: what was said in it has no project and is known in all"
            )

    def _sources(self) -> pl.DataFrame:
        rows = [
            {
                **vars(source),
                "turn_count": self._turn_count.pop(source.source_id, 0),
                "indexed_at": self._run.now,
                "consolidated_at": None,
            }
            for source in self._finished
        ]
        payload = CATALOGUE["source.recorded"].payload
        read = {name: dtype for name, dtype in payload.items() if name not in OWNER}
        return pl.DataFrame(rows, schema=read).with_columns(
            pl.lit(value).alias(name) for name, value in self._run.workspace.home.owner.items()
        )

    def _show(self, new: pl.DataFrame, chunks: pl.DataFrame) -> None:
        cut = chunks.group_by("source_id").agg(chunks=pl.len())
        counts = (
            new.group_by("source_id", maintain_order=True)
            .agg(pl.col("source_name").first(), turns=pl.len())
            .join(cut, on="source_id", how="left", maintain_order="left")
        )
        line = pl.format("{}: {} turns, {} chunks", "source_name", "turns", pl.col("chunks").fill_null(0))
        self._run.show(counts.select(line).to_series())

    def _not_erased(self, turns: pl.DataFrame) -> pl.DataFrame:
        """Turns without those whose text a person erased, whatever place they have in their source by now."""
        kept = without_erased_turns(self._run.settings.home, self._run.store, turns)
        self._run.reject(ERASED, turns.height - kept.height)
        return kept
