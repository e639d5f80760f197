"""Profiles: who or what an entity is, written by the model from the memories that name it."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.journal.catalogue import CATALOGUE
from slowwave.journal.plan import Plan, rejected
from slowwave.models.answers.write import EntityAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import cell_rows
from slowwave.schemas.table_parts import Made, Timestamp, nullable, strings
from slowwave.store import col, lit
from slowwave.trust.origins import answered_for_first
from tasks.ask import Model
from tasks.frames import Frame
from tasks.step import Readable, step

GENERAL = ["place", "concept"]
"""Types of entities that many memories name and few say much of: they need more mentions."""

MENTIONS, GENERAL_MENTIONS = 3, 12
"""Mentions from which a profile is written, and those for `GENERAL` ones: twice may be chance."""

GROWTH = 2.0
"""Mentions, times those of the last profile, that call for a new one: a profile costs a request."""

WORDS, WORDS_A_MENTION, MOST_WORDS = 60, 7, 200
"""Longest profile with the fewest mentions, what each further one adds, and the longest of any."""

PROFILE_MEMORIES = 40
"""Memories shown for one entity, most salient and newest first."""


class DueEntities(Frame):
    """Entities that get a profile, with the longest that it may be in words."""

    entity_id: str
    canonical_name: str
    entity_type: str = nullable()
    aliases: pl.List = strings()
    mention_count: int
    max_words: int


class EntityCells(Frame):
    """Active memories that name an entity, oldest first within it."""

    entity_id: str
    cell_type: str
    content: str
    valid_from: Timestamp
    valid_precision: str = nullable()


class Profiles(Frame, Made):
    """Profiles as they are committed, with the mentions that the entity had."""

    entity_id: str
    summary: str
    enriched_count: int


@step
def find_due_entities(reader: Readable) -> DataFrame[DueEntities]:
    """Entities with enough mentions, whose profile is missing, outgrown or in doubt; most mentioned first."""
    columns = [
        "entity_id",
        "canonical_name",
        "entity_type",
        "aliases",
        "mention_count",
        "enriched_count",
        "needs_review",
    ]
    enough = reader.store.rows("entities", columns, col("mention_count") >= lit(MENTIONS))
    is_general = pl.col("entity_type").is_in(GENERAL).fill_null(value=False)
    has_grown = pl.col("mention_count") >= pl.col("enriched_count") * GROWTH
    due = enough.filter(
        ~is_general | (pl.col("mention_count") >= GENERAL_MENTIONS),
        pl.col("enriched_count").is_null() | has_grown | pl.col("needs_review"),
    )
    best = due.sort("mention_count", "entity_id", descending=[True, False]).head(
        reader.settings.graph.enrich_entities
    )
    grown = WORDS + WORDS_A_MENTION * (pl.col("mention_count") - MENTIONS)
    most = pl.min_horizontal(grown, MOST_WORDS)
    return DueEntities.of(best.with_columns(max_words=most.cast(pl.Int64)))


@step
def find_cells_of_entities(reader: Readable, due: DataFrame[DueEntities]) -> DataFrame[EntityCells]:
    """The most salient, newest memories of each entity, as many as one page holds.

    A document, or a quotation, is shown only where nobody else names the entity.
    """
    named = reader.store.having("mentions", "entity_id", due["entity_id"], ["entity_id", "cell_id"]).unique()
    columns = [*EntityCells.names()[1:], "cell_id", "salience", "event_time", "origin", "status"]
    cells = reader.store.by_key("cells", named["cell_id"].unique(), columns).filter(
        pl.col("status") == "active"
    )
    best = (
        named.join(cells, on="cell_id", how="inner")
        .filter(answered_for_first("entity_id"))
        .sort("entity_id", "salience", "event_time", "cell_id", descending=[False, True, True, False])
        .group_by("entity_id", maintain_order=True)
        .head(PROFILE_MEMORIES)
    )
    return EntityCells.of(best.sort("entity_id", "valid_from", "event_time", "cell_id"))


@step
def ask_profiles(
    model: Model, due: DataFrame[DueEntities], cells: DataFrame[EntityCells]
) -> DataFrame[Profiles]:
    """The model's profile of each entity; one without memories or without a usable answer has no row."""
    pages = {key: page for (key,), page in cells.partition_by("entity_id", as_dict=True).items()}
    asked = {row["entity_id"]: row for row in due.iter_rows(named=True) if row["entity_id"] in pages}
    requests = {key: _request(row, pages[key]) for key, row in asked.items()}
    rows = [
        {
            "entity_id": key,
            "summary": said.answer.summary,
            "enriched_count": asked[key]["mention_count"],
            "prompt_version": said.prompt_version,
            "model": said.model,
        }
        for key, said in model.ask(EntityAnswer, requests, work="enrich").items()
    ]
    return Profiles.of(pl.DataFrame(rows, schema=CATALOGUE["entity.enriched"].payload))


@step
def plan_profiles(
    due: DataFrame[DueEntities], cells: DataFrame[EntityCells], profiles: DataFrame[Profiles]
) -> Plan:
    """The new profiles."""
    asked = due.join(cells, on="entity_id", how="semi", maintain_order="left")
    waiting = asked.join(profiles, on="entity_id", how="anti")
    named = profiles.join(due, on="entity_id", how="inner", maintain_order="left")
    return Plan(
        events={"entity.enriched": profiles},
        rejected=rejected("entity summary waits for the next run", waiting["entity_id"]),
        examples=named.select(pl.format("{}: {}", "canonical_name", "summary")).to_series().to_list(),
    )


# Inside


def _request(entity: Mapping[str, Any], page: pl.DataFrame) -> Request:
    kind, most = entity["entity_type"] or "", entity["max_words"]
    prompt = render(
        "enrich_entity",
        name=entity["canonical_name"],
        kind=kind,
        aliases=entity["aliases"],
        cells=cell_rows(page),
        max_words=most,
    )
    return Request(prompt, EntityAnswer, {"max_words": most})
