"""The second tier: cells by hybrid search, each with the value that holds now and what held before."""

from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import and_

import polars as pl

from slowwave.embeddings import Vectors
from slowwave.query.conditions import as_they_stood, cell_condition, held, scope_condition
from slowwave.query.episodes import episode_legs, without_episodes
from slowwave.query.shares import as_list, list_names, shares_of
from slowwave.schemas.search import CellHit, Filters, FormerValue, Intent
from slowwave.schemas.tables import frame_schema
from slowwave.settings import Settings
from slowwave.store import Expr, RowsLeg, Store, TextLeg, VectorLeg, col, lit
from slowwave.transforms.current_values import ATTRIBUTE, holders, timelines
from slowwave.transforms.ranking import fuse_ranks, prior
from slowwave.transforms.times import TimeRange

OVERFETCH = 4
"""Each list brings this many times what is wanted, so that fusing has something to choose from."""

PAST_OVERFETCH = 16
"""For the past it brings more: which cells held then is decided after they are found."""

CHAIN_STEPS = 16
"""Values that a timeline goes back, at most."""

_SHOWN = (
    "cell_id", "cell_type", "content", "summary", "compressed", "steps", "template", "subject",
    "attribute", "value", "status", "salience",
    "confidence", "origin", "event_time", "valid_from", "valid_until", "recorded_at", "source_name", "session_id",
    "topic_id", "superseded_by", "superseded_at", "protected", "decay_rate", "evidence",
)  # fmt: skip
_VITALS = ("cell_id", "last_accessed", "confirmations")


REASONS = ("decision", "insight", "risk")
"""Types of memory that answer why."""


@dataclass(frozen=True)
class CellQuestion:
    """A question as the tiers take it.

    `where` holds for the cells that may be found. `period` is a time that it names: it draws cells near, and excludes
    none. `vector_weight` is 0 without a vector.
    """

    words: str
    vector: Vectors | None
    vector_weight: float
    filters: Filters
    where: Expr
    period: TimeRange | None
    intent: Intent
    now: datetime


def cell_legs(question: CellQuestion, settings: Settings, *, count: int) -> dict[str, TextLeg | VectorLeg]:
    """The lists of this tier by name, each with what a hit shows.

    Full text, the people and things that cells name, vectors, cells of the time that the question names, and what
    superseded cells would have answered.
    """
    filters, where = question.filters, without_episodes(question.where, question.filters)
    most = count * (PAST_OVERFETCH if filters.is_historical else OVERFETCH)

    def matching(condition: Expr, k: int, *fields: str) -> TextLeg:
        return TextLeg("cells", question.words, k, condition, fields=fields, columns=_SHOWN[1:])

    legs: dict[str, TextLeg | VectorLeg] = {
        "text": matching(where, most),
        "entity": matching(where, most, "entities"),
    }
    if question.vector is not None:
        legs["vector"] = VectorLeg("cells", question.vector, most, where, columns=_SHOWN[1:])
    if question.period is not None:
        legs["time"] = matching(where & _within(question.period), most)
    if not filters.is_historical:
        former = scope_condition(settings.own, filters) & (col("status") == lit("superseded"))
        legs["former"] = TextLeg("cells", question.words, count, former, columns=("superseded_by",))
    if question.intent == "why":
        legs["reason"] = matching(where & col("cell_type").isin(list(REASONS)), count)
    episodes = episode_legs(
        question.words, question.where, filters, question.intent, settings, columns=_SHOWN[1:]
    )
    return {**legs, **episodes}


def rank_cells(
    store: Store,
    found: dict[str, pl.DataFrame],
    question: CellQuestion,
    settings: Settings,
    *,
    count: int,
) -> pl.DataFrame:
    """Cells that the lists found with the columns of a hit, best first: `score` is `fused_score` x `prior`."""
    weights = {
        "text": settings.search.text_weight,
        "entity": settings.search.entity_weight * (2.0 if question.intent == "who" else 1.0),
        "vector": question.vector_weight,
        "time": settings.search.time_weight,
        "former": settings.search.former_weight,
        "reason": settings.search.reason_weight,
        "episode": settings.search.text_weight,
    }
    rows = [frame.select(_SHOWN) for name, frame in found.items() if name != "former"]
    if "former" in found:
        ends, scores = _successors(store, found["former"], question.where)
        found, rows = {**found, "former": scores}, [*rows, ends]
    lists = [as_list(name, frame, weights[name]) for name, frame in found.items() if frame.height]
    fused = fuse_ranks(lists, key="cell_id", rank_constant=settings.search.rank_constant)
    shown = pl.concat(rows).unique("cell_id") if rows else None
    if shown is None or fused.is_empty():
        return fused.clear()
    return _with_rows(store, fused.filter(pl.col("fused_score") > 0), shown, question, settings).head(count)


def _with_rows(
    store: Store, fused: pl.DataFrame, rows: pl.DataFrame, question: CellQuestion, settings: Settings
) -> pl.DataFrame:
    legs = [RowsLeg("vitals", _VITALS, col("cell_id").isin(fused["cell_id"].to_list() or [""]))]
    if question.filters.is_historical:
        named = rows["superseded_by"].drop_nulls().to_list() or [""]
        legs.append(RowsLeg("cells", ("cell_id", "event_time"), col("cell_id").isin(named)))
    vitals, *survivors = store.at_once(legs)
    if survivors:
        rows = as_they_stood(held(rows, survivors[0], question.filters), question.filters)
    weight = prior(now=question.filters.as_of or question.now, search=settings.search, decay=settings.decay)
    return (
        fused.join(rows, on="cell_id", how="inner")
        .join(vitals, on="cell_id", how="inner")
        .with_columns(prior=weight)
        .with_columns(score=pl.col("fused_score") * pl.col("prior"))
        .sort("score", "cell_id", descending=[True, False])
    )


def cell_hits(store: Store, ranked: pl.DataFrame, settings: Settings, filters: Filters) -> list[CellHit]:
    """Hits of ranked cells: of several values of one attribute the holder stands, the others are its history."""
    if ranked.is_empty():
        return []
    around, contradictions, topics = store.at_once(
        [
            RowsLeg("cells", _SHOWN, _related(ranked, cell_condition(settings.own, filters))),
            RowsLeg("contradictions", ("cell_a", "cell_b"), _open_between(ranked)),
            RowsLeg("topics", ("topic_id", "name"), col("topic_id").isin(_named(ranked, "topic_id"))),
        ]
    )
    doubted = pl.concat([contradictions["cell_a"], contradictions["cell_b"]]).unique()
    known = _with_chain(store, ranked.select(_SHOWN), around, filters)
    outdated = holders(known, doubted=doubted)
    former = timelines(known, outdated)
    present = _in_place_of(ranked, outdated, known)
    names = dict(zip(topics["topic_id"], topics["name"], strict=True))
    history: dict[str, list[FormerValue]] = {}
    for row in former.select("holder_id", *FormerValue.model_fields).iter_rows(named=True):
        value = {**row, "value": row["value"] or row["content"]}
        history.setdefault(value.pop("holder_id"), []).append(FormerValue(**value))
    lists, in_doubt = list_names(ranked), set(doubted)
    return [
        CellHit(
            **{name: row[name] for name in CellHit.model_fields if name in row and name != "evidence"},
            text=row["content"],
            turn_ids=row["evidence"],
            topic_name=names.get(row["topic_id"]),
            has_open_contradiction=row["cell_id"] in in_doubt,
            history=history.get(row["cell_id"], []),
            found_by=shares_of(row, lists),
        )
        for row in present.iter_rows(named=True)
    ]


def _in_place_of(ranked: pl.DataFrame, outdated: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Outdated cells give their place to the holder, which is shown once, where the best of them stood."""
    moved = ranked.join(outdated, on="cell_id", how="left", maintain_order="left").with_columns(
        shown_id=pl.coalesce("holder_id", "cell_id")
    )
    first = moved.unique("shown_id", keep="first", maintain_order=True)
    own = [name for name in _SHOWN if name != "cell_id"]
    return (
        first.drop(own, "cell_id")
        .rename({"shown_id": "cell_id"})
        .join(known.select(_SHOWN), on="cell_id", how="inner", maintain_order="left")
    )


def _with_chain(store: Store, cells: pl.DataFrame, around: pl.DataFrame, filters: Filters) -> pl.DataFrame:
    """The cells and all that they superseded, step by step, as far back as the journal tells.

    `around` holds what they superseded directly and the cells of the same attribute: the steps go on from there.
    """
    newest = around.join(cells, on="cell_id", how="anti")
    known = pl.concat([cells, newest])
    for _ in range(CHAIN_STEPS):
        if newest.is_empty():
            break
        (rows,) = store.at_once([RowsLeg("cells", _SHOWN, _superseded_by(newest))])
        newest = rows.join(known, on="cell_id", how="anti")
        known = pl.concat([known, newest])
    if filters.as_of is not None:
        known = known.filter(pl.col("event_time") <= filters.as_of)
    return as_they_stood(known, filters)


def _superseded_by(cells: pl.DataFrame) -> Expr:
    return col("superseded_by").isin(cells["cell_id"].to_list() or [""])


def _successors(store: Store, former: pl.DataFrame, where: Expr) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The cells, of those that may be found, at the end of superseded ones' chains: their rows, and their score."""
    reached = former.select("match_score", cell_id=pl.col("superseded_by")).drop_nulls()
    ends = pl.DataFrame(schema={name: frame_schema("cells")[name] for name in _SHOWN})
    if reached.is_empty():
        return ends, reached
    for _ in range(CHAIN_STEPS):
        named = col("cell_id").isin(reached["cell_id"].to_list())
        later, ends = store.at_once(
            [
                RowsLeg("cells", ("cell_id", "superseded_by"), named & (col("status") == lit("superseded"))),
                RowsLeg("cells", _SHOWN, where & named),
            ]
        )
        if later.is_empty():
            break
        reached = reached.join(later, on="cell_id", how="left").select(
            "match_score", cell_id=pl.coalesce("superseded_by", "cell_id")
        )
    scores = reached.join(ends, on="cell_id", how="semi").group_by("cell_id").agg(pl.col("match_score").max())
    return ends, scores


def _related(ranked: pl.DataFrame, where: Expr) -> Expr:
    """What ranked cells superseded, and what else may be found of the same subject and attribute."""
    named = ranked.drop_nulls(ATTRIBUTE)
    if named.is_empty():
        return _superseded_by(ranked)
    subjects, attributes = (_named(named, name) for name in ATTRIBUTE)
    return _superseded_by(ranked) | (
        where & col("subject").isin(subjects) & col("attribute").isin(attributes)
    )


def _open_between(ranked: pl.DataFrame) -> Expr:
    named = ranked["cell_id"].to_list()
    return (col("cell_a").isin(named) | col("cell_b").isin(named)) & (col("status") == lit("open"))


def _named(frame: pl.DataFrame, column: str) -> list[str]:
    return frame[column].drop_nulls().unique().sort().to_list() or [""]


def _within(period: TimeRange) -> Expr:
    sides = [
        *([col("event_time") >= lit(period.start)] if period.start is not None else []),
        *([col("event_time") < lit(period.end)] if period.end is not None else []),
    ]
    return reduce(and_, sides)
