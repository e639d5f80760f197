"""The link stage with a model: what led to what, among single memories, near and far.

A memory is looked at once. It is asked about again only where memories came since that may have led to it.
"""

from dataclasses import dataclass

import polars as pl

from slowwave.llm import Request
from slowwave.prompting.files import infer_cause_prompt
from slowwave.prompting.prompt_inputs import topic_lines
from slowwave.prompting.text_answers import CausesAnswer
from slowwave.schemas.tables import OWNER
from slowwave.stages.asking import ask, usable_answers
from slowwave.stages.graph.causal_pages import likely_causes, pack, possible_effects
from slowwave.stages.graph.graph_edges import causal_edges
from slowwave.stages.run import Stage
from slowwave.store import col, lit
from slowwave.store.chains import EXTRACTED

READ = [
    "cell_id", *OWNER, "session_id", "topic_id", "cell_type", "content", "subject", "origin", "valid_from",
    "valid_precision", "event_time", "evidence",
]  # fmt: skip


@dataclass(frozen=True)
class CausalPage:
    """Memories on one page, oldest first, and of which of them (`effects`) a cause is looked for."""

    cells: pl.DataFrame
    effects: set[str]


def infer_causes(run: Stage) -> None:
    """Asks what led to the new memories that tell of a change, a bounded number of pages a night."""
    cells = run.store.rows("cells", READ, (col("status") == lit("active")) & EXTRACTED)
    linked = run.store.rows("links", ["cell_id", "linked_at", "examined_at"])
    cells = cells.join(linked, on="cell_id", how="inner", maintain_order="left")
    new = cells.filter(pl.col("examined_at").is_null())
    if new.is_empty():
        return
    pairs = _pairs(cells, new, each=run.settings.graph.causal_candidates)
    pages = _pages(cells, pairs, size=run.settings.graph.causal_cells)
    asked, later = pages[: run.settings.graph.causal_pages], pages[run.settings.graph.causal_pages :]
    outcomes = ask(run, [_request(page) for page in asked], work="causes")
    found = usable_answers(CausesAnswer, asked, outcomes)
    answered = {effect for page, _, _ in found for effect in page.effects}
    run.reject("memory waits to be asked about causes", sum(len(page.effects) for page in later))
    run.reject("page of causes waits for the next run", len(asked) - len(found))
    links = [
        {
            "source_id": page.cells["cell_id"][cause.cause - 1],
            "target_id": page.cells["cell_id"][cause.effect - 1],
            "predicate": cause.why,
            **author,
        }
        for page, answer, author in found
        for cause in answer.causes
    ]
    _commit_causes(run, links, cells, _looked_at(new, pairs, answered))


def _looked_at(new: pl.DataFrame, pairs: pl.DataFrame, answered: set[str]) -> pl.DataFrame:
    """The new memories that need not be looked at again: `cell_id`, sorted.

    A memory without an answer waits, and so does the new cause of an old memory without one.
    """
    waiting = pairs.filter(~pl.col("effect_id").is_in(sorted(answered)))
    is_old = ~pl.col("effect_id").is_in(new["cell_id"].implode())
    held = pl.concat([waiting["effect_id"], waiting.filter(is_old)["cause_id"]])
    return new.select("cell_id").filter(~pl.col("cell_id").is_in(held.implode())).sort("cell_id")


def _pairs(cells: pl.DataFrame, new: pl.DataFrame, *, each: int) -> pl.DataFrame:
    """Pairs that were never asked about: new effects with whatever may have led to them, old ones with new causes."""
    effects = possible_effects(cells)
    is_new = pl.col("examined_at").is_null()
    late = likely_causes(cells, effects.filter(~is_new), new, each=each)
    asked = effects.select("examined_at", effect_id="cell_id")
    came = new.select("linked_at", cause_id="cell_id")
    dated = late.join(asked, on="effect_id", maintain_order="left").join(
        came, on="cause_id", maintain_order="left"
    )
    unasked = dated.filter(pl.col("linked_at") > pl.col("examined_at")).select(late.columns)
    return pl.concat([likely_causes(cells, effects.filter(is_new), cells, each=each), unasked])


def _pages(cells: pl.DataFrame, pairs: pl.DataFrame, *, size: int) -> list[CausalPage]:
    """Pages of one owner each, with what is close together; those of the newest memories first."""
    place = cells.select(*OWNER, "topic_id", "valid_from", effect_id="cell_id")
    groups = (
        pairs.group_by("effect_id", maintain_order=True)
        .agg("cause_id")
        .join(place, on="effect_id")
        .sort("topic_id", "valid_from", "effect_id", nulls_last=True)
    )
    pages = []
    for owned in groups.partition_by(OWNER, maintain_order=True):
        together = [[effect, *causes] for effect, causes in owned.select("effect_id", "cause_id").rows()]
        packed = pack(together, size=size)
        homes = [next(n for n, page in enumerate(packed) if {*group[:size]} <= {*page}) for group in together]
        for number, page in enumerate(packed):
            shown = cells.filter(pl.col("cell_id").is_in(page)).sort("valid_from", "event_time", "cell_id")
            effects = {group[0] for group, home in zip(together, homes, strict=True) if home == number}
            pages.append(CausalPage(shown, effects))
    return sorted(pages, key=lambda page: page.cells["event_time"].max(), reverse=True)  # type: ignore[arg-type,return-value]


def _request(page: CausalPage) -> Request:
    lines = topic_lines(page.cells)
    effects = [number for number, cell in enumerate(page.cells["cell_id"], start=1) if cell in page.effects]
    numbers = {"page_numbers": {line.number for line in lines}, "effect_numbers": set(effects)}
    return Request(infer_cause_prompt(lines, effects), CausesAnswer, numbers)


def _commit_causes(
    run: Stage, links: list[dict[str, str | None]], cells: pl.DataFrame, done: pl.DataFrame
) -> None:
    """Draws the edges that the guards let pass, and marks the memories that were looked at."""
    names = ["source_id", "target_id", "predicate", "prompt_version", "model"]
    answers = pl.DataFrame(links, schema=dict.fromkeys(names, pl.String))
    edges = causal_edges(answers, cells, confidence=run.settings.graph.causal_confidence)
    run.reject("cause later than its effect, or both untrusted", answers.height - edges.height)
    text = cells.select("cell_id", "content")
    told = edges.join(text, left_on="source_id", right_on="cell_id").join(
        text, left_on="target_id", right_on="cell_id", suffix="_effect"
    )
    run.show(told.select(pl.format("{} -> {}", "content", "content_effect")).to_series())
    run.commit({"edge.drawn": edges, "cell.examined": done})
