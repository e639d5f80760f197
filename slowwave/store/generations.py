"""Generations: a folder each, and a file `CURRENT` that names the one in use.

A rebuild or another embedder fills a new generation next to the current one and switches at the end. A store that a
rebuild finds damaged is moved to `damaged-store-<time>` in the home.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from ulid import ULID

from slowwave.errors import ConfigError, DamageError, NotFoundError
from slowwave.schemas.tables import TABLES
from slowwave.store.damage import damaged, told
from slowwave.store.layout import APPLIED, META_FILE, POINTER, SCHEMA_VERSION, StoreMeta, pointed_at
from slowwave.store.writing import Store
from slowwave.whole_file import read_plain

ASIDE = "damaged-store"
"""Beginning of the name of what a rebuild moved aside; the time follows."""


def create_store(root: Path, *, embedder_id: str, dims: int, make_current: bool = True) -> Store:
    """A new, empty generation. With `make_current` it is the one that `open_store` finds."""
    name = f"g-{ULID()}"
    folder = root / name
    folder.mkdir(parents=True)
    meta = StoreMeta(SCHEMA_VERSION, embedder_id, dims, store_id=name)
    (folder / META_FILE).write_text(json.dumps(asdict(meta)), encoding="utf-8")
    store = Store(root, name, meta)
    store.make_tables()
    if make_current:
        store.make_current()
    return store


def create_beside(living: Store) -> Store:
    """A new, empty generation for vectors of the same embedder, not current."""
    return create_store(
        living.root, embedder_id=living.meta.embedder_id, dims=living.meta.dims, make_current=False
    )


@contextmanager
def filling(fresh: Store) -> Iterator[Store]:
    """A generation while it is filled; it goes unless it is the current one by the end."""
    try:
        yield fresh
    finally:
        if not fresh.is_current():
            fresh.discard()


def copy_store(living: Store, *, embedder_id: str) -> Store:
    """A copy of a generation, not current, for the vectors of this embedder and fit; it has none yet."""
    name = f"g-{ULID()}"
    shutil.copytree(living.root / living.name, living.root / name)
    store = Store(living.root, name, living.meta)
    store.name_space(embedder_id)
    store.forget_vectors()
    return store


def open_store(root: Path) -> Store:
    """The current generation.

    Raises:
        NotFoundError: there is no store yet.
        DamageError: the pointer, or the file that describes the generation, is not what Slowwave wrote.
        OutdatedStoreError: an older version of Slowwave made it.
        ConfigError: a newer version of Slowwave made it.
    """
    try:
        name = pointed_at(root)
    except (FileNotFoundError, NotADirectoryError) as error:
        if root.exists() and not root.is_dir():
            raise damaged(root, "it is not a folder") from error
        raise NotFoundError(
            "there is no memory yet: run `slowwave ingest PATH` and `slowwave run nightly`; if there was one, "
            "`slowwave run rebuild` makes it anew from the journal"
        ) from error
    except OSError as error:
        raise damaged(root, f"{POINTER} cannot be read ({error.strerror})") from error
    if not name:
        raise damaged(root, f"{POINTER} names no generation")
    meta = _meta_of(root, name)
    if meta.schema_version < SCHEMA_VERSION:
        raise OutdatedStoreError(meta)
    if meta.schema_version > SCHEMA_VERSION:
        raise ConfigError(
            f"the store at {root} has schema version {meta.schema_version}, this program needs {SCHEMA_VERSION}; "
            "update Slowwave, or run `slowwave run rebuild`"
        )
    return Store(root, name, meta)


class OutdatedStoreError(ConfigError):
    """An older version of Slowwave made the store; whoever writes next folds the journal into a new one."""

    def __init__(self, meta: StoreMeta) -> None:
        super().__init__(OUTDATED)
        self.meta = meta


OUTDATED = (
    "the store was made by an older version of Slowwave: the next run, edit or start of the server rebuilds it from "
    "the journal; `slowwave run rebuild` does it now"
)


def _meta_of(root: Path, name: str) -> StoreMeta:
    try:
        meta = StoreMeta(**json.loads(read_plain(root / name / META_FILE)))
    except FileNotFoundError as error:
        raise damaged(root, f"{POINTER} names {name}, which is not there or has no {META_FILE}") from error
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise damaged(root, f"{META_FILE} of {name} cannot be read") from error
    shape = (meta.schema_version, meta.embedder_id, meta.dims, meta.store_id)
    if [type(value) for value in shape] != [int, str, int, str] or meta.dims < 1:
        raise damaged(root, f"{META_FILE} of {name} cannot be read")
    return meta


def table_damage(store: Store) -> list[str]:
    """A line for each table that is missing, broken or another's, as reading all of it tells."""
    found = []
    for table in (*TABLES, APPLIED):
        try:
            store.read_through(table)
        except DamageError as error:
            found.append(error.what)
    return found


def require_whole(root: Path) -> None:
    """Read the current generation from end to end; where there is none of this version yet, nothing is wrong.

    Raises:
        DamageError: it cannot be opened, or a part of it cannot be read.
    """
    try:
        store = open_store(root)
    except (NotFoundError, OutdatedStoreError):
        return
    if found := table_damage(store):
        raise damaged(root, told(found))


def switch_from_damaged(fresh: Store, now: datetime) -> None:
    """Make a generation current and move everything else in the store's folder aside, whole.

    A kill in between leaves a folder without a pointer, and the next rebuild begins again.
    """
    if any(path.name != fresh.name for path in fresh.root.iterdir()):
        aside = set_aside(fresh.root, now)
        fresh.root.mkdir()
        (aside / fresh.name).rename(fresh.root / fresh.name)
    fresh.make_current()


def set_aside(root: Path, now: datetime) -> Path:
    """Rename what is in the place of the store's folder; nothing of it is read or deleted."""
    return root.rename(root.with_name(f"{ASIDE}-{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}"))


def damaged_stores(root: Path) -> list[Path]:
    """Damaged stores that rebuilds kept next to the store, oldest first; a person or an erase removes them."""
    return sorted(root.parent.glob(f"{ASIDE}-*"))


def remove_damaged(root: Path) -> None:
    """Remove what rebuilds moved aside."""
    for path in damaged_stores(root):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
