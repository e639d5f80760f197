"""What the words of a person came to, for a terminal."""

from collections.abc import Sequence

from rich.text import Text

from slowwave.entrypoints.show.terminal import flat, results
from slowwave.journal.catalogue import CATALOGUE
from slowwave.schemas.results import Dispute, Done, Resolved, Side

SHOWN = ("topic.flagged", "topic.unsummarized", "cell.flagged", "contradiction.resolved", "core.demoted")
"""Kinds of events that a person is told of, beside the memory itself."""


def show_said(word: str, cell_id: str, notes: Sequence[str]) -> None:
    """One line, and what a person should know."""
    console = results()
    console.print(Text(f"{word}: {cell_id}"))
    for note in notes:
        console.print(Text(f"  {flat(note)}"))


def show_done(word: str, done: Done) -> None:
    """The memory that a word was about, what it replaced and what changed."""
    console = results()
    console.print(Text(f"{word}: {flat(done.content)}"), soft_wrap=True)
    console.print(Text(f"  id {done.cell_id}"))
    if done.replaced:
        console.print(Text(f"  with it: {', '.join(done.replaced)}"), soft_wrap=True)
    _show_changed(done.changed)
    for note in done.notes:
        console.print(Text(f"  {flat(note)}"), soft_wrap=True)


def show_disputes(found: Sequence[Dispute]) -> None:
    """Contradictions, both sides under each other."""
    console = results()
    if not found:
        console.print("No contradiction is open.")
        return
    for one in found:
        about = " / ".join(flat(part) for part in (one.subject, one.attribute) if part)
        state = f"resolved: {one.resolution}" if one.resolution else one.status
        console.print(Text(f"{one.contradiction_id}  {state}  {about}"), soft_wrap=True)
        for name, side in (("a", one.a), ("b", one.b)):
            console.print(Text(f"  {name}: {_side(side)}"), soft_wrap=True)
        for remark in (one.note, one.resolution_note):
            if remark:
                console.print(Text(f"  {flat(remark)}"), soft_wrap=True)
    if any(one.status == "open" for one in found):
        console.print("Settle one: slowwave resolve ID a_wins | b_wins | both_valid | merged --text ...")


def show_resolved(done: Resolved) -> None:
    """How a contradiction ended."""
    console = results()
    if done.resolution is None:
        console.print(Text(f"Open again: {done.contradiction_id}"))
    else:
        console.print(Text(f"Resolved, {done.resolution}: {done.contradiction_id}"))
    for label, ids in (
        ("holds", [done.winner_id or ""]),
        ("superseded", done.superseded),
        ("restored", done.restored),
    ):
        if any(ids):
            console.print(Text(f"  {label}: {', '.join(ids)}"), soft_wrap=True)
    for note in done.notes:
        console.print(Text(f"  {flat(note)}"), soft_wrap=True)


def _show_changed(changed: dict[str, int]) -> None:
    told = [f"{CATALOGUE[kind].title}: {changed[kind]}" for kind in SHOWN if kind in changed]
    if told:
        results().print(Text(f"  {'; '.join(told)}"), soft_wrap=True)


def _side(side: Side | None) -> str:
    if side is None:
        return "(no longer there)"
    marks = [side.origin, *(["confirmed by a person"] if side.protected else [])]
    marks += [side.status] if side.status != "active" else []
    source = flat(side.source_name)
    return f"{flat(side.content)} [{side.event_time:%Y-%m-%d}, {source}, {', '.join(marks)}, {side.cell_id}]"
