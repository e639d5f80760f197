"""Taking in memories that are memories already: another program's notes word by word, or another home's export.

Both go one way: what is here already stays as it is, what was deleted or erased here stays out, the rest becomes the
events that make its rows, under this home's user and project. An export's word decides over trust and core memory, as
if this home had made it: so it is taken in only where a person names it, never from a folder.
"""

from collections import Counter
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from typing import Final

import polars as pl

from slowwave.home.core_memory import write_core
from slowwave.home.entities import mentions_of, resolved_names
from slowwave.home.kept_out import without_deleted_cells, without_erased_turns
from slowwave.home.stage import Stage
from slowwave.home.topic_counts import topic_counts
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.counts import QUIET
from slowwave.ingest.files import file_time, input_of, named
from slowwave.ingest.formats import own
from slowwave.ingest.formats.memories import Noted, read_noted
from slowwave.ingest.formats.own import TABLE_OF, TURN_COUNT, read_own
from slowwave.ingest.turns import with_possible_times
from slowwave.journal.catalogue import CATALOGUE, encode
from slowwave.journal.new_cells import new_cells
from slowwave.language.names import same_names
from slowwave.recording.places import Places
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.identity import content_hashes, stable_ids
from slowwave.schemas.moments import unknown_until
from slowwave.schemas.tables import IMPORTED, KEYS, OWNER, TIMESTAMP, shaped
from slowwave.schemas.text_columns import is_reference

NOT_NAMED: Final = "export of Slowwave that nobody named"
KNOWN: Final = "here already"
DELETED: Final = "deleted by a person"
WHY: Final = "as it was exported"
LOOSE: Final = "about a memory that is not here"

_BATCH: Final = 2_000
"""Notes that are stored together."""

NOTED_SALIENCE, NOTED_CONFIDENCE = 0.6, 0.8
"""Of a memory that another program had written down: it chose it, and nobody here saw what was said."""

_ABOUT: Final = {
    **dict.fromkeys(("mention", "artifact", "link", "core_line"), ("cell_id",)),
    "contradiction": ("cell_a", "cell_b"),
    "judgement": ("cell_id", "target_id"),
}
"""The memories that must be here for a line of such a type, by its columns."""

_CORE_LINES: Final = "lines of core memory"


def import_memories(run: Stage, path: Path, form: str, places: Places, *, is_named: bool) -> bool:
    """Takes in a file of memories; returns whether it is taken at all."""
    file, is_own = input_of(path, Bounds.of(run.settings.readers)), form == own.FORMAT.name
    if is_own and not is_named:
        run.reject(NOT_NAMED)
        text = f"{named(str(path))} is an export of Slowwave: name the file itself to take it in"
        places.tell(NOT_NAMED, text)
        return False
    taken = _Import(run, path, places)
    if is_own:
        for kind, rows in read_own(file):
            taken.add(kind, rows)
        taken.finish()
    else:
        notes = read_noted(file, form)
        for first in count(0, _BATCH):
            if not (part := list(islice(notes, _BATCH))):
                break
            taken.add_notes(part, form, first=first)
    for reason, number in (file.counts.skipped + file.counts.parts).items():
        run.reject(f"not a memory: {reason}", 0 if reason in QUIET or reason == "header" else number)
    places.tell_of(path, file.counts)
    return True


class _Import:
    """One file on its way into a home."""

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

    def add(self, kind: str, read: pl.DataFrame) -> None:
        """Commits what is new of an export's lines of one type; a second time adds only what a first one left out."""
        rows = self._admitted(kind, self._owned(kind, read))
        if kind == "memory":
            self._believed["memories as a person's word"] += rows.filter(origin="user").height
            self._believed["as confirmed"] += rows.filter("protected").height
        if kind == "topic":
            self._topics.update(rows["topic_id"])
        if kind == "core_line":
            self._believed[_CORE_LINES] += rows.height
        if rows.height:
            self._commit(events_of(kind, rows, imported_from=named(str(self._path)), now=self._run.now))

    def add_notes(self, notes: list[Noted], form: str, *, first: int) -> None:
        """Commits what is new of another program's notes, each with the turn that it rests on."""
        rows = self._admitted("memory", _note_rows(self._run, notes, form, self._path, first=first))
        kept = without_erased_turns(self._run.settings.home, self._run.store, rows)
        self._run.reject(DELETED, rows.height - kept.height)
        if kept.is_empty():
            return
        self._commit(pl.concat(encode(kind, kept) for kind in _KINDS))
        # the people and things of a graph are known at once, before any night links its memories
        names = mentions_of(kept, same_names(self._run.store.rows("identities")))
        self._run.commit(resolved_names(self._run.store, names["family"].unique(), named=names))

    def _owned(self, kind: str, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows under this home's user, and its project where they were of that home's, with ids of episodes."""
        owner = self._run.settings.owner
        if "scope" in rows.columns:
            rows = rows.with_columns(
                user_id=pl.lit(owner.user_id),
                project_id=pl.col("project_id").fill_null(owner.project_id),
                scope=pl.col("scope").replace("system", owner.scope),  # nobody else writes for the system
            )
        if kind == "memory":
            told = rows.filter(pl.col("cell_type") == EPISODE)
            ids = zip(told["cell_id"], stable_ids(EPISODE, told.select(*OWNER, "session_id")), strict=True)
            self._renamed |= {old: new for old, new in ids if old != new}
        return rows.with_columns(
            pl.col(name).list.eval(pl.element().replace(self._renamed))
            if dtype == pl.List(pl.String)
            else pl.col(name).replace(self._renamed)
            for name, dtype in rows.schema.items()
            if is_reference(name)
        )

    def _admitted(self, kind: str, read: pl.DataFrame) -> pl.DataFrame:
        """The rows that are new and that nothing here speaks against, at times at which they can have been said."""
        run, key, table = self._run, KEYS[TABLE_OF[kind]], TABLE_OF[kind]
        run.report.rows_in += read.height
        here = run.store.by_key(table, read[key], [key])[key].implode()
        new = read.unique(key, keep="first", maintain_order=True).filter(~pl.col(key).is_in(here))
        kept = self._not_deleted(kind, new)
        found = kept.clear() if kind == "core_line" and self._has_core else kept
        for column in _ABOUT.get(kind, ()):
            there = run.store.by_key("cells", found[column], ["cell_id"])["cell_id"]
            found = found.filter(pl.col(column).is_in([*there, *self._taken]))
        run.reject(KNOWN, read.height - new.height)
        run.reject(DELETED, new.height - kept.height)
        run.reject(LOOSE, kept.height - found.height)
        if "event_time" in found.columns:
            hours = run.settings.readers.ahead_hours
            found, is_late = with_possible_times(found, now=run.now, ahead_hours=hours)
            self._places.count_late(int(is_late.sum()))
        if kind == "memory":
            self._taken.update(found["cell_id"])
            run.show(found["content"])
        return found

    def _not_deleted(self, kind: str, rows: pl.DataFrame) -> pl.DataFrame:
        store, home = self._run.store, self._run.settings.home
        if kind == "memory":
            return without_deleted_cells(home, store, rows)
        if kind == "turn":
            return without_erased_turns(home, store, rows)
        if kind == "edge":
            gone = store.rows("tombstones", ["cell_id"])["cell_id"].implode()
            return rows.filter(~pl.col("source_id").is_in(gone) & ~pl.col("target_id").is_in(gone))
        if kind == "deleted":  # what was deleted elsewhere takes nothing away that is here
            here = store.by_key("cells", rows["cell_id"], ["cell_id"])["cell_id"].implode()
            return rows.filter(~pl.col("cell_id").is_in(here))
        return rows

    def _commit(self, events: pl.DataFrame) -> None:
        self._run.count(**dict(events.group_by("kind", maintain_order=True).len().iter_rows()))
        if not self._run.report.dry_run:
            self._run.workspace.commit(events, self._run.now)

    def finish(self) -> None:
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
        if believed[_CORE_LINES]:
            write_core(run.workspace)


_COUNTS: Final = (
    "retrieval_count", "citation_count", "ignore_count", "confirmations", "archived_count", "revived_count",
)  # fmt: skip
_KINDS: Final = ("turn.recorded", "cell.extracted", "cell.imported")
"""The events of a note that comes in."""


_NOTED: Final = pl.Schema(
    {
        "content": pl.String(),
        "subject": pl.String(),
        "entities": pl.List(pl.String),
        "event_time": TIMESTAMP,
    }
)


def _note_rows(run: Stage, notes: list[Noted], form: str, path: Path, *, first: int) -> pl.DataFrame:
    """Notes with the columns of their turn, their birth and their state; ids depend on owner and text alone."""
    decay = run.settings.decay
    shared = {
        **run.workspace.home.owner,
        "session_id": f"{IMPORTED}-{form}",
        "role": "assistant",
        "origin": "agent",
        "source_type": "conversation",
        "source_id": IMPORTED,
        "source_name": named(path.name),
        "cell_type": "fact",
        "salience": NOTED_SALIENCE,
        "confidence": NOTED_CONFIDENCE,
        "decay_rate": decay.rates.get("fact", decay.default_rate),
        "prompt_version": IMPORTED,
        "last_accessed": run.now,
        "imported_from": named(str(path)),
        **dict.fromkeys(_COUNTS, 0),
    }
    undated = unknown_until(file_time(path))  # of a note of which nobody says when it was made
    given = (
        pl.DataFrame([vars(note) for note in notes], schema=_NOTED)
        .with_row_index("turn_index", offset=first)
        .with_columns(pl.col("event_time").fill_null(undated))
        .with_columns(
            content_hashes(pl.Series([note.content for note in notes])),
            *(pl.lit(value).alias(name) for name, value in shared.items()),
            topic_hint="subject",
            valid_from="event_time",
            **dict.fromkeys(("artifacts", "steps"), pl.lit([], dtype=pl.List(pl.String))),
        )
    )
    identity = given.select(*OWNER, "session_id", "content_hash")
    with_ids = given.with_columns(stable_ids("turn", identity), stable_ids("cell", identity))
    payloads = [CATALOGUE[kind].payload for kind in _KINDS]
    return new_cells(
        with_ids.with_columns(evidence=pl.concat_list("turn_id")),
        more=pl.Schema({name: dtype for payload in payloads for name, dtype in payload.items()}),
    )


_EVENTS: Final[dict[str, list[tuple[str, ...]]]] = {
    "memory": [
        ("cell.extracted", "recorded_at"),
        ("episode.written", "recorded_at"),
        ("cell.protected", "imported_at", "protected"),
        ("cell.imported", "imported_at"),
    ],
    "turn": [("turn.recorded", "recorded_at")],
    "chunk": [("chunk.cut", "recorded_at")],
    "topic": [
        ("topic.opened", "updated_at"),
        ("topic.summarized", "summarized_at", "summary", "summarized_at"),
        ("topic.counted", "updated_at"),
        ("topic.flagged", "updated_at", "needs_review"),
        ("topic.merged", "updated_at", "merged_into"),
    ],
    "contradiction": [("contradiction.imported", "imported_at")],
    "judgement": [("pair.judged", "judged_at")],
    "entity": [
        ("entity.resolved", "updated_at"),
        ("entity.enriched", "updated_at", "summary", "enriched_count"),
        ("entity.flagged", "updated_at", "needs_review"),
    ],
    "identity": [("identity.recorded", "recorded_at")],
    "mention": [("mention.recorded", "imported_at")],
    "artifact": [("artifact.recorded", "imported_at")],
    "edge": [("edge.drawn", "recorded_at")],
    "link": [("cell.linked", "linked_at"), ("cell.examined", "examined_at", "examined_at")],
    "core_line": [("core.promoted", "promoted_at")],
    "deleted": [("cell.deleted", "deleted_at")],
}
"""The events that make a row of a type, from its birth on: kind, the column with its time, and the columns that have a
value where it happened."""


def events_of(kind: str, rows: pl.DataFrame, *, imported_from: str, now: datetime) -> pl.DataFrame:
    """Events of rows of one type of line, with their `recorded_at`; folded, they give the rows as they were."""
    told = rows.with_columns(imported_from=pl.lit(imported_from), imported_at=pl.lit(now).cast(TIMESTAMP))
    if "reason" not in rows.columns:
        told = told.with_columns(reason=pl.lit(WHY))
    found = []
    for name, time, *needed in _EVENTS[kind]:
        of_kind = _as_born(name, told.filter(*map(_has, needed)))
        if of_kind.height:
            payload = shaped(of_kind, CATALOGUE[name].payload)
            found.append(encode(name, payload).with_columns(recorded_at=of_kind[time]))
    return pl.concat(found, rechunk=True)


def _has(column: str) -> pl.Expr:
    return pl.col(column) if column in ("needs_review", "protected") else pl.col(column).is_not_null()


def _as_born(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of an event; those of a birth as they were then, since other events say what became of them."""
    if name == "episode.written":
        no_cells = pl.lit([], dtype=pl.List(pl.String))
        return rows.filter(cell_type=EPISODE).with_columns(pl.col(TURN_COUNT).fill_null(0), cell_ids=no_cells)
    if name == "cell.protected":
        return rows.with_columns(note=pl.lit(None, dtype=pl.String))
    if name != "cell.extracted":
        return rows
    later = dict.fromkeys(("topic_id", "summary", "supersedes", "superseded_by", "superseded_at"))
    doubts = dict.fromkeys(("needs_review", "is_judged", "is_summarized", "protected"), False)
    return rows.filter(pl.col("cell_type") != EPISODE).with_columns(
        **{column: pl.lit(value, dtype=rows.schema[column]) for column, value in {**later, **doubts}.items()},
        valid_until=pl.when(pl.col("status") != "superseded").then("valid_until"),
        status=pl.lit("active"),
    )
