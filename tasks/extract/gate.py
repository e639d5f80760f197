"""The gate: which pages are worth the extractor. A rule leaves out small talk; a cheap model decides about the rest."""

from typing import Final

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.journal.plan import Plan
from slowwave.language.lexicon import word_set
from slowwave.language.text import straight_text
from slowwave.models.answers.extract import GateAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Outcome, Request
from slowwave.models.rows import Row, rows_by_page
from slowwave.schemas.table_parts import nullable
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.store import col, lit
from tasks.ask import Model
from tasks.extract.pages import Lines
from tasks.frames import Frame
from tasks.step import Readable, step
from tasks.tries import failed_rows

BEGINNING, END = 240, 80
"""Characters of a longer turn that the gate sees; on the sample's night its pages are a fifth shorter for it."""

BY_RULE = "plain rules: small talk"
BY_MODEL = "gate: nothing worth remembering"


class Gated(Frame):
    """Decisions of the gate about pages; nobody is named where the rule decided."""

    page: int
    is_worth: bool
    reason: str
    prompt_version: str = nullable()
    model: str = nullable()


@step
def ask_gate(model: Model, lines: DataFrame[Lines]) -> tuple[DataFrame[Gated], dict[int, Outcome]]:
    """Decides about each page, and returns what the model said of those that it was asked about.

    A page without a decision (an outage, an unusable answer) waits.
    """
    silent = silent_pages(lines)
    fresh = lines_by_page(lines.filter(~pl.col("is_read")).with_columns(text=_ends(pl.col("text"))))
    requests = {
        page: Request(render("gate_chunk", turns=turns), GateAnswer, {}, is_gate=True)
        for page, turns in fresh.items()
        if page not in silent
    }
    outcomes = model.outcomes(requests, work="gate")
    rows: list[tuple[object, ...]] = [(page, False, BY_RULE, None, None) for page in silent]
    rows += [
        (page, said.answer.is_worth_remembering, said.answer.reason, said.prompt_version, said.model)
        for page, said in outcomes.items()
        if isinstance(said.answer, GateAnswer)
    ]
    return Gated.of(pl.DataFrame(rows, schema=Gated.schema(), orient="row")), outcomes


@step
def plan_gate(
    reader: Readable, chunks: pl.DataFrame, gated: DataFrame[Gated], outcomes: dict[int, Outcome]
) -> Plan:
    """Chunks of refused pages are done, their raw memories leave; chunks whose answer failed are tried again."""
    decided = gated.join(chunks.select("chunk_id", "page"), on="page", how="inner", maintain_order="left")
    refused = decided.filter(~pl.col("is_worth"))
    by_rule, by_model = (
        refused.filter(is_of)["chunk_id"].to_list()
        for is_of in (pl.col("model").is_null(), pl.col("model").is_not_null())
    )
    left_out = {BY_RULE: by_rule, BY_MODEL: by_model}
    return Plan(
        events={
            "chunk.gated": decided.drop("page"),
            "cell.retired": raw_cells_of(reader, refused["chunk_id"].to_list()),
            "chunk.failed": failed_pages(reader, chunks, outcomes),
        },
        rejected={reason: ids for reason, ids in left_out.items() if ids},
    )


def silent_pages(lines: pl.DataFrame) -> list[int]:
    """Pages whose new turns are all small talk, and no answer to a question that was read before."""
    fresh = ~pl.col("is_read")
    is_answer = pl.col("text").filter(pl.col("is_read")).str.contains(r"[?？]").any()
    is_nothing = is_small_talk(pl.col("text")).filter(fresh).all() & ~is_answer
    return (
        lines.group_by("page", maintain_order=True)
        .agg(is_nothing=is_nothing)
        .filter("is_nothing")["page"]
        .to_list()
    )


def lines_by_page(lines: pl.DataFrame) -> dict[int, list[Row]]:
    """The lines of each page as a prompt shows them, by the page."""
    shown = lines.select(
        "page", "speaker", "role", "text", "is_read", number="turn_number", date="event_time"
    )
    return {int(str(page)): lines for page, lines in rows_by_page(shown).items()}


def failed_pages(reader: Readable, chunks: pl.DataFrame, outcomes: dict[int, Outcome]) -> pl.DataFrame:
    """The payload of `chunk.failed`: chunks of pages that do not fit, or whose answer could not be used."""
    tried = chunks.filter(pl.col("page").is_in(list(outcomes)))
    of_chunks = [outcomes[page] for page in tried["page"]]
    return failed_rows(
        "chunk.failed",
        tried.select("chunk_id", "attempts"),
        of_chunks,
        now=reader.now,
    )


def _ends(text: pl.Expr) -> pl.Expr:
    """A text, or the beginning and end of a long one."""
    short = pl.format("{} [...] {}", text.str.head(BEGINNING), text.str.tail(END))
    return pl.when(text.str.len_chars() > BEGINNING + END).then(short).otherwise(text)


def raw_cells_of(reader: Readable, chunk_ids: list[str]) -> pl.DataFrame:
    """The payload of `cell.retired` for the raw cells of chunks, protected ones apart."""
    is_raw = (col("prompt_version") == lit(RAW_PROMPT)) & (col("status") == lit("active"))
    where = col("chunk_id").isin(chunk_ids) & is_raw & (col("protected") == lit(value=False))
    raw = reader.store.rows("cells", ["cell_id"], where).sort("cell_id")
    return raw.with_columns(superseded_at=pl.lit(reader.now))


_LETTERS: Final = r"[\p{L}\p{N}_']+"


def is_small_talk(text: pl.Expr) -> pl.Expr:
    """Return whether a turn surely holds nothing: its words are greetings, thanks and acknowledgements alone.

    Of 35 pages of four recordings it is none; it spares the question about a greeting that is a page of its own.
    """
    said = straight_text(text).str.extract_all(_LETTERS)
    return said.list.set_difference(sorted(word_set("small_talk"))).list.len() == 0
