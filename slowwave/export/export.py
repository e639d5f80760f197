"""`export`: everything that the asker may see, into one file of a folder. Nothing of the home changes."""

import os
from collections.abc import Iterable
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from slowwave.errors import InputError, NotFoundError
from slowwave.export.lines import JSONL_HEAD, jsonl_lines
from slowwave.export.page import PAGE_HEAD, markdown_lines
from slowwave.export.rows import rows_of_export, without_secrets
from slowwave.home.swept import needs_sweep
from slowwave.recall.reader import NO_MEMORY, NO_STORE, Reader
from slowwave.schemas.report import Exported
from slowwave.schemas.requests import ExportRequest

SECRETS = "secrets were taken out of it: `slowwave run redact` takes them out of the home as well"

FILES = {"jsonl": "memories.jsonl", "markdown": "memories.md"}


def export(reader: Reader, request: ExportRequest, *, now: datetime) -> Exported:
    """Write an export, as `Memory.export` says."""
    home, store = reader.home, reader.current()
    folder = Path(request.to).expanduser()
    path = folder / FILES[request.format]
    _refuse_foreign(path, home.root)
    if store is None:
        raise NotFoundError(NO_STORE if home.journal.segment_ids() else NO_MEMORY)
    project = None if request.project is None else reader.named(request.project)
    rows = rows_of_export(store, home.settings.owner, project=project, scopes=request.scopes)
    if project is not None and all(frame.is_empty() for frame in rows.values()):
        raise NotFoundError(
            f"nothing that you may see is of the project {project!r}: export all projects, or another"
        )
    notes: list[str] = []
    if needs_sweep(home):
        rows, secret_count = without_secrets(rows)
        notes += [f"{secret_count} {SECRETS}"] if secret_count else []
    if not request.dry_run:
        is_page = request.format == "markdown"
        lines = markdown_lines(rows) if is_page else jsonl_lines(rows, version=version("slowwave"), now=now)
        _write(path, lines)
    return Exported(
        format=request.format,
        folder=str(folder),
        dry_run=request.dry_run,
        files=[path.name],
        counts={kind: frame.height for kind, frame in rows.items() if frame.height},
        notes=notes,
    )


def _refuse_foreign(path: Path, home: Path) -> None:
    """Refuse a place within the home, and a file of this name that no export wrote.

    Raises:
        InputError: it is such a place, or cannot be read.
    """
    own = home.resolve()
    if own in path.resolve().parents:
        raise InputError(f"{path.parent} is within the home: name a folder outside it")
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            begin = file.readline()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(path.parent, error) from error
    if not begin.startswith((JSONL_HEAD, PAGE_HEAD)):
        raise InputError(f"{path} is no export: name another folder")


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write a file for this user alone, whole or not at all, and never all of it in memory.

    Raises:
        InputError: the folder cannot be written; what was there stays.
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(draft, "w", encoding="utf-8", newline="\n", opener=_private) as file:
            file.writelines(lines)
        draft.replace(path)
    except OSError as error:
        raise _unwritable(path.parent, error) from error
    finally:
        draft.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    """A new file that only this user can read."""
    return os.open(path, flags, 0o600)


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"{folder} cannot be written ({error.strerror or type(error).__name__}): mend its permissions or its disk, "
        "or name another folder"
    )
