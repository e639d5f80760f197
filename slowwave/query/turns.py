"""Raw turns by full text at three scales, by vectors, and by the cells that came from them."""

from dataclasses import dataclass

import polars as pl

from slowwave.embeddings import Vectors
from slowwave.query.conditions import cell_condition, turn_condition
from slowwave.query.shares import list_names, shares_of, value_of
from slowwave.schemas.search import Filters, TurnHit
from slowwave.settings import Settings
from slowwave.store import Expr, RowsLeg, Store, TextLeg, VectorLeg, col, lit
from slowwave.transforms.episodes import EPISODE
from slowwave.transforms.ranking import RankedList, fuse_scores

LIST_ROWS = 100
"""Rows that each list brings: beyond them a list adds noise more than turns (benchmarks/retrieval_quality.py)."""

TURN_LISTS = ("turn", "near", "wide", "vector", "cell", "cell_vector")
"""The lists of the fusion: full text at three scales, vectors of turns, full text and vectors of cells."""

_COLUMNS = (
    "turn_id", "session_id", "turn_index", "role", "speaker", "content", "origin", "event_time", "source_name",
)  # fmt: skip


@dataclass(frozen=True)
class TurnQuestion:
    """A question to the raw turns: its words, its vector where there is one, and which lists answer."""

    words: str
    vector: Vectors | None
    filters: Filters
    lists: tuple[str, ...] = TURN_LISTS


def turn_legs(question: TurnQuestion, settings: Settings) -> dict[str, TextLeg | VectorLeg]:
    """The lists of `question.lists` by name."""
    own, filters = settings.own, question.filters
    of_turns = turn_condition(own, filters)
    # an episode rests on every turn of its conversation, and would give all of them the same score
    of_cells = cell_condition(own, filters) & (col("cell_type") != lit(EPISODE))
    words, vector = question.words, question.vector
    legs: dict[str, TextLeg | VectorLeg] = {
        scale: TextLeg(
            "passages", words, LIST_ROWS, of_turns & (col("scale") == lit(scale)), columns=("turn_ids",)
        )
        for scale in ("turn", "near", "wide")
    }
    legs["cell"] = TextLeg("cells", words, LIST_ROWS, of_cells, columns=("evidence",))
    if vector is not None:
        legs["vector"] = VectorLeg("turns", vector, LIST_ROWS, of_turns)
        legs["cell_vector"] = VectorLeg("cells", vector, LIST_ROWS, of_cells, columns=("evidence",))
    return {name: leg for name, leg in legs.items() if name in question.lists}


def rank_turns(found: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """`turn_id` by fused score, best first, with what each list gave (`fuse_scores`).

    A passage gives its score to each of its turns, a cell to each turn of its evidence; where several do, the best
    counts. Every list weighs the same: one setting for all embedders and all kinds of talk.
    """
    lists = [RankedList(name, *_by_turn(frame), 1.0) for name, frame in found.items() if frame.height]
    return fuse_scores(lists, key="turn_id")


def find_turns(store: Store, question: TurnQuestion, settings: Settings) -> pl.DataFrame:
    """`rank_turns` of what the lists of one question find."""
    legs = turn_legs(question, settings)
    return rank_turns(dict(zip(legs, store.at_once(list(legs.values())), strict=True)))


def turn_hits(store: Store, ranked: pl.DataFrame, where: Expr) -> list[TurnHit]:
    """Hits of ranked turns, in their order; those that `where` keeps out are left out."""
    if ranked.is_empty():
        return []
    wanted = col("turn_id").isin(ranked["turn_id"].to_list())
    (rows,) = store.at_once([RowsLeg("turns", _COLUMNS, wanted & where)])
    lists = list_names(ranked)
    return [
        TurnHit(
            **{name: row[name] for name in _COLUMNS}, score=row["fused_score"], found_by=shares_of(row, lists)
        )
        for row in ranked.join(rows, on="turn_id", how="inner", maintain_order="left").iter_rows(named=True)
    ]


def _by_turn(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    value = value_of(frame)
    named = {"turn_ids", "evidence"} & set(frame.columns)
    if named:
        frame = frame.select(value, turn_id=pl.col(named.pop())).explode("turn_id").drop_nulls()
    return frame.group_by("turn_id").agg(pl.col(value).max()), value
