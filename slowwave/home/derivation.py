"""The folder of a derivation beside a memory: a home of its own, with the living home's settings and answer cache.

`slowwave/rederive` makes it; here is what others need of it: where it lies, and how it goes.
"""

import shutil

from slowwave.home.lock import writing
from slowwave.home.paths import Home

STATE_FILE = "derivation.json"
"""How far a derivation got; without this file there is none."""


def beside(living: Home) -> Home:
    """The home of the derivation beside a memory, whether it is there or not."""
    return Home(living.settings.model_copy(update={"home": living.derivation_root}), living)


def remove(side: Home) -> None:
    """Removes a derivation, its state first, so that a kill leaves nothing that looks whole.

    The caller holds its writer lock, whose files stay.
    """
    (side.root / STATE_FILE).unlink(missing_ok=True)
    for path in side.root.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif not path.name.startswith("writer."):
            path.unlink(missing_ok=True)


def drop_derivation(living: Home) -> bool:
    """Removes the derivation beside a memory, and its folder; returns whether there was anything.

    Raises:
        BusyError: a run works on it.
    """
    side = beside(living)
    if not side.root.is_dir():
        return False
    with writing(side):
        remove(side)
    shutil.rmtree(side.root, ignore_errors=True)
    return True
