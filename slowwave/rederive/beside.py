"""The derivation beside a memory: a home of its own in the folder `rederived`, with the living home's settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict, ValidationError
from ulid import ULID

from slowwave.errors import ConfigError
from slowwave.home.derivation import STATE_FILE, beside, remove
from slowwave.home.lock import writing
from slowwave.home.paths import Home, open_home
from slowwave.home.workspace import open_workspace
from slowwave.journal.derivations import SWITCHED, last_switch
from slowwave.journal.lookup import of_kind
from slowwave.stages.night.night import Night
from slowwave.stages.run import Steps
from slowwave.store import Store, open_store
from slowwave.whole_file import write_whole

NONE_THERE = "there is no derivation beside this memory: `slowwave rederive` makes one"


class DerivationState(BaseModel):
    """State of a derivation: how far it got.

    `taken` are the segments of the living journal that it has taken in; `is_whole` says that all of them went through
    every stage.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    derivation_id: str
    started_at: datetime
    taken: list[str] = []
    is_whole: bool = False


@dataclass
class Rederiving:
    """A derivation under way: the living home, the derivation's night over it, and how far it got."""

    living: Home
    night: Night
    state: DerivationState

    @property
    def home(self) -> Home:
        """The home of the derivation."""
        return self.night.workspace.home

    @property
    def folder(self) -> str:
        """The folder of the derivation, for the flows of its stages."""
        return str(self.home.root)

    @property
    def living_store(self) -> Store:
        """The store that the living memory answers from at this moment."""
        return open_store(self.living.store_root)

    def took(self, segment_ids: list[str]) -> None:
        """Notes that segments of the living journal are in the derivation; taken again they change nothing."""
        self._note(taken=[*self.state.taken, *segment_ids], is_whole=False)

    def ended(self, *, is_whole: bool) -> None:
        """Notes whether everything that was taken in went through every stage."""
        self._note(is_whole=is_whole)

    def _note(self, **changed: object) -> None:
        self.state = self.state.model_copy(update=changed)
        _write_state(self.home, self.state)


@contextmanager
def open_derivation(home: str, *, steps: Steps) -> Iterator[Rederiving]:
    """The derivation beside a home under its own writer lock, made where there is none: the living home stays free.

    Raises:
        NotFoundError: there is nothing to derive from.
        ConfigError: there is no language model, or it cannot be used as configured.
        BusyError: another run works on the derivation.
    """
    living = open_home(home)
    require_record(living)
    side = beside(living)
    with writing(side):
        clear_switched(living)
        _take_over_settings(living, side)
        with open_workspace(side) as workspace:
            workspace.require_llm()
            state = read_state(side) or _new_state(side, workspace.clock())
            night = Night(
                f"rederive-{state.derivation_id[-6:].lower()}-{workspace.clock():%Y-%m-%d-%H%M%S}",
                workspace,
                workspace.clock(),
                dry_run=False,
                notes=list(workspace.notes),
                steps=steps,
                last_segment=workspace.last_segment,
            )
            workspace.is_introduced = True
            yield Rederiving(living, night, state)


def require_record(living: Home) -> None:
    """Refuses a home that has no memory, or no language model to derive with.

    Raises:
        NotFoundError: there is no memory.
        ConfigError: the settings name no language model.
    """
    open_store(living.store_root)
    if living.settings.llm.provider == "none":
        raise ConfigError(
            "rederive asks a language model, and the settings name none: set llm.provider and llm.model "
            "(docs/settings.md). Without one it could only keep conversations as they were said."
        )


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
        raise ConfigError(f"{path} is damaged: `slowwave rederive --drop`, then begin again") from error


def clear_switched(living: Home) -> bool:
    """Removes a derivation that took the memory's place already: a kill left it. Returns whether there was one."""
    side = beside(living)
    state = read_state(side)
    if state is None or switched_id(living) != state.derivation_id:
        return False
    remove(side)
    return True


def switched_id(living: Home) -> str:
    """The derivation that took the place of the memory last; empty where none ever did."""
    segment = last_switch(living.journal, living.journal.segment_ids())
    if not segment:
        return ""
    rows = of_kind(living.journal.read([segment]).events, SWITCHED)
    return str(rows["derivation_id"][-1]) if rows.height else ""


def _new_state(side: Home, now: datetime) -> DerivationState:
    state = DerivationState(derivation_id=str(ULID.from_datetime(now)), started_at=now)
    _write_state(side, state)
    return state


def _write_state(side: Home, state: DerivationState) -> None:
    write_whole(side.root / STATE_FILE, state.model_dump_json())


def _take_over_settings(living: Home, side: Home) -> None:
    """The settings as they are now, so that the derivation can also be searched as a home by itself."""
    source, copy = living.root / "slowwave.toml", side.root / "slowwave.toml"
    if source.is_file():
        write_whole(copy, source.read_bytes(), mode=0o600)
    else:
        copy.unlink(missing_ok=True)
