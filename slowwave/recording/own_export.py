"""Taking in Slowwave's own export: the events that make the same rows here, under this home's user and project.

What is here already stays as it is, and what was deleted or erased here stays out. The file's word decides over trust
and core memory, as if this home had made it: so it is taken in only where a person names it, never from a folder.
"""

from collections import Counter
from pathlib import Path
from typing import Final

import polars as pl

from slowwave.home.core_memory import write_core
from slowwave.home.kept_out import without_deleted_cells, without_erased_turns
from slowwave.home.stage import Stage
from slowwave.home.topic_counts import topic_counts
from slowwave.ingest.files import Input, named
from slowwave.ingest.formats.own import TABLE_OF, read_own
from slowwave.ingest.turns import with_possible_times
from slowwave.recording.own_events import events_of
from slowwave.recording.places import Places
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import KEYS, OWNER
from slowwave.schemas.text_columns import is_reference

KNOWN: Final = "here already"
DELETED: Final = "deleted by a person"
LOOSE: Final = "about a memory that is not here"


def unknown(run: Stage, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that the home does not have, in the order of the file, each key once."""
    key = KEYS[table]
    once = rows.unique(key, keep="first", maintain_order=True)
    here = run.store.by_key(table, once[key], [key])
    new = once.join(here, on=key, how="anti", maintain_order="left")
    run.reject(KNOWN, rows.height - new.height)
    return new


class OwnImport:
    """One export on its way into a home."""

    def __init__(self, run: Stage, path: Path, places: Places) -> None:
        self._run = run
        self._path = path
        self._places = places
        self._taken: set[str] = set()
        """Memories that came with this file."""
        self._renamed: dict[str, str] = {}
        """Episodes, whose ids are made from their owner, by the ids that they had."""
        self._topics: set[str] = set()
        self._believed: Counter[str] = Counter()
        """What counts as a person's word because the file says so."""
        self._has_core = run.store.count("core") > 0

    def read(self, file: Input) -> None:
        """Commits all that is new, batch by batch; a second time adds only what a first one left out."""
        for kind, read in read_own(file):
            self._run.report.rows_in += read.height
            new = unknown(self._run, TABLE_OF[kind], self._owned(kind, read))
            rows = self._possible(self._standing(kind, new))
            if kind == "memory":
                self._taken.update(rows["cell_id"])
                self._run.show(rows["content"])
                told_by_user = rows.filter(pl.col("origin") == "user")
                self._believed["memories as a person's word"] += told_by_user.height
                self._believed["as confirmed"] += rows.filter("protected").height
            if kind == "topic":
                self._topics.update(rows["topic_id"])
            if kind == "core_line":
                self._believed["lines of core memory"] += rows.height
            self._commit(kind, rows)
        self._finish()

    def _owned(self, kind: str, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows under this home's user, and its project where they were of that home's, with ids of episodes."""
        owner = self._run.settings.owner
        if "scope" in rows.columns:
            own = pl.col("project_id").fill_null(pl.lit(owner.project_id))
            rows = rows.with_columns(user_id=pl.lit(owner.user_id), project_id=own)
        if "scope" in rows.columns and owner.scope != "system":  # nobody else writes for the system
            rows = rows.with_columns(scope=pl.col("scope").replace("system", owner.scope))
        if kind == "memory":
            told = rows.filter(pl.col("cell_type") == EPISODE)
            ids = zip(told["cell_id"], stable_ids(EPISODE, told.select(*OWNER, "session_id")), strict=True)
            self._renamed |= {old: new for old, new in ids if old != new}
        if not self._renamed:
            return rows
        return rows.with_columns(
            pl.col(name).list.eval(pl.element().replace(self._renamed))
            if dtype == pl.List(pl.String)
            else pl.col(name).replace(self._renamed)
            for name, dtype in rows.schema.items()
            if is_reference(name)
        )

    def _possible(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with times at which they can have been said."""
        if "event_time" not in rows.columns:
            return rows
        possible, is_late = with_possible_times(
            rows, now=self._run.now, ahead_hours=self._run.settings.readers.ahead_hours
        )
        self._places.count_late(rows.filter(is_late).height)
        return possible

    def _standing(self, kind: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows that nothing here speaks against, and whose memories are here."""
        kept = self._not_deleted(kind, rows)
        self._run.reject(DELETED, rows.height - kept.height)
        found = kept
        if kind in ("mention", "artifact", "link", "core_line"):
            found = self._alive(found, "cell_id")
        elif kind == "contradiction":
            found = self._alive(self._alive(found, "cell_a"), "cell_b")
        elif kind == "judgement":
            found = self._alive(self._alive(found, "cell_id"), "target_id")
        if kind == "core_line" and self._has_core:
            found = found.clear()
        self._run.reject(LOOSE, kept.height - found.height)
        return found

    def _not_deleted(self, kind: str, rows: pl.DataFrame) -> pl.DataFrame:
        store = self._run.store
        if kind == "memory":
            return without_deleted_cells(self._run.settings.home, store, rows)
        if kind == "turn":
            return without_erased_turns(self._run.settings.home, store, rows)
        if kind == "edge":
            gone = store.rows("tombstones", ["cell_id"])
            for end in ("source_id", "target_id"):
                rows = rows.join(gone, left_on=end, right_on="cell_id", how="anti", maintain_order="left")
            return rows
        # what was deleted elsewhere takes nothing away that is here
        if kind == "deleted":
            here = store.by_key("cells", rows["cell_id"], ["cell_id"])
            return rows.join(here, on="cell_id", how="anti", maintain_order="left")
        return rows

    def _alive(self, rows: pl.DataFrame, column: str) -> pl.DataFrame:
        here = {*self._run.store.by_key("cells", rows[column], ["cell_id"])["cell_id"], *self._taken}
        return rows.filter(pl.col(column).is_in(list(here)))

    def _commit(self, kind: str, rows: pl.DataFrame) -> None:
        run = self._run
        events = events_of(kind, rows, imported_from=named(str(self._path)), now=run.now)
        if events is None:
            return
        run.count(**dict(events.group_by("kind", maintain_order=True).len().iter_rows()))
        if not run.report.dry_run:
            run.workspace.commit(events, run.now)

    def _finish(self) -> None:
        """Counts the topics of which other memories live here than there, and writes core memory where lines came.

        Whoever has the same ones keeps its counts: a summary may leave memories out that wait for no other one.
        """
        run = self._run
        if believed := +self._believed:
            told = ", ".join(f"{number:,} {what}" for what, number in believed.items())
            run.note(f"{named(self._path.name)} is believed: {told}. Take in only what you exported yourself")
        if run.report.dry_run:
            return
        counts = topic_counts(run.store, sorted(self._topics), {})
        ends = ["topic_id", "cell_count"]
        as_exported = run.store.by_key("topics", counts["topic_id"], ends)
        run.commit({"topic.counted": counts.join(as_exported, on=ends, how="anti")})
        if believed["lines of core memory"]:
            write_core(run.workspace)
