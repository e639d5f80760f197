"""Files and folders become turns, chunks and memories: what changed is found, read within bounds, and committed."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from slowwave.errors import InputError, NotFoundError
from slowwave.home.paths import Home
from slowwave.home.stage import Stage
from slowwave.home.vector_space import compute_vectors
from slowwave.home.workspace import Clock, open_workspace
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.files import absolute, shown_path, source_hash
from slowwave.ingest.formats import find_format, read_parts
from slowwave.ingest.sources import find_sources
from slowwave.ingest.turns import source_id_of
from slowwave.progress import progress
from slowwave.recording.chunks import cut_recorded
from slowwave.recording.imports import import_memories
from slowwave.recording.parts import Parts
from slowwave.recording.places import Places
from slowwave.schemas.identity import stable_id
from slowwave.schemas.report import UNREADABLE, StageReport


def ingest(
    home: Home, sources: Sequence[str], *, dry_run: bool, clock: Clock, are_found: bool = False
) -> StageReport:
    """Take in files and folders, as `Memory.ingest` says; the flow of the same name does it under Prefect."""
    started = time.monotonic()
    with open_workspace(home, flow="ingest", clock=clock) as workspace:
        run = Stage("ingest", workspace, dry_run=dry_run)
        run.introduce()
        ingest_sources(run, sources, are_found=are_found)
        compute_vectors(run)
        index_new_turns(run)
    run.report.seconds = round(time.monotonic() - started, 3)
    return run.report


def ingest_sources(run: Stage, sources: Sequence[str], *, are_found: bool = False) -> None:
    """Commits the new turns of files and folders, in parts of a bounded size.

    `are_found` says that a search found these files, and no person named them.
    """
    places = Places(run)
    parts = Parts(run, places)
    given = [Path(source) for source in sources] if sources else list(run.settings.night.sources)
    named_files = set() if are_found else {absolute(path) for path in given}
    for path, file_hash in _find_new(run, given, places):
        _ingest_file(run, path, file_hash, parts, places, is_named=absolute(path) in named_files)
    parts.commit()
    cut_recorded(run)
    places.finish()


def _find_new(run: Stage, given: Sequence[Path], places: Places) -> Iterator[tuple[Path, str]]:
    """Finds sources that are new or changed, with a hash of their content and of the bounds of reading it.

    Raises:
        NotFoundError: a named path does not exist.
    """
    bounds = Bounds.of(run.settings.readers)
    found = find_sources(given, home=run.settings.home)
    for reason, number in found.passed_by.items():
        run.reject(reason, number)
    for reason, text in found.named:
        places.tell(reason, text)
    if given and not found.paths:
        shown = ", ".join(map(shown_path, given))
        run.note(
            f"no file to read in {shown}: name a folder with transcripts (.jsonl) or documents (.md, .txt), or the "
            "files themselves"
        )
    hashes = dict(run.store.rows("sources", ["source_id", "hash"]).iter_rows())
    for number, path in enumerate(found.paths, start=1):
        run.report.rows_in += 1
        progress("ingest", number, len(found.paths))
        try:
            content = source_hash(path, bounds=bounds)
        except (InputError, NotFoundError) as error:
            _refuse(run, places, error)
            continue
        as_read = f"{content}+{_bounds_id(bounds)}"
        if hashes.get(source_id_of(path)) == as_read:
            run.reject("unchanged file")
        else:
            yield path, as_read


def _bounds_id(bounds: Bounds) -> str:
    """An id of the bounds that may leave something of a file out: it is read again once they change."""
    names = ("line_bytes", "message_characters", "file_lines", "conversation_bytes")
    return stable_id("bounds", *(str(getattr(bounds, name)) for name in names))[:8]


def _ingest_file(
    run: Stage, path: Path, file_hash: str, parts: Parts, places: Places, *, is_named: bool
) -> None:
    """Reads a file part by part; one that cannot be read is reported and does not stop the others.

    `is_named` says that it was named itself, and not found in a folder. What comes into the file meanwhile is read the
    next time, since its hash is that of before.
    """
    bounds, source_id = Bounds.of(run.settings.readers), source_id_of(path)
    try:
        form = find_format(path, bounds=bounds)
        if form.messages is None:
            if import_memories(run, path, form.name, places, is_named=is_named):
                parts.finish(path, file_hash, form.source_type)
            return
        for part in read_parts(path, form, bounds=bounds):
            parts.add(part.turns, source_id)
            for reason, number in part.skipped.items():
                run.reject(f"not a turn: {reason}", number)
            places.tell_of(path, part.counts)
    except (InputError, NotFoundError) as error:
        _refuse(run, places, error)
        return
    parts.finish(path, file_hash, form.source_type)


def index_new_turns(run: Stage) -> None:
    """Takes what came in into the full-text index, so that the day's searches do not scan it each time."""
    if run.report.change_count and not run.report.dry_run:
        run.store.index_if_stale("passages")


def _refuse(run: Stage, places: Places, error: Exception) -> None:
    run.reject(UNREADABLE)
    places.tell(UNREADABLE, str(error))
