"""The ingest stage: finds sources that changed, reads them, and commits their turns and chunks."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from slowwave.errors import InputError, NotFoundError
from slowwave.journal.catalogue import CATALOGUE
from slowwave.progress import progress
from slowwave.readers.chunking import cut_chunks, with_overlap
from slowwave.readers.detect import find_sources, read_path, source_hash
from slowwave.readers.reading import Reading, source_id_of
from slowwave.schemas.report import UNREADABLE
from slowwave.schemas.tables import OWNER, shaped
from slowwave.stages.run import Stage
from slowwave.store import col, lit


def ingest_sources(run: Stage, sources: Sequence[str]) -> None:
    """Commits the new turns of files and folders, a segment a file."""
    for path, file_hash in find_new_sources(run, sources):
        reading = read_source(run, path)
        if reading is not None:
            record_source(run, reading, path, file_hash)


def find_new_sources(run: Stage, sources: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Finds sources that are new or changed, with the hash of their content.

    Raises:
        NotFoundError: a named path does not exist.
    """
    given = [Path(source) for source in sources] if sources else list(run.settings.night.sources)
    paths = find_sources(given)
    known = run.store.rows("sources", ["source_id", "hash"])
    hashes = dict(zip(known["source_id"], known["hash"], strict=True))
    for number, path in enumerate(paths, start=1):
        run.report.rows_in += 1
        progress("ingest", number, len(paths))
        try:
            file_hash = source_hash(path)
        except (InputError, NotFoundError) as error:
            _refuse(run, error)
            continue
        if hashes.get(source_id_of(path)) == file_hash:
            run.reject("unchanged file")
            continue
        yield path, file_hash


def read_source(run: Stage, path: Path) -> Reading | None:
    """Reads a file; one that cannot be read is reported and does not stop the others."""
    try:
        reading = read_path(path)
    except (InputError, NotFoundError) as error:
        _refuse(run, error)
        return None
    for reason, number in reading.skipped.items():
        run.reject(f"not a turn: {reason}", number)
    if reading.redacted:
        secrets = ", ".join(f"{number} {kind}" for kind, number in sorted(reading.redacted.items()))
        run.note(f"secrets redacted in {path.name} before anything was stored: {secrets}")
    return reading


def record_source(run: Stage, reading: Reading, path: Path, file_hash: str) -> None:
    """Commits a source in one segment: its new turns, their chunks, and the hash that it has now."""
    owner = [pl.lit(getattr(run.settings.owner, name)).alias(name) for name in OWNER]
    turns = _not_erased(run, reading.turns.with_columns(owner), source_id_of(path))
    known = run.store.by_key("turns", turns["turn_id"], ["turn_id", "content_hash"])
    new = turns.join(known, on=["turn_id", "content_hash"], how="anti", maintain_order="left")
    window = run.settings.chunks
    context = with_overlap(turns, new_turn_ids=new["turn_id"], overlap_tokens=window.overlap_tokens)
    cut = cut_chunks(context, window_tokens=window.window_tokens, overlap_tokens=window.overlap_tokens)
    source = pl.DataFrame(
        {
            "source_id": [source_id_of(path)],
            "source_name": [path.name],
            "source_type": [turns["source_type"][0] if turns.height else "conversation"],
            "hash": [file_hash],
            "turn_count": [turns.height],
            "indexed_at": [run.now],
            "consolidated_at": [None],
        }
    ).with_columns(owner)
    if new.height:
        run.show(pl.Series([f"{path.name}: {new.height} turns, {cut.height} chunks"]))
    pending = cut.with_columns(status=pl.lit("pending"), attempts=pl.lit(0))
    chunks = shaped(pending, CATALOGUE["chunk.cut"].payload)
    run.commit({"turn.recorded": new, "chunk.cut": chunks, "source.recorded": source})


def _not_erased(run: Stage, turns: pl.DataFrame, source_id: str) -> pl.DataFrame:
    """Turns without those whose text a person erased, whatever place they have in their source by now."""
    gone = run.store.rows("erasures", ["turn_id", "content_hash"], col("source_id") == lit(source_id))
    kept = turns
    for key in ("turn_id", "content_hash"):
        kept = kept.join(gone, on=key, how="anti", maintain_order="left")
    run.reject("erased by a person", turns.height - kept.height)
    return kept


def index_new_turns(run: Stage) -> None:
    """Takes what came in into the full-text index, so that the day's searches do not scan it each time."""
    if run.report.change_count and not run.report.dry_run:
        run.store.index_if_stale("passages")


def _refuse(run: Stage, error: Exception) -> None:
    run.reject(UNREADABLE)
    run.note(str(error))
