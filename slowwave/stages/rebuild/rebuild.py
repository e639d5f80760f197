"""A new store beside the living one: from the journal alone, or with the vectors of another embedder."""

import time

import polars as pl

from slowwave.embeddings import Embedder, base_id_of, base_of, open_embedder
from slowwave.errors import ConfigError, NotFoundError
from slowwave.home.lock import writing
from slowwave.home.paths import Home, open_home
from slowwave.home.spaces import wanted_space
from slowwave.home.stored_embedder import embedder_of
from slowwave.home.workspace import new_store
from slowwave.schemas.report import StageReport
from slowwave.schemas.tables import KEYS, TABLES
from slowwave.stages.run import Steps
from slowwave.store import Store, filling, open_store


def rebuild_store(home: str, *, dry_run: bool, steps: Steps) -> StageReport:
    """Folds the whole journal into a new store, with the embedder of the living store where it serves."""
    with writing(where := open_home(home)):
        living = _open_living(where)
        settings = where.settings.embedding
        embedder, note = (
            embedder_of(where, living) if living else open_embedder(settings, where.calibration_path)
        )
        report = StageReport(stage="rebuild", dry_run=dry_run, notes=[note])
        return _make_store(where, living, embedder, report, steps)


def reembed_store(home: str, *, dry_run: bool, steps: Steps) -> StageReport:
    """Folds the whole journal into a new store, with vectors of the embedder that the settings name."""
    with writing(where := open_home(home)):
        embedder, note = open_embedder(where.settings.embedding, where.calibration_path)
        report = StageReport(stage="reembed", dry_run=dry_run, notes=[note])
        living = open_store(where.store_root)
        if base_id_of(living.meta.embedder_id) != (embedder.embedder_id if embedder else ""):
            return _make_store(where, living, embedder, report, steps)
        report.is_skipped = True
        report.notes.append("the store's vectors are of this embedder already")
        return report


def _make_store(
    home: Home, living: Store | None, embedder: Embedder | None, report: StageReport, steps: Steps
) -> StageReport:
    """Makes the new store and switches to it; a dry run only compares it with the living one."""
    started = time.monotonic()
    with filling(new_store(home.store_root, embedder, make_current=False)) as fresh:
        problems = steps.fold(home, fresh)
        report.notes += [f"skipped in the journal: {problem}" for problem in problems]
        if embedder is not None:  # the journal says which fit its vectors are of
            embedder = wanted_space(home, fresh, base_of(embedder))
            fresh.name_space(embedder.embedder_id)
        report.rows_in = len(home.journal.segment_ids())
        report.rejected["file in the journal that is not a whole segment"] = len(problems)
        if living is not None:
            report.notes += _differences(living, fresh)
        if not report.dry_run:
            done = steps.embed_all(fresh, embedder)
            report.counts = {f"rows of {table}": fresh.count(table) for table in TABLES if fresh.count(table)}
            report.rejected["text that the embedder refused"] = done.get("failed", 0)
            fresh.make_current()
    report.rejected = {reason: number for reason, number in report.rejected.items() if number}
    report.seconds = round(time.monotonic() - started, 3)
    return report


def _open_living(home: Home) -> Store | None:
    try:
        return open_store(home.store_root)
    except (NotFoundError, ConfigError):
        return None  # nothing to compare with: the journal is all that a rebuild needs


def _differences(living: Store, fresh: Store) -> list[str]:
    """Differences between the living store and the new one, a line a table; none when they are the same."""
    notes = []
    for table in TABLES:
        key = KEYS[table]
        old, new = living.rows(table).sort(key), fresh.rows(table).sort(key)
        if old.equals(new):
            continue
        common = old.join(new, on=key, how="semi").height
        notes.append(
            f"{table}: {new.height - common} rows that the store lacked, {old.height - common} that the journal "
            f"does not know, {common - _same_rows(old, new)} that differ"
        )
    return notes


def _same_rows(old: pl.DataFrame, new: pl.DataFrame) -> int:
    texts = [pl.col(name).list.join("\x1f") for name, kind in old.schema.items() if isinstance(kind, pl.List)]
    flat_old, flat_new = old.with_columns(texts), new.with_columns(texts)
    return flat_old.join(flat_new, on=flat_old.columns, how="semi", nulls_equal=True).height
