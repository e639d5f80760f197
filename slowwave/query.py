"""The read path: topic summaries and cells by hybrid search. No language model, no Prefect, no lock.

Both tiers are searched by full text and by vectors; the lists are fused by reciprocal rank and weighted by
bounded priors. Only active memories of the asking owner appear.
"""

from datetime import UTC, datetime
from typing import Literal

import polars as pl

from slowwave.embeddings import Embedder
from slowwave.errors import InputError, NotFoundError, OutputError, TransientError
from slowwave.home import Home, embedder_of
from slowwave.schemas.search import CellHit, SearchResult, TopicHit
from slowwave.settings import Settings
from slowwave.store import Expr, Store, col, lit, open_store, owned_by
from slowwave.transforms.ranking import fuse_ranks, prior
from slowwave.transforms.text import first_words

OVERFETCH = 4
"""Each list brings this many times what is wanted, so that fusing has something to choose from."""

QUERY_WORDS = 64
"""Different words of a question that full text looks for."""

MAX_LIMIT = 25

DetailLevel = Literal["summary", "full"]


def search(
    home: Home,
    query: str,
    *,
    limit: int | None = None,
    detail_level: DetailLevel = "full",
    now: datetime | None = None,
) -> SearchResult:
    """Answers a question from topic summaries and, unless only summaries are wanted, from cells.

    `limit` bounds both tiers together; summaries take up to three tenths of it.

    Raises:
        InputError: the question is empty, or the limit is not within 1..25.
    """
    settings = home.settings
    most = settings.search.limit if limit is None else limit
    if not query.strip():
        raise InputError("the question is empty: say what to look for")
    if not 1 <= most <= MAX_LIMIT:
        raise InputError(f"limit {most} is not possible: choose 1 to {MAX_LIMIT}")
    try:
        store = open_store(home.store_root)
    except NotFoundError:
        return SearchResult(query=query, notes=["No memory yet"], topics=[], cells=[])
    if store.count("cells") == 0:
        return SearchResult(query=query, notes=["No memory yet"], topics=[], cells=[])
    embedder, note = embedder_of(home, store)
    notes = [] if embedder is not None else [note]
    seen = owned_by(settings.own.user_id, settings.own.project_id)
    topic_count, cell_count = _shares(settings, most, detail_level)
    moment = now or datetime.now(UTC)
    topics = _search_topics(store, embedder, query, settings, count=topic_count, where=seen, notes=notes)
    cells = _search_cells(
        store, embedder, query, settings, count=cell_count, where=seen, now=moment, notes=notes
    )
    return SearchResult(query=query, notes=list(dict.fromkeys(notes)), topics=topics, cells=cells)


def _shares(settings: Settings, limit: int, detail_level: DetailLevel) -> tuple[int, int]:
    if detail_level == "summary":
        return limit, 0
    share = settings.search.topics / max(settings.search.topics + settings.search.cells, 1)
    topics = min(round(limit * share), limit)
    return topics, limit - topics


def _search_topics(
    store: Store,
    embedder: Embedder | None,
    query: str,
    settings: Settings,
    *,
    count: int,
    where: Expr,
    notes: list[str],
) -> list[TopicHit]:
    if count == 0:
        return []
    found = _hybrid(store, embedder, "topics", query, settings, count=count, where=where, notes=notes)
    rows = store.by_key("topics", found["topic_id"])
    usable = rows.filter(
        pl.col("summary").is_not_null() & pl.col("merged_into").is_null() & (pl.col("cell_count") > 0)
    )
    ranked = found.join(usable, on="topic_id", how="inner").sort(
        "fused_score", "topic_id", descending=[True, False]
    )
    return [
        TopicHit(
            topic_id=row["topic_id"],
            name=row["name"],
            summary=row["summary"],
            updated_at=row["updated_at"],
            cell_count=row["cell_count"],
            score=row["fused_score"],
            text_rank=row["text_rank"],
            vector_rank=row["vector_rank"],
        )
        for row in ranked.head(count).iter_rows(named=True)
    ]


def _search_cells(
    store: Store,
    embedder: Embedder | None,
    query: str,
    settings: Settings,
    *,
    count: int,
    where: Expr,
    now: datetime,
    notes: list[str],
) -> list[CellHit]:
    if count == 0:
        return []
    active = where & (col("status") == lit("active"))
    found = _hybrid(store, embedder, "cells", query, settings, count=count, where=active, notes=notes)
    rows = store.by_key("cells", found["cell_id"])
    vitals = store.by_key("vitals", found["cell_id"])
    scored = (
        found.join(rows, on="cell_id", how="inner")
        .join(vitals, on="cell_id", how="inner")
        .with_columns(
            score=pl.col("fused_score") * prior(now=now, search=settings.search, decay=settings.decay)
        )
        .sort("score", "cell_id", descending=[True, False])
        .head(count)
    )
    topics = store.by_key("topics", scored["topic_id"].drop_nulls(), ["topic_id", "name"])
    named = scored.join(topics, on="topic_id", how="left").sort("score", "cell_id", descending=[True, False])
    doubted = _in_open_contradiction(store, scored["cell_id"].to_list())
    return [
        CellHit(
            cell_id=row["cell_id"],
            cell_type=row["cell_type"],
            content=row["content"],
            summary=row["summary"],
            salience=row["salience"],
            event_time=row["event_time"],
            source_name=row["source_name"],
            topic_name=row["name"],
            confirmations=row["confirmations"],
            score=row["score"],
            has_open_contradiction=row["cell_id"] in doubted,
            text_rank=row["text_rank"],
            vector_rank=row["vector_rank"],
        )
        for row in named.iter_rows(named=True)
    ]


def _hybrid(
    store: Store,
    embedder: Embedder | None,
    table: str,
    query: str,
    settings: Settings,
    *,
    count: int,
    where: Expr,
    notes: list[str],
) -> pl.DataFrame:
    """Keys by fused rank with `fused_score`, `text_rank`, `vector_rank`, best first."""
    most, key = count * OVERFETCH, f"{table[:-1]}_id"
    terms = pl.select(first_words(pl.lit(query), QUERY_WORDS)).item()
    matching = store.matching(table, [terms], most, where=where)
    near = pl.DataFrame(schema={key: pl.String, "similarity": pl.Float64})
    vector_weight = settings.search.vector_weight
    if embedder is not None:
        vector_weight *= embedder.profile.vector_weight
        try:
            near = store.nearest(table, embedder.embed_query(query)[None, :], most, where=where)
        except TransientError as error:
            notes.append(f"full text only: {error}")
        except (InputError, OutputError):
            notes.append("full text only: the embedder makes nothing of this question")
    lists = [
        (matching, "match_score", "text", settings.search.text_weight),
        (near, "similarity", "vector", vector_weight),
    ]
    return fuse_ranks(lists, key=key, rank_constant=settings.search.rank_constant)


def _in_open_contradiction(store: Store, cell_ids: list[str]) -> set[str]:
    either = col("cell_a").isin(cell_ids) | col("cell_b").isin(cell_ids)
    rows = (
        store.rows("contradictions", ["cell_a", "cell_b"], either & (col("status") == lit("open")))
        if cell_ids
        else None
    )
    return set() if rows is None else {*rows["cell_a"], *rows["cell_b"]}
