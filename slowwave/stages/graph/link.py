"""The link stage without a model: entities, mentions, artifacts and edges of what is new or gone.

What is new is found by reading ids and counts alone; of the rest only the families of new names are looked at.
"""

from dataclasses import dataclass

import polars as pl

from slowwave.home.nearest import nearest_of_owner
from slowwave.journal.catalogue import EventRows
from slowwave.language.names import as_called, same_names
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.moments import first_of
from slowwave.schemas.tables import OWNER, RAW_PROMPT
from slowwave.stages.graph.artifacts import artifacts_of
from slowwave.stages.graph.entities import entity_changes, mentions_of, people_and_things, resolve, vanished
from slowwave.stages.graph.graph_edges import (
    EDGE,
    MIRRORED,
    chain_edges,
    edge_changes,
    entity_edges,
    evidence_edges,
    mirrored_edges,
    related_edges,
)
from slowwave.stages.graph.identities import told_identities
from slowwave.stages.run import Stage
from slowwave.store import col, lit
from slowwave.trust.origins import is_anybodys

READ = [
    "topic_id", "cell_type", "session_id", "prompt_version", "content", "evidence", "entities", "artifacts",
    "event_time", "origin",
]  # fmt: skip
ENDS = ["edge_id", "source_id", "target_id", "valid_until"]

NEAR_OVERFETCH = 8
"""Neighbours looked at for each edge to a near cell of another topic: most near cells are of the same topic."""


@dataclass(frozen=True)
class Changes:
    """Memories that the graph does not show as they are now.

    `cells` are new in the graph (`new_ids`) or were said again since, `counted` are their confirmations, `gone` the
    ids of those that left memory, `present` the ids of all that are in it, without raw ones that made way for
    extracted ones.
    """

    cells: pl.DataFrame
    new_ids: pl.Series
    counted: pl.DataFrame
    gone: list[str]
    present: pl.DataFrame


def none_changed(changes: Changes) -> Changes:
    """The same memory, when all that these changes are about is linked."""
    return Changes(
        changes.cells.clear(), changes.new_ids.clear(), changes.counted.clear(), [], changes.present
    )


def find_changes(run: Stage) -> Changes:
    """Finds the memories that are not linked as they are now."""
    every = run.store.rows("cells", ["cell_id", "status", "superseded_by"])
    is_retired = (pl.col("status") == "superseded") & pl.col("superseded_by").is_null()
    present = every.filter(~is_retired).select("cell_id")
    said = run.store.rows("cell_usage", ["cell_id", "confirmations"])
    counted = present.join(said, on="cell_id", how="left").with_columns(pl.col("confirmations").fill_null(0))
    known = run.store.rows("links", ["cell_id", "confirmations"])
    due = counted.join(known, on=["cell_id", "confirmations"], how="anti").sort("cell_id")
    gone = known.join(present, on="cell_id", how="anti")["cell_id"].sort().to_list()
    run.report.rows_in = due.height + len(gone)
    cells = run.store.by_key("cells", due["cell_id"], ["cell_id", *OWNER, *READ])
    return Changes(cells, due.join(known, on="cell_id", how="anti")["cell_id"], due, gone, present)


def link_cells(run: Stage, changes: Changes) -> None:
    """Gives new memories their entities, artifacts and edges, and takes those of gone ones away, in one segment."""
    _commit_identities(run, changes)
    same = same_names(run.store.rows("identities"))
    moved = _moved_families(run, same)
    if changes.cells.is_empty() and not changes.gone and not moved:
        return
    artifacts = artifacts_of(changes.cells)
    lost = run.store.having("artifacts", "cell_id", changes.gone, ["artifact_id"])
    plan, drawn, dropped = _resolve(run, changes, same, moved)
    evidence = evidence_edges(changes.cells, most=run.settings.graph.evidence_edges)
    ends = [run.store.having("edges", end, changes.gone, ["edge_id"]) for end in ("source_id", "target_id")]
    run.commit(
        {
            **plan,
            "artifact.recorded": _unknown(run, "artifacts", artifacts),
            "artifact.dropped": lost.sort("artifact_id"),
            "edge.dropped": pl.concat([dropped, *ends]).unique().sort("edge_id"),
            "edge.drawn": pl.concat([_unknown(run, "edges", evidence), drawn]),
            "cell.linked": changes.counted,
            "cell.unlinked": pl.DataFrame({"cell_id": changes.gone}, schema={"cell_id": pl.String}),
        }
    )


def _resolve(
    run: Stage, changes: Changes, same: pl.DataFrame, moved: list[str]
) -> tuple[EventRows, pl.DataFrame, pl.DataFrame]:
    """The families of new, dropped and `moved` names, resolved as a whole; what comes out otherwise is written.

    Returns events by kind, and the edges to draw and to drop along the entities concerned.
    """
    named = mentions_of(_with_speakers(run, changes.cells), same)
    dropped = run.store.having("mentions", "cell_id", changes.gone)
    families = list({*named["family"], *dropped["family"], *moved})
    before = run.store.having("mentions", "family", families)
    known = run.store.having("entities", "family", families)
    kept = before.join(dropped, on="mention_id", how="anti").select(named.columns)
    mentions = pl.concat([kept, named]).unique("mention_id", keep="first", maintain_order=True)
    origins = run.store.by_key("cells", mentions["cell_id"], ["cell_id", "origin"])
    after, entities = resolve(mentions, same, of_anybody=origins.filter(is_anybodys())["cell_id"])
    changed = entity_changes(entities, known)
    left = vanished(known, before, after)
    others = pl.col("aliases").list.join(", ")
    kind = pl.col("entity_type").fill_null("?")
    told = pl.format("{} ({}): {} mentions", "canonical_name", kind, "mention_count")
    told = told + pl.when(others != "").then(pl.format("; also {}", others)).otherwise(pl.lit(""))
    run.show(changed.sort("mention_count", "entity_id", descending=[True, False]).select(told).to_series())
    chains, chains_before = entity_edges(after), entity_edges(before)
    return (
        {
            "entity.merged": left.drop_nulls("merged_into"),
            "entity.dropped": left.filter(pl.col("merged_into").is_null()).select("entity_id"),
            "entity.resolved": changed,
            "mention.dropped": dropped.select("mention_id").sort("mention_id"),
            "mention.recorded": after.join(before, on=["mention_id", "entity_id"], how="anti"),
        },
        chains.join(chains_before, on=["edge_id", "target_id"], how="anti"),
        chains_before.join(chains, on="edge_id", how="anti").select("edge_id"),
    )


def _commit_identities(run: Stage, changes: Changes) -> None:
    """Records whom new memories describe in so many words, and takes back what rests on a memory that is gone."""
    cells = changes.cells.filter(~is_anybodys())
    said = told_identities(people_and_things(cells), cells)
    known = run.store.rows("identities", ["identity_id", "evidence"])
    present = changes.present["cell_id"].implode()
    rests = known.explode("evidence").filter(~pl.col("evidence").is_in(present))
    run.commit(
        {
            "identity.recorded": said.join(known, on="identity_id", how="anti"),
            "identity.dropped": rests.select("identity_id").unique().sort("identity_id"),
        }
    )


def _moved_families(run: Stage, same: pl.DataFrame) -> list[str]:
    """Families, as they are and as they should be, of names that stand for another one since they were resolved."""
    known = run.store.rows("mentions", [*OWNER, "name", "family"]).unique()
    now = as_called(known.select(*OWNER, "name", before="family"), same)
    moved = now.filter(pl.col("family") != pl.col("before"))
    return pl.concat([moved["family"], moved["before"]]).unique().sort().to_list()


def _with_speakers(run: Stage, cells: pl.DataFrame) -> pl.DataFrame:
    """Raw memories name the people who speak in them; nothing else in plain text is surely a name."""
    raw = cells.filter(pl.col("prompt_version") == RAW_PROMPT)
    evidence = raw.select("cell_id", turn_id="evidence").explode("turn_id").drop_nulls()
    turns = run.store.by_key("turns", evidence["turn_id"], ["turn_id", "role", "speaker"])
    people = turns.filter((pl.col("role") == "user") & pl.col("speaker").is_not_null())
    speakers = (
        evidence.join(people, on="turn_id", how="inner")
        .group_by("cell_id")
        .agg(speakers=pl.format("{} (person)", "speaker").unique().sort())
    )
    return cells.join(speakers, on="cell_id", how="left", maintain_order="left").with_columns(
        entities=pl.col("entities").list.concat(pl.col("speakers").fill_null([]))
    )


def draw_edges(run: Stage, changes: Changes) -> None:
    """Sessions and episodes in their order, what reconciliation decided, and near memories of other topics."""
    known = run.store.rows("edges", ENDS, col("relation").isin(MIRRORED))
    drawn, ended = edge_changes(_mirrored(run, changes.present), known)
    chains = pl.concat([chain_edges(nodes) for nodes in _nodes(run, changes.present)])
    order = run.store.rows("edges", ENDS, col("relation") == lit("temporal"))
    followed, cut = edge_changes(chains, order)
    reason = pl.lit("what it said was decided otherwise")
    run.commit(
        {
            "edge.ended": ended.with_columns(valid_until=pl.lit(run.now), reason=reason),
            "edge.dropped": cut,
            "edge.drawn": pl.concat([drawn, followed, _related(run, changes)]),
            "entity.flagged": _doubtful_entities(run, drawn),
        }
    )


def _mirrored(run: Stage, present: pl.DataFrame) -> pl.DataFrame:
    columns = ["cell_id", *OWNER, "superseded_by", "superseded_at", "valid_until"]
    cells = run.store.rows("cells", columns, col("status") == lit("superseded"))
    contradictions = run.store.rows("contradictions", where=col("status") == lit("open"))
    elaborations = run.store.rows("judgements", where=col("effect") == lit("elaborated"))
    wanted = mirrored_edges(cells, contradictions, elaborations)
    for end in ("source_id", "target_id"):
        wanted = wanted.join(present, left_on=end, right_on="cell_id", how="semi", maintain_order="left")
    return wanted


def _nodes(run: Stage, present: pl.DataFrame) -> list[pl.DataFrame]:
    """Conversations, and the episodes that were written of them, each with when it began."""
    is_talk = col("source_type") == lit("conversation")
    chunks = run.store.rows("chunks", ["session_id", *OWNER, "event_time"], is_talk)
    sessions = chunks.group_by("session_id", *OWNER).agg(first_of(pl.col("event_time")))
    episodes = run.store.rows("cells", ["cell_id", *OWNER, "event_time"], col("cell_type") == lit(EPISODE))
    written = episodes.join(present, on="cell_id", how="semi").rename({"cell_id": "node_id"})
    return [sessions.rename({"session_id": "node_id"}), written]


def _related(run: Stage, changes: Changes) -> pl.DataFrame:
    """Edges from new memories to near ones of other topics of the same owner."""
    most, embedder = run.settings.graph.related_edges, run.workspace.embedder
    if embedder is None or not most:
        return pl.DataFrame(schema=EDGE)
    least, is_live = embedder.profile.near_threshold, col("status") == lit("active")
    vectors = run.store.vectors("cells", changes.cells["cell_id"])
    cells = changes.cells.select("cell_id", *OWNER, "topic_id", "event_time").join(vectors, on="cell_id")
    near = nearest_of_owner(run.store, "cells", cells, k=most * NEAR_OVERFETCH, where=is_live)
    close = near.filter(pl.col("similarity") >= least)
    topics = run.store.by_key("cells", close["target_id"], ["cell_id", "topic_id"])
    there = topics.select(target_id="cell_id", target_topic_id="topic_id")
    rows = close.join(cells, on="cell_id").join(there, on="target_id")
    return _unknown(run, "edges", related_edges(rows, most=most, least=least))


def _doubtful_entities(run: Stage, drawn: pl.DataFrame) -> pl.DataFrame:
    """Entities whose summary may rest on what was superseded just now."""
    replaced = drawn.filter(pl.col("relation") == "supersedes")["target_id"]
    named = run.store.having("mentions", "cell_id", replaced, ["entity_id"])["entity_id"].unique()
    entities = run.store.by_key("entities", named, ["entity_id", "enriched_count", "needs_review"])
    told = entities.filter(pl.col("enriched_count").is_not_null() & ~pl.col("needs_review"))
    return told.select("entity_id", reason=pl.lit("a memory that names it was superseded"))


def _unknown(run: Stage, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows whose key the table does not hold yet."""
    key = rows.columns[0]
    return rows.join(run.store.by_key(table, rows[key], [key]), on=key, how="anti", maintain_order="left")
