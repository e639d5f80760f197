"""What a model adds to the graph: who or what an entity is, and which memories of a session led to others."""

from typing import cast

import polars as pl

from slowwave.journal.catalogue import CATALOGUE
from slowwave.llm import Request
from slowwave.prompting.files import enrich_prompt, infer_cause_prompt
from slowwave.prompting.prompt_inputs import TopicCell
from slowwave.prompting.text_answers import CausesAnswer, EntityAnswer
from slowwave.schemas.episode_type import EPISODE
from slowwave.schemas.tables import OWNER
from slowwave.stages.asking import ask
from slowwave.stages.graph.graph_edges import CAUSES, causal_edges
from slowwave.stages.run import Stage
from slowwave.store import col, lit

TOLD = ["cell_id", "cell_type", "content", "salience", "event_time", "valid_from"]


def enrich(run: Stage) -> None:
    """Entities with enough mentions get a summary, and again once these have doubled or one of them was superseded."""
    due = _due(run)
    if due.is_empty():
        return
    pages = [_page(run, entity) for entity in due["entity_id"]]
    most = run.settings.graph.enrich_words
    asked = [(row, page) for row, page in zip(due.iter_rows(named=True), pages, strict=True) if page.height]
    requests = [
        Request(
            enrich_prompt(
                row["canonical_name"], row["entity_type"] or "", row["aliases"], _lines(page), most
            ),
            EntityAnswer,
            {"max_words": most},
        )
        for row, page in asked
    ]
    rows = []
    for (row, _), outcome in zip(asked, ask(run, requests, work="enrich"), strict=True):
        if outcome.answer is None:
            run.reject("entity summary waits for the next run")
            continue
        summary = cast("EntityAnswer", outcome.answer).summary
        said = {"entity_id": row["entity_id"], "summary": summary, "enriched_count": row["mention_count"]}
        rows.append({**said, "prompt_version": outcome.prompt_version, "model": outcome.model})
        run.show(pl.Series([f"{row['canonical_name']}: {summary}"]))
    run.commit({"entity.enriched": pl.DataFrame(rows, schema=CATALOGUE["entity.enriched"].payload)})


def _due(run: Stage) -> pl.DataFrame:
    """Entities that want a summary, most mentioned first."""
    graph = run.settings.graph
    columns = ["entity_id", "canonical_name", "entity_type", "aliases"]
    columns += ["mention_count", "enriched_count", "needs_review"]
    enough = run.store.rows("entities", columns, col("mention_count") >= lit(graph.enrich_mentions))
    has_grown = pl.col("mention_count") >= pl.col("enriched_count") * graph.enrich_growth
    due = enough.filter(pl.col("enriched_count").is_null() | has_grown | pl.col("needs_review"))
    ordered = due.sort("mention_count", "entity_id", descending=[True, False])
    return ordered.head(graph.enrich_entities)


def _page(run: Stage, entity_id: str) -> pl.DataFrame:
    """The live memories that name an entity, most salient and newest first, at most as many as one page holds."""
    named = run.store.having("mentions", "entity_id", [entity_id], ["cell_id"])["cell_id"]
    live = run.store.by_key("cells", named, [*TOLD, "status"]).filter(pl.col("status") == "active")
    ranked = live.sort("salience", "event_time", "cell_id", descending=[True, True, False])
    chosen = ranked.head(run.settings.graph.enrich_cells)
    return chosen.sort("valid_from", "event_time", "cell_id")


def infer_causes(run: Stage) -> None:
    """Asks of consecutive conversations, newest first, what of the later one the earlier one caused."""
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
        first = earlier.height + 1
        numbers = {
            "earlier_numbers": set(range(1, first)),
            "later_numbers": set(range(first, first + later.height)),
        }
        prompt = infer_cause_prompt(_lines(earlier), _lines(later, first=first))
        requests.append(Request(prompt, CausesAnswer, numbers))
    links: list[tuple[object, ...]] = []
    examined = []
    for pair, (earlier, later), outcome in zip(
        pairs["edge_id"], pages, ask(run, requests, work="causes"), strict=True
    ):
        if outcome.answer is None:
            run.reject("pair of conversations waits for the next run")
            continue
        ids = [*earlier["cell_id"], *later["cell_id"]]
        by = (outcome.prompt_version, outcome.model)
        examined.append((pair, *by))
        links += [
            (ids[cause.cause - 1], ids[cause.effect - 1], cause.predicate, *by)
            for cause in cast("CausesAnswer", outcome.answer).causes
        ]
    _commit_causes(run, links, examined)


def _commit_causes(run: Stage, links: list[tuple[object, ...]], examined: list[tuple[str, str, str]]) -> None:
    names = ["source_id", "target_id", "predicate", "prompt_version", "model"]
    answers = pl.DataFrame(links, schema=dict.fromkeys(names, pl.String), orient="row")
    ends = pl.concat([answers["source_id"], answers["target_id"]])
    cells = run.store.by_key("cells", ends, ["cell_id", *OWNER, "event_time", "evidence", "content"])
    edges = causal_edges(answers, cells, confidence=run.settings.graph.causal_confidence)
    text = cells.select("cell_id", "content")
    told = edges.join(text, left_on="source_id", right_on="cell_id").join(
        text, left_on="target_id", right_on="cell_id", suffix="_effect"
    )
    run.show(told.select(pl.format("{} -> {}", "content", "content_effect")).to_series())
    seen = pl.DataFrame(examined, schema=CATALOGUE["edge.examined"].payload, orient="row")
    run.commit({"edge.drawn": edges, "edge.examined": seen})


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
    order = run.store.rows(
        "edges",
        ["edge_id", "source_id", "target_id", "valid_from", "prompt_version"],
        col("relation") == lit("temporal"),
    )
    waiting = order.filter(pl.col("prompt_version").is_null())
    for end in ("source_id", "target_id"):
        waiting = waiting.join(cells, left_on=end, right_on="session_id", how="semi")
    newest = waiting.sort("valid_from", "edge_id", descending=[True, False])
    return newest.head(run.settings.graph.causal_pairs)


def _lines(page: pl.DataFrame, *, first: int = 1) -> list[TopicCell]:
    return [
        TopicCell(number, row["cell_type"], f"{row['valid_from']:%Y-%m-%d}", row["content"])
        for number, row in enumerate(page.iter_rows(named=True), start=first)
    ]
