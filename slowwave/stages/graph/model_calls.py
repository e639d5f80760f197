"""The link stage with a model: summaries of entities, and causes between memories of consecutive conversations."""

import polars as pl

from slowwave.journal.catalogue import rows_of
from slowwave.llm import Request
from slowwave.prompting.files import enrich_prompt, infer_cause_prompt
from slowwave.prompting.prompt_inputs import topic_lines
from slowwave.prompting.text_answers import CausesAnswer, EntityAnswer
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER
from slowwave.stages.asking import ask, usable_answers
from slowwave.stages.graph.graph_edges import CAUSES, causal_edges
from slowwave.stages.run import Stage
from slowwave.store import col, lit

DESCRIBED = [
    "entity_id", "canonical_name", "entity_type", "aliases", "mention_count", "enriched_count", "needs_review",
]  # fmt: skip
TOLD = ["cell_id", "cell_type", "content", "salience", "event_time", "valid_from"]


def enrich(run: Stage) -> None:
    """Summarizes entities with enough mentions, again once these have grown or one of them was superseded."""
    due = _due(run)
    if due.is_empty():
        return
    pages = [_page(run, entity) for entity in due["entity_id"]]
    most = run.settings.graph.enrich_words
    asked = [(row, page) for row, page in zip(due.iter_rows(named=True), pages, strict=True) if page.height]
    requests = []
    for row, page in asked:
        kind, lines = row["entity_type"] or "", topic_lines(page)
        prompt = enrich_prompt(row["canonical_name"], kind, row["aliases"], lines, most)
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
    """Entities that want a summary, most mentioned first."""
    graph = run.settings.graph
    enough = run.store.rows("entities", DESCRIBED, col("mention_count") >= lit(graph.enrich_mentions))
    has_grown = pl.col("mention_count") >= pl.col("enriched_count") * graph.enrich_growth
    due = enough.filter(pl.col("enriched_count").is_null() | has_grown | pl.col("needs_review"))
    return due.sort("mention_count", "entity_id", descending=[True, False]).head(graph.enrich_entities)


def _page(run: Stage, entity_id: str) -> pl.DataFrame:
    """The live memories that name an entity, most salient and newest first, at most as many as one page holds."""
    named = run.store.having("mentions", "entity_id", [entity_id], ["cell_id"])["cell_id"]
    live = run.store.by_key("cells", named, [*TOLD, "status"]).filter(pl.col("status") == "active")
    ranked = live.sort("salience", "event_time", "cell_id", descending=[True, True, False])
    return ranked.head(run.settings.graph.enrich_cells).sort("valid_from", "event_time", "cell_id")


def infer_causes(run: Stage) -> None:
    """Asks about consecutive conversations, newest first, which memories of the earlier led to those of the later."""
    cells = _causal_cells(run)
    pairs = _pairs(run, cells)
    if pairs.is_empty():
        return
    sessions = pl.concat([pairs["source_id"], pairs["target_id"]])
    asked = cells.filter(pl.col("session_id").is_in(sessions.implode()))
    told = asked.join(run.store.by_key("cells", asked["cell_id"], TOLD), on="cell_id", maintain_order="left")
    by_session = told.partition_by("session_id", as_dict=True)
    ends = pairs.select("source_id", "target_id")
    pages = [(by_session[one,], by_session[other,]) for one, other in ends.iter_rows()]
    requests = []
    for earlier, later in pages:
        causes, effects = topic_lines(earlier), topic_lines(later, first=earlier.height + 1)
        numbers = {
            "earlier_numbers": {line.number for line in causes},
            "later_numbers": {line.number for line in effects},
        }
        requests.append(Request(infer_cause_prompt(causes, effects), CausesAnswer, numbers))
    ids = [[*earlier["cell_id"], *later["cell_id"]] for earlier, later in pages]
    outcomes = ask(run, requests, work="causes")
    found = usable_answers(CausesAnswer, zip(pairs["edge_id"], ids, strict=True), outcomes)
    run.reject("pair of conversations waits for the next run", len(pages) - len(found))
    links = [
        {
            "source_id": shown[cause.cause - 1],
            "target_id": shown[cause.effect - 1],
            "predicate": cause.predicate,
        }
        | author
        for (_, shown), answer, author in found
        for cause in answer.causes
    ]
    examined = [{"edge_id": pair, **author} for (pair, _), _, author in found]
    _commit_causes(run, links, rows_of("edge.examined", examined))


def _commit_causes(run: Stage, links: list[dict[str, str | None]], examined: pl.DataFrame) -> None:
    names = ["source_id", "target_id", "predicate", "prompt_version", "model"]
    answers = pl.DataFrame(links, schema=dict.fromkeys(names, pl.String))
    ends = pl.concat([answers["source_id"], answers["target_id"]])
    cells = run.store.by_key("cells", ends, ["cell_id", *OWNER, "event_time", "evidence", "content"])
    edges = causal_edges(answers, cells, confidence=run.settings.graph.causal_confidence)
    text = cells.select("cell_id", "content")
    told = edges.join(text, left_on="source_id", right_on="cell_id").join(
        text, left_on="target_id", right_on="cell_id", suffix="_effect"
    )
    run.show(told.select(pl.format("{} -> {}", "content", "content_effect")).to_series())
    run.commit({"edge.drawn": edges, "edge.examined": examined})


def _causal_cells(run: Stage) -> pl.DataFrame:
    """The memories of each conversation that may be causes and effects: its episode, else decisions, insights, risks.

    At most as many a conversation as a page holds, most salient first; on the page in the order of time.
    """
    where = col("cell_type").isin([EPISODE, *CAUSES]) & (col("status") == lit("active"))
    kinds = run.store.rows("cells", ["cell_id", "session_id", "cell_type", "salience", "event_time"], where)
    is_episode = pl.col("cell_type") == EPISODE
    chosen = (
        kinds.filter(is_episode | ~is_episode.any().over("session_id"))
        .sort("session_id", "salience", "event_time", "cell_id", descending=[False, True, True, False])
        .group_by("session_id", maintain_order=True)
        .head(run.settings.graph.causal_cells)
    )
    return chosen.sort("session_id", "event_time", "cell_id").select("cell_id", "session_id")


def _pairs(run: Stage, cells: pl.DataFrame) -> pl.DataFrame:
    """Consecutive conversations that were not asked about yet and that both have something to ask about."""
    columns = ["edge_id", "source_id", "target_id", "valid_from", "prompt_version"]
    order = run.store.rows("edges", columns, col("relation") == lit("temporal"))
    waiting = order.filter(pl.col("prompt_version").is_null())
    for end in ("source_id", "target_id"):
        waiting = waiting.join(cells, left_on=end, right_on="session_id", how="semi")
    newest = waiting.sort("valid_from", "edge_id", descending=[True, False])
    return newest.head(run.settings.graph.causal_pairs)
