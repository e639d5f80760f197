"""Edges between cells, turns and sessions: which there should be, and what changes against those that are there.

An edge goes out from `source_id` and ends at `target_id`:

| relation | from | to |
|---|---|---|
| `temporal` | a session or an episode | the next one of the same owner |
| `entity` | a cell | the cell before it that names the same entity |
| `derived_from` | a cell | a turn that it rests on |
| `supersedes` | the newer cell | the cell that it replaced |
| `contradicts` | the later cell of an open contradiction | the one known longer |
| `elaborates` | a cell that says more | the cell that it says more of |
| `related` | a new cell | a near cell of another topic |
| `causal` | the cause | the effect |

An id is made of what the edge may be only once for, so that drawing again is drawing once.
"""

import polars as pl

from slowwave.journal.catalogue import CATALOGUE
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.moments import are_unknown
from slowwave.schemas.tables import OWNER, shaped

EDGE = CATALOGUE["edge.drawn"].payload
MIRRORED = ["supersedes", "contradicts", "elaborates"]
"""Relations that say what reconciliation decided: they hold as long as the statuses say so."""


def evidence_edges(cells: pl.DataFrame, *, most: int) -> pl.DataFrame:
    """From each cell to the first `most` turns that it rests on. `cells` has the owner, `evidence`, `event_time`."""
    first = pl.col("evidence").list.head(most)
    rows = cells.select(*OWNER, source_id="cell_id", valid_from="event_time", target_id=first)
    told = rows.explode("target_id").drop_nulls("target_id")
    return _edges(told, "derived_from", key=["source_id", "target_id"])


def entity_edges(mentions: pl.DataFrame) -> pl.DataFrame:
    """From each cell to the cell before it that names the same entity: a chain an entity, never a clique."""
    rows = (
        mentions.unique(["entity_id", "cell_id"])
        .sort("entity_id", "event_time", "cell_id")
        .with_columns(
            source_id="cell_id",
            target_id=pl.col("cell_id").shift(1).over("entity_id"),
            valid_from="event_time",
            evidence=pl.concat_list("entity_id"),
        )
    )
    return _edges(rows.drop_nulls("target_id"), "entity", key=["entity_id", "source_id"])


def chain_edges(nodes: pl.DataFrame) -> pl.DataFrame:
    """From each node to the next one of its owner, of those whose day is known.

    `nodes` has `node_id`, the owner, `event_time`.
    """
    rows = (
        nodes.filter(~are_unknown(pl.col("event_time")))
        .sort(*OWNER, "event_time", "node_id")
        .with_columns(
            source_id=pl.col("node_id").shift(1).over(OWNER), target_id="node_id", valid_from="event_time"
        )
    )
    return _edges(rows.drop_nulls("source_id"), "temporal", key=[*OWNER, "target_id"])


def mirrored_edges(
    superseded: pl.DataFrame, contradictions: pl.DataFrame, elaborations: pl.DataFrame
) -> pl.DataFrame:
    """Decisions of reconciliation as edges.

    `superseded` has the superseded cells with `superseded_by`, `valid_until` (null for what was merged as said twice,
    which is no edge), the owner and `superseded_at`; `contradictions` the open ones; `elaborations` the judgements of
    that effect.
    """
    replaced = superseded.drop_nulls(["superseded_by", "valid_until"]).with_columns(
        source_id="superseded_by", target_id="cell_id", valid_from="superseded_at"
    )
    doubted = contradictions.with_columns(
        source_id="cell_b",
        target_id="cell_a",
        valid_from="detected_at",
        evidence=pl.concat_list("contradiction_id"),
    )
    more = elaborations.drop("prompt_version", "model", strict=False).with_columns(
        source_id="cell_id", valid_from="judged_at", evidence=pl.concat_list("judgement_id")
    )
    ends = ["source_id", "target_id"]
    return pl.concat(
        [
            # a cell has one successor: where another took its place, the edge goes there
            _edges(replaced.drop("valid_until"), "supersedes", key=["target_id"]),
            _edges(doubted, "contradicts", key=ends),
            _edges(more.drop_nulls("target_id"), "elaborates", key=ends),
        ]
    ).unique("edge_id", keep="first", maintain_order=True)


def related_edges(near: pl.DataFrame, *, most: int, least: float) -> pl.DataFrame:
    """From each new cell to at most `most` cells of other topics that are at least as similar as `least`.

    `near` has `cell_id`, the owner, `event_time`, `topic_id`, and of each neighbour `target_id`, `target_topic_id`,
    `similarity`. A pair is one edge, whichever of the two is new.
    """
    is_elsewhere = pl.col("topic_id").is_not_null() & (pl.col("topic_id") != pl.col("target_topic_id"))
    best = (
        near.filter(is_elsewhere, pl.col("similarity") >= least, pl.col("cell_id") != pl.col("target_id"))
        .sort("cell_id", "similarity", "target_id", descending=[False, True, False])
        .group_by("cell_id", maintain_order=True)
        .head(most)
        .with_columns(
            source_id="cell_id",
            valid_from="event_time",
            weight=pl.col("similarity").clip(0.0, 1.0),
            low=pl.min_horizontal("cell_id", "target_id"),
            high=pl.max_horizontal("cell_id", "target_id"),
        )
    )
    return _edges(best, "related", key=["low", "high"]).unique("edge_id", keep="first", maintain_order=True)


def causal_edges(answers: pl.DataFrame, cells: pl.DataFrame, *, confidence: float) -> pl.DataFrame:
    """From causes to effects, as a model inferred them, each pair once.

    `answers` has `source_id`, `target_id`, `predicate`, `prompt_version`, `model`; `cells` the owner, `valid_from`,
    `event_time`, `origin` and `evidence` of both. Left out are a cause of another owner than its effect or of a later
    day, and a pair of which both are of untrusted origin.
    """
    ends = cells.select("cell_id", *OWNER, "evidence", "origin", day=pl.col("valid_from").dt.date())
    effects = cells.select(target_id="cell_id", valid_from="event_time")
    rows = (
        answers.join(ends, left_on="target_id", right_on="cell_id", maintain_order="left")
        .join(effects, on="target_id", maintain_order="left")
        .join(
            ends,
            left_on=["source_id", *OWNER],
            right_on=["cell_id", *OWNER],
            suffix="_of_cause",
            maintain_order="left",
        )
        .filter(
            pl.col("day_of_cause") <= pl.col("day"),
            (pl.col("origin") != "untrusted") | (pl.col("origin_of_cause") != "untrusted"),
        )
        .with_columns(
            evidence=pl.col("evidence_of_cause").list.set_union("evidence").list.sort(),
            confidence=pl.lit(confidence),
        )
    )
    edges = _edges(rows, "causal", key=["source_id", "target_id"])
    return edges.unique("edge_id", keep="first", maintain_order=True)


def edge_changes(wanted: pl.DataFrame, known: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of edges that are wanted and known: those to draw, and the `edge_id` of those that hold no longer.

    `known` has `edge_id`, `source_id`, `target_id`, `valid_until`; one that has ended is drawn again where it is
    wanted.
    """
    holding = known.filter(pl.col("valid_until").is_null())
    ends = ["edge_id", "source_id", "target_id"]
    drawn = wanted.join(holding.select(ends), on=ends, how="anti", maintain_order="left")
    ended = holding.join(wanted, on="edge_id", how="anti").select("edge_id").sort("edge_id")
    return drawn, ended


def _edges(rows: pl.DataFrame, relation: str, *, key: list[str]) -> pl.DataFrame:
    """Rows in the shape of `edge.drawn`: what is not given is null, of full weight, certain, without evidence."""
    identity = rows.select(pl.lit(relation).alias("relation"), *key)
    none = pl.lit([], dtype=pl.List(pl.String))
    plain = {"weight": pl.lit(1.0), "confidence": pl.lit(1.0), "evidence": none}
    missing = {name: value for name, value in plain.items() if name not in rows.columns}
    named = rows.with_columns(stable_ids("edge", identity), relation=pl.lit(relation), **missing)
    return shaped(named, EDGE)
