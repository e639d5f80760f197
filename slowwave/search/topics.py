"""The first tier: topic summaries by hybrid search."""

from collections.abc import Mapping, Sequence

import polars as pl

from slowwave.schemas.search import TopicHit
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.search.conditions import cell_condition, scope_condition
from slowwave.search.fusing import RankedList, fuse_ranks
from slowwave.search.question import Question
from slowwave.store import SCORE, Row, RowsQuery, TextQuery, VectorQuery, col
from slowwave.trust.origins import ON_TRUST, rank_of, whose_word

OVERFETCH = 4

_SHOWN = ("topic_id", "name", "summary", "updated_at", "cell_count")
_TOLD = (*_SHOWN[1:], "merged_into")


def topic_queries(question: Question, *, count: int) -> dict[str, TextQuery | VectorQuery]:
    """The lists of this tier by name.

    None where no summary is wanted, nor for the past or for a period, since summaries tell the present.
    """
    if count == 0 or question.filters.is_historical or question.is_about_time:
        return {}
    where = scope_condition(question.settings.owner, question.filters)
    queries: dict[str, TextQuery | VectorQuery] = {
        "text": TextQuery("topics", question.words, count * OVERFETCH, where, columns=_TOLD)
    }
    if question.vector is not None:
        queries["vector"] = VectorQuery("topics", question.vector, count * OVERFETCH, where, columns=_TOLD)
    return queries


def topic_hits(question: Question, found: Mapping[str, list[Row]], *, count: int) -> list[TopicHit]:
    """Topics with a summary and live cells that the lists found, best first.

    Under a filter only topics that have a memory which passes it.
    """
    settings = question.settings.search
    if question.filters.is_narrow:
        ids = sorted({row["topic_id"] for rows in found.values() for row in rows})
        query = RowsQuery("cells", ("topic_id",), question.where & col("topic_id").isin(ids))
        having = {row["topic_id"] for row in question.store.find([query])[0]}
        found = {name: [row for row in rows if row["topic_id"] in having] for name, rows in found.items()}
    weights = {"text": settings.text_weight, "vector": question.vector_weight}
    lists = [
        RankedList(name, {row["topic_id"]: row[SCORE] for row in rows}, weights[name])
        for name, rows in found.items()
    ]
    told = {row["topic_id"]: row for rows in found.values() for row in rows if _is_usable(row)}
    fused = fuse_ranks(lists, rank_constant=settings.rank_constant)
    best = [entry for entry in fused if entry.key in told][:count]
    return [
        TopicHit(
            **{name: told[entry.key][name] for name in _SHOWN}, score=entry.score, found_by=entry.shares()
        )
        for entry in best
    ]


def marked(question: Question, topics: Sequence[TopicHit]) -> list[TopicHit]:
    """Topics with whose word they are."""
    if not topics:
        return []
    of_them = col("topic_id").isin([topic.topic_id for topic in topics])
    living = cell_condition(question.settings.owner)
    whose = whose_topics(question.store.rows("cells", ("topic_id", *ON_TRUST), living & of_them))
    return [topic.model_copy(update={"whose": whose.get(topic.topic_id, "")}) for topic in topics]


def whose_topics(cells: pl.DataFrame) -> dict[str, str]:
    """Say whose word the memories of each topic are, by the most trusted of them; nothing where it is a person's.

    `cells` has `topic_id` and the columns of `ON_TRUST`.
    """
    is_raw = pl.col("prompt_version") == RAW_PROMPT
    ranked = cells.sort(~pl.col("protected"), rank_of(pl.col("origin")), ~is_raw)
    best = ranked.unique("topic_id", keep="first", maintain_order=True).select("topic_id", *ON_TRUST)
    return {row.pop("topic_id"): whose_word(**row) for row in best.rows(named=True)}


def _is_usable(topic: Row) -> bool:
    return topic["summary"] is not None and topic["merged_into"] is None and topic["cell_count"] > 0
