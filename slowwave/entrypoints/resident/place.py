"""The place of a home, as long as somebody answers for it."""

from pathlib import Path

HOME_GONE = "the home folder was moved or removed: put it back, or stop this server"


class Place:
    """The folder of a home as its server found it: moved away or removed, another may come to stand there."""

    def __init__(self, home: Path) -> None:
        self._home, self._known = home, _folders(home)

    def is_gone(self) -> bool:
        """Return whether the home is no longer there: what is written now would make another."""
        return self._known is not None and _folders(self._home) != self._known


def _folders(home: Path) -> tuple[tuple[int, int], ...] | None:
    try:
        found = [path.stat() for path in (home, home / "server")]
    except OSError:
        return None
    return tuple((one.st_dev, one.st_ino) for one in found)
