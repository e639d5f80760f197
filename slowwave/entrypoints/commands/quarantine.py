"""What no answer of the model could be used for after all tries: looking at it, and sending it back to work."""

from collections.abc import Sequence

from rich.table import Column

from slowwave.edits.quarantine import QuarantinedChunk
from slowwave.entrypoints.show.terminal import flat, number, results, table


def show_chunks(chunks: Sequence[QuarantinedChunk]) -> None:
    """What is in quarantine, as a table."""
    console = results()
    if not chunks:
        console.print("Nothing is in quarantine.")
        return
    made = table("kind", Column("id", min_width=24), "date", "source", number("tries"), "reason")
    for chunk in chunks:
        made.add_row(
            chunk.kind,
            chunk.chunk_id,
            f"{chunk.event_time:%Y-%m-%d}",
            flat(chunk.source_name),
            str(chunk.attempts),
            flat(chunk.error or "no reason kept"),
        )
    console.print(made)
