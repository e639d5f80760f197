"""A derivation beside the memory, for a terminal."""

from rich.console import Console
from rich.text import Text

from slowwave.entrypoints.show.terminal import flat, number, results, table
from slowwave.rederive.pages import (
    SHOWN_LINES,
    TITLES,
    counts_line,
    edit_line,
    estimate_line,
    headline,
    memory_line,
    shown,
)
from slowwave.schemas.derivation import Derivation, DerivationDiff
from slowwave.stages.night.report import spent


def show_derivation(found: Derivation) -> None:
    """Show what was done, what it cost and, where there is one, the difference; the file has all of a long one."""
    console = results()
    console.print(Text(flat(headline(found)), style="bold"))
    for note in found.notes:
        console.print(Text(f"  {flat(note)}"))
    if found.dry_run and found.estimate is not None:
        console.print(Text(estimate_line(found.estimate)))
    if found.night is not None:
        console.print(Text(f"Spent: {flat(spent(found.night.ledger))}."))
        for note in found.night.notes:
            console.print(Text(f"  {flat(note)}"))
    if found.diff is not None:
        _show_difference(console, found.diff)
        if found.file is not None:
            console.print(Text(f"The whole difference: {flat(found.file)}"), soft_wrap=True)
    if found.dry_run:
        console.print(Text("A dry run: nothing was changed.", style="bold"))


def _show_difference(console: Console, diff: DerivationDiff) -> None:
    console.print(Text(counts_line(diff)))
    types = table("type", number("before"), number("after"))
    for name, (count_before, count_after) in diff.by_type.items():
        types.add_row(flat(name), str(count_before), str(count_after))
    console.print(types)
    if diff.edits:
        console.print(Text("What a person said and did", style="bold"))
        for edit in diff.edits[:SHOWN_LINES]:
            console.print(Text(f"  {flat(edit_line(edit))}"))
        _show_more(console, len(diff.edits) - SHOWN_LINES)
    for name, title in TITLES.items():
        rows = [one for one in diff.memories if one.difference == name]
        if not rows:
            continue
        console.print(Text(f"{title} ({len(rows)})", style="bold"))
        cut, more_count = shown(rows, SHOWN_LINES)
        for one in cut:
            before, after = memory_line(one)
            if before:
                console.print(Text(f"- {flat(before)}"))
            if after:
                console.print(Text(f"+ {flat(after)}"))
        _show_more(console, more_count)


def _show_more(console: Console, count: int) -> None:
    if count > 0:
        console.print(Text(f"  and {count} more in the file"))
