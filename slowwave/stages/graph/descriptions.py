"""The link stage with a model: who or what an entity is, from the memories that name it."""

import polars as pl

from slowwave.journal.catalogue import rows_of
from slowwave.models.answers.write import EntityAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import cell_rows
from slowwave.stages.asking import ask, usable_answers
from slowwave.stages.run import Stage
from slowwave.store import col, lit
from slowwave.trust.origins import answered_for_first

DESCRIBED = [
    "entity_id", "canonical_name", "entity_type", "aliases", "mention_count", "enriched_count", "needs_review",
]  # fmt: skip
GENERAL = ["place", "concept"]
"""Types of entities that many memories name and few say much of."""
TOLD = [
    "cell_id", "cell_type", "content", "salience", "event_time", "valid_from", "valid_precision", "origin",
]  # fmt: skip


def enrich(run: Stage) -> None:
    """Summarizes entities with enough mentions, again once these have grown or one of them was superseded.

    The more mentions, the longer.
    """
    due = _due(run)
    if due.is_empty():
        return
    pages = [_page(run, entity) for entity in due["entity_id"]]
    graph = run.settings.graph
    asked = [(row, page) for row, page in zip(due.iter_rows(named=True), pages, strict=True) if page.height]
    requests = []
    for row, page in asked:
        grown = graph.enrich_words + graph.enrich_mention_words * (
            row["mention_count"] - graph.enrich_mentions
        )
        most = max(graph.enrich_words, min(grown, graph.enrich_most_words))
        prompt = render(
            "enrich_entity",
            name=row["canonical_name"],
            kind=row["entity_type"] or "",
            aliases=row["aliases"],
            cells=cell_rows(page),
            max_words=most,
        )
        requests.append(Request(prompt, EntityAnswer, {"max_words": most}))
    told = usable_answers(EntityAnswer, [row for row, _ in asked], ask(run, requests, work="enrich"))
    run.reject("entity summary waits for the next run", len(asked) - len(told))
    rows = [
        {
            "entity_id": row["entity_id"],
            "summary": answer.summary,
            "enriched_count": row["mention_count"],
            **author,
        }
        for row, answer, author in told
    ]
    shown = [f"{row['canonical_name']}: {answer.summary}" for row, answer, _ in told]
    run.show(pl.Series(shown, dtype=pl.String))
    run.commit({"entity.enriched": rows_of("entity.enriched", rows)})


def _due(run: Stage) -> pl.DataFrame:
    """Entities that want a summary, most mentioned first; a place or a concept wants more mentions than others."""
    graph = run.settings.graph
    enough = run.store.rows("entities", DESCRIBED, col("mention_count") >= lit(graph.enrich_mentions))
    is_general = pl.col("entity_type").is_in(GENERAL)
    enough = enough.filter(
        ~is_general.fill_null(value=False) | (pl.col("mention_count") >= graph.enrich_general_mentions)
    )
    has_grown = pl.col("mention_count") >= pl.col("enriched_count") * graph.enrich_growth
    due = enough.filter(pl.col("enriched_count").is_null() | has_grown | pl.col("needs_review"))
    return due.sort("mention_count", "entity_id", descending=[True, False]).head(graph.enrich_entities)


def _page(run: Stage, entity_id: str) -> pl.DataFrame:
    """The live memories that name an entity, most salient and newest first, at most as many as one page holds.

    A document, or what somebody quoted, is told only where nobody else names the entity.
    """
    named = run.store.having("mentions", "entity_id", [entity_id], ["cell_id"])["cell_id"]
    live = run.store.by_key("cells", named, [*TOLD, "status"]).filter(pl.col("status") == "active")
    ranked = live.filter(answered_for_first()).sort(
        "salience", "event_time", "cell_id", descending=[True, True, False]
    )
    return ranked.head(run.settings.graph.enrich_cells).sort("valid_from", "event_time", "cell_id")
