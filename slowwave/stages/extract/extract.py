"""The extract stage: the chunks that wait, the questions about them, and what the answers become."""

import numpy as np
import polars as pl

from slowwave.chains.timelines import confirmations
from slowwave.journal.catalogue import Plan, rows_of
from slowwave.llm import Outcome, Request
from slowwave.prompting.extract_answers import ExtractAnswer, GateAnswer
from slowwave.prompting.files import extract_prompt, gate_prompt
from slowwave.prompting.prompt_inputs import KnownCell, TurnLine, items, items_by
from slowwave.readers.chunking import chunk_turns
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER, RAW_PROMPT, frame_schema
from slowwave.stages.asking import AWAY, Author, ask, author_columns, usable_answers
from slowwave.stages.extract.deleted import keep_out_deleted, without_deleted_turns
from slowwave.stages.extract.extraction import (
    ANSWER_SCHEMA,
    extracted_cells,
    in_turns,
    raw_cells,
    split_confirmed,
)
from slowwave.stages.nearest import nearest_of_owner
from slowwave.stages.reconcile.pairs import unjudged_rows
from slowwave.stages.retries import failed_rows
from slowwave.stages.run import Stage
from slowwave.store import col, lit

SHOWN = ["cell_type", "topic_hint", "subject", "attribute", "value", "valid_from", "content"]
"""Columns of a known cell that the extractor is shown."""


def find_chunks(run: Stage) -> pl.DataFrame:
    """Chunks that wait: new ones, failed ones whose pause is over and, once there is a model, raw ones.

    Oldest conversations first, and the parts of one conversation one after the other, so that each part is shown
    what the parts before gave.
    """
    waiting = run.store.rows("chunks", where=col("status").isin(["pending", "failed"]))
    due = waiting.filter(pl.col("retry_at").is_null() | (pl.col("retry_at") <= run.now))
    run.reject("waits for its next try", waiting.height - due.height)
    if run.workspace.llm is not None:
        raw = (col("status") == lit("extracted")) & (col("prompt_version") == lit(RAW_PROMPT))
        due = pl.concat([due, run.store.rows("chunks", where=raw)])
    run.reject("quarantined", run.store.count("chunks", col("status") == lit("quarantined")))
    run.report.rows_in = due.height
    return in_turns(due, sessions=run.settings.night.extract_batch)


def extract_raw(run: Stage, chunks: pl.DataFrame) -> None:
    """Without a model: each chunk becomes a raw cell, kept as it was said."""
    turns = without_deleted_turns(run, chunks, _turns_of(run, chunks))
    cells = raw_cells(chunks, turns, decay_rate=run.settings.decay.default_rate, now=run.now)
    cells, _ = keep_out_deleted(run, cells)
    done = _extracted(chunks["chunk_id"].to_list(), cells, {"prompt_version": RAW_PROMPT})
    run.commit({"cell.extracted": cells, "chunk.extracted": done})
    run.note("chunks became raw memories; they go through the extractor once there is a language model")


def extract_batches(run: Stage, chunks: pl.DataFrame) -> None:
    """Gate, then extract, a batch of chunks at a time; every batch is committed before the next is asked."""
    size = run.settings.night.extract_batch
    for start in range(0, chunks.height, size):
        batch = chunks.slice(start, size)
        turns = _turns_of(run, batch)
        passed, gate_plan = _through_gate(run, batch, turns)
        run.commit(gate_plan)
        run.commit(_through_extractor(run, passed, turns))
        run.refresh_vectors()
        if run.workspace.llm is not None and run.workspace.llm.is_down:
            run.reject(AWAY, chunks.height - start - batch.height)
            break


def _turns_of(run: Stage, chunks: pl.DataFrame) -> pl.DataFrame:
    return chunk_turns(chunks, run.store.by_key("turns", chunks["turn_ids"].explode().drop_nulls()))


def _through_gate(run: Stage, chunks: pl.DataFrame, turns: pl.DataFrame) -> tuple[pl.DataFrame, Plan]:
    """Chunks that are worth the extractor, and what the gate decided about the others."""
    pages, ids = _pages(turns), chunks["chunk_id"]
    requests = [Request(gate_prompt(pages[chunk]), GateAnswer, {}, is_gate=True) for chunk in ids]
    outcomes = ask(run, requests, work="gate")
    said = [
        {"chunk_id": chunk, "is_worth": answer.is_worth_remembering, "reason": answer.reason, **author}
        for chunk, answer, author in usable_answers(GateAnswer, ids, outcomes)
    ]
    gated = rows_of("chunk.gated", said)
    refused = gated.filter(~pl.col("is_worth"))["chunk_id"].to_list()
    run.reject("gate: nothing worth remembering", len(refused))
    worth = chunks.join(gated.filter("is_worth"), on="chunk_id", how="semi", maintain_order="left")
    return worth, {
        "chunk.gated": gated,
        "cell.retired": _raw_cells_of(run, refused),
        "chunk.failed": _failed(run, chunks, outcomes),
    }


def _through_extractor(run: Stage, chunks: pl.DataFrame, turns: pl.DataFrame) -> Plan:
    """The events that the extractor's answers become: cells, confirmations, retired raw cells, failures."""
    if chunks.is_empty():
        return {}
    pages, known = _pages(turns), _known_cells(run, chunks, turns)
    ids = chunks["chunk_id"]
    requests = [_extract_request(pages[chunk], known.filter(pl.col("chunk_id") == chunk)) for chunk in ids]
    outcomes = ask(run, requests, work="extract")
    failed = {"chunk.failed": _failed(run, chunks, outcomes)}
    told = usable_answers(ExtractAnswer, ids, outcomes)
    if not told:
        return failed
    author, done = told[0][2], [chunk for chunk, _, _ in told]
    answers = pl.DataFrame(
        [{"chunk_id": chunk, **cell.model_dump()} for chunk, answer, _ in told for cell in answer.cells],
        schema=ANSWER_SCHEMA,
    ).with_columns(author_columns(**author))
    decay = run.settings.decay
    made = extracted_cells(
        answers, chunks, turns, decay_rates=decay.rates, default_decay_rate=decay.default_rate, now=run.now
    )
    cells, confirmed, tied = split_confirmed(made, known)
    cells, waiting = keep_out_deleted(run, cells)
    if waiting:
        done = [chunk for chunk in done if chunk not in waiting]
        confirmed = confirmed.filter(~pl.col("confirmed_by").is_in(sorted(waiting)))
    run.show(cells.select(pl.format("[{}] {}", "cell_type", "content")).to_series())
    known_cells = run.store.by_key("cells", confirmed["cell_id"], ["cell_id", "evidence"])
    cell_usage = run.store.by_key("cell_usage", confirmed["cell_id"])
    again = confirmations(confirmed, known_cells, cell_usage, now=run.now)
    return {
        "cell.extracted": cells,
        "cell.confirmed": again.with_columns(author_columns(**author)),
        "pair.judged": unjudged_rows(
            tied.join(cells, on="cell_id", how="semi"), pl.format("the extractor calls it {}", "relation")
        ),
        "cell.retired": _raw_cells_of(run, done),
        "chunk.extracted": _extracted(done, cells, author),
        **failed,
    }


def _pages(turns: pl.DataFrame) -> dict[object, list[TurnLine]]:
    """The lines of each chunk, by its id."""
    lines = turns.select("chunk_id", "speaker", "role", "text", number="turn_number", date="event_time")
    return items_by(TurnLine, lines)


def _extract_request(page: list[TurnLine], known: pl.DataFrame) -> Request:
    columns = ["cell_type", "subject", "attribute", "value", "content"]
    shown = items(KnownCell, known.select(*columns, number="known", topic="topic_hint", date="valid_from"))
    context = {
        "turn_numbers": {line.number for line in page},
        "known_numbers": {cell.number for cell in shown},
    }
    return Request(extract_prompt(page[-1].date, page, shown), ExtractAnswer, context)


def _known_cells(run: Stage, chunks: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """The nearest known cells of each chunk: `chunk_id`, `known` (numbered from 1), `target_id`, columns `SHOWN`."""
    key = {"chunk_id": pl.String(), "known": pl.Int64(), "target_id": pl.String()}
    shape = key | {name: frame_schema("cells")[name] for name in SHOWN}
    embedder, most = run.workspace.embedder, run.settings.night.known_cells
    if embedder is None or most == 0:
        return pl.DataFrame(schema=shape)
    texts = turns.group_by("chunk_id").agg(pl.col("text").str.join("\n"))
    pages = chunks.select("chunk_id", *OWNER).join(texts, on="chunk_id", how="inner", maintain_order="left")
    vectors = np.asarray(embedder.embed_documents(pages["text"].to_list()).vectors)
    is_extracted = (col("prompt_version") != lit(RAW_PROMPT)) & (col("cell_type") != lit(EPISODE))
    where = (col("status") == lit("active")) & is_extracted
    asked = pages.with_columns(vector=pl.Series(vectors))
    near = nearest_of_owner(run.store, "cells", asked, k=most, where=where)
    cells = run.store.by_key("cells", near["target_id"], ["cell_id", *SHOWN]).rename({"cell_id": "target_id"})
    return (
        near.join(cells, on="target_id", how="inner")
        .sort("chunk_id", "similarity", "target_id", descending=[False, True, False])
        .with_columns(known=pl.int_range(1, pl.len() + 1).over("chunk_id"))
        .select(list(shape))
    )


def _failed(run: Stage, chunks: pl.DataFrame, outcomes: list[Outcome]) -> pl.DataFrame:
    """Chunks that do not fit, or whose answer could not be used."""
    return failed_rows(run, "chunk.failed", chunks.select("chunk_id", "attempts"), outcomes)


def _extracted(chunk_ids: list[str], cells: pl.DataFrame, author: Author) -> pl.DataFrame:
    """The payload of `chunk.extracted`, with the number of cells that each chunk gave."""
    made = cells.group_by("chunk_id").agg(cell_count=pl.len())
    chunks = pl.DataFrame({"chunk_id": chunk_ids}, schema={"chunk_id": pl.String})
    return chunks.join(made, on="chunk_id", how="left", maintain_order="left").with_columns(
        pl.col("cell_count").fill_null(0), *author_columns(**author), rejected_count=pl.lit(0)
    )


def _raw_cells_of(run: Stage, chunk_ids: list[str]) -> pl.DataFrame:
    """The payload of `cell.retired` for the raw cells of chunks, protected ones apart."""
    is_raw = (col("prompt_version") == lit(RAW_PROMPT)) & (col("status") == lit("active"))
    where = col("chunk_id").isin(chunk_ids) & is_raw & (col("protected") == lit(value=False))
    raw = run.store.rows("cells", ["cell_id"], where).sort("cell_id")
    return raw.with_columns(superseded_at=pl.lit(run.now))
