"""The command that writes the memory out of the home."""

from slowwave.entrypoints.commands.options import (
    Asked,
    DryRunOption,
    HomeOption,
    JsonOption,
    asks,
    memory_of,
    reply,
)
from slowwave.entrypoints.show.export import show_exported
from slowwave.schemas.requests import ExportRequest


@asks(ExportRequest, without="dry_run")
def export(
    asked: Asked, *, dry_run: DryRunOption = False, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Write your memories into a folder.

    JSONL is complete: `slowwave ingest` makes the same memory of it in another home. Markdown is a page for people.
    What you deleted or erased is in neither.
    """
    from slowwave.entrypoints.show.terminal import progress_bars

    with memory_of(home) as memory, progress_bars():
        done = memory.export(**asked, dry_run=dry_run)
    reply(done, show_exported, as_json=as_json)


COMMANDS = (export,)
