"""Answers of tools as text, and the bound that holds for every answer."""

from pydantic import BaseModel

from slowwave.entrypoints.mcp.answers.shapes import (
    Told,
    ToldContext,
    ToldDisputes,
    ToldMemory,
    ToldSummary,
    ToldTurn,
)
from slowwave.ingest.fences import FENCE_CLOSE, FENCE_OPEN
from slowwave.models.page_lines import page_line
from slowwave.schemas.report import several, several_memories
from slowwave.schemas.results import Stats

MOST_BYTES = 20_000
"""Bytes of an answer, as text and as data each: some 5,000 tokens of English, and below 10,000 in every script."""


def fenced(lines: list[str]) -> str:
    """Lines of recalled memory in the fence by which readers of transcripts leave it out again."""
    return "\n".join([FENCE_OPEN, *lines, FENCE_CLOSE])


def fitted(told: Told, *, newest_last: bool = False) -> Told:
    """An answer within its bound: of the longest list the last goes first, or the oldest; a note says so."""
    parts: dict[str, list[BaseModel]] = {
        "summaries": list(told.summaries),
        "memories": list(told.memories),
        "turns": list(told.turns),
    }
    notes, sizes = list(told.notes), {name: [_size(one) for one in part] for name, part in parts.items()}
    notes_left = 0
    while len(notes) > 1 and sum(len(note.encode()) for note in notes) > MOST_BYTES // 4:
        notes.pop(0)
        notes_left += 1
    room, left_out = MOST_BYTES - 1_000 - sum(len(note.encode()) + 8 for note in notes), 0
    while sum(map(sum, sizes.values())) > room:
        longest = max(sizes, key=lambda name: sum(sizes[name]))
        place = 0 if newest_last and longest == "memories" else -1
        parts[longest].pop(place)
        sizes[longest].pop(place)
        left_out += 1
    if notes_left:
        notes.insert(0, f"{notes_left} earlier notes are left out here")
    if left_out:
        which = "older ones" if newest_last else "more"
        notes.append(f"{left_out} {which} are left out here: narrow the question, or ask for fewer")
        if told.next_cursor:  # the next page would begin after what is left out
            notes[-1] += ", with this page's own cursor"
    kept = "" if left_out else told.next_cursor
    return told.model_copy(update={**parts, "notes": notes, "next_cursor": kept})


def fitted_disputes(told: ToldDisputes) -> ToldDisputes:
    """Contradictions within the bound, and a note of how many are left out."""
    kept = list(told.contradictions)
    sizes = [_size(one) for one in kept]
    while sum(sizes) > MOST_BYTES - 1_000:
        kept.pop()
        sizes.pop()
    left = len(told.contradictions) - len(kept)
    notes = [*told.notes, *([f"{left} older ones are left out here: settle these first"] if left else [])]
    return told.model_copy(update={"contradictions": kept, "notes": notes})


def page_of(told: Told) -> str:
    """Memories as a page; one that says what is missing where there are none."""
    if not (told.summaries or told.memories or told.turns):
        return " ".join(told.notes) or "Nothing in memory answers that."
    lines = [told.about, *([told.lead] if told.lead else [])]
    lines += [_summary(one) for one in told.summaries]
    lines += [_memory(one) for one in told.memories]
    lines += ["Said, word by word:"] * bool(told.turns)
    lines += [_turn(one) for one in told.turns]
    return "\n".join([fenced([*lines, *(f"({note})" for note in told.notes)]), *_next(told)])


def page_of_disputes(told: ToldDisputes) -> str:
    """Each contradiction with its two sides."""
    if not told.contradictions:
        return " ".join(told.notes)
    lines = [told.about]
    for one in told.contradictions:
        about = " / ".join(part for part in (one.subject, one.attribute) if part)
        lines.append(f"## {one.contradiction_id} ({one.status}, {one.detected}) {about}".rstrip())
        lines += [f"{name}: {_side(side)}" for name, side in (("a", one.a), ("b", one.b))]
        lines += [f"why: {one.why}"] if one.why else []
    return fenced([*lines, *(f"({note})" for note in told.notes)])


def page_of_context(told: ToldContext) -> str:
    """The assembled text, and what its reader should know."""
    return "\n".join([told.text or "Nothing in memory belongs here.", *(f"({note})" for note in told.notes)])


def page_of_stats(told: Stats) -> str:
    """Counts, a line a kind."""
    kinds = {
        "status": told.by_status,
        "type": told.by_type,
        "said by": told.by_origin,
        "age": told.by_age,
        "use": told.usage,
    }
    lines = [
        f"{several_memories(told.cells)} from {several(told.turns, 'message')}, {several(told.topics, 'topic')}"
    ]
    lines += [f"{kind}: {_counts(counts)}" for kind, counts in kinds.items() if counts]
    lines.append(
        f"{told.protected} confirmed by a person, {told.never_used} never used, "
        f"{several(told.open_contradictions, 'open contradiction')}, {told.tombstones} deleted"
    )
    topics = [fenced([f"largest topics: {_counts(told.by_topic)}"])] if told.by_topic else []
    return "\n".join([*lines, *topics, *(f"({note})" for note in told.notes)])


def quoted(text: str, most: int = 400) -> str:
    """One stored text in its fence."""
    line = page_line(text)
    return fenced([f"> {line if len(line) <= most else f'{line[:most].rstrip()} ...'}"])


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _next(told: Told) -> list[str]:
    return [f"next page: cursor {told.next_cursor}"] if told.next_cursor else []


def _summary(one: ToldSummary) -> str:
    where = ", ".join([*([one.date] if one.date else []), *one.remarks])
    return f"## {one.title}: {one.text} ({where})" if one.text else f"## {one.title} ({where})"


def _memory(one: ToldMemory) -> str:
    kind = f"[{one.cell_type}] " if one.cell_type else ""
    return f"- {kind}{_said(one)}"


def _side(one: ToldMemory | None) -> str:
    return "(no longer there)" if one is None else _said(one)


def _said(one: ToldMemory) -> str:
    where = [one.date, one.source, one.said_by or "", f"id {one.cell_id}"]
    remarks = "".join(f"; {remark}" for remark in one.remarks)
    return f"{one.text} ({', '.join(part for part in where if part)}){remarks}"


def _turn(one: ToldTurn) -> str:
    return f"> {one.date} {one.said_by}, {one.source}: {one.text}"


def _size(one: BaseModel) -> int:
    return len(one.model_dump_json().encode())
