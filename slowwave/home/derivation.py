"""The derivation of a memory: a home of its own below the living one, with its settings and its answer cache.

`tasks/rederive` makes it. Here is what erase, redact and the switch need of it too: its place, how far it got, its end.
"""

import shutil
from datetime import datetime

from pydantic import BaseModel, ConfigDict, ValidationError

from slowwave.errors import ConfigError
from slowwave.home.kept_out import share_secret
from slowwave.home.lock import rewriting
from slowwave.home.paths import Home
from slowwave.journal.derivations import SWITCHED, last_switch
from slowwave.journal.lookup import of_kind
from slowwave.schemas.derivation import CarriedEdit
from slowwave.whole_file import write_whole

STATE_FILE = "derivation.json"
"""Without this file there is no derivation."""

LOCK_FILES = ("run.", "writer.")
"""Beginnings of the names of lock files: removed while they are held, another process would take the same lock."""


class DerivationState(BaseModel):
    """State of a derivation.

    `taken` are the segments of the living journal that it has copied; `edits` is what became of the edits in them, null
    until they were replayed; `is_whole` says that all of it went through every stage.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    derivation_id: str
    started_at: datetime
    taken: list[str] = []
    edits: list[CarriedEdit] | None = None
    is_whole: bool = False


def beside(living: Home) -> Home:
    """The home of the derivation of a memory, whether it exists or not."""
    return Home(living.settings.model_copy(update={"home": living.derivation_root}), living)


def read_state(side: Home) -> DerivationState | None:
    """The state of the derivation; None where there is none.

    Raises:
        ConfigError: its file is damaged.
    """
    path = side.root / STATE_FILE
    try:
        return DerivationState.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise ConfigError(
            f"{path} is damaged: `slowwave run rederive --action drop`, then begin again"
        ) from error


def write_state(side: Home, state: DerivationState) -> None:
    """Writes the state whole: a kill leaves the old one or the new one."""
    if side.living is not None:
        share_secret(side.living, side)
    write_whole(side.root / STATE_FILE, state.model_dump_json())


def clear_switched(living: Home) -> bool:
    """Removes a derivation that was switched to already, which a kill had left. Returns whether there was one."""
    side = beside(living)
    state = read_state(side)
    if state is None or _switched_id(living) != state.derivation_id:
        return False
    remove(side)
    return True


def remove(side: Home) -> None:
    """Removes a derivation, its state first, so that a kill leaves nothing whole. The caller holds its locks."""
    (side.root / STATE_FILE).unlink(missing_ok=True)
    for path in side.root.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif not path.name.startswith(LOCK_FILES):
            path.unlink(missing_ok=True)


def drop_derivation(living: Home) -> bool:
    """Removes the derivation of a memory, and its folder; returns whether there was anything.

    Raises:
        BusyError: a run works on it.
    """
    side = beside(living)
    if not side.root.is_dir():
        return False
    with rewriting(side):
        remove(side)
    shutil.rmtree(side.root, ignore_errors=True)
    return True


def _switched_id(living: Home) -> str:
    """The derivation that the memory was switched to last; empty where there was none."""
    segment = last_switch(living.journal, living.journal.segment_ids())
    rows = of_kind(living.journal.read([segment]).events, SWITCHED) if segment else None
    return str(rows["derivation_id"][-1]) if rows is not None and rows.height else ""
