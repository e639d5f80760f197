"""Homes that several tests begin with, made once in a process and copied from then on."""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

Make = Callable[[Path], object]


def fill(home: Path, make: Make) -> None:
    """Do `make(home)`; where it was done in a home with the same settings, take a copy of what came out."""
    settings = (home / "slowwave.toml").read_text(encoding="utf-8")
    shutil.copytree(_made(make, settings), home, dirs_exist_ok=True)


@cache
def folder() -> Path:
    """A folder for what this process makes, which goes with it."""
    made = Path(tempfile.mkdtemp(prefix="slowwave-made-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def _made(make: Make, settings: str) -> Path:
    home = Path(tempfile.mkdtemp(dir=folder())) / "home"
    home.mkdir()
    (home / "slowwave.toml").write_text(settings, encoding="utf-8")
    make(home)
    return home
