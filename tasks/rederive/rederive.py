"""A derivation from its beginning to its end: open it, say what it costs, show it, switch to it, drop it."""

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl
from ulid import ULID

from slowwave.errors import ConfigError, InputError, NotFoundError
from slowwave.home.core_memory import write_core
from slowwave.home.derivation import (
    DerivationState,
    beside,
    clear_switched,
    drop_derivation,
    read_state,
    remove,
    write_state,
)
from slowwave.home.lock import leasing, rewriting
from slowwave.home.paths import Home, open_home
from slowwave.home.workspace import Workspace, open_workspace, workspace_of
from slowwave.journal.catalogue import CATALOGUE, EventRows, encode, rows_of
from slowwave.journal.derivations import SWITCHED
from slowwave.language.tokens import count_tokens
from slowwave.lifecycle.retention import fold_usage
from slowwave.models.prompts import prompt_files
from slowwave.schemas.derivation import Derivation, Estimate, page
from slowwave.schemas.report import plain, several
from slowwave.schemas.tables import shaped
from slowwave.store import Store, col, lit, open_store
from slowwave.whole_file import write_whole
from tasks.extract.pages import PAGE_TOKENS
from tasks.nightly.night import open_night, record
from tasks.rederive.difference import compare, find_matches
from tasks.rederive.replay import COPIED, Rederiving, copy_record, edits_since, new_segments
from tasks.step import run_logger, step

NONE_THERE = "there is no derivation of this memory: `slowwave run rederive` makes one"
SWITCHED_NOW = (
    "`slowwave run rebuild` gives this memory from now on; what was derived before stays in the journal"
)
READY = (
    "search it as a home of its own; `slowwave run rederive --action switch` puts it in place, "
    "`--action drop` removes it"
)
SHARED = ["turn.recorded", "source.recorded"]
"""Kinds of events that the living journal has already: a switch does not commit them again."""


@contextmanager
def open_derivation(home: str) -> Iterator[Rederiving]:
    """A new derivation of a home, under a lease of its own: the living home stays free.

    One that was there is made anew, also where a budget or a kill ended it: the answers that it paid for come from the
    cache, and nothing in it was made from memories that an edit changed since.

    Raises:
        NotFoundError: there is nothing to derive from.
        ConfigError: there is no language model, or it cannot be used as configured.
        BusyError: another run works on the derivation.
    """
    living = open_home(home)
    _require_record(living)
    side = beside(living)
    with leasing(side):
        remove(side)
        if (settings := living.root / "slowwave.toml").is_file():  # it is also searched as a home of its own
            write_whole(side.root / settings.name, settings.read_bytes(), mode=0o600)
        with (
            open_workspace(side) as workspace,
            open_night(str(side.root), dry_run=False) as night,
        ):
            started = workspace.clock()
            state = DerivationState(derivation_id=str(ULID.from_datetime(started)), started_at=started)
            mark = rows_of(SWITCHED, [{"derivation_id": state.derivation_id}])
            # the first event of its journal is the first one of the segment that a switch commits
            workspace.commit(encode(SWITCHED, mark), started)
            write_state(side, state)
            work = Rederiving(living, night, state)
            run_logger().info(_cost(work.living_store).line)
            yield work


@step
def estimate(home: str) -> Derivation:
    """The work of a derivation and its cost; nothing is made.

    Raises:
        NotFoundError: there is nothing to derive from.
        ConfigError: there is no language model.
    """
    living = open_home(home)
    _require_record(living)
    cost = _cost(open_store(living.store_root))
    return Derivation(action="derive", derivation_id=None, dry_run=True, estimate=cost)


def is_read(work: Rederiving) -> bool:
    """Return whether every page was asked about; the other stages wait for that."""
    return _waiting_count(work.store) == 0


@step
def finish(work: Rederiving, *, seconds: float) -> Derivation:
    """Ends a run: what it did and cost, and how the derivation differs from the living memory."""
    night = record(work.night, seconds=seconds)
    work.note(is_whole=is_read(work) and work.night.outcome == "completed")
    found = _compared(work.living, work.state, work.store)
    return found.model_copy(update={"action": "derive", "night": night})


@step
def show(home: str) -> Derivation:
    """The derivation and the living memory, as both are now.

    Raises:
        NotFoundError: there is no derivation.
    """
    living = open_home(home)
    return _compared(living, _state_of(living), open_store(beside(living).store_root))


@step
def drop(home: str, *, dry_run: bool) -> Derivation:
    """Removes the derivation, a damaged one too; the living memory stays as it is.

    Raises:
        NotFoundError: there is none.
        BusyError: a run works on it.
    """
    living = open_home(home)
    if not beside(living).root.is_dir():
        raise NotFoundError(NONE_THERE)
    if not dry_run:
        drop_derivation(living)
    return Derivation(action="drop", dry_run=dry_run, notes=["the living memory is as it was"])


@step
def switch(home: str, *, dry_run: bool) -> Derivation:
    """Puts the derivation in the place of the living memory by one segment; a dry run only says whether it could.

    Turns that came in since are waiting chunks of the derivation: the next night reads them.

    That segment is the commit point: killed before it, nothing has changed; killed after it, the next writer folds the
    journal as this one would have.

    Raises:
        NotFoundError: there is no derivation.
        InputError: the derivation is not whole, or memories were edited since: run `slowwave run rederive` again.
        BusyError: a run works on either of them.
    """
    living = open_home(home)
    side, _ = beside(living), _state_of(living)
    with open_workspace(living, is_alone=True) as work, rewriting(side):
        state = _state_of(living)
        derived = workspace_of(side, clock=work.clock)
        _refuse_unfinished(living, state, derived.store)
        if not dry_run:
            copy_record(work.home.journal, new_segments(work.home.journal, state.taken), derived)
            derived.commit_plan(use_of(work.store, derived.store))
            work.home.journal.commit(_own_events(derived), now=work.clock())
            work.apply_all()  # a new generation of the store: readers find the old memory until it is whole
            work.refresh_vectors()
            write_core(work)
            remove(side)
    if not dry_run:
        drop_derivation(living)
    return Derivation(
        action="switch",
        derivation_id=state.derivation_id,
        dry_run=dry_run,
        started_at=state.started_at,
        is_whole=True,
        notes=["it could take the memory's place" if dry_run else SWITCHED_NOW],
    )


def _own_events(derived: Workspace) -> pl.DataFrame:
    """The events of a derivation: the switch, with which its journal begins, and all but what the living one has."""
    scan = derived.home.journal.scan()
    if scan.problems:
        raise ConfigError(
            f"the derivation's journal is damaged at {scan.problems[0].path}: drop it and begin again"
        )
    return scan.events.filter(~pl.col("kind").is_in(SHARED)).select(COPIED)


def use_of(living: Store, derived: Store) -> EventRows:
    """Events by which memories of the derivation fade as those that they are found as; no use counts twice.

    Counts of several old memories add up, and the newest use of them counts.
    """
    best = find_matches(living, derived).unique("cell_id", keep="first", maintain_order=True)
    old, new = living.rows("cell_usage"), derived.rows("cell_usage")
    counted = pl.concat([fold_usage(living.rows("usage", where=col("folded_at").is_null()), old), old])
    found = counted.unique("cell_id", keep="first").join(best, on="cell_id", how="left")
    # an episode has the id of its conversation in both
    ids = found.with_columns(cell_id=pl.coalesce("new_id", "cell_id"))
    sums = ["retrieval_count", "citation_count", "ignore_count", "revived_count"]
    rows = (
        ids.group_by("cell_id")
        .agg(pl.col(sums).sum(), pl.col("last_accessed", "retrieved_at", "confirmations").max())
        .join(new.select("cell_id", said="confirmations"), on="cell_id", how="inner")
        .with_columns(confirmations=pl.max_horizontal("confirmations", "said"))
    )
    return {
        "cell_usage.folded": shaped(rows.sort("cell_id"), CATALOGUE["cell_usage.folded"].payload),
        "usage.folded": living.rows("usage", ["usage_id"]).sort("usage_id"),
    }


def _require_record(living: Home) -> None:
    open_store(living.store_root)  # raises where there is no memory
    if living.settings.llm.provider == "none":
        raise ConfigError(
            "rederive asks a language model, and the settings name none: set llm.provider and llm.model "
            "(docs/settings.md). Without one it could only keep conversations as they were said."
        )


def _state_of(living: Home) -> DerivationState:
    if clear_switched(living):
        drop_derivation(living)
        raise NotFoundError(
            "this derivation took the memory's place already; what a kill had left of it is gone now"
        )
    state = read_state(beside(living))
    if state is None:
        raise NotFoundError(NONE_THERE)
    return state


def _refuse_unfinished(living: Home, state: DerivationState, derived: Store) -> None:
    if not state.is_whole or _waiting_count(derived):
        raise InputError(
            f"the derivation is not whole ({_waiting_count(derived)} pages wait): run `slowwave run rederive` again, "
            "then switch"
        )
    if came := edits_since(living.journal, state.taken):
        raise InputError(
            f"{several(came, 'edit')} came in since: run `slowwave run rederive` again, then switch"
        )


def _compared(living: Home, state: DerivationState, derived: Store) -> Derivation:
    """A derivation with its difference, which is also written whole to a file in its folder."""
    file = beside(living).root / "difference.md"
    notes = [
        READY
        if state.is_whole
        else f"it is not whole yet ({_waiting_count(derived)} pages wait): `slowwave run rederive` makes it again, "
        "from the answers so far"
    ]
    if came := edits_since(living.journal, state.taken):
        notes.append(f"{several(came, 'edit')} came in since: `slowwave run rederive` takes them in, too")
    found = Derivation(
        action="show",
        derivation_id=state.derivation_id,
        started_at=state.started_at,
        is_whole=state.is_whole,
        diff=compare(open_store(living.store_root), derived, state.edits or []),
        file=str(file),
        notes=notes,
    )
    write_whole(file, page(found, safe=plain), is_durable=False)
    return found


def _waiting_count(derived: Store) -> int:
    """Chunks without an answer; those whose answers could not be used are left to the nights after."""
    return derived.count("chunks", col("status") == lit("pending"))


def _cost(living: Store) -> Estimate:
    """Cost of reading all chunks of the living memory, where the cache has no answer."""
    chunks = living.rows("chunks", ["session_id", "token_count", "turn_ids", "status"])
    of_session = chunks.group_by("session_id").agg(
        pages=(pl.col("token_count").sum() / PAGE_TOKENS).ceil().cast(pl.Int64)
    )
    pages = int(of_session["pages"].sum())
    read = chunks.filter(pl.col("status").is_in(["extracted", "gated_out"])).height
    nights = living.rows("nights", ["token_count"], col("token_count") > lit(0))["token_count"]
    (instructions,) = count_tokens([prompt_files()["extract_cells"].system])
    return Estimate(
        turns=chunks["turn_ids"].explode().drop_nulls().n_unique(),
        pages=pages,
        least_tokens=int(chunks["token_count"].sum() + pages * instructions),
        likely_tokens=round(nights.sum() * chunks.height / read) if len(nights) and read else None,
    )
