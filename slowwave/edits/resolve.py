"""The contradictions queue: list them, resolve one, undo a resolution."""

from dataclasses import replace
from datetime import datetime

import polars as pl

from slowwave.edits.confirm import proposed_since
from slowwave.edits.consequences import (
    cascade,
    displaced,
    displacement,
    joined,
    judged,
    standing_again,
)
from slowwave.edits.correct import replacement, statement_of
from slowwave.edits.passages import meant_by, part, stays
from slowwave.edits.session import commit_edit, edit_session, refuse_foreign
from slowwave.errors import InputError
from slowwave.home.ids import whole_ids
from slowwave.home.workspace import Workspace
from slowwave.ingest.statements import read_note
from slowwave.journal.catalogue import EventRows, rows_of
from slowwave.lifecycle.succession import moved, succeeded
from slowwave.recall.reader import Reader
from slowwave.recall.results import CELL, cell_of
from slowwave.schemas.moments import first_of, latest_of
from slowwave.schemas.requests import CorrectRequest, ResolveRequest
from slowwave.schemas.results import Cell, Dispute, Done, columns_of
from slowwave.store import Row, Store, owned_by
from slowwave.store.chains import read_chains

WHY = "a person resolved the contradiction"
TAKEN_BACK = "a person took the resolution back"


def disputes(reader: Reader, *, has_resolved: bool = False) -> list[Dispute]:
    """Open contradictions of this owner, newest first; with the resolved ones after them where asked for.

    One of which a side is gone or superseded waits for nobody, and is listed with the resolved ones.
    """
    store = reader.current()
    if store is None:
        return []
    rows = store.rows("contradictions", where=owned_by(reader.settings.owner)).sort(
        "detected_at", "contradiction_id", descending=[True, False]
    )
    sides = _sides(store, [*rows["cell_a"], *rows["cell_b"]])
    found = [_dispute(row, sides) for row in rows.iter_rows(named=True)]
    waiting = [one for one in found if _waits(one)]
    return [*waiting, *(one for one in found if not _waits(one))] if has_resolved else waiting


def resolve(reader: Reader, request: ResolveRequest, *, now: datetime) -> Done:
    """Settle a contradiction, as `Memory.resolve` says."""
    resolution, note = request.resolution, read_note(request.note)
    with edit_session(reader.home, now=now, reader=reader) as work:
        row = _row(work, request.contradiction_id)
        named = row["contradiction_id"]
        done = Done(contradiction_id=named, resolution=resolution)
        if row["status"] == "resolved" and row["resolution"] == resolution != "merged":
            return done.model_copy(update={"notes": ["this was resolved so already; nothing was changed"]})
        if row["status"] == "resolved":
            raise InputError(
                f"contradiction {named} is resolved already ({row['resolution']}); "
                "undo it first to decide otherwise"
            )
        cells = _both_living(work, row)
        if resolution == "both_valid":
            winner_id = None
            kept = {"superseded_by": pl.lit(row["cell_b"]), "verdict": pl.lit("keep")}
            older = cells.filter(cell_id=row["cell_a"]).with_columns(**kept)
            plan = {"pair.judged": judged(older, why=note or WHY)}
        else:
            winner_id, plan = _decided(work, cells, row, request, note=note)
        settled = (named, resolution, note or None, winner_id)
        answer = {"cell_id": winner_id or "", "replaced": displaced(plan)}
        return commit_edit(work, _with_settled(plan, settled), done.model_copy(update=answer))


def undo(reader: Reader, contradiction_id: str, *, now: datetime) -> Done:
    """Takes a resolution back: the contradiction is open again, and both memories stand as before."""
    with edit_session(reader.home, now=now, reader=reader) as work:
        row = _row(work, contradiction_id)
        named = row["contradiction_id"]
        if row["status"] != "resolved":
            raise InputError(f"contradiction {named} is open: there is nothing to undo")
        plan = {"contradiction.reopened": rows_of("contradiction.reopened", [(named,)])}
        restored = list[str]()
        if row["resolution"] == "both_valid":
            _both_living(work, row)
        else:
            winner, losers = _as_left(work.store, row)
            restored = losers["cell_id"].sort().to_list()
            plan = joined(plan, _standing_again(work, row, winner, losers))
        return commit_edit(work, plan, Done(contradiction_id=named, restored=restored))


def _decided(
    work: Workspace, cells: pl.DataFrame, row: Row, request: ResolveRequest, *, note: str
) -> tuple[str, EventRows]:
    """The winner, and the events that say so."""
    older, newer = (cells.filter(cell_id=row[side]) for side in ("cell_a", "cell_b"))
    made: EventRows = {}
    if request.resolution == "merged":
        like = newer.row(0, named=True)
        said = statement_of(like, CorrectRequest(cell_id=like["cell_id"], text=request.text))
        since = latest_of(cells.select(first_of(pl.col("valid_from"))).item())
        merged = replacement(work, replace(said, value=None), like=like, since=since, note=note)
        made, winner = merged.plan, merged.cell
        losers = cells.filter(pl.col("cell_id") != winner["cell_id"][0])
    else:
        winner, losers = (older, newer) if request.resolution == "a_wins" else (newer, older)
    told = winner["content"][0]
    parted = [
        part(work, loser, meant_by(work.store, loser.row(0, named=True), told))
        for loser in losers.iter_slices(1)
    ]
    plan = joined(
        made,
        *(stays(one, note=note) for one in parted),
        displacement(
            work.store,
            winner,
            pl.concat([one.passages for one in parted]).unique("cell_id", maintain_order=True),
            why=note or WHY,
            event="lost a contradiction that a person resolved",
            now=work.clock(),
            since=proposed_since(winner.row(0, named=True)),
        ),
    )
    return winner["cell_id"][0], plan


def _with_settled(plan: EventRows, settled: tuple[str, str, str | None, str | None]) -> EventRows:
    """The plan with this contradiction settled first, and each other one of the losers once."""
    kind = "contradiction.resolved"
    mine = rows_of(kind, [settled])
    others = plan.get(kind, mine.clear()).join(mine, on="contradiction_id", how="anti")
    return joined({kind: mine}, plan | {kind: others})


def _as_left(store: Store, row: Row) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The winner of a resolution, and the memories that made way with it (rows of `cells`), as it left them.

    Raises:
        InputError: one of them was changed since.
    """
    sides = store.by_key("cells", [row["cell_a"], row["cell_b"]])
    place = {"a_wins": row["cell_a"], "b_wins": row["cell_b"]}
    named = place.get(row["resolution"]) or next(iter(sides["superseded_by"].drop_nulls()), None)
    winner = store.by_key("cells", [named or ""])
    losers = store.having("cells", "superseded_by", [named or ""])
    losers = losers.filter(pl.col("superseded_at") == row["resolved_at"])
    missing = {row["cell_a"], row["cell_b"]} - {named, *losers["cell_id"]}
    if missing:
        raise InputError(
            f"memory {min(missing)} was changed by another edit since, or is gone, so this cannot be undone"
        )
    if winner.is_empty() or winner["status"][0] == "superseded":
        by = "" if winner.is_empty() else f" by {winner['superseded_by'][0]}"
        raise InputError(f"memory {named} was replaced since{by}, so this cannot be undone")
    return winner, losers


def _standing_again(work: Workspace, row: Row, winner: pl.DataFrame, losers: pl.DataFrame) -> EventRows:
    """Events that restore what made way; what `merged` wrote is retired."""
    winner_id = winner["cell_id"][0]
    before = moved(read_chains(work.store, [winner_id]), losers.select("cell_id").to_dicts())
    plan = {
        "cell.restored": standing_again(work.home.journal, losers["cell_id"]),
        "pair.judged": judged(losers.with_columns(verdict=pl.lit("keep")), why=TAKEN_BACK),
        "cell.succeeded": succeeded(before, [winner_id]),
    }
    gone = losers
    if winner_id not in (row["cell_a"], row["cell_b"]):
        plan["cell.retired"] = rows_of("cell.retired", [(winner_id, work.clock())])
        gone = winner
    return joined(plan, cascade(work.store, gone, why="was part of a resolution that a person took back"))


def _both_living(work: Workspace, row: Row) -> pl.DataFrame:
    cells = work.store.by_key("cells", [row["cell_a"], row["cell_b"]])
    living = cells.filter(pl.col("status") != "superseded")
    if living.height < 2:  # noqa: PLR2004 - both sides
        raise InputError(
            f"a side of contradiction {row['contradiction_id']} is gone or superseded: there is nothing to decide"
        )
    for cell in cells.iter_rows(named=True):
        refuse_foreign(work.home, cell)
    return cells


def _row(work: Workspace, contradiction_id: str) -> Row:
    """The contradiction that an id stands for, cut or whole."""
    (whole,) = whole_ids(
        work.store,
        [contradiction_id],
        owner=work.settings.owner,
        tables=["contradictions"],
        noun="contradiction",
        hint="`slowwave contradictions` shows the ids",
    )
    return work.store.by_key("contradictions", [whole]).row(0, named=True)


def _sides(store: Store, cell_ids: list[str]) -> dict[str, Cell]:
    cells = store.by_key("cells", cell_ids, CELL)
    return {row["cell_id"]: cell_of(row) for row in cells.iter_rows(named=True)}


def _dispute(row: Row, sides: dict[str, Cell]) -> Dispute:
    return Dispute(
        **{name: row[name] for name in columns_of(Dispute)},
        a=sides.get(row["cell_a"]),
        b=sides.get(row["cell_b"]),
    )


def _waits(one: Dispute) -> bool:
    living = [side for side in (one.a, one.b) if side is not None and side.status != "superseded"]
    return one.status == "open" and len(living) == 2  # noqa: PLR2004 - both sides
