"""A new store in place of the living one: from the journal alone, or with the vectors of another embedder."""

import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

import polars as pl

from slowwave.errors import ConfigError, DamageError, NotFoundError, TransientError
from slowwave.home.core_file import write_core_file
from slowwave.home.lock import rewriting
from slowwave.home.paths import Home, open_home
from slowwave.home.stored_embedder import base_embedder, wanted_space
from slowwave.home.workspace import apply_pending, new_store, refresh_vectors, wall_clock
from slowwave.models.embed.choice import open_embedder
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.space import base_id_of, base_of
from slowwave.schemas.report import StageReport
from slowwave.schemas.tables import KEYS, TABLES
from slowwave.store import (
    Store,
    damaged_stores,
    filling,
    open_store,
    set_aside,
    switch_from_damaged,
    table_damage,
    told,
)
from tasks.step import step

RESTORE = "what these held is left out: `slowwave doctor` says how to mend each; then run `slowwave run rebuild` again"
TORN = "file in the journal that is not a whole segment"
GONE = "segment that is gone from the journal"
SHOWN = 20
"""Files of the journal that the notes list."""


class Living(NamedTuple):
    """The living store where it can be opened at all, its segments, and what is wrong with it."""

    store: Store | None
    segments: set[str]
    damage: list[str]


@step
def rebuild_store(home: str, *, dry_run: bool) -> StageReport:
    """Folds the whole journal into a new store, with the embedder of the living store where that can be told.

    Nothing of the living store is needed. One that is damaged, or holds what the journal lost, is moved away whole.
    """
    with rewriting(where := open_home(home)):
        living = _open_living(where)
        embedder, note = _embedder(where, living.store)
        report = StageReport(stage="rebuild", dry_run=dry_run, notes=[note])
        return _make_store(where, living, embedder, report)


@step
def reembed_store(home: str, *, dry_run: bool) -> StageReport:
    """Folds the whole journal into a new store, with vectors of the embedder that the settings name."""
    with rewriting(where := open_home(home)):
        embedder, note = open_embedder(where.settings.embedding)
        report = StageReport(stage="reembed", dry_run=dry_run, notes=[note])
        store = open_store(where.store_root)
        store.require_tables()
        if base_id_of(store.meta.embedder_id) != (embedder.embedder_id if embedder else ""):
            return _make_store(where, Living(store, store.applied_segments(), []), embedder, report)
        report.is_skipped = True
        report.notes.append("the store's vectors are of this embedder already")
        return report


def _make_store(home: Home, living: Living, embedder: Embedder | None, report: StageReport) -> StageReport:
    """Makes the new store and switches to it; a dry run only compares it with the living one."""
    started = time.monotonic()
    with filling(_fresh_store(home, embedder)) as fresh:
        torn = [f"{problem.path.name} ({problem.reason})" for problem in apply_pending(home.journal, fresh)]
        if embedder is not None:  # the journal says which fit its vectors are of
            embedder = wanted_space(fresh, base_of(embedder))
            fresh.name_space(embedder.embedder_id)
        segment_ids, applied = home.journal.segment_ids(), fresh.applied_segments()
        held = living.segments - applied
        # gone is one that others name, or the living store holds, and that has no file
        gone = sorted({*home.journal.missing(), *held} - {*applied, *segment_ids})
        report.rows_in = len(segment_ids)
        report.rejected = {why: len(files) for why, files in ((TORN, torn), (GONE, gone)) if files}
        report.notes += [f"skipped in the journal: {_listed(torn)}"] if torn else []
        report.notes += [f"gone from the journal: {_listed(gone)}"] if gone else []
        report.notes += [RESTORE] if torn or gone else []
        if living.store is not None and not living.damage:
            report.notes += _differences(living.store, fresh)
        if not report.dry_run:
            if failed := refresh_vectors(fresh, embedder).get("failed", 0):
                report.rejected["text that the embedder refused"] = failed
            report.counts = {f"rows of {table}": fresh.count(table) for table in TABLES if fresh.count(table)}
            report.notes += _switch(home, fresh, living.damage, held)
        elif living.damage:
            report.notes.append(f"the store is damaged ({told(living.damage)}) and would be moved away")
    report.seconds = round(time.monotonic() - started, 3)
    return report


def _open_living(home: Home) -> Living:
    try:
        store = open_store(home.store_root)
        damage = table_damage(store)
    except NotFoundError:
        # nothing to compare with: the journal is all that a rebuild needs
        is_empty = not home.store_root.is_dir() or not any(home.store_root.iterdir())
        return Living(None, set(), [] if is_empty else ["no pointer names a generation"])
    except DamageError as error:
        return Living(None, set(), [error.what])
    except ConfigError:
        return Living(None, set(), [])  # whole, and of another version
    try:
        return Living(store, store.applied_segments(), damage)
    except DamageError:
        return Living(store, set(), damage)  # it cannot say what it holds


def _embedder(home: Home, living: Store | None) -> tuple[Embedder | None, str]:
    """The embedder of the living store's vectors, else the one of the settings; none while its server is away."""
    if living is not None:
        return base_embedder(home, living.meta.embedder_id)
    try:
        return open_embedder(home.settings.embedding)
    except TransientError as error:
        return None, f"full text only, until `slowwave run reembed`: the embedder does not answer ({error})"


def _fresh_store(home: Home, embedder: Embedder | None) -> Store:
    """A new generation in the store's folder, whatever else lies there, or in its place.

    Raises:
        ConfigError: the folder cannot be written.
    """
    try:
        if not home.store_root.is_dir() and (home.store_root.exists() or home.store_root.is_symlink()):
            set_aside(home.store_root, wall_clock())
        return new_store(home.store_root, embedder, make_current=False)
    except OSError as error:
        raise ConfigError(
            f"the store's folder {home.store_root} cannot be written ({error.strerror}): mend its permissions, or "
            "move it away, then run `slowwave run rebuild` again"
        ) from error


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def _switch(home: Home, fresh: Store, damage: Sequence[str], held: Collection[str]) -> list[str]:
    """Makes the new store the living one; returns notes on what was damaged, and where that is now.

    A store that was damaged is kept, and so is one that holds segments which the journal lost.
    """
    notes = [f"the store was damaged: {told(damage)}"] if damage else []
    notes += [f"the store held {len(held)} segments that the journal lost"] if held else []
    if notes:
        switch_from_damaged(fresh, wall_clock())
        notes.append(
            f"what lay in its folder is kept in {damaged_stores(home.store_root)[-1]}: remove it when you like"
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
    for table, key in KEYS.items():
        old, new = living.rows(table).sort(key), fresh.rows(table).sort(key)
        if old.equals(new):
            continue
        one, other = (
            rows.join(others, on=key, how="semi", maintain_order="left")
            for rows, others in ((old, new), (new, old))
        )
        differs = [one[name].ne_missing(other[name]) for name in one.columns]
        notes.append(
            f"{table}: {new.height - one.height} rows that the store lacked, {old.height - one.height} that the "
            f"journal does not know, {pl.select(pl.any_horizontal(differs)).to_series().sum()} that differ"
        )
    return notes
