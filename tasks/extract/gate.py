"""The gate: a cheap model decides which pages are worth the extractor."""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.journal.plan import Plan, rejected
from slowwave.models.answers.extract import GateAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Outcome, Request
from slowwave.models.rows import Row, rows_by_page
from slowwave.schemas.table_parts import Made
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.store import col, lit
from tasks.ask import Model
from tasks.extract.pages import Lines
from tasks.frames import Frame
from tasks.step import Readable, step
from tasks.tries import failed_rows

BEGINNING, END = 240, 80
"""Characters of a longer turn that the gate sees; on the sample's night its pages are a fifth shorter for it."""

BY_MODEL = "gate: nothing worth remembering"


class Gated(Frame, Made):
    """Decisions of the gate about pages."""

    page: int
    is_worth: bool
    reason: str


@step
def ask_gate(model: Model, lines: DataFrame[Lines]) -> tuple[DataFrame[Gated], dict[int, Outcome]]:
    """Decides about each page, and returns what the model said of those that it was asked about.

    A page without a decision (an outage, an unusable answer) waits.
    """
    fresh = lines_by_page(lines.filter(~pl.col("is_read")).with_columns(text=_ends(pl.col("text"))))
    requests = {
        page: Request(render("gate_chunk", turns=turns), GateAnswer, {}, is_gate=True)
        for page, turns in fresh.items()
    }
    outcomes = model.outcomes(requests, work="gate")
    rows = [
        {
            "page": page,
            "is_worth": said.answer.is_worth_remembering,
            "reason": said.answer.reason,
            "prompt_version": said.prompt_version,
            "model": said.model,
        }
        for page, said in outcomes.items()
        if isinstance(said.answer, GateAnswer)
    ]
    return Gated.of(pl.DataFrame(rows, schema=Gated.schema())), outcomes


@step
def plan_gate(
    reader: Readable, chunks: pl.DataFrame, gated: DataFrame[Gated], outcomes: dict[int, Outcome]
) -> Plan:
    """Chunks of refused pages are done, their raw memories leave; chunks whose answer failed are tried again."""
    decided = gated.join(chunks.select("chunk_id", "page"), on="page", how="inner", maintain_order="left")
    refused = decided.filter(~pl.col("is_worth"))["chunk_id"].to_list()
    return Plan(
        events={
            "chunk.gated": decided.drop("page"),
            "cell.retired": raw_cells_of(reader, refused),
            "chunk.failed": failed_pages(reader, chunks, outcomes),
        },
        rejected=rejected(BY_MODEL, refused),
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
