"""The graph as a search uses it: who is named, which cells name them, and what led to what.

Every read goes by an indexed column and starts from what the asking owner may see. Small frames in, small frames out.
"""

import re
from collections.abc import Iterable

import polars as pl

from slowwave.language.names import (
    family,
    first_name,
    is_ambiguous,
    is_description,
    person_name,
    plain_name,
    said_name,
    same_names,
    with_thing_name,
)
from slowwave.lifecycle.walker import walk
from slowwave.recall.conditions import scope_condition
from slowwave.recall.results import CELL, cell_of
from slowwave.schemas.results import Cell, Step
from slowwave.schemas.search import Direction
from slowwave.schemas.tables import OWNER
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Expr, Row, RowsQuery, SearchQuery, Store, col, lit

SAID_MOST = 1_000
"""Memories that are looked at for a name as it was said."""

_QUALIFIER = re.compile(r" \([^)]*\)$")
"""What tells two of one name apart, behind the name."""

CAUSAL = col("relation") == lit("causal")
REPLACED = col("status") == lit("superseded")
ELABORATED = col("effect") == lit("elaborated")

_ENTITY = ["entity_id", *OWNER, "canonical_name", "entity_type", "aliases", "family", "mention_count"]


def entities_named(store: Store, owner: ScopeSettings, name: str) -> pl.DataFrame:
    """Entities that are called so, by any of their names, most mentioned first; without summary and provenance."""
    said = pl.DataFrame({"name": [name]}).with_columns(name=said_name(pl.col("name")))
    asked = _forms(_as_known(store, owner, said)).filter(pl.col("plain") != "")
    families = asked["family"].drop_nulls().unique().sort().to_list()
    if not families:
        return store.by_key("entities", [], _ENTITY)
    known = store.rows("entities", _ENTITY, scope_condition(owner) & col("family").isin(families))
    return _matching(asked, known).sort("mention_count", "entity_id", descending=[True, False])


def _as_known(store: Store, owner: ScopeSettings, said: pl.DataFrame) -> pl.DataFrame:
    """A description of a person ("Evan's wife") as the name of whoever it was found to be; other names as they are."""
    described = said.filter(is_description(pl.col("name"))).select(plain_name(pl.col("name"))).to_series()
    if described.is_empty():
        return said
    where = scope_condition(owner) & col("name").isin(described.to_list())
    same = same_names(store.rows("identities", [*OWNER, "name", "same_as"], where))
    return same.select(name="called").unique().sort("name") if same.height else said


def cells_naming(store: Store, owner: ScopeSettings, name: str) -> list[str]:
    """Ids of the cells that name this person or thing under whatever name, sorted; whatever their status."""
    return cells_of(store, owner, entities_named(store, owner, name)["entity_id"])


def cells_saying(store: Store, where: Expr, name: str, *, most: int = SAID_MOST) -> set[str]:
    """Ids of the cells that name a person or thing just so, in any case; of the `most` that match its words best.

    A memory of today has no place in the graph before the night: it goes by the name as it was said.
    """
    (found,) = store.find([SearchQuery("cells", name, None, most, where, ("entities",), ("entities",))])
    said = {row["cell_id"]: {_QUALIFIER.sub("", one).lower() for one in row["entities"]} for row in found}
    return {cell_id for cell_id, names in said.items() if name.strip().lower() in names}


def cells_of(store: Store, owner: ScopeSettings, ids: Iterable[str]) -> list[str]:
    """Ids of the cells that name one of these entities, and of those in which such cells live on, sorted."""
    wanted = sorted(set(ids))
    if not wanted:
        return []
    mine = scope_condition(owner)
    named = store.rows("mentions", ["cell_id"], mine & col("entity_id").isin(wanted))["cell_id"].to_list()

    def lives_on_in(cells: list[str]) -> set[str]:
        where = mine & col("cell_id").isin(cells)
        (said,) = store.find([RowsQuery("cells", ("superseded_by", "valid_until"), where)])
        return {row["superseded_by"] for row in said if row["valid_until"] is None and row["superseded_by"]}

    return sorted(set(named).union(*walk(named, lives_on_in)))


def _forms(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the forms in which its column `name` is compared."""
    plain = pl.col("plain")
    named = frame.with_columns(plain=plain_name(pl.col("name")))
    for column, kind in (("tool", "tool"), ("firm", "organization")):
        named = with_thing_name(named, column, pl.lit(kind))
    return named.with_columns(
        person=person_name(plain),
        first=first_name(plain),
        family=family(plain),
        is_ambiguous=is_ambiguous(plain),
    )


def _matching(asked: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Entities with a name that is asked for.

    The same name; else the same without version or legal form; else a person's first name that just one person has.
    """
    every_name = pl.concat_list(pl.concat_list("canonical_name"), "aliases")
    forms = _forms(known.select("entity_id", *OWNER, "entity_type", name=every_name).explode("name"))
    exact = forms.join(asked, on="plain", how="semi")
    left = asked.join(forms, on="plain", how="anti").filter(~pl.col("is_ambiguous"))
    is_person = pl.col("entity_type") == "person"
    persons, things = forms.filter(is_person), forms.filter(~is_person | pl.col("entity_type").is_null())
    alike = [
        things.filter(pl.col("entity_type") == "tool").join(left, on="tool", how="semi"),
        things.filter(pl.col("entity_type") == "organization").join(left, on="firm", how="semi"),
        persons.join(left, on="person", how="semi"),
    ]
    alone = left.filter(~pl.col("plain").str.contains(" ", literal=True))
    called = persons.join(alone, on="first", how="semi")
    only = called.filter(pl.col("entity_id").n_unique().over(*OWNER, "first") == 1)
    ids = pl.concat([part.select("entity_id") for part in (exact, *alike, only)])
    return known.join(ids, on="entity_id", how="semi")


def chain(
    store: Store, owner: ScopeSettings, cell_ids: Iterable[str], *, direction: Direction, depth: int
) -> list[Row]:
    """Steps along causes, supersessions and elaborations, from these cells up to `depth` steps away.

    Nearest first, with `depth` (from 1), `cell_id` (reached), `reached_from`, `relation`, `predicate`, `confidence`.
    A cell is reached once, by the shortest way, and never one of those that the chain began with.
    """
    reached: dict[str, Row] = {}

    def reach(cells: list[str]) -> list[str]:
        steps = _next(store, owner, cells, direction)
        for step in steps:
            reached.setdefault(step["cell_id"], step)
        return [step["cell_id"] for step in steps]

    step_of = {
        cell: depth for depth, step in enumerate(walk(cell_ids, reach, most=depth), start=1) for cell in step
    }
    return [{"depth": step_of[cell], **step} for cell, step in reached.items() if cell in step_of]


def _next(store: Store, owner: ScopeSettings, cells: list[str], direction: Direction) -> list[Row]:
    """One step back (to what was there before) or forward.

    Only causes are stored as edges: cells and judgements say themselves what replaced or elaborates them.
    """
    # relation, table, the column of what was there before, the column of what came after, other columns, condition
    ways = [
        ("causal", "edges", "source_id", "target_id", ("predicate", "confidence"), CAUSAL),
        ("supersedes", "cells", "cell_id", "superseded_by", ("valid_until",), REPLACED),
        ("elaborates", "judgements", "target_id", "cell_id", (), ELABORATED),
    ]
    mine, is_back = scope_condition(owner), direction == "back"
    ends = [(after, before) if is_back else (before, after) for _, _, before, after, _, _ in ways]
    queries = [
        RowsQuery(table, (at, to, *columns), mine & where & col(at).isin(cells))
        for (_, table, _, _, columns, where), (at, to) in zip(ways, ends, strict=True)
    ]
    steps = [
        {
            "cell_id": row[to],
            "reached_from": row[at],
            "relation": way[0],
            "predicate": row.get("predicate"),
            "confidence": row.get("confidence", 1.0),
        }
        for way, (at, to), rows in zip(ways, ends, store.find(queries), strict=True)
        for row in rows
        # what was merged as said twice has a successor and no end
        if row[to] and row.get("valid_until", True)
    ]
    return sorted(
        steps, key=lambda row: (row["relation"], -row["confidence"], row["cell_id"], row["reached_from"])
    )


def reasons(
    store: Store,
    owner: ScopeSettings,
    cell_ids: Iterable[str],
    *,
    direction: Direction = "back",
    depth: int = 2,
) -> list[Cell]:
    """Memories that led to these cells, nearest first, each with the step that reached it.

    Archived and deleted cells are left out; a superseded one says so in `status`.
    """
    steps = chain(store, owner, cell_ids, direction=direction, depth=depth)
    if not steps:
        return []
    mine = scope_condition(owner) & col("status").isin(["active", "superseded"])
    (found,) = store.find(
        [RowsQuery("cells", CELL, mine & col("cell_id").isin([row["cell_id"] for row in steps]))]
    )
    cells = {row["cell_id"]: row for row in found}
    return [
        cell_of(cells[reached], step=Step(**step))
        for reached, step in ((step.pop("cell_id"), step) for step in steps)
        if reached in cells
    ]
