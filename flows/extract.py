"""Extract: read typed memories out of chunks, page by page in their order."""

from prefect import flow

from slowwave.schemas.report import StageReport
from tasks.commit import commit
from tasks.embed import embed_missing
from tasks.extract.deleted import ask_deleted, find_deleted
from tasks.extract.extract import (
    ask_memories,
    find_chunks,
    find_lines,
    find_past,
    find_raw,
    find_rounds,
    plan_memories,
    plan_raw,
    plan_without_news,
    worth_reading,
)
from tasks.extract.gate import ask_gate, plan_gate
from tasks.step import open_stage, run_name


@flow(name="extract", flow_run_name=run_name)
def extract(home: str = "", dry_run: bool = False) -> StageReport:
    """Turn pending chunks into memories. Failed chunks are tried again on later runs and block nothing.

    Reads chunks that wait, and what the memory knew before each of them. A cheap gate decides which pages are worth
    reading, the extractor reads those; what has no ground on its page, or was deleted by a person, is rejected. Writes
    memories, confirmations of known ones, and pairs for reconcile. Without a model, chunks become raw memories.

    Args:
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
        dry_run: Ask the model, but only show what would be stored. Pages are asked without what those before them gave,
            since nothing is stored, and the real run asks again about these.
    """
    with open_stage("extract", home=home, dry_run=dry_run) as run:
        chunks = find_chunks(run.reader, has_model=run.model is not None)
        run.report.rows_in = chunks.height
        if chunks.is_empty():
            run.skip("no chunk is waiting")
        elif run.model is None:
            raw, gone = find_raw(run.reader, chunks)
            commit(run, plan_raw(chunks, raw, gone, ask_deleted(None, *find_deleted(run.reader, raw))))
        else:
            for asked in find_rounds(run.reader, chunks):
                lines = find_lines(run.reader, asked)
                commit(run, plan_without_news(run.reader, asked, lines))
                gated, outcomes = ask_gate(run.model, lines)
                commit(run, plan_gate(run.reader, asked, gated, outcomes))
                worth, lines = worth_reading(asked, lines, gated)
                if worth.height:
                    past = find_past(run.reader, worth, lines)
                    read = ask_memories(run.model, run.reader, worth, lines, past)
                    deleted = ask_deleted(run.model, *find_deleted(run.reader, read.cells))
                    commit(run, plan_memories(run.reader, worth, read, deleted))
                    embed_missing(run)
        embed_missing(run)
    return run.report
