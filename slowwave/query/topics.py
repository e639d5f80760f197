"""The first tier: topic summaries by hybrid search."""

import polars as pl

from slowwave.query.cells import CellQuestion
from slowwave.query.conditions import scope_condition
from slowwave.query.shares import as_list, list_names, shares_of
from slowwave.schemas.search import TopicHit
from slowwave.settings import Settings
from slowwave.store import TextLeg, VectorLeg
from slowwave.transforms.ranking import fuse_ranks

OVERFETCH = 4

_TOLD = ("name", "summary", "updated_at", "cell_count", "merged_into")
_SHOWN = ("topic_id", *_TOLD)


def topic_legs(question: CellQuestion, settings: Settings, *, count: int) -> dict[str, TextLeg | VectorLeg]:
    """The lists of this tier by name; none where no summary is wanted. Summaries tell the present, not the past."""
    if count == 0 or question.filters.is_historical:
        return {}
    where = scope_condition(settings.own, question.filters)
    legs: dict[str, TextLeg | VectorLeg] = {
        "text": TextLeg("topics", question.words, count * OVERFETCH, where, columns=_TOLD)
    }
    if question.vector is not None:
        legs["vector"] = VectorLeg("topics", question.vector, count * OVERFETCH, where, columns=_TOLD)
    return legs


def topic_hits(
    found: dict[str, pl.DataFrame], question: CellQuestion, settings: Settings, *, count: int
) -> list[TopicHit]:
    """Topics with a summary and live cells that the lists found, best first."""
    weights = {"text": settings.search.text_weight, "vector": question.vector_weight}
    lists = [as_list(name, frame, weights[name]) for name, frame in found.items()]
    fused = fuse_ranks(lists, key="topic_id", rank_constant=settings.search.rank_constant)
    if fused.is_empty():
        return []
    rows = pl.concat([frame.select(_SHOWN) for frame in found.values() if frame.height]).unique("topic_id")
    usable = rows.filter(
        pl.col("summary").is_not_null() & pl.col("merged_into").is_null() & (pl.col("cell_count") > 0)
    )
    best = fused.join(usable, on="topic_id", how="inner", maintain_order="left").head(count)
    names = list_names(fused)
    return [
        TopicHit(
            **{name: row[name] for name in _SHOWN if name != "merged_into"},
            score=row["fused_score"],
            found_by=shares_of(row, names),
        )
        for row in best.iter_rows(named=True)
    ]
