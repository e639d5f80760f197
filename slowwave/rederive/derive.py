"""The parts of a derivation's run beyond its stages: what it will cost, whether everything was read, and its end."""

from pydantic import TypeAdapter

from slowwave.errors import ConfigError, NotFoundError
from slowwave.home.derivation import beside, drop_derivation
from slowwave.home.paths import Home, open_home
from slowwave.rederive.beside import (
    NONE_THERE,
    DerivationState,
    Rederiving,
    clear_switched,
    read_state,
    require_record,
)
from slowwave.rederive.diff import compare
from slowwave.rederive.pages import estimate_line, markdown
from slowwave.rederive.record import came_since, estimate, waiting_pages
from slowwave.schemas.derivation import CarriedEdit, Derivation, Estimate
from slowwave.schemas.report import AWAY
from slowwave.stages.asking import SPENT
from slowwave.stages.night.night import record
from slowwave.store import Store, open_store
from slowwave.whole_file import write_whole

DIFFERENCE_FILE, EDITS_FILE = "difference.md", "edits.json"

_EDITS = TypeAdapter(list[CarriedEdit])


def foresee(home: str) -> Derivation:
    """The work that waits before a derivation is whole, and its cost; nothing is made.

    Raises:
        NotFoundError: there is nothing to derive from.
        ConfigError: there is no language model.
    """
    living = open_home(home)
    require_record(living)
    state = read_state(beside(living))
    derived = open_store(beside(living).store_root) if state is not None else None
    waits = estimate(open_store(living.store_root), derived, living.settings)
    return Derivation(
        action="derive",
        derivation_id=state.derivation_id if state else None,
        dry_run=True,
        started_at=state.started_at if state else None,
        estimate=waits,
        notes=_since(living, state) if state else [],
    )


def tell_cost(work: Rederiving) -> Estimate:
    """Logs the work that waits and its cost before any of it begins."""
    waits = estimate(work.living_store, work.night.workspace.store, work.living.settings)
    work.night.notes.append(estimate_line(waits))
    work.night.steps.logger.info(estimate_line(waits))
    return waits


def is_read(work: Rederiving) -> bool:
    """Return whether every page was asked about; the other stages wait for that."""
    return waiting_pages(work.night.workspace.store).is_empty()


def finish(work: Rederiving, edits: list[CarriedEdit], waits: Estimate, *, seconds: float) -> Derivation:
    """Ends a run: what it did and cost, and what the derivation is beside the living memory."""
    night = record(work.night, seconds=seconds)
    is_cut_short = any({AWAY, SPENT} & stage.rejected.keys() for stage in night.stages)
    is_whole = waiting_pages(work.night.workspace.store).is_empty() and not is_cut_short
    work.ended(is_whole=is_whole)
    write_whole(work.home.root / EDITS_FILE, _EDITS.dump_json(edits))
    found = _shown(work.living, work.state, work.night.workspace.store, edits)
    return found.model_copy(update={"action": "derive", "estimate": waits, "night": night})


def show(home: str) -> Derivation:
    """The derivation beside the living memory, as both are now.

    Raises:
        NotFoundError: there is none.
    """
    living = open_home(home)
    clear_switched(living)
    state = read_state(beside(living))
    if state is None:
        raise NotFoundError(NONE_THERE)
    return _shown(living, state, open_store(beside(living).store_root), _read_edits(beside(living)))


def drop(home: str, *, dry_run: bool) -> Derivation:
    """Removes the derivation; the living memory stays as it is.

    Raises:
        NotFoundError: there is none.
        BusyError: a run works on it.
    """
    living = open_home(home)
    side = beside(living)
    if not side.root.is_dir():
        raise NotFoundError(NONE_THERE)
    try:
        state = read_state(side)
    except ConfigError:  # a damaged one is dropped as well
        state = None
    if not dry_run:
        drop_derivation(living)
    return Derivation(
        action="drop",
        derivation_id=state.derivation_id if state else None,
        dry_run=dry_run,
        notes=["the living memory is as it was"],
    )


def _shown(living: Home, state: DerivationState, derived: Store, edits: list[CarriedEdit]) -> Derivation:
    """A derivation with its difference, which is also written whole to a file beside it."""
    least = living.settings.rederive.counterpart_score
    found = Derivation(
        action="show",
        derivation_id=state.derivation_id,
        started_at=state.started_at,
        is_whole=state.is_whole,
        diff=compare(open_store(living.store_root), derived, edits, least_score=least),
        file=str(beside(living).root / DIFFERENCE_FILE),
        notes=[*_standing(state, derived), *_since(living, state)],
    )
    write_whole(beside(living).root / DIFFERENCE_FILE, markdown(found), is_durable=False)
    return found


def _standing(state: DerivationState, derived: Store) -> list[str]:
    if state.is_whole:
        return [
            "it can be asked as a home of its own; `slowwave rederive --switch` puts it in place, `--drop` removes it"
        ]
    waiting = waiting_pages(derived).height
    return [
        f"it is not whole yet ({waiting} pages wait): run `slowwave rederive` again, it goes on where it stands"
    ]


def _since(living: Home, state: DerivationState) -> list[str]:
    """A note on what came into the living memory since the derivation took its record."""
    came = sum(came_since(living.journal, set(state.taken)).values())
    if not came:
        return []
    return [f"{came} turns and edits came in since: `slowwave rederive` takes them in, too"]


def _read_edits(side: Home) -> list[CarriedEdit]:
    try:
        return _EDITS.validate_json((side.root / EDITS_FILE).read_bytes())
    except FileNotFoundError:
        return []  # its first run did not end
