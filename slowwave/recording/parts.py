"""Storing what was read in parts: many small files together, a large file piece by piece.

A part is one segment: it survives a kill as soon as it is committed. The hash of a file is recorded with its last
part, so that a file that was cut off is read again, and what is known of it is passed by.
"""

import os
from collections import Counter
from pathlib import Path

import polars as pl

from slowwave.home.kept_out import without_erased_turns
from slowwave.home.stage import Stage
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.files import named
from slowwave.ingest.turns import READ_SCHEMA, source_of, with_possible_times
from slowwave.journal.catalogue import CATALOGUE
from slowwave.recording.chunks import chunks_of
from slowwave.recording.places import Places
from slowwave.recording.turns import ERASED, STORED, TEXTS, settled, taking_over
from slowwave.schemas.choices import SourceType
from slowwave.store import col, give_memory_back, lit

PART_FILES = 500
"""Small files that are stored together."""


class Parts:
    """Turns that wait to be committed, and the files that are complete with them."""

    def __init__(self, run: Stage, places: Places) -> None:
        self._run = run
        self._places = places
        self._turn_count: Counter[str] = Counter()
        self._counted = pl.DataFrame(schema={"turn_id": pl.String})
        """Turns that a dry run would have stored."""
        self._clear()

    def _clear(self) -> None:
        self._frames: list[pl.DataFrame] = []
        self._finished: list[dict[str, object]] = []
        self._file_of: dict[str, str] = {}
        self._turn_total = self._size = 0

    def add(self, turns: pl.DataFrame, source_id: str) -> None:
        """Adds the turns of a part of a file."""
        sessions = turns["session_id"].unique()
        if any(self._file_of.get(session_id, source_id) != source_id for session_id in sessions):
            self.commit()  # another file that waits goes before in the same conversation
        possible, is_late = with_possible_times(
            turns, now=self._run.now, ahead_hours=self._run.settings.readers.ahead_hours
        )
        self._frames.append(possible.with_columns(is_late=is_late))
        self._file_of.update(dict.fromkeys(sessions, source_id))
        self._turn_total += turns.height
        self._size += int(turns["content"].str.len_chars().sum())
        self._commit_if_full()

    def finish(self, path: Path, file_hash: str, source_type: SourceType) -> None:
        """Says that all parts of a file were added; the hash is recorded with what waits."""
        source = source_of(path, source_type)
        self._finished.append({**vars(source), "hash": file_hash})
        self._commit_if_full()

    def _commit_if_full(self) -> None:
        bounds = Bounds.of(self._run.settings.readers)
        if (
            self._turn_total >= bounds.part_turns
            or self._size >= bounds.part_characters
            or len(self._finished) >= PART_FILES
        ):
            self.commit()
            give_memory_back()  # after a full part: there may be many

    def commit(self) -> None:
        """Commits what waits in one segment: new turns, their chunks, and the hashes of files that are complete."""
        if self._run.report.dry_run:
            self._commit()
            return
        with self._run.workspace.writing():
            self._run.workspace.take_up()  # what was recorded meanwhile has its places
            self._commit()

    def _commit(self) -> None:
        run, empty = self._run, pl.DataFrame(schema={**READ_SCHEMA, "is_late": pl.Boolean})
        read = pl.concat([empty, *self._frames])
        added = without_erased_turns(run.settings.home, run.store, read)
        run.reject(ERASED, read.height - added.height)
        known = run.store.by_key("turns", added["turn_id"], STORED)
        new = self._new(added, known)
        stored = self._stored(new.filter(pl.col("role") != "document"), known)
        owned = settled(_longest(added), stored.iter_rows(named=True), run.settings.owner)
        recorded = owned.filter(pl.col("turn_id").is_in(new["turn_id"].implode()))
        cut = chunks_of(owned, new_turn_ids=new["turn_id"], settings=run.settings.chunks)
        self._turn_count.update(added["source_id"].to_list())
        self._places.count_late(recorded.filter("is_late").height)
        counted = recorded.group_by("source_id", maintain_order=True).agg(
            pl.col("source_name").first(), pl.len()
        )
        run.show(counted.select(pl.format("{}: {} turns", "source_name", "len")).to_series())
        self._tell_gone(recorded)
        run.commit({"turn.recorded": recorded, "chunk.cut": cut, "source.recorded": self._sources()})
        self._clear()

    def _new(self, added: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
        """Turns that are not known, or say more than their stored text."""
        new = added.join(known, on=["turn_id", "content_hash"], how="anti", maintain_order="left")
        if self._run.report.dry_run:
            new = new.join(self._counted, on="turn_id", how="anti", maintain_order="left")
            self._counted = pl.concat([self._counted, new.select("turn_id")])
        documents = new.filter(pl.col("role") == "document")["session_id"].unique()
        changed = new.join(known, on="turn_id", how="semi")["turn_id"]
        store = self._run.store
        texts = [store.having("turns", "session_id", documents, TEXTS), store.by_key("turns", changed, TEXTS)]
        return taking_over(new, pl.concat(texts))

    def _stored(self, said: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
        """Stored turns among the read ones, and those right before new messages, in their places or behind: `STORED`.

        A conversation, however long, is not read whole; the one before tells its project.
        """
        if said.is_empty():
            return known
        first = int(said["turn_index"].sort()[0])
        sessions = col("session_id").isin(said["session_id"].unique())
        near = self._run.store.rows("turns", STORED, sessions & (col("turn_index") >= lit(first - 1)))
        return pl.concat([known, near]).unique("turn_id")

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
        shared = {**self._run.workspace.home.owner, "indexed_at": self._run.now, "consolidated_at": None}
        rows = [
            {**source, **shared, "turn_count": self._turn_count.pop(str(source["source_id"]), 0)}
            for source in self._finished
        ]
        return pl.DataFrame(rows, schema=dict(CATALOGUE["source.recorded"].payload))


def _longest(turns: pl.DataFrame) -> pl.DataFrame:
    """Each turn once: of several versions, as of a forked transcript, the longest, of equal ones the first."""
    length = pl.col("content").str.len_chars()
    return turns.filter(length == length.max().over("turn_id")).unique(
        "turn_id", keep="first", maintain_order=True
    )
