"""Damage to the store's files: every foreign error of reading and writing them becomes one line here.

LanceDB believes what it finds: a missing manifest gives the version before it, and another table's folder gives
that one's rows. So a table is looked at when it is opened: its last version, its columns, and the mark of its store.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from lancedb.db import DBConnection
from lancedb.table import Table

from slowwave.errors import DamageError, SlowwaveError, TransientError
from slowwave.store.layout import StoreMeta, marked_schema

PASSES = {
    "no space left": "the disk is full",
    "disk quota": "the disk quota is used up",
    "read-only file system": "the file system is read-only",
    "too many open files": "too many files are open",
}
"""Words of an error that passes without a new store, and how it is told."""

TOLD = 5
"""Damaged parts that a line lists."""

_MAGIC = b"LANC"
"""The last bytes of every whole file of a table."""

_NEWEST = 2**64 - 1
"""A manifest is named after this number less its version, so that the newest is listed first."""


def damaged(root: Path, what: str) -> DamageError:
    """The error that says what is wrong with the store, and what to do."""
    return DamageError(
        f"the store at {root} is damaged: {what}; run `slowwave run rebuild`, which makes it anew from the journal",
        what,
    )


def told(damage: Sequence[str]) -> str:
    """Parts that are damaged, in a line: of many the first."""
    more = len(damage) - TOLD
    return "; ".join(damage[:TOLD]) + (f"; and {more} more" if more > 0 else "")


@contextmanager
def reading(root: Path, table: str) -> Iterator[None]:
    """Turn what LanceDB raises while a table is read into our errors.

    Raises:
        DamageError: the table cannot be read.
        TransientError: the machine lacks room for it at the moment.
    """
    try:
        yield
    except SlowwaveError:
        raise
    except Exception as error:  # LanceDB raises RuntimeError, ValueError, OSError and its panics' own class
        if passing := passing_reason(error):
            raise TransientError(f"the store at {root} could not be read: {passing}; try again") from error
        raise damaged(root, f"table {table!r} {_state(error)}") from error


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """Turn what LanceDB raises while tables are written into our errors.

    Raises:
        DamageError: the tables cannot be written as they are.
        TransientError: the machine lacks room for it at the moment; the journal holds everything.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:  # LanceDB raises both for a full disk
        reason = passing_reason(error)
        reason = "permission denied" if not reason and _is_denied(error) else reason
        if reason:
            raise TransientError(
                f"the store at {root} could not be written: {reason}; the journal holds everything, the next run "
                "applies it"
            ) from error
        raise damaged(root, "a table cannot be written") from error


def passing_reason(error: Exception) -> str:
    """The reason of an error that passes without a new store; empty for every other."""
    text = str(error).lower()
    return next((told for words, told in PASSES.items() if words in text), "")


def open_table(db: DBConnection, root: Path, name: str, table: str, meta: StoreMeta) -> Table:
    """A table of a generation, whose last version is there and which is this store's own.

    Raises:
        DamageError: it is missing, broken or another's.
    """
    _require_last_version(root, name, table)
    with reading(root, table):
        found: Table = db.open_table(table)
        schema = found.schema
    wanted = marked_schema(table, meta)
    if not schema.equals(wanted) or (meta.store_id and _marks(schema) != _marks(wanted)):
        raise damaged(root, f"the folder of table {table!r} holds another table")
    return found


def visible_damage(root: Path, name: str, tables: Iterable[str]) -> list[str]:
    """A line for each table that is missing or lacks its last version, without opening any."""
    found = []
    for table in tables:
        try:
            _require_last_version(root, name, table)
        except DamageError as error:
            found.append(error.what)
    return found


def _require_last_version(root: Path, name: str, table: str) -> None:
    """Refuse a table whose last manifest is gone or cut; looked at twice, as a writer may be removing old ones."""
    folder = root / name / f"{table}.lance" / "_versions"
    if not folder.is_dir():
        raise damaged(root, f"table {table!r} is missing")
    for _ in range(2):
        version = _last_version(folder)
        if version is None or _is_whole(folder / f"{_NEWEST - version:020d}.manifest"):
            return
        if version == _last_version(folder):
            break
    raise damaged(root, f"the last version of table {table!r} is missing or cut")


def _last_version(folder: Path) -> int | None:
    """The version that the last writer noted; None where it noted none."""
    try:
        noted = json.loads((folder / "latest_version_hint.json").read_bytes())
        version = noted["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return version if isinstance(version, int) and 0 <= version <= _NEWEST else None


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(-len(_MAGIC), 2)
            return file.read() == _MAGIC
    except OSError:
        return False


def _marks(schema: pa.Schema) -> dict[bytes, bytes]:
    return dict(schema.metadata or {})


def _is_denied(error: Exception) -> bool:
    return "permission denied" in str(error).lower()


def _state(error: Exception) -> str:
    """The state of a table that cannot be read, for a message: never the foreign words, which may quote rows."""
    if _is_denied(error):
        return "cannot be read (permission denied)"
    is_gone = isinstance(error, FileNotFoundError) or "not found" in str(error).lower()
    return "has lost files" if is_gone else "cannot be read"
