"""Generations: a folder each, and a file `CURRENT` that names the one in use.

A rebuild or another embedder fills a new generation beside the living one and switches at the end. What a rebuild
finds damaged is moved to a folder `damaged-<time>` beside them, and removed some days later.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from ulid import ULID

from slowwave.errors import ConfigError, DamageError, NotFoundError
from slowwave.schemas.tables import TABLES
from slowwave.store.damage import damaged, told
from slowwave.store.layout import APPLIED, META_FILE, POINTER, SCHEMA_VERSION, StoreMeta, pointed_at
from slowwave.store.writing import Store
from slowwave.whole_file import read_plain, write_whole

_MOVED_AT = "%Y%m%dT%H%M%SZ"
_DAMAGED = re.compile(r"damaged-(\d{8}T\d{6}Z)(?:-\d+)?")
"""Folders beside the generations that hold what a rebuild found damaged, named after the time."""


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


def switch_from_damaged(fresh: Store, now: datetime) -> Path:
    """Make a generation current and move everything else in the store's folder to `damaged-<time>` within it.

    Nothing is read of what is moved, and nothing of it is deleted. Returns that folder.
    A kill in between leaves a whole store, with what was not moved yet beside it.
    """
    root = fresh.root
    others = [path for path in _remains(root) if path.name != fresh.name]
    if not others and (moved := damaged_folders(root)):  # what stood in place of the folder itself
        fresh.make_current()
        return max(moved)
    aside = _new_folder(root, now)
    pointer = root / POINTER
    if pointer.is_file():
        with suppress(OSError):  # it may not be readable, and is replaced all the same
            shutil.copy2(pointer, aside / POINTER)
    elif pointer.exists() or pointer.is_symlink():
        pointer.rename(aside / POINTER)  # a folder cannot be replaced by a file
    write_whole(pointer, fresh.name)
    for path in others:
        if path.name != POINTER:
            with suppress(OSError):  # what cannot be moved stays, and disturbs nobody
                path.rename(aside / path.name)
    return aside


def clear_root(root: Path, now: datetime) -> None:
    """Move away whatever stands where the store's folder should be, if it is no folder."""
    if root.is_dir() or not (root.exists() or root.is_symlink()):
        return
    draft = root.with_name(f".{root.name}.{ULID()}")
    root.rename(draft)
    root.mkdir()
    draft.rename(_new_folder(root, now) / root.name)


def damaged_folders(root: Path) -> dict[Path, datetime]:
    """The folders in which damaged stores are kept, with the time at which each was moved there."""
    found = {}
    for path in sorted(root.glob("damaged-*")):
        if named := _DAMAGED.fullmatch(path.name):
            with suppress(ValueError):  # digits that are no time: a folder of somebody else
                found[path] = datetime.strptime(named[1], _MOVED_AT).replace(tzinfo=UTC)
    return found


def remove_damaged(root: Path, *, until: datetime) -> None:
    """Remove what was moved away until then."""
    for path, moved_at in damaged_folders(root).items():
        if moved_at <= until:
            shutil.rmtree(path, ignore_errors=True)


def has_remains(root: Path) -> bool:
    """Return whether anything lies in the store's folder besides what was moved away already."""
    return root.is_dir() and bool(_remains(root))


def _remains(root: Path) -> list[Path]:
    kept = damaged_folders(root)
    return [path for path in sorted(root.iterdir()) if path not in kept]


def _new_folder(root: Path, now: datetime) -> Path:
    """A new folder for what is moved away at this moment."""
    for number in count(1):
        folder = root / f"damaged-{now.astimezone(UTC):{_MOVED_AT}}{f'-{number}' if number > 1 else ''}"
        if not folder.exists():
            folder.mkdir()
            return folder
    raise AssertionError("numbers do not end")
