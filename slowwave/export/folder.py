"""The folder of an export: whole files, and nothing of anybody else's.

A file beside them names those that the export wrote. Exported again, they are replaced or removed; every other file of
the folder stays as it is.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from slowwave.errors import InputError
from slowwave.ingest.fields import list_of
from slowwave.progress import progress
from slowwave.whole_file import write_whole

MARKER = ".slowwave-export.json"

Texts = Mapping[str, Iterable[str]]
"""The texts of files, in pieces, by the names of the files within the folder."""


def refuse_foreign(folder: Path, home: Path) -> None:
    """Refuses a folder that is not empty and that no export wrote.

    Raises:
        InputError: it is such a folder, a file, or within the home.
    """
    target, own = folder.resolve(), home.resolve()
    if target == own or own in target.parents:
        raise InputError(f"{folder} is within the home: name a folder outside it")
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is not a folder: name a new or an empty one")
        if folder.is_dir() and not (folder / MARKER).is_file() and any(folder.iterdir()):
            raise InputError(
                f"{folder} holds files that no export wrote: name a new or an empty folder, or one of an earlier export"
            )
    except OSError as error:
        raise _unwritable(folder, error) from error


def write_files(folder: Path, texts: Texts) -> None:
    """Writes all files beside their places, then puts each in its place, and removes those of an earlier export.

    Raises:
        InputError: the folder cannot be written; what was there stays.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        former = _former(folder)
        with _draft(folder) as draft:
            for number, (name, pieces) in enumerate(texts.items()):
                path = draft / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(path, "w", encoding="utf-8", newline="\n", opener=_private) as file:
                    file.writelines(pieces)
                if len(texts) > 1:
                    progress("export", number + 1, len(texts))
            _note(folder, sorted({*former, *texts}))  # until all are in place, whatever a kill leaves is ours
            for name in texts:
                place = folder / name
                place.parent.mkdir(parents=True, exist_ok=True)
                (draft / name).replace(place)
        for name in former - texts.keys():
            _remove(folder, name)
        _note(folder, sorted(texts))
    except OSError as error:
        raise _unwritable(folder, error) from error


def _private(path: str, flags: int) -> int:
    """A new file that only this user can read."""
    return os.open(path, flags, 0o600)


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"{folder} cannot be written ({error.strerror or type(error).__name__}): mend its permissions or its disk, "
        "or name another folder"
    )


@contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    for left in folder.glob(".slowwave-draft-*"):
        shutil.rmtree(left, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix=".slowwave-draft-", dir=folder))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _former(folder: Path) -> set[str]:
    """The files of the export before, as far as their names lead nowhere else."""
    try:
        names: object = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    found = names.get("files") if isinstance(names, dict) else None
    return {name for name in list_of(found) if isinstance(name, str) and _is_within(name)}


def _is_within(name: str) -> bool:
    parts = Path(name).parts
    return bool(parts) and not Path(name).is_absolute() and ".." not in parts


def _note(folder: Path, names: list[str]) -> None:
    write_whole(folder / MARKER, json.dumps({"files": names}, indent=1) + "\n", is_durable=False)


def _remove(folder: Path, name: str) -> None:
    """Removes a file and the folders that are empty without it."""
    path = folder / name
    path.unlink(missing_ok=True)
    for parent in path.parents:
        if parent == folder or not parent.is_dir() or any(os.scandir(parent)):
            return
        parent.rmdir()
