"""Remove quotes of erased texts from files beside journal and store: caches, spools, core memory, Prefect's record."""

import json
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

import polars as pl

from slowwave.erase.byte_scan import files_with, forms_of
from slowwave.erase.payloads import ERASED
from slowwave.errors import TransientError
from slowwave.home.core_memory import write_core
from slowwave.home.usage import RECORDED, collect_spools
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import encode
from slowwave.recall.shown import FOLDER as SHOWN_FOLDER
from slowwave.whole_file import DRAFTS

RECORD_TABLES = ("artifact_collection", "artifact", "log", "event_resources", "events")
"""Tables of Prefect's database whose rows are reports and logs: one that quotes what goes is removed. In every other
table the words alone are masked."""

WAIT_SECONDS = 10.0


def take_spool(work: Workspace, cell_ids: Collection[str]) -> None:
    """Brings the record of use into the journal, without what goes: the spool is empty afterwards."""
    spooled = collect_spools(work.home)
    kept = spooled.usage.filter(~pl.col("cell_id").is_in(list(cell_ids)))
    if kept.height:
        work.home.journal.commit(encode(RECORDED, kept), now=work.clock())
    spooled.discard()


def clean(work: Workspace, cell_ids: Sequence[str], texts: Sequence[str]) -> dict[str, int]:
    """Removes the answer cache, notes of what was shown, what runs, edits and kills left; writes core memory anew.

    Returns how many of each.

    Raises:
        TransientError: Prefect's database is held by its server: stop it and start again; all else is done.
    """
    home = work.home
    return {
        "answers": _remove(sorted(home.cache_path.parent.glob(f"{home.cache_path.name}*"))),
        "shown": _remove(_naming(home.root / SHOWN_FOLDER, cell_ids)),
        "texts in an editor": _remove(_quoting(home.root / "editing", texts)),
        "core file": int(write_core(work)),
        "run reports": _remove(_quoting(home.root / "server" / "runs", texts)),
        "drafts": _remove(_quoting(home.root, texts, named=DRAFTS)),
        "prefect records": _forget_runs(home.root / "prefect", texts),
    }


def _naming(folder: Path, cell_ids: Sequence[str]) -> list[Path]:
    """Files of conversations that were shown one of these memories."""
    wanted = set(cell_ids)
    return [path for path in sorted(folder.glob("*")) if wanted & set(_shown(path))]


def _shown(path: Path) -> list[str]:
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["shown"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _quoting(folder: Path, texts: Sequence[str], *, named: str = "*") -> list[Path]:
    """Files below a folder that quote what goes."""
    return [folder / name for name in files_with(folder, texts, named=named)] if folder.is_dir() else []


def _remove(paths: Sequence[Path]) -> int:
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)


def _forget_runs(folder: Path, texts: Sequence[str]) -> int:
    """Takes the texts out of Prefect's own database and logs below a folder; returns how many rows and lines."""
    count = 0
    for name in files_with(folder, texts) if folder.is_dir() else ():
        path = folder / name
        if path.suffix == ".log" or ".log." in path.name:
            count += _drop_lines(path, texts)
        elif path.name.endswith((".db", ".db-wal")):
            count += _drop_rows(folder / name.removesuffix("-wal"), texts)
    return count


def _drop_lines(path: Path, texts: Sequence[str]) -> int:
    """Takes lines out of a log, in place: the server that writes it holds the file open."""
    forms = {form for text in texts for form in forms_of(text)}
    with path.open("r+b") as file:
        lines = file.read().split(b"\n")
        kept = [line for line in lines if not any(form in line for form in forms)]
        file.seek(0)
        file.write(b"\n".join(kept))
        file.truncate()
    return len(lines) - len(kept)


def _drop_rows(path: Path, texts: Sequence[str]) -> int:
    forms = sorted({form.decode("utf-8", "replace") for text in texts for form in forms_of(text)})
    removed = 0
    try:
        database = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
        try:
            database.execute("PRAGMA secure_delete = ON")
            for (table,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).fetchall():
                columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
                for form in forms:
                    # names come from the database's own list, the text is a parameter
                    where = " OR ".join(f'instr("{column}", :form)' for column in columns)
                    masked = ", ".join(
                        f'"{column}" = replace("{column}", :form, :mask)' for column in columns
                    )
                    sql = (
                        f'DELETE FROM "{table}" WHERE {where}'  # noqa: S608
                        if table in RECORD_TABLES
                        else f'UPDATE "{table}" SET {masked} WHERE {where}'  # noqa: S608
                    )
                    removed += database.execute(sql, {"form": form, "mask": ERASED}).rowcount
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            database.close()
    except sqlite3.OperationalError as error:
        raise TransientError(
            f"Prefect's database {path} is in use ({error}): stop `slowwave ui`, then start this again "
            "(an erase with `slowwave erase --resume`)"
        ) from error
    return removed
