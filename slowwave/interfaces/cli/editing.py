"""A memory's text in a person's editor: a file in the home, where an erase finds it, and never anywhere else."""

import os
import re
import shutil
import tempfile
from pathlib import Path

import click

from slowwave.errors import InputError

FOLDER = "editing"
"""Below the home; each edit has a folder of its own there, named by its process, for what the editor adds to it."""


def text_from_editor(home: Path, text: str) -> str:
    """The text as the person saved it, without blanks at its ends. The file goes afterwards.

    Raises:
        InputError: the editor failed, or what it saved is no text.
    """
    above = home / FOLDER
    try:
        above.mkdir(mode=0o700, exist_ok=True)
        _remove_left(above)
        own = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=above))
    except OSError as error:
        raise InputError(f"the home cannot be written ({error.strerror}), and nothing was changed") from error
    try:
        path = own / "memory.md"
        path.write_text(f"{text}\n", encoding="utf-8")
        path.chmod(0o600)
        click.edit(filename=str(path))
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").strip()
    except (click.ClickException, OSError, ValueError) as error:  # no command, no file, no UTF-8
        raise InputError(f"the editor left no usable text, and nothing was changed: {error}") from error
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _remove_left(above: Path) -> None:
    """Remove what edits left whose process was killed."""
    for folder in above.iterdir():
        found = re.fullmatch(r"(\d{1,9})-.*", folder.name)
        if found and not _is_running(int(found[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    if os.name != "posix":
        return True  # asking has consequences there; an erase finds the file all the same
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
