"""Taking in memories that are memories already: another program's notes word by word, or another home's export."""

from itertools import islice
from pathlib import Path
from typing import Final

import polars as pl

from slowwave.home.entities import mentions_of, resolved_names
from slowwave.home.kept_out import without_deleted_cells, without_erased_turns
from slowwave.home.stage import Stage
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.counts import QUIET
from slowwave.ingest.files import Input, file_time, input_of, named
from slowwave.ingest.formats import own
from slowwave.ingest.formats.memories import read_noted
from slowwave.ingest.turns import with_possible_times
from slowwave.journal.catalogue import CATALOGUE, encode
from slowwave.journal.new_cells import new_cells
from slowwave.language.names import same_names
from slowwave.recording.own_export import DELETED, OwnImport, unknown
from slowwave.recording.places import Places
from slowwave.schemas.identity import content_hashes, stable_ids
from slowwave.schemas.moments import unknown_until
from slowwave.schemas.tables import IMPORTED, OWNER, TIMESTAMP

NOT_NAMED: Final = "export of Slowwave that nobody named"

KINDS: Final = ("turn.recorded", "cell.extracted", "cell.imported")
"""The events of a memory that comes in."""

_BATCH: Final = 2_000
"""Memories that are stored together."""

NOTED_SALIENCE, NOTED_CONFIDENCE = 0.6, 0.8
"""Of a memory that another program had written down: it chose it, and nobody here saw what was said."""


def import_memories(run: Stage, path: Path, form: str, places: Places, *, is_named: bool) -> bool:
    """Takes in a file of memories; returns whether it is taken at all.

    Slowwave's own export says whose word each memory is, and so it is taken only where a person names the file.
    """
    file = input_of(path, Bounds.of(run.settings.readers))
    counts, name = file.counts, named(str(path))
    if form == own.FORMAT.name:
        if not is_named:
            run.reject(NOT_NAMED)
            places.tell(NOT_NAMED, f"{name} is an export of Slowwave: name the file itself to take it in")
            return False
        OwnImport(run, path, places).read(file)
    else:
        _take_notes(run, file, form, places)
    for reason, number in (counts.skipped + counts.parts).items():
        run.reject(f"not a memory: {reason}", 0 if reason in QUIET or reason == "header" else number)
    places.tell_of(path, counts)
    return True


def _take_notes(run: Stage, file: Input, form: str, places: Places) -> None:
    undated = unknown_until(
        file_time(file.path)
    )  # the time of those of which nobody says when they were noted
    notes = enumerate(read_noted(file, form))
    while part := list(islice(notes, _BATCH)):
        read = pl.DataFrame(
            [
                (number, note.content, note.subject, list(note.entities), note.noted_at)
                for number, note in part
            ],
            schema=_NOTED,
            orient="row",
        )
        _commit_new(
            run,
            _rows(run, read.with_columns(pl.col("event_time").fill_null(undated)), form, file.path),
            places,
        )


_NOTED: Final = pl.Schema(
    {
        "turn_index": pl.Int64(),
        "content": pl.String(),
        "subject": pl.String(),
        "entities": pl.List(pl.String),
        "event_time": TIMESTAMP,
    }
)


def _rows(run: Stage, notes: pl.DataFrame, form: str, path: Path) -> pl.DataFrame:
    """Notes (`_NOTED`) with the columns of their turn, their birth and their state; ids depend on their text alone."""
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
    given = notes.with_columns(
        content_hashes(notes["content"]),
        *(pl.lit(value).alias(name) for name, value in shared.items()),
        topic_hint="subject",
        valid_from="event_time",
        **dict.fromkeys(("artifacts", "steps"), pl.lit([], dtype=pl.List(pl.String))),
    )
    identity = given.select(*OWNER, "session_id", "content_hash")
    named_rows = given.with_columns(stable_ids("turn", identity), stable_ids("cell", identity))
    payloads = [CATALOGUE[kind].payload for kind in KINDS]
    return new_cells(
        named_rows.with_columns(evidence=pl.concat_list("turn_id")),
        more=pl.Schema({name: dtype for payload in payloads for name, dtype in payload.items()}),
    )


_COUNTS: Final = (
    "retrieval_count", "citation_count", "ignore_count", "confirmations", "archived_count", "revived_count",
)  # fmt: skip


def _commit_new(run: Stage, read: pl.DataFrame, places: Places) -> None:
    """Commits the memories that are neither here nor deleted nor erased."""
    rows, is_late = with_possible_times(read, now=run.now, ahead_hours=run.settings.readers.ahead_hours)
    run.report.rows_in += rows.height
    new = unknown(run, "cells", rows.with_columns(is_late=is_late))
    home = run.settings.home
    kept = without_erased_turns(home, run.store, without_deleted_cells(home, run.store, new))
    run.reject(DELETED, new.height - kept.height)
    if kept.is_empty():
        return
    run.show(kept["content"])
    places.count_late(kept.filter("is_late").height)
    run.count(**dict.fromkeys(KINDS, kept.height))
    if not run.report.dry_run:
        run.workspace.commit(pl.concat([encode(kind, kept) for kind in KINDS]), run.now)
    # the people and things of a graph are known at once, before any night links its memories
    names = mentions_of(kept, same_names(run.store.rows("identities")))
    run.commit(resolved_names(run.store, names["family"].unique(), named=names))
