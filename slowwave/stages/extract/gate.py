"""The gate: which pages are worth the extractor. Plain rules decide; a model is asked only where they cannot tell."""

from dataclasses import dataclass

import polars as pl

from slowwave.journal.catalogue import EventRows
from slowwave.language.small_talk import is_small_talk, is_telling
from slowwave.models.answers.extract import GateAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Outcome, Request
from slowwave.models.rows import Row, rows_by_page
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.stages.asking import ask, usable_answers
from slowwave.stages.retries import failed_rows
from slowwave.stages.run import Stage
from slowwave.store import col, lit

BY_RULE = "plain rules: small talk"
BY_MODEL = "gate: nothing worth remembering"

SAID = {
    "page": pl.Int64,
    "is_worth": pl.Boolean,
    "reason": pl.String,
    "prompt_version": pl.String,
    "model": pl.String,
}
"""A decision of the gate about a page; nobody is named where a rule decided."""


@dataclass
class Gate:
    """Pages of a run by who decided about them."""

    passed: int = 0
    left_out: int = 0
    asked: int = 0

    @property
    def told(self) -> str:
        """The counts as a sentence."""
        return (
            f"pages for the extractor: plain rules passed {self.passed} and left out {self.left_out}; "
            f"the gate was asked about {self.asked}"
        )


def through_gate(
    run: Stage, chunks: pl.DataFrame, lines: pl.DataFrame, gate: Gate
) -> tuple[pl.DataFrame, EventRows]:
    """Chunks of pages that are worth the extractor, and what was decided about the others.

    `chunks` has `page`; `lines` are those of the pages; `gate` counts.
    """
    ruled = ruled_pages(lines)
    clear = ruled.filter(pl.col("is_worth"))["page"].to_list()
    silent = ruled.filter(~pl.col("is_worth"))["page"].to_list()
    fresh = lines_by_page(lines.filter(~pl.col("is_read")))
    is_asked = ~pl.col("page").is_in([*clear, *silent])
    asked = chunks.filter(is_asked)
    pages = asked["page"].unique(maintain_order=True)
    gate.passed, gate.left_out = gate.passed + len(clear), gate.left_out + len(silent)
    gate.asked += pages.len()
    requests = [
        Request(render("gate_chunk", turns=fresh[page]), GateAnswer, {}, is_gate=True) for page in pages
    ]
    outcomes = ask(run, requests, work="gate")
    said = [
        {"page": page, "is_worth": answer.is_worth_remembering, "reason": answer.reason, **author}
        for page, answer, author in usable_answers(GateAnswer, pages, outcomes)
    ]
    out = [{"page": page, "is_worth": False, "reason": BY_RULE} for page in silent]
    told = pl.DataFrame([*said, *out], schema=SAID)
    gated = told.join(chunks.select("chunk_id", "page"), on="page", how="inner", maintain_order="left")
    refused = gated.filter(~pl.col("is_worth"))
    run.reject(BY_RULE, refused["model"].null_count())
    run.reject(BY_MODEL, refused["model"].count())
    worth = [*clear, *told.filter("is_worth")["page"]]
    return chunks.filter(pl.col("page").is_in(worth)), {
        "chunk.gated": gated.drop("page"),
        "cell.retired": raw_cells_of(run, refused["chunk_id"].to_list()),
        "chunk.failed": failed_pages(run, asked, pages, outcomes),
    }


def ruled_pages(lines: pl.DataFrame) -> pl.DataFrame:
    """Pages that plain rules decide about, as `page` and `is_worth`; the others are left out.

    A page with a telling turn is worth the extractor, one of small talk alone is not. Small talk after a question that
    was read before may be the answer to it.
    """
    fresh = ~pl.col("is_read")
    is_answer = pl.col("text").filter(pl.col("is_read")).str.contains(r"[?？]").any()
    marked = lines.with_columns(is_small=is_small_talk(pl.col("text")), is_telling=is_telling(pl.col("text")))
    decided = marked.group_by("page", maintain_order=True).agg(
        is_worth=(fresh & pl.col("is_telling") & ~pl.col("is_small")).any(),
        is_nothing=pl.col("is_small").filter(fresh).all() & ~is_answer,
    )
    return decided.filter(pl.col("is_worth") | pl.col("is_nothing")).select("page", "is_worth")


def lines_by_page(lines: pl.DataFrame) -> dict[object, list[Row]]:
    """The lines of each page as a prompt shows them, by the page."""
    shown = lines.select(
        "page", "speaker", "role", "text", "is_read", number="turn_number", date="event_time"
    )
    return rows_by_page(shown)


def failed_pages(run: Stage, chunks: pl.DataFrame, pages: pl.Series, outcomes: list[Outcome]) -> pl.DataFrame:
    """The payload of `chunk.failed`: chunks of pages that do not fit, or whose answer could not be used."""
    of_page = dict(zip(pages, outcomes, strict=True))
    tried = chunks.select("chunk_id", "attempts")
    return failed_rows(run, "chunk.failed", tried, [of_page[page] for page in chunks["page"]])


def raw_cells_of(run: Stage, chunk_ids: list[str]) -> pl.DataFrame:
    """The payload of `cell.retired` for the raw cells of chunks, protected ones apart."""
    is_raw = (col("prompt_version") == lit(RAW_PROMPT)) & (col("status") == lit("active"))
    where = col("chunk_id").isin(chunk_ids) & is_raw & (col("protected") == lit(value=False))
    raw = run.store.rows("cells", ["cell_id"], where).sort("cell_id")
    return raw.with_columns(superseded_at=pl.lit(run.now))
