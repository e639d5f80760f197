"""Memories as blocks: lists of them, one with its life, those that fade and those that faded."""

from collections.abc import Iterator, Sequence
from typing import Final

from slowwave.interfaces.rendering.blocks import (
    Block,
    Heading,
    Line,
    Opening,
    Render,
    Span,
    Table,
    line,
    notes,
    quote,
)
from slowwave.interfaces.rendering.view import View
from slowwave.interfaces.rendering.words import PERSON, clipped, short, until, valid, with_short_ids
from slowwave.schemas.choices import RAW_PROMPT, WHOSE
from slowwave.schemas.lists import CellDetail, CellRow, EntityRow, EpisodeRow
from slowwave.schemas.moments import day_of
from slowwave.schemas.results import Explanation, Fading, ForgottenCell, Link, Quote, TopicSummary
from slowwave.schemas.results.explanation import is_taken_back

NEVER_TRUE: Final = "corrected: it was never true"
PARTLY_CORRECTED: Final = "corrected in part: the messages below say which"
STILL_QUOTED: Final = {"whole": "", "in part": ", partly outdated", "no": ", outdated"}


def whose(origin: str) -> str:
    """Name of an origin for readers; an unknown origin as it is."""
    return next((said for name, said in WHOSE.items() if name == origin), origin) or PERSON


# Lists


def _cells(found: Sequence[CellRow], view: View) -> list[Block]:
    """One row a memory, newest first."""
    if not found:
        return [Opening("No memory passes these filters.")]
    has_projects = len({cell.project_id for cell in found}) > 1
    has_status = any(cell.status != "active" for cell in found)
    rows = tuple(tuple(_row(cell, has_status=has_status, has_projects=has_projects)) for cell in found)
    columns = ["id", "said", "type", "by", *["status"] * has_status, *["project"] * has_projects, "memory"]
    return [Table(tuple(columns), rows)]


def _row(cell: CellRow, *, has_status: bool, has_projects: bool) -> Iterator[str]:
    yield from (short(cell.cell_id), day_of(cell.event_time), cell.cell_type)
    yield "a person" if cell.protected else whose(cell.origin).removesuffix(" said")
    if has_status:
        yield _status(cell)
    if has_projects:
        yield cell.project_id
    yield clipped(cell.content)


def _status(cell: CellRow) -> str:
    if is_taken_back(cell.status, cell.valid_from, cell.valid_until):
        return NEVER_TRUE
    by = f" by {short(cell.superseded_by)}" if cell.superseded_by else ""
    return f"{cell.status}{by}{until(cell.valid_until)}"


def _topics(found: Sequence[TopicSummary], view: View) -> list[Block]:
    """Topics, largest first, with the beginning of their summaries."""
    rows = tuple(
        (short(one.topic_id), f"{one.cell_count:,}", one.name, clipped(one.summary or "no summary yet"))
        for one in found
    )
    return _table(("id", "memories", "topic", "summary"), rows)


def _entities(found: Sequence[EntityRow], view: View) -> list[Block]:
    """People and things, most mentioned first."""
    rows = tuple(
        (f"{one.mention_count:,}", one.entity_type or "", one.name, ", ".join(one.aliases)) for one in found
    )
    return _table(("memories", "type", "name", "also called"), rows)


def _episodes(found: Sequence[EpisodeRow], view: View) -> list[Block]:
    """Conversations, newest first."""
    rows = tuple(
        (short(one.cell_id), day_of(one.event_time), one.status, clipped(one.content)) for one in found
    )
    return _table(("id", "ended", "status", "conversation"), rows)


def _table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> list[Block]:
    return [Table(columns, rows)] if rows else [Opening("Nothing is on this page.")]


def _fading(found: Sequence[Fading], view: View) -> list[Block]:
    """Memories with the day on which they fade unless they are used, the next ones first."""
    if not found:
        return [Opening("Nothing fades in that time.")]
    rows = tuple(
        (
            short(one.cell_id),
            "next night" if one.fades_at <= view.now else day_of(one.fades_at),
            day_of(one.last_accessed),
            f"{one.effective_confidence:.2f}",
            one.whose or PERSON,
            clipped(one.content),
        )
        for one in found
    )
    return [Table(("id", "fades", "last used", "strength", "whose word", "memory"), rows, frozenset({3}))]


def _archived(found: Sequence[ForgottenCell], view: View) -> list[Block]:
    """Archived memories, best first."""
    if not found:
        return [Opening("No archived memory has these words.")]
    rows = tuple((short(one.cell_id), one.cell_type, clipped(one.content)) for one in found)
    return [Table(("id", "type", "memory"), rows)]


# One memory


def _cell_detail(found: CellDetail, view: View) -> list[Block]:
    """A memory with its fields, its use and the messages that it rests on."""
    held = valid(found.valid_from, found.valid_until)
    return [
        Heading(f"Memory {short(found.cell_id)} [{found.cell_type}] ({_status(found)})"),
        quote(found.content),
        *_facts(found.subject, found.attribute, found.value),
        line(f"said {day_of(found.event_time)}, valid {held}, {_word(found.origin, found.protected)}"),
        line(_strength(found)),
        *_topic(found.topic_name, found.core_rank),
        *map(_quoted, found.evidence),
        *_missing(found.missing_turns),
    ]


def _explanation(found: Explanation, view: View) -> list[Block]:
    """A memory with its messages, what was before and after it, its judgements and its events."""
    return [
        Heading(f"Memory {short(found.cell_id)} [{found.cell_type}] ({found.state})"),
        quote(found.content),
        *_facts(found.subject, found.attribute, found.value),
        *([line(found.summary)] if found.summary else []),
        *_origin(found),
        line(_strength(found)),
        *_topic(found.topic_name, found.core_rank),
        line(found.core_reason),
        *map(_quoted, found.quotes),
        *_missing(found.missing_turns),
        *(_link("took the place of", one) for one in found.before),
        *(_link("was replaced by", one) for one in found.after),
        *_judged(found),
        *_disputed(found),
        *(line(f"{step.at:%Y-%m-%d %H:%M} {with_short_ids(step.told)}", indent=1) for step in found.steps),
        *notes(found.notes),
    ]


def _facts(subject: str | None, attribute: str | None, value: str | None) -> list[Line]:
    about = " / ".join(clipped(part) for part in (subject, attribute) if part)
    return [line(f"states {about} = {clipped(value or '?')}")] if about else []


def _origin(found: Explanation) -> list[Line]:
    held = f"valid {valid(found.valid_from, found.valid_until)}"
    if found.was_taken_back:
        is_in_part = found.prompt_version == RAW_PROMPT and any(one.told != "no" for one in found.quotes)
        held = PARTLY_CORRECTED if is_in_part else NEVER_TRUE
    by = found.model or "no language model"
    return [
        line(f"said {day_of(found.event_time)}, {held}, {_word(found.origin, found.protected)}"),
        line(f"made by {found.prompt_version} ({by}), chunk {short(found.chunk_id or 'none')}"),
        line(f"from {found.source_name}"),
    ]


def _word(origin: str, is_protected: bool) -> str:
    return "confirmed by a person" if is_protected else whose(origin)


def _strength(found: CellDetail | Explanation) -> str:
    left = found.effective_confidence
    strength = "" if left is None else f", {left:.2f} after fading and use"
    used = f"{found.retrieval_count} times retrieved, {found.citation_count} cited, {found.confirmations} said again"
    return f"salience {found.salience:.2f}, confidence {found.confidence:.2f}{strength}; {used}"


def _topic(name: str | None, core_rank: int | None) -> list[Line]:
    rank = f"line {core_rank} of core memory, " if core_rank else ""
    return [line(f"{rank}topic {clipped(name)}")] if name else []


def _quoted(one: Quote) -> Line:
    said = f"message {short(one.turn_id)}, {day_of(one.event_time)}, {one.whose}{STILL_QUOTED[one.told]}"
    return line(Span(f"{said}, {clipped(one.speaker or one.role)}: {clipped(one.content)}", "dim"), indent=1)


def _missing(turn_ids: Sequence[str]) -> list[Line]:
    return [line(f"message {short(one)} is no longer there", indent=1) for one in turn_ids]


def _link(how: str, link: Link) -> Line:
    held = NEVER_TRUE if link.was_taken_back else f"{link.status}, {valid(link.valid_from, link.valid_until)}"
    return line(f"{how} {short(link.cell_id)} ({held}): {clipped(link.content)}", indent=1)


def _judged(found: Explanation) -> Iterator[Line]:
    for one in found.judgements:
        by = one.prompt_version or "no language model"
        verdict = f"judged {one.verdict} ({one.effect}) against {short(one.other_id)} by {by}"
        yield line(f"{verdict}: {clipped(one.reason or 'no reason kept')}", indent=1)


def _disputed(found: Explanation) -> Iterator[Line]:
    for one in found.contradictions:
        state = f"resolved, {one.resolution}" if one.resolution else one.status
        why = clipped(one.note or "no reason kept")
        yield line(f"contradiction {short(one.contradiction_id)}, {state}: {why}", indent=1)


RENDERERS: Final[dict[str, Render]] = {
    "CellDetail": _cell_detail,
    "Explanation": _explanation,
}
LISTS: Final[dict[str, Render]] = {
    "CellRow": _cells,
    "EntityRow": _entities,
    "EpisodeRow": _episodes,
    "TopicSummary": _topics,
    "Fading": _fading,
    "ForgottenCell": _archived,
}
