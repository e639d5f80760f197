"""Results of edits, for a terminal."""

from collections.abc import Sequence

from slowwave.entrypoints.show.terminal import flat, tell, tell_notes
from slowwave.schemas.moments import day_of
from slowwave.schemas.report import several, several_memories
from slowwave.schemas.results import Dispute, Done, Erased, Resolved, Side

SHOWN = ("topic.flagged", "topic.unsummarized", "cell.flagged", "contradiction.resolved", "core.demoted")
"""Kinds of events that a person is told of, beside the memory itself."""

SHOWN_CHARACTERS = 120
"""Characters of a statement that goes with a memory."""


def show_said(word: str, cell_id: str, notes: Sequence[str]) -> None:
    """One line, and what a person should know."""
    tell(f"{word}: {cell_id}")
    tell_notes(notes)


def show_done(word: str, done: Done) -> None:
    """The memory that was edited, what it replaced and what changed."""
    tell(f"{word}: {flat(done.content)}")
    tell(f"  id {done.cell_id}")
    if done.replaced:
        tell(f"  with it: {', '.join(done.replaced)}")
    for text in done.left_out:
        tell(f"  no longer told: {flat(text)[:SHOWN_CHARACTERS]}")
    _show_changed(done.changed)
    tell_notes(done.notes)


def show_disputes(found: Sequence[Dispute]) -> None:
    """Contradictions, both sides under each other."""
    if not found:
        tell("No contradiction is open.")
        return
    for one in found:
        about = " / ".join(flat(part) for part in (one.subject, one.attribute) if part)
        state = f"resolved: {one.resolution}" if one.resolution else one.status
        tell(f"{one.contradiction_id}  {state}  {about}")
        for name, side in (("a", one.a), ("b", one.b)):
            tell(f"  {name}: {_side(side)}")
        for remark in (one.note, one.resolution_note):
            if remark:
                tell(f"  {flat(remark)}")
    if any(one.status == "open" for one in found):
        tell("Settle one: slowwave resolve ID a_wins | b_wins | both_valid | merged --text ...")


def show_resolved(done: Resolved) -> None:
    """The end of a contradiction."""
    change = "Open again" if done.resolution is None else f"Resolved, {done.resolution}"
    tell(f"{change}: {done.contradiction_id}")
    for label, ids in (
        ("holds", [done.winner_id or ""]),
        ("superseded", done.superseded),
        ("restored", done.restored),
    ):
        if any(ids):
            tell(f"  {label}: {', '.join(ids)}")
    tell_notes(done.notes)


def _show_changed(changed: dict[str, int]) -> None:
    from slowwave.journal.catalogue import CATALOGUE  # with it comes Polars, which a search does not need

    told = [f"{CATALOGUE[kind].title}: {changed[kind]}" for kind in SHOWN if kind in changed]
    if told:
        tell(f"  {'; '.join(told)}")


def _side(side: Side | None) -> str:
    if side is None:
        return "(no longer there)"
    marks = [side.origin, *(["confirmed by a person"] if side.protected else [])]
    marks += [side.status] if side.status != "active" else []
    source = flat(side.source_name)
    return f"{flat(side.content)} [{day_of(side.event_time)}, {source}, {', '.join(marks)}, {side.cell_id}]"


def show_erased(done: Erased) -> None:
    """Counts of what was or would be erased, and the proof that it is gone."""
    memories = f"{several(len(done.turn_ids), 'turn')}, {several_memories(len(done.cell_ids))}"
    counts = f"{memories}, {several(len(done.topic_ids), 'topic summary', 'topic summaries')}"
    if done.dry_run:
        tell(f"Would erase {counts}:")
        tell_notes(done.shown)
        if done.revived:
            tell("Believed again without it:")
            tell_notes(done.revived)
    else:
        tell(f"Erased {counts}.")
        for name, count in done.rewritten.items():
            tell(f"  {name}: {count}")
        if done.is_proven:
            tell(
                f"  proof: looked for {several(done.searched_texts, 'text')} in every byte of the home; none is there"
            )
        for place, count in done.remaining.items():
            tell(f"  still in {flat(place)}: {count}")
        if done.short_texts:
            tell(f"  too short to be looked for: {several(done.short_texts, 'text')}; their rows are gone")
    tell_notes(done.notes)
