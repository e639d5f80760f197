"""From chunks to memories: the chunks that wait, the questions about their pages, and what the answers become."""

from collections.abc import Sequence
from typing import NamedTuple, cast

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.home.identities import page_identities
from slowwave.ingest.chunk import chunk_turns
from slowwave.journal.plan import Plan, rejected
from slowwave.lifecycle.pairs import unjudged_rows
from slowwave.lifecycle.repetitions import confirmations
from slowwave.models.answers.extract import ExtractAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Outcome, Request
from slowwave.models.rows import Row, numbers_of, page_rows, told_date
from slowwave.schemas.moments import DAY_UNKNOWN
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.store import col, lit
from slowwave.trust.origins import as_told, pieces_of
from tasks.ask import Model, author_columns
from tasks.extract.cells import ANSWER_SCHEMA, extracted_cells, raw_cells, split_confirmed
from tasks.extract.deleted import KEPT_OUT, WAITS, Deleted, without_deleted_turns
from tasks.extract.gate import Gated, failed_pages, lines_by_page, raw_cells_of
from tasks.extract.grounding import UNGROUNDED, grounded
from tasks.extract.known import Before, before_page
from tasks.extract.pages import PAGE_TOKENS, POSITION, Lines, in_pages, page_lines
from tasks.step import Readable, step

RAW = "chunks became raw memories; they go through the extractor once there is a language model"

PAGES_A_ROUND = 8
"""Pages of different owners that are asked about side by side; those of one owner wait for each other."""


class Read(NamedTuple):
    """The memories that the extractor made of a round of pages, and what they rest on.

    `cells` has the columns of `cells` and those of `ANSWERED`; `pieces` are the texts of the pages by trust; `done` are
    the chunks that were read, `outcomes` the answers by page.
    """

    cells: pl.DataFrame
    known: pl.DataFrame
    pieces: pl.DataFrame
    ungrounded: list[str]
    done: list[str]
    outcomes: dict[int, Outcome]
    author: dict[str, str]


@step
def find_chunks(reader: Readable, *, has_model: bool) -> pl.DataFrame:
    """Rows of `chunks` that wait: new ones, failed ones whose pause is over and, once there is a model, raw ones."""
    waiting = reader.store.rows("chunks", where=col("status").isin(["pending", "failed"]))
    due = waiting.filter(pl.col("retry_at").is_null() | (pl.col("retry_at") <= reader.now))
    if has_model:
        raw = (col("status") == lit("extracted")) & (col("prompt_version") == lit(RAW_PROMPT))
        due = pl.concat([due, reader.store.rows("chunks", where=raw)])
    return due.sort("session_id", *POSITION)


@step
def find_raw(reader: Readable, chunks: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Without a model: a raw memory of each chunk, as it was said, and the turns left out as a person deleted them."""
    whole = as_told(reader.store.by_key("turns", chunks["turn_ids"].explode().drop_nulls()))
    every = chunk_turns(chunks, whole)
    turns = without_deleted_turns(reader, chunks, every)
    cells = raw_cells(chunks, turns, decay_rate=reader.settings.decay.default_rate, now=reader.now)
    return cells, [*every.join(turns, on=["chunk_id", "turn_id"], how="anti")["turn_id"]]


@step
def plan_raw(chunks: pl.DataFrame, raw: pl.DataFrame, gone: Sequence[str], deleted: Deleted) -> Plan:
    """The raw memories that say nothing a person deleted; the chunks wait for a model."""
    out = sorted(deleted.same)
    kept = raw.filter(~pl.col("cell_id").is_in(out))
    return Plan(
        events={
            "cell.extracted": kept,
            "chunk.extracted": _extracted(chunks["chunk_id"].to_list(), kept, RAW_PROMPT, None),
        },
        rejected=rejected(KEPT_OUT, [*gone, *out]),
        notes=[RAW],
    )


@step
def find_rounds(reader: Readable, chunks: pl.DataFrame) -> list[pl.DataFrame]:
    """Chunks of the pages to ask about, a round at a time, with `page`: one page of each owner, oldest first.

    A round is committed before the next one is asked, so that each page is shown what those before it gave.
    """
    overlap = reader.settings.chunks.overlap_tokens
    pages = in_pages(chunks, page_tokens=PAGE_TOKENS, overlap_tokens=overlap)
    batch = (pl.col("page").rank("dense").over("round") - 1) // PAGES_A_ROUND
    ordered = pages.with_columns(batch=batch).sort("round", "batch", maintain_order=True)
    return ordered.partition_by("round", "batch", include_key=False, maintain_order=True)


@step
def find_lines(reader: Readable, chunks: pl.DataFrame) -> DataFrame[Lines]:
    """The lines of the pages; a chunk of which every word was read in another has none."""
    turns = reader.store.by_key("turns", chunks["turn_ids"].explode().drop_nulls())
    sessions = reader.store.having("chunks", "session_id", chunks["session_id"].unique())
    is_settled = pl.col("status").is_in(["extracted", "gated_out"])
    is_read = is_settled & pl.col("prompt_version").ne_missing(RAW_PROMPT)
    read = sessions.filter(is_read).join(chunks, on="chunk_id", how="anti").sort("chunk_id")
    return Lines.of(page_lines(chunks, turns, read))


@step
def plan_without_news(reader: Readable, chunks: pl.DataFrame, lines: DataFrame[Lines]) -> Plan:
    """Chunks of which every word was read in another are done, and cost no call."""
    done = chunks.join(lines, on="chunk_id", how="anti", maintain_order="left")["chunk_id"].to_list()
    none = pl.DataFrame(schema={"chunk_id": pl.String})
    return Plan(
        events={
            "cell.retired": raw_cells_of(reader, done),
            "chunk.extracted": _extracted(done, none, None, None),
        }
    )


@step
def find_past(reader: Readable, chunks: pl.DataFrame, lines: DataFrame[Lines]) -> dict[int, Before]:
    """The past that each page is shown: known memories, its session so far, names of topics."""
    pages = lines["page"].unique(maintain_order=True)
    mine = {page: pl.col("page") == page for page in pages}
    return {page: before_page(reader, chunks.filter(of), lines.filter(of)) for page, of in mine.items()}


@step
def ask_memories(
    model: Model,
    reader: Readable,
    chunks: pl.DataFrame,
    lines: DataFrame[Lines],
    past: dict[int, Before],
) -> Read:
    """The memories that the extractor writes down from the pages, without those that nothing on their page says."""
    shown = lines_by_page(lines)
    requests = {page: _request(shown[page], before) for page, before in past.items()}
    outcomes = model.outcomes(requests, work="extract")
    said = {page: one for page, one in outcomes.items() if one.answer is not None}
    rows = [
        {"page": page, **cell.model_dump()}
        for page, one in said.items()
        for cell in cast("ExtractAnswer", one.answer).cells
    ]
    first = next(iter(said.values()), None)
    author = {"prompt_version": first.prompt_version, "model": first.model} if first else {}
    answers = pl.DataFrame(rows, schema=ANSWER_SCHEMA).with_columns(author_columns(**author))
    turns = reader.store.by_key("turns", lines["turn_id"])
    pieces = pl.concat(
        [
            pieces_of(lines.select("page", "turn_id").unique().join(turns, on="turn_id", how="inner")),
            *(before.pieces(page) for page, before in past.items()),
        ]
    )
    decay = reader.settings.decay
    made = extracted_cells(
        answers,
        chunks,
        lines,
        pieces,
        decay_rates=decay.rates,
        default_decay_rate=decay.default_rate,
        now=reader.now,
    )
    topics = [(page, ", ".join(before.topics)) for page, before in past.items()]
    named = pl.DataFrame(topics, schema={"page": pl.Int64, "text": pl.String}, orient="row")
    kept = grounded(made, pl.concat([pieces.select("page", "text"), named]))
    return Read(
        cells=kept,
        known=pl.concat(before.known.with_columns(page=pl.lit(page)) for page, before in past.items()),
        pieces=pieces,
        ungrounded=made.join(kept, on="cell_id", how="anti")["cell_id"].to_list(),
        done=chunks.filter(pl.col("page").is_in([*said]))["chunk_id"].to_list(),
        outcomes=outcomes,
        author=author,
    )


@step
def plan_memories(reader: Readable, chunks: pl.DataFrame, read: Read, deleted: Deleted) -> Plan:
    """New memories, confirmations of known ones, pairs for reconciliation; the chunks that are done, and that failed.

    A chunk waits if the model could not be asked whether one of its memories was deleted by a person.
    """
    waiting = read.cells.filter(pl.col("cell_id").is_in(sorted(deleted.undecided)))["chunk_id"].to_list()
    out = sorted(deleted.same)
    is_kept = ~pl.col("cell_id").is_in(out) & ~pl.col("chunk_id").is_in(waiting)
    cells, confirmed, tied = split_confirmed(read.cells, read.known)
    cells = cells.filter(is_kept)
    confirmed = confirmed.filter(~pl.col("confirmed_by").is_in(waiting))
    known = reader.store.by_key("cells", confirmed["cell_id"], ["cell_id", "session_id", "evidence"])
    usage = reader.store.by_key("cell_usage", confirmed["cell_id"])
    again = confirmations(confirmed, known, usage, now=reader.now)
    done = [chunk for chunk in read.done if chunk not in waiting]
    stored = read.cells.join(cells, on="cell_id", how="semi")
    return Plan(
        events={
            "cell.extracted": cells,
            "cell.confirmed": again.with_columns(author_columns(**read.author)),
            "pair.judged": unjudged_rows(
                tied.join(cells, on="cell_id", how="semi"), pl.format("the extractor calls it {}", "relation")
            ),
            "identity.recorded": page_identities(stored, read.pieces),
            "cell.retired": raw_cells_of(reader, done),
            "chunk.extracted": _extracted(done, cells, **read.author) if done else _extracted([], cells),
            "chunk.failed": failed_pages(reader, chunks, read.outcomes),
        },
        rejected=rejected(KEPT_OUT, out)
        | rejected(WAITS, sorted(deleted.undecided))
        | rejected(UNGROUNDED, read.ungrounded),
        examples=cells.select(pl.format("[{}] {}", "cell_type", "content")).to_series().to_list(),
    )


@step
def worth_reading(
    chunks: pl.DataFrame, lines: DataFrame[Lines], gated: DataFrame[Gated]
) -> tuple[pl.DataFrame, DataFrame[Lines]]:
    """The chunks and lines of the pages that the gate lets pass."""
    worth = gated.filter("is_worth")["page"].to_list()
    telling = chunks.join(lines, on="chunk_id", how="semi", maintain_order="left")
    is_worth = pl.col("page").is_in(worth)
    return telling.filter(is_worth), Lines.of(lines.filter(is_worth))


# Inside


def _request(page: list[Row], before: Before) -> Request:
    columns = ["cell_type", "subject", "attribute", "value", "content"]
    known = page_rows(before.known.select(*columns, number="known", topic="topic_hint", date=told_date()))
    dates = [turn["date"] for turn in page if not turn["is_read"]]
    prompt = render(
        "extract_cells",
        session_date=next((date for date in dates if date != DAY_UNKNOWN), DAY_UNKNOWN),
        turns=page,
        known=known,
        earlier=" ".join(before.earlier),
        topics=", ".join(before.topics),
    )
    return Request(
        prompt, ExtractAnswer, {"turn_numbers": numbers_of(page), "known_numbers": numbers_of(known)}
    )


def _extracted(
    chunk_ids: list[str], cells: pl.DataFrame, prompt_version: str | None = None, model: str | None = None
) -> pl.DataFrame:
    """The payload of `chunk.extracted`, with the number of memories that each chunk gave."""
    made = cells.group_by("chunk_id").agg(cell_count=pl.len())
    chunks = pl.DataFrame({"chunk_id": chunk_ids}, schema={"chunk_id": pl.String})
    return chunks.join(made, on="chunk_id", how="left", maintain_order="left").with_columns(
        pl.col("cell_count").fill_null(0), *author_columns(prompt_version, model), rejected_count=pl.lit(0)
    )
