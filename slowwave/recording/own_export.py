"""Taking in Slowwave's own export: the events that make the same rows here, under this home's user and project.

What is here already stays as it is, and what was deleted or erased here stays out. The file's word decides over trust
and core memory, as if this home had made it: so it is taken in only where a person names it, never from a folder.
"""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl

from slowwave.home.core_memory import write_core
from slowwave.home.kept_out import without_deleted_cells, without_erased_turns
from slowwave.home.stage import Stage
from slowwave.home.topic_counts import topic_counts
from slowwave.ingest.files import Input, named
from slowwave.ingest.formats.own import TABLE_OF, TURN_COUNT, read_own
from slowwave.ingest.turns import with_possible_times
from slowwave.journal.catalogue import CATALOGUE, encode
from slowwave.recording.places import Places
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import KEYS, OWNER, TIMESTAMP, shaped
from slowwave.schemas.text_columns import is_reference

KNOWN: Final = "here already"
DELETED: Final = "deleted by a person"
WHY: Final = "as it was exported"
LOOSE: Final = "about a memory that is not here"


Part = tuple[str, pl.DataFrame, str]
"""A kind of event, its rows, and the column that has the time of each."""


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


# the events of rows: those of a row's birth, then its state, each at its own time; folded, they give the row as it was


def events_of(kind: str, rows: pl.DataFrame, *, imported_from: str, now: datetime) -> pl.DataFrame | None:
    """Events of rows of one type of line, with their `recorded_at`; null where there are none."""
    if rows.is_empty():
        return None
    told = rows.with_columns(imported_from=pl.lit(imported_from), imported_at=pl.lit(now).cast(TIMESTAMP))
    if "reason" not in rows.columns:
        told = told.with_columns(reason=pl.lit(WHY))
    parts = [
        encode(name, shaped(of_kind, CATALOGUE[name].payload)).with_columns(recorded_at=of_kind[time])
        for name, of_kind, time in _PARTS[kind](told)
        if of_kind.height
    ]
    return pl.concat(parts, rechunk=True)


def _memories(rows: pl.DataFrame) -> list[Part]:
    """A memory as it was when it was made, and what became of it; a person's confirmation stands by itself."""
    is_episode = pl.col("cell_type") == EPISODE
    is_replaced = pl.col("status") == "superseded"
    bare = dict.fromkeys(("topic_id", "summary", "supersedes", "superseded_by", "superseded_at"))
    doubts = dict.fromkeys(("needs_review", "is_judged", "is_summarized", "protected"), False)
    born = rows.filter(~is_episode).with_columns(
        **{name: pl.lit(value, dtype=rows.schema[name]) for name, value in {**bare, **doubts}.items()},
        valid_until=pl.when(~is_replaced).then("valid_until"),
        status=pl.lit("active"),
    )
    episodes = rows.filter(is_episode).with_columns(pl.col(TURN_COUNT).fill_null(0), cell_ids=_none())
    confirmed = rows.filter("protected").with_columns(note=pl.lit(None, dtype=pl.String))
    return [
        ("cell.extracted", born, "recorded_at"),
        ("episode.written", episodes, "recorded_at"),
        ("cell.protected", confirmed, "imported_at"),
        ("cell.imported", rows, "imported_at"),
    ]


def _topics(rows: pl.DataFrame) -> list[Part]:
    return [
        ("topic.opened", rows, "updated_at"),
        ("topic.summarized", rows.drop_nulls(["summary", "summarized_at"]), "summarized_at"),
        ("topic.counted", rows, "updated_at"),
        ("topic.flagged", rows.filter("needs_review"), "updated_at"),
        ("topic.merged", rows.drop_nulls("merged_into"), "updated_at"),
    ]


def _entities(rows: pl.DataFrame) -> list[Part]:
    return [
        ("entity.resolved", rows, "updated_at"),
        ("entity.enriched", rows.drop_nulls(["summary", "enriched_count"]), "updated_at"),
        ("entity.flagged", rows.filter("needs_review"), "updated_at"),
    ]


def _links(rows: pl.DataFrame) -> list[Part]:
    return [
        ("cell.linked", rows, "linked_at"),
        ("cell.examined", rows.drop_nulls("examined_at"), "examined_at"),
    ]


def _one(name: str, time: str) -> Callable[[pl.DataFrame], list[Part]]:
    """The parts of rows that one kind of event makes as they are."""
    return lambda rows: [(name, rows, time)]


def _none() -> pl.Expr:
    return pl.lit([], dtype=pl.List(pl.String))


_PARTS: dict[str, Callable[[pl.DataFrame], list[Part]]] = {
    "memory": _memories,
    "turn": _one("turn.recorded", "recorded_at"),
    "chunk": _one("chunk.cut", "recorded_at"),
    "topic": _topics,
    "contradiction": _one("contradiction.imported", "imported_at"),
    "judgement": _one("pair.judged", "judged_at"),
    "entity": _entities,
    "identity": _one("identity.recorded", "recorded_at"),
    "mention": _one("mention.recorded", "imported_at"),
    "artifact": _one("artifact.recorded", "imported_at"),
    "edge": _one("edge.drawn", "recorded_at"),
    "link": _links,
    "core_line": _one("core.promoted", "promoted_at"),
    "deleted": _one("cell.deleted", "deleted_at"),
}
