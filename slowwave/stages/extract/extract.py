"""The extract stage: the chunks that wait, the questions about them, and what the answers become."""

import polars as pl

from slowwave.journal.catalogue import EventRows
from slowwave.lifecycle.pairs import unjudged_rows
from slowwave.lifecycle.repetitions import confirmations
from slowwave.llm import Request
from slowwave.prompting.extract_answers import ExtractAnswer
from slowwave.prompting.files import extract_prompt
from slowwave.prompting.prompt_inputs import KnownCell, TurnLine, items, told_date
from slowwave.readers.chunking import chunk_turns
from slowwave.schemas.moments import DAY_UNKNOWN
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.stages.asking import AWAY, Author, ask, author_columns, usable_answers
from slowwave.stages.extract.deleted import keep_out_deleted, without_deleted_turns
from slowwave.stages.extract.extraction import (
    ANSWER_SCHEMA,
    extracted_cells,
    raw_cells,
    split_confirmed,
)
from slowwave.stages.extract.gate import Gate, failed_pages, lines_by_page, raw_cells_of, through_gate
from slowwave.stages.extract.known import Before, before_page
from slowwave.stages.extract.pages import POSITION, in_pages, page_lines
from slowwave.stages.graph.identities import page_identities
from slowwave.stages.run import Stage
from slowwave.store import col, lit
from slowwave.trust.origins import as_told, pieces_of


def find_chunks(run: Stage) -> pl.DataFrame:
    """Chunks that wait: new ones, failed ones whose pause is over and, once there is a model, raw ones."""
    waiting = run.store.rows("chunks", where=col("status").isin(["pending", "failed"]))
    due = waiting.filter(pl.col("retry_at").is_null() | (pl.col("retry_at") <= run.now))
    run.reject("waits for its next try", waiting.height - due.height)
    if run.workspace.llm is not None:
        raw = (col("status") == lit("extracted")) & (col("prompt_version") == lit(RAW_PROMPT))
        due = pl.concat([due, run.store.rows("chunks", where=raw)])
    run.reject("quarantined", run.store.count("chunks", col("status") == lit("quarantined")))
    run.report.rows_in = due.height
    return due.sort("session_id", *POSITION)


def extract_raw(run: Stage, chunks: pl.DataFrame) -> None:
    """Without a model: each chunk becomes a raw cell, kept as it was said."""
    whole = as_told(run.store.by_key("turns", chunks["turn_ids"].explode().drop_nulls()))
    turns = without_deleted_turns(run, chunks, chunk_turns(chunks, whole))
    cells = raw_cells(chunks, turns, decay_rate=run.settings.decay.default_rate, now=run.now)
    cells, _ = keep_out_deleted(run, cells)
    done = _extracted(chunks["chunk_id"].to_list(), cells, {"prompt_version": RAW_PROMPT})
    run.commit({"cell.extracted": cells, "chunk.extracted": done})
    run.note("chunks became raw memories; they go through the extractor once there is a language model")


def extract_pages(run: Stage, chunks: pl.DataFrame) -> None:
    """Asks about the pages, a round at a time: one page of each owner, so that no page is another's past.

    Every round is committed before the next is asked, and so each page is shown what those before it gave.
    """
    settings = run.settings
    pages = in_pages(
        chunks, page_tokens=settings.night.page_tokens, overlap_tokens=settings.chunks.overlap_tokens
    )
    batch = pl.col("page").rank("dense").over("round") - 1
    rounds = (
        pages.with_columns(batch=batch // settings.night.extract_batch)
        .sort("round", "batch", maintain_order=True)
        .partition_by("round", "batch", include_key=False, maintain_order=True)
    )
    left, gate = pages["page"].n_unique(), Gate()
    for asked in rounds:
        _extract_round(run, asked, gate)
        left -= asked["page"].n_unique()
        if run.workspace.llm is not None and run.workspace.llm.is_down:
            run.reject(AWAY, left)
            break
    run.note(gate.told)
    if run.report.dry_run and len(rounds) > 1:
        run.note("nothing is stored, so each page was asked without what the pages before it gave")


def _extract_round(run: Stage, chunks: pl.DataFrame, gate: Gate) -> None:
    turns = run.store.by_key("turns", chunks["turn_ids"].explode().drop_nulls())
    lines = page_lines(chunks, turns, _read_chunks(run, chunks))
    run.commit(_without_news(run, chunks, lines))
    telling = chunks.join(lines, on="chunk_id", how="semi", maintain_order="left")
    passed, gate_plan = through_gate(run, telling, lines, gate)
    run.commit(gate_plan)
    run.commit(_through_extractor(run, passed, lines, turns))
    run.refresh_vectors()


def _read_chunks(run: Stage, chunks: pl.DataFrame) -> pl.DataFrame:
    """The chunks of these sessions that an extractor or the gate has read, others than these."""
    sessions = run.store.having("chunks", "session_id", chunks["session_id"].unique())
    is_settled = pl.col("status").is_in(["extracted", "gated_out"])
    is_read = is_settled & pl.col("prompt_version").ne_missing(RAW_PROMPT)
    return sessions.filter(is_read).join(chunks, on="chunk_id", how="anti").sort("chunk_id")


def _without_news(run: Stage, chunks: pl.DataFrame, lines: pl.DataFrame) -> EventRows:
    """Chunks of which every word was read in another: they cost no call."""
    done = chunks.join(lines, on="chunk_id", how="anti", maintain_order="left")["chunk_id"].to_list()
    none = pl.DataFrame(schema={"chunk_id": pl.String})
    return {"cell.retired": raw_cells_of(run, done), "chunk.extracted": _extracted(done, none, {})}


def _through_extractor(
    run: Stage, chunks: pl.DataFrame, lines: pl.DataFrame, turns: pl.DataFrame
) -> EventRows:
    """The events that the extractor's answers become: cells, confirmations, retired raw cells, failures."""
    if chunks.is_empty():
        return {}
    pages = chunks["page"].unique(maintain_order=True)
    before = {page: _before(run, chunks, lines, page) for page in pages}
    shown = lines_by_page(lines)
    requests = [_extract_request(shown[page], before[page]) for page in pages]
    outcomes = ask(run, requests, work="extract")
    failed = {"chunk.failed": failed_pages(run, chunks, pages, outcomes)}
    told = usable_answers(ExtractAnswer, pages, outcomes)
    if not told:
        return failed
    author = told[0][2]
    done = chunks.filter(pl.col("page").is_in([page for page, _, _ in told]))["chunk_id"].to_list()
    answers = pl.DataFrame(
        [{"page": page, **cell.model_dump()} for page, answer, _ in told for cell in answer.cells],
        schema=ANSWER_SCHEMA,
    ).with_columns(author_columns(**author))
    decay = run.settings.decay
    pieces = pl.concat(
        [
            pieces_of(lines.select("page", "turn_id").unique().join(turns, on="turn_id", how="inner")),
            *(shown.pieces(page) for page, shown in before.items()),
        ]
    )
    made = extracted_cells(
        answers,
        chunks,
        lines,
        pieces,
        decay_rates=decay.rates,
        default_decay_rate=decay.default_rate,
        now=run.now,
    )
    known = pl.concat(shown.known.with_columns(page=pl.lit(page)) for page, shown in before.items())
    cells, confirmed, tied = split_confirmed(made, known)
    cells, waiting = keep_out_deleted(run, cells)
    if waiting:
        done = [chunk for chunk in done if chunk not in waiting]
        confirmed = confirmed.filter(~pl.col("confirmed_by").is_in(sorted(waiting)))
    run.show(cells.select(pl.format("[{}] {}", "cell_type", "content")).to_series())
    known_cells = run.store.by_key("cells", confirmed["cell_id"], ["cell_id", "session_id", "evidence"])
    cell_usage = run.store.by_key("cell_usage", confirmed["cell_id"])
    again = confirmations(confirmed, known_cells, cell_usage, now=run.now)
    return {
        "cell.extracted": cells,
        "cell.confirmed": again.with_columns(author_columns(**author)),
        "pair.judged": unjudged_rows(
            tied.join(cells, on="cell_id", how="semi"), pl.format("the extractor calls it {}", "relation")
        ),
        "identity.recorded": page_identities(made.join(cells, on="cell_id", how="semi"), pieces),
        "cell.retired": raw_cells_of(run, done),
        "chunk.extracted": _extracted(done, cells, author),
        **failed,
    }


def _before(run: Stage, chunks: pl.DataFrame, lines: pl.DataFrame, page: int) -> Before:
    mine = pl.col("page") == page
    return before_page(run, chunks.filter(mine), lines.filter(mine))


def _extract_request(page: list[TurnLine], before: Before) -> Request:
    columns = ["cell_type", "subject", "attribute", "value", "content"]
    shown = items(
        KnownCell, before.known.select(*columns, number="known", topic="topic_hint", date=told_date())
    )
    context = {
        "turn_numbers": {line.number for line in page},
        "known_numbers": {cell.number for cell in shown},
    }
    dates = [line.date for line in page if not line.is_read]
    date = next((date for date in dates if date != DAY_UNKNOWN), DAY_UNKNOWN)
    prompt = extract_prompt(date, page, shown, earlier=before.earlier, topics=before.topics)
    return Request(prompt, ExtractAnswer, context)


def _extracted(chunk_ids: list[str], cells: pl.DataFrame, author: Author) -> pl.DataFrame:
    """The payload of `chunk.extracted`, with the number of cells that each chunk gave."""
    made = cells.group_by("chunk_id").agg(cell_count=pl.len())
    chunks = pl.DataFrame({"chunk_id": chunk_ids}, schema={"chunk_id": pl.String})
    return chunks.join(made, on="chunk_id", how="left", maintain_order="left").with_columns(
        pl.col("cell_count").fill_null(0), *author_columns(**author), rejected_count=pl.lit(0)
    )
