"""A new store beside the living one: from the journal alone, or with the vectors of another embedder."""

import time
from collections.abc import Collection, Sequence
from datetime import timedelta

import polars as pl

from slowwave.errors import ConfigError, DamageError, NotFoundError, TransientError
from slowwave.home.core_file import write_core_file
from slowwave.home.lock import rewriting
from slowwave.home.paths import Home, open_home
from slowwave.home.spaces import wanted_space
from slowwave.home.stored_embedder import base_embedder
from slowwave.home.workspace import new_store, wall_clock
from slowwave.models.embed.choice import open_embedder
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.space import base_id_of, base_of
from slowwave.schemas.report import StageReport
from slowwave.schemas.tables import KEYS, TABLES
from slowwave.stages.run import Steps
from slowwave.store import (
    Store,
    clear_root,
    filling,
    has_remains,
    open_store,
    remove_damaged,
    switch_from_damaged,
    table_damage,
    told,
)

RESTORE = (
    "what these held is left out: `slowwave doctor` says how to mend each; then run `slowwave rebuild` again"
)

TOLD = 20
"""Files of the journal that the notes list."""


def rebuild_store(home: str, *, dry_run: bool, steps: Steps) -> StageReport:
    """Folds the whole journal into a new store, with the embedder of the living store where that can be told.

    Nothing of the living store is needed. One that is damaged, or holds what the journal lost, is moved away whole.
    """
    with rewriting(where := open_home(home)):
        living, damage = _open_living(where)
        embedder, note = _embedder(where, living)
        report = StageReport(stage="rebuild", dry_run=dry_run, notes=[note])
        return _make_store(where, living, embedder, report, steps, damage=damage)


def reembed_store(home: str, *, dry_run: bool, steps: Steps) -> StageReport:
    """Folds the whole journal into a new store, with vectors of the embedder that the settings name."""
    with rewriting(where := open_home(home)):
        embedder, note = open_embedder(where.settings.embedding)
        report = StageReport(stage="reembed", dry_run=dry_run, notes=[note])
        living = open_store(where.store_root)
        living.require_tables()
        if base_id_of(living.meta.embedder_id) != (embedder.embedder_id if embedder else ""):
            return _make_store(where, living, embedder, report, steps)
        report.is_skipped = True
        report.notes.append("the store's vectors are of this embedder already")
        return report


def _make_store(
    home: Home,
    living: Store | None,
    embedder: Embedder | None,
    report: StageReport,
    steps: Steps,
    *,
    damage: Sequence[str] = (),
) -> StageReport:
    """Makes the new store and switches to it; a dry run only compares it with the living one."""
    started = time.monotonic()
    with filling(_fresh_store(home, embedder)) as fresh:
        problems = steps.fold(home, fresh)
        report.notes += [f"skipped in the journal: {problem}" for problem in problems[:TOLD]]
        report.notes += [f"and {len(problems) - TOLD} more files"] if len(problems) > TOLD else []
        if embedder is not None:  # the journal says which fit its vectors are of
            embedder = wanted_space(home, fresh, base_of(embedder))
            fresh.name_space(embedder.embedder_id)
        segment_ids, applied = home.journal.segment_ids(), fresh.applied_segments()
        held = _segments_of(living) - applied
        # gone is one that others name, or the living store holds, and that has no file
        lost = sorted({*home.journal.missing(), *held} - {*applied, *segment_ids})
        report.notes += [f"gone from the journal: {', '.join(lost[:TOLD])}{_more(lost)}"] if lost else []
        report.notes += [RESTORE] if problems or lost else []
        report.rejected["segment that is gone from the journal"] = len(lost)
        report.rows_in = len(segment_ids)
        report.rejected["file in the journal that is not a whole segment"] = len(problems)
        if living is not None and not damage:
            report.notes += _differences(living, fresh)
        if not report.dry_run:
            done = steps.embed_all(fresh, embedder)
            report.counts = {f"rows of {table}": fresh.count(table) for table in TABLES if fresh.count(table)}
            report.rejected["text that the embedder refused"] = done.get("failed", 0)
            report.notes += _switch(home, fresh, damage, held)
        elif damage:
            report.notes.append(f"the store is damaged ({told(damage)}) and would be moved away")
    report.rejected = {reason: number for reason, number in report.rejected.items() if number}
    report.seconds = round(time.monotonic() - started, 3)
    return report


def _open_living(home: Home) -> tuple[Store | None, list[str]]:
    """The living store where it can be opened at all, and what is wrong with it."""
    try:
        living = open_store(home.store_root)
    except NotFoundError:
        # nothing to compare with: the journal is all that a rebuild needs
        return None, ["no pointer names a generation"] if has_remains(home.store_root) else []
    except DamageError as error:
        return None, [error.what]
    except ConfigError:
        return None, []  # whole, and of another version
    return living, table_damage(living)


def _embedder(home: Home, living: Store | None) -> tuple[Embedder | None, str]:
    """The embedder of the living store's vectors, else the one of the settings; none while its server is away."""
    if living is not None:
        return base_embedder(home, living.meta.embedder_id)
    try:
        return open_embedder(home.settings.embedding)
    except TransientError as error:
        return None, f"full text only, until `slowwave run reembed`: the embedder does not answer ({error})"


def _fresh_store(home: Home, embedder: Embedder | None) -> Store:
    """A new generation beside whatever lies in the store's folder, or stands in its place.

    Raises:
        ConfigError: the folder cannot be written.
    """
    try:
        clear_root(home.store_root, wall_clock())
        return new_store(home.store_root, embedder, make_current=False)
    except OSError as error:
        raise ConfigError(
            f"the store's folder {home.store_root} cannot be written ({error.strerror}): mend its permissions, or "
            "move it away, then run `slowwave rebuild` again"
        ) from error


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - TOLD} more" if len(names) > TOLD else ""


def _segments_of(living: Store | None) -> set[str]:
    """The segments that the living store says it holds; none where it cannot say."""
    try:
        return living.applied_segments() if living is not None else set()
    except DamageError:
        return set()


def _switch(home: Home, fresh: Store, damage: Sequence[str], held: Collection[str]) -> list[str]:
    """Makes the new store the living one; returns notes on what was damaged, and where that is now.

    A store that was damaged is kept, and so is one that holds segments which the journal lost.
    """
    now, kept = wall_clock(), timedelta(days=home.settings.store.keep_damaged_days)
    remove_damaged(home.store_root, until=now - kept)
    notes = [f"the store was damaged: {told(damage)}"] if damage else []
    notes += [f"the store held {len(held)} segments that the journal lost"] if held else []
    if notes:
        aside = switch_from_damaged(fresh, now)
        notes.append(
            f"what lay in its folder is kept in {aside} until {now + kept:%Y-%m-%d}; the next night or rebuild after "
            "that removes it"
        )
    else:
        fresh.make_current()
    try:
        write_core_file(home, fresh)
    except OSError as error:
        notes.append(f"{home.core_path} cannot be written ({error.strerror}): mend it or move it away")
    return notes


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
