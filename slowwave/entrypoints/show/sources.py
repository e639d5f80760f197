"""Sources that were found on this machine, and what a watch took in, for a terminal."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Column

from slowwave.entrypoints.show.terminal import (
    ago,
    flat,
    number,
    results,
    say,
    shown_bytes,
    table,
    tell,
)
from slowwave.schemas.report import several
from slowwave.schemas.results import FoundSource

if TYPE_CHECKING:
    from slowwave.schemas.report import StageReport


def show_found(found: Sequence[FoundSource]) -> None:
    """Show the places of coding agents, a row each."""
    if not found:
        tell("No coding agent keeps anything here that could be read: name files or folders.")
        return
    now = datetime.now(UTC)
    made = table(Column("source", no_wrap=True), "place", number("files"), number("size"), number("newest"))
    for source in found:
        made.add_row(
            flat(source.source),
            flat(_short(source.place)),
            f"{source.file_count:,}",
            shown_bytes(source.byte_count),
            ago(source.newest_at, now),
        )
    results().print(made)


def show_taken(report: "StageReport") -> None:
    """Show what came in at one look, a line on stderr, where something did."""
    turns = report.counts.get("turn.recorded", 0)
    if turns:
        say(f"{several(turns, 'new turn')} from {several(report.counts.get('source.recorded', 0), 'file')}")


def _short(place: str) -> str:
    """The path with the user's own folder as `~`."""
    path = Path(place)
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else place
