"""The ingest stage: finds sources that changed, reads them within bounds, and commits their turns and chunks."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from slowwave.errors import InputError, NotFoundError
from slowwave.home.stage import Stage
from slowwave.progress import progress
from slowwave.readers.detect import read_parts, source_hash
from slowwave.readers.exports.forms import export_form, is_memories
from slowwave.readers.files import named, state_of
from slowwave.readers.folders import find_sources
from slowwave.readers.reading import Reading, absolute, source_id_of
from slowwave.schemas.identity import stable_id
from slowwave.schemas.report import UNREADABLE
from slowwave.settings.readers import ReaderSettings
from slowwave.stages.ingest.imports import import_memories
from slowwave.stages.ingest.parts import Parts, SourceFile
from slowwave.stages.ingest.places import Places
from slowwave.stages.ingest.recorded_chunks import cut_recorded

CHANGED = "file that changed while it was read"


def ingest_sources(run: Stage, sources: Sequence[str], *, are_found: bool = False) -> None:
    """Commits the new turns of files and folders, in parts of a bounded size.

    `are_found` says that a search found these files, and no person named them.
    """
    places = Places(run)
    parts = Parts(run, places)
    given = set() if are_found else {absolute(path) for path in _given(run, sources)}
    for path, file_hash in find_new_sources(run, sources, places):
        ingest_file(run, path, file_hash, parts, places, is_named=absolute(path) in given)
    parts.commit()
    cut_recorded(run)
    places.finish()


def find_new_sources(run: Stage, sources: Sequence[str], places: Places) -> Iterator[tuple[Path, str]]:
    """Finds sources that are new or changed, with the hash of their content.

    A file of which something was over a bound is new as well, once that bound is another.

    Raises:
        NotFoundError: a named path does not exist.
    """
    bounds = run.settings.readers
    found = find_sources(_given(run, sources), bounds=bounds, home=run.settings.home)
    for reason, number in found.passed_by.items():
        run.reject(reason, number)
    for reason, text in found.named:
        places.tell(reason, text)
    known = run.store.rows("sources", ["source_id", "hash"])
    hashes = dict(zip(known["source_id"], known["hash"], strict=True))
    for number, path in enumerate(found.paths, start=1):
        run.report.rows_in += 1
        progress("ingest", number, len(found.paths))
        try:
            file_hash = source_hash(path, bounds=bounds)
        except (InputError, NotFoundError) as error:
            _refuse(run, places, error)
            continue
        if (hashes.get(absolute(path)) or hashes.get(source_id_of(path))) in (
            file_hash,
            _cut_hash(file_hash, bounds),
        ):
            run.reject("unchanged file")
            continue
        yield path, file_hash


def _given(run: Stage, sources: Sequence[str]) -> list[Path]:
    """The files and folders that were named, else those of the settings."""
    return [Path(source) for source in sources] if sources else list(run.settings.night.sources)


def ingest_file(
    run: Stage, path: Path, file_hash: str, parts: Parts, places: Places, *, is_named: bool = True
) -> None:
    """Reads a file part by part; one that cannot be read is reported and does not stop the others.

    `is_named` says that it was named itself, and not found in a folder.
    """
    bounds, source_id, before = run.settings.readers, source_id_of(path), state_of(path)
    earlier: pl.DataFrame | None = None
    source_type, is_cut = "conversation", False
    try:
        form = export_form(path, bounds=bounds)
        if is_memories(form):
            counts = import_memories(run, path, form, places, is_named=is_named)
            if counts is not None:
                recorded = _cut_hash(file_hash, bounds) if counts.excesses else file_hash
                parts.finish(SourceFile(source_id, named(path.name), recorded, source_type))
            return
        for part in read_parts(path, bounds=bounds):
            parts.add(part.turns, source_id, earlier)
            _tell(run, places, path, part)
            if part.turns.height:
                source_type = part.turns["source_type"][0]
            is_cut |= bool(part.counts.excesses)
            earlier = part.turns
    except (InputError, NotFoundError) as error:
        _refuse(run, places, error)
        return
    if state_of(path) != before:
        run.reject(CHANGED)
        places.tell(CHANGED, f"{named(path.name)} changed while it was read: the next run reads the rest")
    recorded = _cut_hash(file_hash, bounds) if is_cut else file_hash
    parts.finish(SourceFile(source_id, named(path.name), recorded, source_type))


def _cut_hash(file_hash: str, bounds: ReaderSettings) -> str:
    """Name the state of a file of which something was left out: its hash, and the bounds that did it."""
    cutting = (
        bounds.line_bytes,
        bounds.message_characters,
        bounds.document_bytes,
        bounds.file_lines,
        bounds.conversation_bytes,
    )
    return f"{file_hash}+{stable_id('bounds', *(str(bound) for bound in cutting))[:8]}"


def _tell(run: Stage, places: Places, path: Path, part: Reading) -> None:
    """Counts and names what was left out of a part of a file."""
    for reason, number in part.skipped.items():
        run.reject(f"not a turn: {reason}", number)
    for reason, told in part.counts.excesses:
        places.tell(reason, f"{named(str(path))}: {told}")
    places.tell_redacted(path, part.redacted)


def index_new_turns(run: Stage) -> None:
    """Takes what came in into the full-text index, so that the day's searches do not scan it each time."""
    if run.report.change_count and not run.report.dry_run:
        run.store.index_if_stale("passages")


def _refuse(run: Stage, places: Places, error: Exception) -> None:
    run.reject(UNREADABLE)
    places.tell(UNREADABLE, str(error))
