"""The folder of a home. The standard library alone: every command asks it before anything else is imported."""

import errno
import os
import sys
from pathlib import Path

from slowwave.errors import ConfigError

FORMER_HOME = Path("data") / "home"
"""Where a home lay by default, below the current folder, before there was one of the user."""


def home_folder(home: Path | str | None = None) -> Path:
    """The home folder: `home`, else `SLOWWAVE_HOME`, else the one of this user; it need not exist.

    Raises:
        ConfigError: the user that it lies with has no folder, or its path is a loop of links.
    """
    try:
        named = home or os.environ.get("SLOWWAVE_HOME")
        folder = Path(named).expanduser() if named else data_folder(sys.platform) / "slowwave"
    except RuntimeError as error:
        raise ConfigError(f"no home is found ({error}): name one with --home or SLOWWAVE_HOME") from error
    try:
        folder.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ConfigError(
                f"the home {folder} is a loop of links: name another with --home or SLOWWAVE_HOME"
            ) from error
    return folder


def data_folder(system: str) -> Path:
    """The folder for a user's data, by `XDG_DATA_HOME` or as the system (a `sys.platform`) has it.

    Raises:
        RuntimeError: this user has no folder.
    """
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    if named.is_absolute():  # the specification says to ignore a relative one
        return named
    if system == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if system == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path.home() / ".local" / "share"


def former_home(home: Path) -> Path | None:
    """The memory in `data/home` below the current folder, whole, unless it is `home`; None where there is none."""
    found = FORMER_HOME.absolute()
    return found if (found / "journal").is_dir() and found.resolve() != home.resolve() else None
