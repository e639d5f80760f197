"""The switch: a derivation takes the living memory's place, by one segment of the journal.

    check    everything that came in or was edited is in the derivation, and no page of it waits
    build    a new generation of the store: the raw record as it stands, and all that was derived anew
    commit   one segment: `derivation.switched`, then every derived event; what was derived before holds no longer
    use      the new generation becomes the one that readers find; the folder of the derivation goes

A kill before the commit changes nothing. After it, the next writer makes the generation from the journal.
"""

import polars as pl

from slowwave.errors import ConfigError, InputError, NotFoundError
from slowwave.home.core_memory import write_core
from slowwave.home.derivation import beside, drop_derivation, remove
from slowwave.home.lock import writing
from slowwave.home.paths import Home, open_home
from slowwave.home.usage import collect_spools
from slowwave.home.workspace import (
    Workspace,
    apply_segments,
    open_workspace,
    refresh_vectors,
    with_known_vectors,
    workspace_of,
)
from slowwave.journal.catalogue import CATALOGUE, SCAN_SCHEMA, encode, encode_plan, rows_of
from slowwave.journal.changes import collapse
from slowwave.journal.derivations import SWITCHED
from slowwave.journal.fold import fold
from slowwave.progress import progress
from slowwave.rederive.beside import NONE_THERE, DerivationState, clear_switched, read_state
from slowwave.rederive.carry import usage_of
from slowwave.rederive.counterparts import best_counterparts
from slowwave.rederive.pairing import pair
from slowwave.rederive.record import COPIED, SHARED, came_since, waiting_pages
from slowwave.schemas.derivation import Derivation
from slowwave.store import Store, create_beside, filling

ABOVE_ALL = "~"
"""Sorts behind the id of every segment."""


def switch(home: str, *, dry_run: bool) -> Derivation:
    """Puts the derivation in the place of the living memory; a dry run only says whether it could.

    Raises:
        NotFoundError: there is no derivation.
        InputError: the derivation is not whole, or something came in since: run `slowwave rederive` again.
        BusyError: a run works on either of them.
    """
    living = open_home(home)
    if clear_switched(living):
        drop_derivation(living)
        raise NotFoundError(
            "this derivation took the memory's place already; what a kill had left of it is gone now"
        )
    side = beside(living)
    if read_state(side) is None:
        raise NotFoundError(NONE_THERE)
    with open_workspace(living, is_alone=True) as work, writing(side):
        state = read_state(side)
        if state is None:
            raise NotFoundError(NONE_THERE)
        derived = workspace_of(side, clock=work.clock)
        _refuse_unfinished(living, state, derived.store)
        if not dry_run:
            _take_spool(work)
            _put_in_place(work, derived, state)
            remove(side)
    if not dry_run:
        drop_derivation(living)
    return Derivation(
        action="switch",
        derivation_id=state.derivation_id,
        dry_run=dry_run,
        started_at=state.started_at,
        is_whole=True,
        notes=[
            "it could take the memory's place"
            if dry_run
            else "`slowwave rebuild` gives this memory from now on; what was derived before stays in the journal"
        ],
    )


def _refuse_unfinished(living: Home, state: DerivationState, derived: Store) -> None:
    waiting = waiting_pages(derived).height
    if waiting or not state.is_whole:
        raise InputError(
            f"the derivation is not whole ({waiting} pages wait): run `slowwave rederive` again, it goes on where it "
            "stands, then switch"
        )
    came = came_since(living.journal, set(state.taken))
    if came:
        told = ", ".join(f"{count} {CATALOGUE[kind].title}" for kind, count in came.items())
        raise InputError(
            f"the memory went on since the derivation ({told}): run `slowwave rederive` again to catch up, then switch"
        )


def _take_spool(work: Workspace) -> None:
    """Brings the record of use into the journal, so that it is carried with the rest."""
    spooled = collect_spools(work.home)
    if spooled.usage.height:
        work.commit(encode("usage.recorded", spooled.usage), work.clock())
    spooled.discard()


def _put_in_place(work: Workspace, derived: Workspace, state: DerivationState) -> None:
    """Builds the new generation, commits the segment, and makes the generation the current one."""
    now = work.clock()
    events = _events(work, derived, state)
    living = work.store
    with filling(create_beside(living)) as fresh:
        segments = work.home.journal.segment_ids()
        done = 0
        for part in work.home.journal.portions(segments):
            apply_segments(work.home.journal, fresh, part, switch=ABOVE_ALL)
            done += len(part)
            progress("raw record", done, len(segments))
        fresh.apply(collapse(fold(events.select(SCAN_SCHEMA.names()))))
        work.embedder = with_known_vectors(work.home, fresh, work.embedder, (derived.store, living))
        refresh_vectors(fresh, work.embedder)
        segment = work.home.journal.commit(events.select(COPIED), now=now)
        assert segment is not None  # it holds the switch at least
        fresh.mark_applied([segment.segment_id])
        fresh.make_current()
    work.store, work.last_segment = fresh, segment.segment_id
    write_core(work)


def _events(work: Workspace, derived: Workspace, state: DerivationState) -> pl.DataFrame:
    """The events of the segment (`SCAN_SCHEMA`): the switch, what the derivation decided, and the use of memories."""
    scan = derived.home.journal.scan()
    if scan.problems:
        raise ConfigError(
            f"the derivation's journal is damaged at {scan.problems[0].path}: drop it and begin again"
        )
    own = scan.events.filter(~pl.col("kind").is_in(SHARED))
    least = work.settings.rederive.counterpart_score
    best = best_counterparts(pair(work.store, derived.store, least_score=least))
    counted = work.store.rows("usage", ["usage_id"]).sort("usage_id")
    plan = {"cell_usage.folded": usage_of(work.store, derived.store, best), "usage.folded": counted}
    head = encode(SWITCHED, rows_of(SWITCHED, [{"derivation_id": state.derivation_id}]))
    parts = {kind: rows for kind, rows in plan.items() if rows.height}
    tail = [encode_plan(parts)] if parts else []
    new = [
        frame.with_columns(
            segment_id=pl.lit(ABOVE_ALL),
            event_id=pl.lit(""),
            version=pl.col("kind").replace_strict(
                {kind: entry.version for kind, entry in CATALOGUE.items()}, return_dtype=pl.Int64
            ),
            recorded_at=pl.lit(work.clock()).cast(SCAN_SCHEMA["recorded_at"]),
        ).select(SCAN_SCHEMA.names())
        for frame in (head, *tail)
    ]
    return pl.concat([new[0], own, *new[1:]])
