"""Explanations, fading and archived memories, and counts, for a terminal."""

from collections.abc import Sequence
from datetime import datetime

from slowwave.entrypoints.show.terminal import (
    counts_table,
    flat,
    number,
    results,
    shown_bytes,
    table,
    tell,
    tell_notes,
    until,
)
from slowwave.schemas.choices import RAW_PROMPT
from slowwave.schemas.moments import day_of, from_day
from slowwave.schemas.report import several
from slowwave.schemas.results import Explanation, Fading, ForgottenCell, Link, Stats

QUOTED = 240
TAKEN_BACK = "taken back: it never held"
TAKEN_BACK_IN_PART = "taken back in part: the messages below say which"
STILL_TOLD = {"whole": "", "in part": ", a part of it taken back", "no": ", no longer told"}


def show_explanation(found: Explanation) -> None:
    """A memory with its turns, chains, judgements and events."""
    tell(f"[{found.cell_type}] {flat(found.content)}")
    tell(f"  {found.state}, id {found.cell_id}" + (", confirmed by a person" if found.protected else ""))
    about = " / ".join(flat(part) for part in (found.subject, found.attribute) if part)
    if about:
        tell(f"  {about} = {flat(found.value or '?')}")
    if found.summary:
        tell(f"  {flat(found.summary)}")
    held = f"holds {from_day(found.valid_from)}{until(found.valid_until)}"
    if found.was_taken_back:
        is_in_part = found.prompt_version == RAW_PROMPT and any(quote.told != "no" for quote in found.quotes)
        held = TAKEN_BACK_IN_PART if is_in_part else TAKEN_BACK
    tell(f"  said {day_of(found.event_time)} in {flat(found.source_name)}, {held}")
    by = found.model or "no language model"
    tell(
        f"  made by {flat(found.prompt_version)} ({flat(by)}), origin {found.origin}, chunk {found.chunk_id or 'none'}"
    )
    left = found.effective_confidence
    strength = "" if left is None else f", {left:.2f} after fading and use"
    tell(f"  salience {found.salience:.2f}, confidence {found.confidence:.2f}{strength}")
    used = f"{found.retrieval_count} times retrieved, {found.citation_count} cited"
    tell(f"  {used}, {found.confirmations} said again")
    if found.topic_name:
        rank = f", core memory line {found.core_rank}" if found.core_rank else ""
        tell(f"  topic {flat(found.topic_name)}{rank}")
    tell(f"  {found.core_reason}")
    for quote in found.quotes:
        speaker = flat(quote.speaker or quote.role)
        whose, day = f"{quote.whose}{STILL_TOLD[quote.told]}", day_of(quote.event_time)
        said = f"{whose}: {speaker}, {day} in {flat(quote.source_name)}, {quote.turn_id}"
        tell(f'  "{flat(quote.content)[:QUOTED]}" ({said})')
    for turn_id in found.missing_turns:
        tell(f"  a turn that is no longer there: {turn_id}")
    _links("before it", found.before)
    _links("after it", found.after)
    for one in found.judgements:
        by = one.prompt_version or "no language model"
        tell(
            f"  judged {one.verdict} ({one.effect}) against {one.other_id} by {flat(by)}: {flat(one.reason or '')}"
        )
    for dispute in found.contradictions:
        state = f"resolved, {dispute.resolution}" if dispute.resolution else dispute.status
        tell(f"  contradiction {dispute.contradiction_id}, {state}: {flat(dispute.note or '')}")
    for step in found.steps:
        tell(f"  {step.at:%Y-%m-%d %H:%M} {flat(step.told)}")
    tell_notes(found.notes)


def show_weak(found: Sequence[Fading], *, now: datetime, more: int) -> None:
    """Memories with the day on which they fade, and how many more there are."""
    if not found:
        tell("Nothing fades in that time.")
        return
    made = table("fades", number("strength"), "last used", "memory", "id")
    for one in found:
        day = "next night" if one.fades_at <= now else f"{one.fades_at:%Y-%m-%d}"
        used, text = f"{one.last_accessed:%Y-%m-%d}", flat(one.content)[:QUOTED]
        made.add_row(day, f"{one.effective_confidence:.2f}", used, text, one.cell_id[:12])
    results().print(made)
    if more:
        tell(f"{more:,} more fade in that time: --limit shows them.")


def show_archived(found: Sequence[ForgottenCell]) -> None:
    """Archived memories, best first."""
    if not found:
        tell("Nothing that faded has these words.")
        return
    made = table("type", "memory", "id")
    for one in found:
        made.add_row(one.cell_type, flat(one.content)[:QUOTED], one.cell_id[:12])
    results().print(made)


def show_stats(found: Stats) -> None:
    """Counts of what a memory holds, as tables."""
    console = results()
    for title, counts in (
        ("status", found.by_status),
        ("type", found.by_type),
        ("origin", found.by_origin),
        ("said", found.by_age),
        ("topic", found.by_topic),
        ("use", found.usage),
    ):
        if counts:
            console.print(counts_table(title, counts))
    tell(
        f"{found.protected} confirmed by a person, {found.never_used} never used, {found.without_topic} without a topic"
    )
    tell(
        f"{found.open_contradictions} open contradictions, {found.tombstones} deleted, "
        f"{several(found.erased_turns, 'turn')} erased"
    )
    rate = found.false_forgetting_rate
    wrong = "" if rate is None else f": false forgetting {rate:.1%}"
    tell(f"archived {found.archived_events}, revived {found.revived_events}{wrong}")
    tell(
        f"journal {shown_bytes(found.journal_bytes)} in {several(found.journal_segments, 'segment')}, store "
        f"{shown_bytes(found.store_bytes)}, {several(found.turns, 'turn')}, {several(found.topics, 'topic')}"
    )
    for note in found.notes:
        tell(flat(note))


def _links(label: str, links: Sequence[Link]) -> None:
    for link in links:
        held = f"{link.status}, {from_day(link.valid_from)}{until(link.valid_until)}"
        if link.was_taken_back:
            held = TAKEN_BACK
        tell(f"  {label}: {flat(link.content)} ({held}, {link.cell_id})")
