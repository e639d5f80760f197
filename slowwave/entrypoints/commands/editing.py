"""A memory's text while a person's editor has it: a file in the home, where an erase finds it, and never elsewhere."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = "editing"
"""Below the home; each edit has a folder of its own there, named by its process, with what the editor puts beside."""


@contextmanager
def in_file(home: Path, text: str) -> Iterator[Path]:
    """A file that only this user can read, with the text; it goes afterwards, and so does what killed edits left.

    Raises:
        OSError: the home cannot be written.
    """
    above = home / FOLDER
    above.mkdir(mode=0o700, exist_ok=True)
    _sweep(above)
    own = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=above))
    try:
        path = own / "memory.md"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text.encode())
        yield path
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _sweep(above: Path) -> None:
    for folder in above.iterdir():
        found = re.fullmatch(r"(\d{1,9})-.*", folder.name)
        if found and not _is_running(int(found[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    if os.name != "posix":
        return True  # there is no question without consequences; an erase finds the file all the same
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
