"""The contradictions queue: list them, resolve one, undo a resolution."""

from datetime import datetime
from typing import cast

import polars as pl

from slowwave.edits.assistants_word import proposed_since
from slowwave.edits.consequences import (
    cascade,
    joined,
    judged,
    settled_by,
    standing_again,
    succession,
    with_rivals,
)
from slowwave.edits.correct import known_names, protected_statement, taken_over
from slowwave.edits.passages import meant_by, part, stays
from slowwave.edits.session import commit_edit, edit_session, refuse_foreign
from slowwave.errors import InputError
from slowwave.home.ids import whole_ids
from slowwave.home.workspace import Workspace
from slowwave.ingest.statements import read_note, read_statement
from slowwave.journal.catalogue import EventRows, rows_of
from slowwave.journal.lookup import journaled
from slowwave.lifecycle.values import ATTRIBUTE
from slowwave.recall.reader import Reader
from slowwave.schemas.choices import Resolution
from slowwave.schemas.moments import first_of, latest_of
from slowwave.schemas.requests import ResolveRequest
from slowwave.schemas.results import Dispute, Resolved, Side
from slowwave.store import Store, owned_by
from slowwave.trust.origins import is_passage

RESOLVED = "contradiction.resolved"
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


def resolve(reader: Reader, request: ResolveRequest, *, now: datetime) -> Resolved:
    """Settle a contradiction, as `Memory.resolve` says."""
    resolution, note = request.resolution, read_note(request.note)
    with edit_session(reader.home, now=now, reader=reader) as work:
        row = _row(work, request.contradiction_id)
        if row["status"] == "resolved" and row["resolution"] == resolution != "merged":
            note = "this was resolved so already; nothing was changed"
            return Resolved(
                contradiction_id=str(row["contradiction_id"]), resolution=resolution, notes=[note]
            )
        if row["status"] == "resolved":
            raise InputError(
                f"contradiction {row['contradiction_id']} is resolved already ({row['resolution']}); "
                "undo it first to decide otherwise"
            )
        cells = _both_living(work, row)
        winner_id, losers, plan = _decided(work, cells, row, resolution, text=request.text, note=note)
        before = work.store.by_key("cells", [winner_id], ["cell_id", "supersedes", "summary"])
        former = before.row(0, named=True) if before.height else {}
        settled = {
            "contradiction_id": row["contradiction_id"],
            "resolution": resolution,
            "resolution_note": note or None,
            "winner_id": winner_id or None,
            "former_supersedes": former.get("supersedes"),
            "former_summary": former.get("summary"),
        }
        others = settled_by(work.store, losers, why=WHY)
        ended = others.filter(pl.col("contradiction_id") != row["contradiction_id"])
        plan = joined({RESOLVED: rows_of(RESOLVED, [settled])}, plan, {RESOLVED: ended})
        changed, notes = commit_edit(work, plan)
        return Resolved(
            contradiction_id=str(row["contradiction_id"]),
            resolution=resolution,
            winner_id=winner_id or None,
            superseded=losers,
            changed=changed,
            notes=notes,
        )


def undo(reader: Reader, contradiction_id: str, *, now: datetime) -> Resolved:
    """Takes a resolution back: the contradiction is open again, and both memories stand as before."""
    with edit_session(reader.home, now=now, reader=reader) as work:
        row = _row(work, contradiction_id)
        if row["status"] != "resolved":
            raise InputError(f"contradiction {row['contradiction_id']} is open: there is nothing to undo")
        settled = _last_resolution(work, str(row["contradiction_id"]))
        ids = [str(row["cell_a"]), str(row["cell_b"])]
        cells = work.store.by_key("cells", ids)
        winner_id = cast("str | None", settled["winner_id"])
        plan: EventRows = {
            "contradiction.reopened": rows_of(
                "contradiction.reopened", [{"contradiction_id": row["contradiction_id"]}]
            )
        }
        restored: list[str] = []
        if row["resolution"] == "both_valid":
            _both_living(work, row)
        else:
            losers = cells.filter(pl.col("cell_id") != winner_id)
            _refuse_changed(work.store, losers, ids, winner_id)
            losers = pl.concat([losers, _rivals_of_then(work.store, row, winner_id)])
            restored = losers["cell_id"].sort().to_list()
            plan = joined(plan, _standing_again(work, losers, str(winner_id), settled, ids))
        changed, notes = commit_edit(work, plan)
        return Resolved(
            contradiction_id=str(row["contradiction_id"]),
            resolution=None,
            restored=restored,
            changed=changed,
            notes=notes,
        )


def _decided(
    work: Workspace,
    cells: pl.DataFrame,
    row: dict[str, object],
    resolution: Resolution,
    *,
    text: str,
    note: str,
) -> tuple[str, list[str], EventRows]:
    """The winner ("" for none), the losers, and the events that say so."""
    older = cells.filter(pl.col("cell_id") == row["cell_a"])
    newer = cells.filter(pl.col("cell_id") == row["cell_b"])
    if resolution == "both_valid":
        return "", [], {"pair.judged": judged(str(row["cell_b"]), older, effect="none", why=note or WHY)}
    if resolution == "merged":
        like = newer.row(0, named=True)
        known = taken_over(like, text)
        said = read_statement(
            text,
            subject=known["subject"],
            attribute=known["attribute"],
            value=None,
            entities=known_names(like, text),
        )
        since = latest_of(cells.select(first_of(pl.col("valid_from"))).item())
        made, winner, _ = protected_statement(work, said, like=like, valid_from=since, note=note)
        losers = cells.filter(pl.col("cell_id") != winner["cell_id"][0])
    else:
        made = {}
        winner, losers = (older, newer) if resolution == "a_wins" else (newer, older)
    losers = with_rivals(work.store, winner, losers)
    plan = joined(
        made,
        *(_left_of(work, loser, str(winner["content"][0]), note=note) for loser in losers.iter_slices(1)),
        succession(
            work.store,
            winner,
            losers,
            why=note or WHY,
            now=work.clock(),
            since=proposed_since(winner.row(0, named=True)),
        ),
        cascade(work.store, losers, why="lost a contradiction that a person resolved"),
    )
    return winner["cell_id"][0], losers["cell_id"].to_list(), plan


def _left_of(work: Workspace, loser: pl.DataFrame, text: str, *, note: str) -> EventRows:
    """Events by which raw talk that lost against a text leaves what else was said there."""
    row = loser.row(0, named=True)
    meant = meant_by(work.store, row, text) if is_passage(row) else set[str]()
    return stays(part(work, loser, meant, has_windows=False), note=note)


def _standing_again(
    work: Workspace, losers: pl.DataFrame, winner_id: str, settled: dict[str, object], ids: list[str]
) -> EventRows:
    """Events that put both sides back; what `merged` wrote makes way."""
    plan = {
        "cell.restored": standing_again(work.home.journal, losers["cell_id"]),
        "pair.judged": judged(winner_id, losers, effect="none", why=TAKEN_BACK),
    }
    if winner_id in ids:
        made_by = work.store.by_key("cells", [winner_id], ["cell_id", "prompt_version", "model"]).row(
            0, named=True
        )
        named = {"supersedes": settled["former_supersedes"], **made_by}
        plan["cell.succeeded"] = rows_of("cell.succeeded", [{**named, "summary": settled["former_summary"]}])
        gone = losers
    else:
        plan["cell.retired"] = rows_of(
            "cell.retired", [{"cell_id": winner_id, "superseded_at": work.clock()}]
        )
        plan["cell.succeeded"] = rows_of("cell.succeeded", [{"cell_id": winner_id}])
        gone = work.store.by_key("cells", [winner_id])
    return joined(plan, cascade(work.store, gone, why="was part of a resolution that a person took back"))


def _rivals_of_then(store: Store, row: dict[str, object], winner_id: str | None) -> pl.DataFrame:
    """The other values of the property that made way with the losing side."""
    gone = store.having("cells", "superseded_by", [winner_id or ""])
    is_side = pl.col("cell_id").is_in([row["cell_a"], row["cell_b"]])
    is_of_property = pl.all_horizontal(
        pl.col(*ATTRIBUTE).is_not_null()
    )  # others may be retired at the same moment
    return gone.filter((pl.col("superseded_at") == row["resolved_at"]) & is_of_property & ~is_side)


def _refuse_changed(store: Store, losers: pl.DataFrame, ids: list[str], winner_id: str | None) -> None:
    """Only what still stands as the resolution left it can be taken back."""
    for side in ids:
        if side != winner_id and side not in losers["cell_id"]:
            raise InputError(f"memory {side} is no longer there, so this cannot be undone")
    for cell_id, by in losers.select("cell_id", "superseded_by").iter_rows():
        if by != winner_id:
            raise InputError(
                f"memory {cell_id} was not retired by this resolution but by another edit, so this cannot be undone"
            )
    winner = store.by_key("cells", [winner_id or ""], ["cell_id", "status", "superseded_by"])
    if winner.is_empty() or winner["status"][0] == "superseded":
        by = "" if winner.is_empty() else f" by {winner['superseded_by'][0]}"
        raise InputError(f"memory {winner_id} was replaced since{by}, so this cannot be undone")


def _last_resolution(work: Workspace, contradiction_id: str) -> dict[str, object]:
    rows = journaled(work.home.journal, [contradiction_id], RESOLVED)
    found = rows.filter(pl.col("contradiction_id") == contradiction_id)
    if found.is_empty():
        raise InputError(
            f"contradiction {contradiction_id} was not resolved by a person in this home: there is nothing to undo"
        )
    return found.row(-1, named=True)


def _both_living(work: Workspace, row: dict[str, object]) -> pl.DataFrame:
    cells = work.store.by_key("cells", [str(row["cell_a"]), str(row["cell_b"])])
    living = cells.filter(pl.col("status") != "superseded")
    if living.height < 2:  # noqa: PLR2004 - both sides
        raise InputError(
            f"a side of contradiction {row['contradiction_id']} is gone or superseded: there is nothing to decide"
        )
    for cell in cells.iter_rows(named=True):
        refuse_foreign(work.home, cell)
    return cells


def _row(work: Workspace, contradiction_id: str) -> dict[str, object]:
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


def _sides(store: Store, cell_ids: list[str]) -> dict[str, Side]:
    cells = store.by_key("cells", cell_ids, list(Side.model_fields))
    return {row["cell_id"]: Side(**row) for row in cells.iter_rows(named=True)}


def _dispute(row: dict[str, object], sides: dict[str, Side]) -> Dispute:
    names = [name for name in Dispute.model_fields if name not in ("a", "b")]
    return Dispute(
        **{name: row[name] for name in names},
        a=sides.get(str(row["cell_a"])),
        b=sides.get(str(row["cell_b"])),
    )


def _waits(one: Dispute) -> bool:
    living = [side for side in (one.a, one.b) if side is not None and side.status != "superseded"]
    return one.status == "open" and len(living) == 2  # noqa: PLR2004 - both sides
