"""A person or thing: who or what it is, what holds of it now and held before, and who stands beside it."""

from typing import Any

import polars as pl

from slowwave.errors import InputError, NotFoundError
from slowwave.language.names import plain_name, with_thing_name
from slowwave.lifecycle.values import ATTRIBUTE, compared_values, former_values
from slowwave.recall.conditions import scope_condition
from slowwave.recall.graph import cells_of, entities_named
from slowwave.recall.reader import Reader
from slowwave.recall.results import cell_of, former_of
from slowwave.recall.timeline import events_of, told_cells
from slowwave.schemas.moments import first_of
from slowwave.schemas.results import Cell, Entity, EntityResult, Neighbour, columns_of
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Row, Store, col
from slowwave.store.chains import doubted_and_both_valid, side_by_side

ENTITY = ("canonical_name", *(name for name in columns_of(Entity) if name != "name"))
"""Columns of a row of `entities` that becomes a result."""

SHOWN = 10
"""Neighbours, and late memories, on a page."""


def describe(reader: Reader, name: str) -> EntityResult:
    """Everything that a name stands for, most mentioned first.

    Raises:
        InputError: the name is empty.
        NotFoundError: no memory names it.
    """
    if not name.strip():
        raise InputError("the name is empty: say whom or what to look up")
    store = reader.require_store()
    owner = reader.settings.owner
    found = entities_named(store, owner, name.strip())
    if found.is_empty():
        raise NotFoundError(
            f"memory knows nobody and nothing called {name.strip()!r}: the night resolves names, and "
            "`slowwave search` may find other words for it"
        )
    rows = store.by_key("entities", found["entity_id"], ENTITY)
    whole = found.select("entity_id").join(rows, on="entity_id", how="inner", maintain_order="left")
    pages = [page for row in whole.iter_rows(named=True) if (page := _page(store, owner, row)) is not None]
    if not pages:
        raise NotFoundError(f"no memory names {name.strip()!r} any more")
    notes = [f"{len(pages)} are called so"] if len(pages) > 1 else []
    return EntityResult(name=name.strip(), entities=pages, notes=notes)


def _page(store: Store, owner: ScopeSettings, row: Row) -> Entity | None:
    """The page of one entity; None if the memories that named it are gone since the last night."""
    entity_id: str = row["entity_id"]
    ids = cells_of(store, owner, [entity_id])
    cells = told_cells(store, owner, ids)
    if cells.is_empty():
        return None
    lately = events_of(cells.filter(pl.col("status") == "active")).reverse().head(SHOWN)
    names = [row["canonical_name"], *(row["aliases"] or [])]
    return entity_of(
        row,
        first_at=cells.select(first_of(pl.col("event_time"))).item(),
        last_at=cells["event_time"].max(),
        facts=_facts(store, cells, names, str(row["entity_type"])),
        neighbours=_neighbours(store, owner, ids, entity_id),
        lately=[cell_of(one) for one in lately.iter_rows(named=True)],
    )


def entity_of(row: Row, **known: Any) -> Entity:
    """A row of `entities` as a result, with what else is known of it."""
    copied = {name: row[name] for name in ENTITY if name != "canonical_name"}
    return Entity(**{**copied, "aliases": row["aliases"] or []}, name=row["canonical_name"], **known)


def _facts(store: Store, cells: pl.DataFrame, names: list[str], kind: str) -> list[Cell]:
    """Current values of the cells that have the entity as their subject, each with the values before."""
    keys = _keys(pl.Series("name", names, dtype=pl.String), kind)
    about = cells.drop_nulls([*ATTRIBUTE, "value"])
    about = about.filter(_keys(about["subject"], kind).is_in(keys.implode()))
    ids = about["cell_id"].to_list()
    if not ids:
        return []
    (contradictions,) = store.find([side_by_side(ids)])
    doubted, both_valid = doubted_and_both_valid(contradictions)
    claims = about.rows(named=True)
    values = compared_values(claims, doubted=doubted, both_valid=both_valid)
    former, doubted = former_values(claims, values.outdated), doubted | values.doubted
    current = about.filter((pl.col("status") == "active") & ~pl.col("cell_id").is_in(list(values.outdated)))
    return [
        cell_of(
            row,
            has_open_contradiction=row["cell_id"] in doubted,
            history=[former_of(past) for past in former.get(row["cell_id"], [])],
        )
        for row in current.sort("attribute", "valid_from", "cell_id").iter_rows(named=True)
    ]


def _keys(names: pl.Series, kind: str) -> pl.Series:
    """Names as they are compared: a subject is the entity when it is called as the entity is."""
    named = names.alias("name").to_frame()
    if kind in ("tool", "organization"):
        return with_thing_name(named, "key", pl.lit(kind))["key"]
    return named.select(plain_name(pl.col("name"))).to_series()


def _neighbours(store: Store, owner: ScopeSettings, cell_ids: list[str], entity_id: str) -> list[Neighbour]:
    beside = store.having("mentions", "cell_id", cell_ids, ["cell_id", "entity_id"])
    counted = (
        beside.filter(pl.col("entity_id") != entity_id)
        .group_by("entity_id")
        .agg(shared_count=pl.col("cell_id").n_unique())
        .sort("shared_count", "entity_id", descending=[True, False])
        .head(SHOWN)
    )
    if counted.is_empty():
        return []
    columns = ["entity_id", "canonical_name", "entity_type"]
    wanted = scope_condition(owner) & col("entity_id").isin(counted["entity_id"].to_list())
    known = store.rows("entities", columns, wanted)
    rows = counted.join(known, on="entity_id", how="inner", maintain_order="left")
    return [Neighbour(**row) for row in rows.rename({"canonical_name": "name"}).iter_rows(named=True)]
