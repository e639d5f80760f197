"""Succession: which memory follows which, planned by one set of rules for nights and for edits.

A night orders values by their dates, whatever order they came in (`succession`). What a person takes out leaves a chain
that holds together (`bridges`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from slowwave.journal.catalogue import CATALOGUE, EventRows
from slowwave.lifecycle.fading import revivals
from slowwave.lifecycle.order import AGE_ORDER, supersessions
from slowwave.lifecycle.repetitions import (
    between_elements,
    complete,
    confirmations,
    inherited,
    stand_ins,
)
from slowwave.lifecycle.walker import connected, following
from slowwave.schemas.tables import frame_schema

LINK = ["superseded_by", "superseded_at", "valid_until"]
"""The columns of `cells` that tie a memory to the next of its chain."""

STANDING = ["cell_id", "status", *LINK, *AGE_ORDER[:-1]]
"""The columns that give the place of a memory in its chain."""


@dataclass(frozen=True)
class Chains:
    """Pairs of memories and the chains that these belong to.

    `links` has `cell_id`, `target_id`, `verdict` (whose value followed whose), `repeats` has `cell_id`, `target_id`
    (said again), `members` the rows of `cells`, `by_person` the ids of those that a person's edit retired.
    """

    links: pl.DataFrame
    repeats: pl.DataFrame
    members: pl.DataFrame
    by_person: pl.Series


@dataclass(frozen=True)
class Succession:
    """Rows by event kind, and what they mean for the pairs that they were planned from.

    `merged` has `cell_id` and `superseded_by` of memories that live on in another, `leaving` the ids of those that
    another value follows now. In the chains of `spared` nothing changes, since a memory would go that a person
    confirmed. Those in `incomplete` stay, since each has a value that the one which says the same lacks.
    """

    events: EventRows
    merged: pl.DataFrame
    leaving: pl.Series
    spared: pl.Series
    incomplete: pl.Series


def succession(
    chains: Chains, cell_usage: pl.DataFrame, *, now: datetime, made_by: Sequence[pl.Expr]
) -> Succession:
    """The order in which the values of chains held, and the memories that stand for others.

    `cell_usage` has the rows of the members, `made_by` the prompt version and model behind the decision as columns.
    """
    members = chains.members
    repeats, incomplete = complete(chains.repeats, members)
    elements = stand_ins(chains.links, repeats, members)
    follows = supersessions(between_elements(chains.links, repeats, elements), members)
    follows = _without(follows, chains.by_person)
    groups = connected(pl.concat([chains.links.select("cell_id", "target_id"), repeats]))
    spared = _spared(groups, follows, members)
    elements, follows = _without(elements, spared), _without(follows, spared)
    merged = _newly_merged(elements, members)
    leaving = follows.join(members.filter(pl.col("status") != "superseded"), on="cell_id", how="semi")
    standing = _without(elements.filter(pl.col("cell_id") == pl.col("element_id")), follows["cell_id"])
    back = _without(members.join(standing, on="cell_id", how="semi"), chains.by_person)
    archived = back.filter(pl.col("status") == "archived")
    events: EventRows = {
        "cell.merged": merged.with_columns(superseded_at=_merged_at(merged, members, now=now)),
        **_said_again(merged, members, cell_usage, now=now, made_by=made_by),
        "cell.protected": _protection_passed_on(merged, members),
        "cell.superseded": follows.with_columns(*made_by, superseded_at=pl.lit(now)),
        "cell.succeeded": _current_values(follows).with_columns(*made_by),
        "cell.reinstated": back.filter(pl.col("status") == "superseded").select("cell_id"),
        "cell.revived": revivals(
            cell_usage.join(archived, on="cell_id", how="semi"), now=now, reason="said again"
        ),
    }
    return Succession(events, merged, leaving["cell_id"], spared, incomplete)


def _current_values(follows: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `supersedes` of the memories that hold now; what they were in a few words is no longer right."""
    return (
        _without(follows.rename({"cell_id": "supersedes", "superseded_by": "cell_id"}), follows["cell_id"])
        .select("cell_id", "supersedes", summary=pl.lit(None, dtype=pl.String))
        .sort("cell_id")
    )


def _without(rows: pl.DataFrame, cell_ids: pl.Series) -> pl.DataFrame:
    return rows.filter(~pl.col("cell_id").is_in(cell_ids.implode()))


def _spared(groups: pl.DataFrame, follows: pl.DataFrame, members: pl.DataFrame) -> pl.Series:
    """The memories of every chain in which one that a person confirmed would go, or follow another than now."""
    known = members.select(
        "cell_id", "protected", known_by=pl.when(pl.col("status") == "superseded").then("superseded_by")
    )
    lost = follows.join(known, on="cell_id", how="inner").filter(
        pl.col("protected") & pl.col("superseded_by").ne_missing(pl.col("known_by"))
    )
    with_lost = groups.join(lost, on="cell_id", how="semi")
    return groups.join(with_lost, on="group", how="semi")["cell_id"]


def _newly_merged(elements: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `superseded_by` of memories that others stand for and of which that is not stored yet."""
    stored = members.filter((pl.col("status") == "superseded") & pl.col("valid_until").is_null())
    return (
        elements.filter(pl.col("cell_id") != pl.col("element_id"))
        .select("cell_id", superseded_by="element_id")
        .join(stored, on=["cell_id", "superseded_by"], how="anti")
        .sort("cell_id")
    )


def _merged_at(merged: pl.DataFrame, members: pl.DataFrame, *, now: datetime) -> pl.Series:
    """The moment at which each memory left: an earlier merge keeps its own, whoever stands for the memory now."""
    before = members.filter(pl.col("valid_until").is_null()).select("cell_id", "superseded_at")
    known = merged.join(before, on="cell_id", how="left", maintain_order="left")
    return known.select(pl.col("superseded_at").fill_null(now)).to_series()


def _said_again(
    merged: pl.DataFrame,
    members: pl.DataFrame,
    cell_usage: pl.DataFrame,
    *,
    now: datetime,
    made_by: Sequence[pl.Expr],
) -> EventRows:
    """Counts, uses and evidence go over to the memory that stands for what is merged."""
    fresh = merged.join(members.filter(pl.col("status") != "superseded"), on="cell_id", how="inner")
    if fresh.is_empty():
        return {}
    pairs = fresh.select("evidence", "origin", "session_id", cell_id="superseded_by", confirmed_by="cell_id")
    return {
        "cell_usage.folded": inherited(fresh.select("cell_id", "superseded_by"), cell_usage),
        "cell.confirmed": confirmations(pairs, members, cell_usage, now=now).with_columns(*made_by),
    }


def _protection_passed_on(merged: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Rows of `cell.protected` for memories in which a protected one lives on."""
    protected = members.filter("protected")["cell_id"].implode()
    is_new = pl.col("cell_id").is_in(protected) & ~pl.col("superseded_by").is_in(protected)
    note = pl.lit("a memory that a person confirmed lives on in it")
    successors = merged.filter(is_new).select(cell_id="superseded_by").unique().sort("cell_id")
    return successors.with_columns(confidence=pl.lit(1.0), note=note)


# what an edit takes out of a chain


@dataclass
class Bridges:
    """New places of the memories that lived on in one that leaves, or that it had replaced.

    `superseded` and `merged` are payloads of those kinds without provenance. `stranded` has the ids of memories that
    nothing follows any more, `successors` those of the memories that come after what leaves: their timelines may
    name it.
    """

    superseded: list[dict[str, Any]] = field(default_factory=list)
    merged: list[dict[str, Any]] = field(default_factory=list)
    stranded: list[str] = field(default_factory=list)
    successors: list[str] = field(default_factory=list)


def bridges(cells: pl.DataFrame, gone: Collection[str], verdicts: Mapping[str, str]) -> Bridges:
    """The links that the chains of `cells` (whole chains, `STANDING`) need without the memories in `gone`.

    Of the memories that said the same as one that leaves, the oldest takes its place. `verdicts` has the verdict that
    retired each superseded memory; `updates` where it has none.
    """
    rows = {
        row["cell_id"]: {**row, "verdict": verdicts.get(row["cell_id"], "updates")}
        for row in cells.select(STANDING).iter_rows(named=True)
    }
    before = {cell_id: row["superseded_by"] for cell_id, row in rows.items()}
    # what lives on in another goes first, so that all that say the same stand beside each other
    order = sorted(rows.keys() & set(gone), key=lambda cell_id: (not _says_the_same(rows[cell_id]), cell_id))
    stood = [_contract(rows, cell_id, gone) for cell_id in order]
    firsts = {cell_id for cell_id in stood if cell_id is not None and cell_id in rows}
    found = Bridges()
    for cell_id, row in sorted(rows.items()):
        by = row["superseded_by"]
        if by == before[cell_id]:
            continue
        if by is None:
            found.stranded.append(cell_id)
        else:
            names = ["cell_id", *LINK[:2]] if _says_the_same(row) else ["cell_id", *LINK, "verdict"]
            kind = found.merged if _says_the_same(row) else found.superseded
            kind.append({name: row[name] for name in names})
    next_of = {cell_id: row["superseded_by"] for cell_id, row in rows.items() if row["superseded_by"] in rows}
    found.successors = sorted({later for first in firsts for later in (first, *following(next_of, first))})
    return found


def _contract(rows: dict[str, dict[str, Any]], leaving: str, gone: Collection[str]) -> str | None:
    """Takes one memory out of `rows`; returns the one that stands where it stood, or came after it."""
    row = rows.pop(leaving)
    behind = [other for other in rows.values() if other["superseded_by"] == leaving]
    behind.sort(key=lambda other: (other["cell_id"] in gone, *(other[name] for name in AGE_ORDER)))
    first: str | None = row["superseded_by"] if row["superseded_by"] in rows else None
    same = None if _says_the_same(row) else next(filter(_says_the_same, behind), None)
    if same is not None:
        same.update(
            {name: row[name] for name in ("valid_until", "superseded_at", "verdict")}, superseded_by=first
        )
        first = same["cell_id"]
    for other in behind:
        if other is not same:
            other["superseded_by"] = first if first != other["cell_id"] else None  # the chain was a circle
    return first


def _says_the_same(row: Mapping[str, Any]) -> bool:
    """Return whether a superseded memory lives on in another as said twice: its value never ended."""
    return row["superseded_by"] is not None and row["valid_until"] is None


def succeeded(cells: pl.DataFrame, successors: Collection[str]) -> pl.DataFrame:
    """Rows of `cell.succeeded` for these memories: the one that each replaced last, null where it replaced none.

    `cells` are rows of the chains as they stand then.
    """
    retired = cells.filter(pl.col("superseded_by").is_not_null() & pl.col("valid_until").is_not_null())
    newest = retired.sort("valid_until", "cell_id").unique("superseded_by", keep="last", maintain_order=True)
    rows = (
        cells.filter(pl.col("cell_id").is_in(sorted(successors)))
        .select("cell_id", "prompt_version", "model", summary=pl.lit(None, dtype=pl.String))
        .join(newest.select(cell_id="superseded_by", supersedes="cell_id"), on="cell_id", how="left")
    )
    return rows.select(list(CATALOGUE["cell.succeeded"].payload)).sort("cell_id")


def moved(cells: pl.DataFrame, places: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """`cells` with the links of `places` (`cell_id` and `LINK`; what is missing there is null)."""
    names = ["cell_id", *LINK]
    schema = {name: frame_schema("cells")[name] for name in names}
    links = pl.DataFrame([{name: row.get(name) for name in names} for row in places], schema=schema)
    return cells.update(links, on="cell_id", how="left", include_nulls=True)
