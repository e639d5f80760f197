"""Generations: a folder each, and a file `CURRENT` that names the one in use.

A rebuild or another embedder fills a new generation beside the living one and switches at the end.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from ulid import ULID

from slowwave.errors import ConfigError, NotFoundError
from slowwave.store.layout import META_FILE, SCHEMA_VERSION, StoreMeta
from slowwave.store.writing import Store


def create_store(root: Path, *, embedder_id: str, dims: int, make_current: bool = True) -> Store:
    """A new, empty generation. With `make_current` it is the one that `open_store` finds."""
    name = f"g-{ULID()}"
    folder = root / name
    folder.mkdir(parents=True)
    meta = StoreMeta(SCHEMA_VERSION, embedder_id, dims)
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
        ConfigError: another version of Slowwave made it; `slowwave rebuild` makes it anew.
    """
    try:
        name = (root / "CURRENT").read_text(encoding="utf-8").strip()
        meta = StoreMeta(**json.loads((root / name / META_FILE).read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise NotFoundError(
            "there is no memory yet: run `slowwave ingest PATH` and `slowwave run nightly`"
        ) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"the store at {root} is damaged ({type(error).__name__}); run `slowwave rebuild`"
        ) from error
    if meta.schema_version != SCHEMA_VERSION:
        raise ConfigError(
            f"the store at {root} has schema version {meta.schema_version}, this program needs {SCHEMA_VERSION}; "
            "run `slowwave rebuild`"
        )
    return Store(root, name, meta)
