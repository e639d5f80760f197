"""Taking in memories that are memories already: another program's notes word by word, or another home's export."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final

import polars as pl

from slowwave.home.entities import mentions_of, resolved_names
from slowwave.home.kept_out import without_erased_cells, without_erased_turns
from slowwave.journal.catalogue import CATALOGUE, encode
from slowwave.language.names import same_names
from slowwave.readers.bounds import QUIET, Counts, with_possible_times
from slowwave.readers.exports.forms import MemoryForm
from slowwave.readers.exports.noted import Noted, read_noted
from slowwave.readers.files import file_time, named
from slowwave.readers.statements import cell_id_of
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.moments import unknown_until
from slowwave.schemas.tables import IMPORTED, OWNER, shaped
from slowwave.stages.ingest.own_export import DELETED, KNOWN, OwnImport
from slowwave.stages.ingest.places import Places
from slowwave.stages.run import Stage

NOT_NAMED: Final = "export of Slowwave that nobody named"

_BATCH: Final = 2_000
"""Memories that are stored together."""


def import_memories(
    run: Stage, path: Path, form: MemoryForm, places: Places, *, is_named: bool
) -> Counts | None:
    """Takes in a file of memories; returns what was left out, or null where the file is not taken at all.

    Slowwave's own export says whose word each memory is, and so it is taken only where a person names the file.
    """
    counts = Counts()
    name = named(str(path))
    if form == "slowwave":
        if not is_named:
            run.reject(NOT_NAMED)
            places.tell(NOT_NAMED, f"{name} is an export of Slowwave: name the file itself to take it in")
            return None
        OwnImport(run, path, places).read(counts)
    else:
        _take_notes(run, path, form, counts, places)
    for reason, number in (counts.skipped + counts.parts).items():
        run.reject(f"not a memory: {reason}", 0 if reason in QUIET or reason == "header" else number)
    for reason, told in counts.excesses:
        places.tell(reason, f"{name}: {told}")
    places.tell_redacted(path, counts.redacted)
    return counts


def _take_notes(run: Stage, path: Path, form: MemoryForm, counts: Counts, places: Places) -> None:
    undated, owner = unknown_until(file_time(path)), run.workspace.home.owner
    notes = read_noted(path, form, counts, bounds=run.settings.readers)
    rows = _rows(run, notes, owner, session_id=f"{IMPORTED}-{form}", undated=undated, path=path)
    while part := list(islice(rows, _BATCH)):
        _commit_new(run, shaped(pl.DataFrame(part, infer_schema_length=None), _ROW), places)


_ROW: Final = {
    **CATALOGUE["turn.recorded"].payload,
    **CATALOGUE["cell.imported"].payload,
    **CATALOGUE["cell.extracted"].payload,
}


def _rows(
    run: Stage,
    notes: Iterable[Noted],
    owner: Mapping[str, str],
    *,
    session_id: str,
    undated: datetime,
    path: Path,
) -> Iterator[dict[str, object]]:
    """A row for each memory, with the columns of its turn, its birth and its state; ids depend on its text alone.

    `undated` is the time of those of which nobody says when they were noted.
    """
    bounds, decay = run.settings.readers, run.settings.decay
    for number, note in enumerate(notes):
        digest = content_hash(note.content)
        turn_id = stable_id("turn", *(owner[name] for name in OWNER), session_id, digest)
        since = note.noted_at or undated
        yield {
            **owner,
            "turn_id": turn_id,
            "turn_index": number,
            "role": "assistant",
            "cell_id": cell_id_of(owner, session_id, digest),
            "session_id": session_id,
            "content": note.content,
            "content_hash": digest,
            "origin": "agent",
            "event_time": since,
            "source_type": "conversation",
            "source_id": IMPORTED,
            "source_name": named(path.name),
            "cell_type": "fact",
            "topic_hint": note.subject,
            "subject": note.subject,
            "salience": bounds.import_salience,
            "confidence": bounds.import_confidence,
            "status": "active",
            **dict.fromkeys(("needs_review", "is_judged", "is_summarized", "is_wish", "protected"), False),
            "valid_from": since,
            "decay_rate": decay.rates.get("fact", decay.default_rate),
            "evidence": [turn_id],
            "entities": list(note.entities),
            "artifacts": [],
            "steps": [],
            "prompt_version": IMPORTED,
            "last_accessed": run.now,
            **dict.fromkeys(_COUNTS, 0),
            "imported_from": named(str(path)),
        }


_COUNTS: Final = (
    "retrieval_count", "citation_count", "ignore_count", "confirmations", "archived_count", "revived_count",
)  # fmt: skip


def _commit_new(run: Stage, told: pl.DataFrame, places: Places) -> None:
    """Commits the memories that are neither here nor deleted nor erased."""
    store = run.store
    rows, is_late = with_possible_times(told, now=run.now, bounds=run.settings.readers)
    run.report.rows_in += rows.height
    once = rows.unique("cell_id", keep="first", maintain_order=True)
    new = once.join(
        store.by_key("cells", once["cell_id"], ["cell_id"]), on="cell_id", how="anti", maintain_order="left"
    )
    run.reject(KNOWN, rows.height - new.height)
    dead = store.rows("tombstones", ["cell_id", *OWNER, "content_hash"])
    kept = new.join(dead, on="cell_id", how="anti", maintain_order="left")
    kept = kept.join(dead, on=[*OWNER, "content_hash"], how="anti", maintain_order="left")
    kept = without_erased_cells(run.settings.home, store, kept)
    kept = without_erased_turns(run.settings.home, store, kept)
    run.reject(DELETED, new.height - kept.height)
    if kept.is_empty():
        return
    run.show(kept["content"])
    places.count_late(kept.join(rows.filter(is_late), on="cell_id", how="semi").height)
    kinds = ("turn.recorded", "cell.extracted", "cell.imported")
    run.count(**dict.fromkeys(kinds, kept.height))
    if not run.report.dry_run:
        run.steps.commit(run.workspace, pl.concat([encode(kind, kept) for kind in kinds]), run.now)
    # the people and things of a graph are known at once, before any night links its memories
    named = mentions_of(kept, same_names(store.rows("identities")))
    run.commit(resolved_names(store, named["family"].unique(), named=named))
