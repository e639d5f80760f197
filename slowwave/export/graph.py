"""The memory as the graph of an MCP memory server: entities with observations, and relations between them."""

import json
from collections.abc import Iterator

import polars as pl

from slowwave.export.rows import Rows
from slowwave.lifecycle.values import compared_values
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import IMPORTED
from slowwave.store.chains import doubted_and_both_valid

FILE = "memory.jsonl"

UNNAMED = "Memories without a name"
"""The entity of memories that name nobody and nothing."""


def graph_lines(rows: Rows) -> Iterator[str]:
    """The lines of the graph: an entity with what is remembered of it now, then the relations.

    A memory stands with each entity that it names. One of a subject, an attribute and a value that names an entity is a
    relation, and so is one that came as a relation.
    """
    cells = rows["memory"].filter((pl.col("status") == "active") & (pl.col("cell_type") != EPISODE))
    cells = cells.filter(~pl.col("cell_id").is_in(_outdated(cells, rows["contradiction"])))
    named = rows["mention"].join(
        rows["entity"].select("entity_id", "canonical_name", "entity_type"), on="entity_id", how="inner"
    )
    relations = _relations(cells, named)
    told = cells.filter(
        ~pl.col("cell_id").is_in(relations["cell_id"].implode()) | (pl.col("prompt_version") != IMPORTED)
    )
    yield from map(_line, _entities(told, named, rows["entity"]))
    for one, other, how in relations.select("one", "other", "how").unique(maintain_order=True).iter_rows():
        yield _line({"type": "relation", "from": one, "to": other, "relationType": how})


def _outdated(cells: pl.DataFrame, contradictions: pl.DataFrame) -> list[str]:
    """The memories that another value of their property outdates, though no night has retired them yet."""
    doubted, both_valid = doubted_and_both_valid(
        contradictions.filter(
            (pl.col("status") == "open") | (pl.col("resolution") == "both_valid")
        ).iter_rows(named=True)
    )
    owners = cells.partition_by("project_id", "scope", maintain_order=True)
    compared = (
        compared_values(claims.rows(named=True), doubted=doubted, both_valid=both_valid) for claims in owners
    )
    return sorted({cell_id for values in compared for cell_id in values.outdated})


def _entities(
    cells: pl.DataFrame, named: pl.DataFrame, entities: pl.DataFrame
) -> Iterator[dict[str, object]]:
    of_cells = cells.select("cell_id", "content", "event_time")
    by_entity = (
        named.unique(["entity_id", "cell_id"])
        .join(of_cells, on="cell_id", how="inner")
        .sort("entity_id", "event_time", "cell_id")
        .group_by("entity_id")
        .agg(pl.col("content").unique(maintain_order=True))
    )
    found = entities.join(by_entity, on="entity_id", how="left").sort("canonical_name", "entity_id")
    for name, kind, observations in found.select("canonical_name", "entity_type", "content").iter_rows():
        bare = [
            text.removeprefix(f"{name}: ") for text in observations or []
        ]  # ingest puts the name before it again
        yield _entity(name, kind or "thing", bare)
    nameless = of_cells.join(named, on="cell_id", how="anti").sort("event_time", "cell_id")["content"]
    if len(nameless):
        yield _entity(UNNAMED, "collection", nameless.unique(maintain_order=True).to_list())


def _relations(cells: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """Relations between entities: `one`, `how`, `other`, and the memory (`cell_id`) that says so."""
    by_name = named.select("cell_id", "name", "canonical_name").unique()
    stated = cells.drop_nulls(["subject", "attribute", "value"]).select(
        "cell_id", "event_time", "subject", "value", how="attribute"
    )
    both = (
        stated.join(by_name, left_on=["cell_id", "subject"], right_on=["cell_id", "name"], how="inner")
        .rename({"canonical_name": "one"})
        .join(by_name, left_on=["cell_id", "value"], right_on=["cell_id", "name"], how="inner")
        .rename({"canonical_name": "other"})
    )
    columns = ["cell_id", "event_time", "one", "how", "other"]
    return pl.concat([both.select(columns), _came_as(cells, by_name).select(columns)]).sort(
        "event_time", "cell_id"
    )


def _came_as(cells: pl.DataFrame, by_name: pl.DataFrame) -> pl.DataFrame:
    """Memories that came as relations: their text is one name, how it is related, and another name."""
    pairs = (
        cells.filter(pl.col("prompt_version") == IMPORTED)
        .select("cell_id", "event_time", "content")
        .join(by_name.select("cell_id", first="name", one="canonical_name"), on="cell_id", how="inner")
        .join(by_name.select("cell_id", last="name", other="canonical_name"), on="cell_id", how="inner")
    )
    begins = pl.col("content").str.starts_with(pl.format("{} ", "first"))
    ends = pl.col("content").str.ends_with(pl.format(" {}", "last"))
    lengths = pl.col("first").str.len_chars() + 1, pl.col("last").str.len_chars() + 1
    between = pl.col("content").str.len_chars() - lengths[0] - lengths[1]
    related = pairs.filter(begins & ends & (between > 0) & (pl.col("first") != pl.col("last")))
    how = pl.col("content").str.slice(lengths[0], between)
    return related.with_columns(how=how).unique("cell_id", keep="first", maintain_order=True)


def _entity(name: str, kind: str, observations: list[str]) -> dict[str, object]:
    return {"type": "entity", "name": name, "entityType": kind, "observations": observations}


def _line(fields: dict[str, object]) -> str:
    return json.dumps(fields, ensure_ascii=False) + "\n"
