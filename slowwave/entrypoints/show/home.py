"""The state of a home, and its quarantine, for a terminal."""

from collections.abc import Sequence
from datetime import datetime

from rich.table import Column

from slowwave.entrypoints.show.answer import FIRST_STEPS
from slowwave.entrypoints.show.terminal import ago, counts_table, flat, number, results, shown_bytes, table
from slowwave.schemas.moments import day_of
from slowwave.schemas.report import forgetting_line
from slowwave.schemas.results import Night, Pending, QuarantinedChunk, Status


def show_status(status: Status, *, now: datetime) -> None:
    """The status as tables."""
    console = results()
    console.print(f"home      {flat(status.home)}", soft_wrap=True)
    if not status.has_memory:
        console.print(f"No memory yet {FIRST_STEPS}", soft_wrap=True)
        if status.pending.segments:
            waiting_count = status.pending.segments
            console.print(f"{waiting_count} journal segments wait: `slowwave rebuild` makes the store.")
        return
    console.print(f"embedder  {flat(status.embedder_id or 'none: full-text search only')}", soft_wrap=True)
    console.print(f"night     {_night_line(status.last_night, now)}", soft_wrap=True)
    console.print(f"forgotten {forgetting_line(status.forgetting)}", soft_wrap=True)
    if count := status.lost_segments:
        gone = "segments are" if count > 1 else "segment is"
        told = (
            f"{count} {gone} gone or cannot be read: `slowwave doctor` names {'them' if count > 1 else 'it'}"
        )
        console.print(f"journal   {told}", soft_wrap=True)
    console.print()
    console.print(counts_table("waiting", pending_lines(status.pending)))
    console.print()
    console.print(counts_table("table", status.rows, heading="rows"))
    console.print()
    parts = {"journal": status.journal_bytes, "store": status.store_bytes, "cache": status.cache_bytes}
    console.print("on disk   " + ", ".join(f"{name} {shown_bytes(size)}" for name, size in parts.items()))


def pending_lines(pending: Pending) -> dict[str, int]:
    """Counts of waiting work by its name; chunks that are done are not waiting."""
    waiting = ("pending", "failed", "quarantined")
    return {
        **{f"chunks {name}": count for name, count in pending.chunks.items() if name in waiting},
        "journal segments not applied": pending.segments,
        "memories not reconciled": pending.unjudged_cells,
        "pairs not judged": pending.unjudged_pairs,
        "memories to review": pending.cells_to_review,
        "judgements in quarantine": pending.judgements_in_quarantine,
        "memories without a topic": pending.cells_without_topic,
        "texts without a vector": pending.texts_without_vector,
        "open contradictions": pending.open_contradictions,
        "usage records not folded in": pending.usage_not_folded,
    }


def _night_line(night: Night | None, now: datetime) -> str:
    if night is None:
        return "none yet: `slowwave run nightly`"
    spent = "no language model"
    if night.has_llm:
        cost = "cost unknown" if night.cost is None else f"${night.cost:.4f}"
        spent = f"{night.call_count} calls, {night.token_count} tokens, {cost}"
    note = f"; {flat(night.note)}" if night.note else ""
    return f"{night.outcome} {ago(night.finished_at, now)}, {spent}{note}"


def show_quarantine(chunks: Sequence[QuarantinedChunk]) -> None:
    """The quarantine as a table."""
    console = results()
    if not chunks:
        console.print("Nothing is in quarantine.")
        return
    made = table("kind", Column("id", min_width=24), "date", "source", number("tries"), "reason")
    for chunk in chunks:
        made.add_row(
            chunk.kind,
            chunk.chunk_id,
            day_of(chunk.event_time),
            flat(chunk.source_name),
            str(chunk.attempts),
            flat(chunk.error or "no reason kept"),
        )
    console.print(made)
