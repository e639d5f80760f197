"""Memories, topics and entities as blocks: lists of them, and one memory with all that is known of it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from slowwave.interfaces.rendering.blocks import (
    Block,
    Heading,
    Line,
    Render,
    Span,
    line,
    notes,
    quote,
    table,
)
from slowwave.interfaces.rendering.view import View
from slowwave.interfaces.rendering.words import PERSON, clipped, short, until, valid, with_short_ids
from slowwave.schemas.choices import RAW_PROMPT
from slowwave.schemas.moments import day_of
from slowwave.schemas.results import Cell, Entity, Life, Topic, Turn, Use

NEVER_TRUE: Final = "corrected: it was never true"
PARTLY_CORRECTED: Final = "corrected in part: the messages below say which"
STILL_QUOTED: Final = {None: "", "whole": "", "in part": ", partly outdated", "no": ", outdated"}


def word_of(cell: Cell) -> str:
    """Words for whose word a memory is."""
    return cell.whose or ("confirmed by a person" if cell.protected else PERSON)


# Lists


def _cells(found: Sequence[Cell], view: View) -> list[Block]:
    """One row a memory; a column that says the same of all is left out."""
    columns: dict[str, Callable[[Cell], str]] = {
        "id": lambda cell: short(cell.cell_id),
        "said": lambda cell: day_of(cell.event_time),
        "type": lambda cell: cell.cell_type,
        "by": lambda cell: cell.whose.removesuffix(" said") or "a person",
    }
    if any(cell.status != "active" for cell in found):
        columns["status"] = _status
    if len({cell.project_id for cell in found}) > 1:
        columns["project"] = lambda cell: cell.project_id
    if any(cell.use and cell.use.fades_at for cell in found):
        columns["fades"] = lambda cell: _fades(cell.use or Use(), view)
    columns["memory"] = lambda cell: clipped(cell.content)
    return table(found, columns, "No memory passes these filters.")


def _status(cell: Cell) -> str:
    if cell.was_taken_back:
        return NEVER_TRUE
    by = f" by {short(cell.superseded_by)}" if cell.superseded_by else ""
    return f"{cell.status}{by}{until(cell.valid_until)}"


def _fades(use: Use, view: View) -> str:
    """The day on which a memory is archived unless it is used."""
    return day_of(use.fades_at) if use.fades_at and use.fades_at > view.now else "next night"


def _topics(found: Sequence[Topic], view: View) -> list[Block]:
    """Topics, largest first, with the beginning of their summaries."""
    columns: dict[str, Callable[[Topic], str]] = {
        "id": lambda one: short(one.topic_id),
        "memories": lambda one: f"{one.cell_count:,}",
        "topic": lambda one: one.name,
        "summary": lambda one: clipped(one.summary or "no summary yet"),
    }
    return table(found, columns)


def _entities(found: Sequence[Entity], view: View) -> list[Block]:
    """People and things, most mentioned first."""
    columns: dict[str, Callable[[Entity], str]] = {
        "memories": lambda one: f"{one.mention_count:,}",
        "type": lambda one: one.entity_type or "",
        "name": lambda one: one.name,
        "also called": lambda one: ", ".join(one.aliases),
    }
    return table(found, columns)


# One memory


def _cell(found: Cell, view: View) -> list[Block]:
    """A memory with its fields, its use and the messages that it rests on; in an explanation with its life."""
    life = found.life
    return [
        Heading(
            f"Memory {short(found.cell_id)} [{found.cell_type}] ({life.state if life else _status(found)})"
        ),
        quote(found.content),
        *_stated(found),
        *([line(found.summary)] if found.summary and life else []),
        line(f"said {day_of(found.event_time)}, {_held(found)}, {word_of(found)}"),
        *(_made(found, life) if life else []),
        line(_strength(found, found.use or Use())),
        *_topic(found),
        *([line(life.core_reason)] if life else []),
        *map(_quoted, found.evidence),
        *(line(f"message {short(one)} is no longer there", indent=1) for one in found.missing_turns),
        *(_life(life) if life else []),
        *notes(life.notes if life else []),
    ]


def _stated(found: Cell) -> list[Line]:
    about = " / ".join(clipped(part) for part in (found.subject, found.attribute) if part)
    return [line(f"states {about} = {clipped(found.value or '?')}")] if about else []


def _held(found: Cell) -> str:
    if not found.was_taken_back:
        return f"valid {valid(found.valid_from, found.valid_until)}"
    is_in_part = found.prompt_version == RAW_PROMPT and any(turn.told != "no" for turn in found.evidence)
    return PARTLY_CORRECTED if is_in_part else NEVER_TRUE


def _made(found: Cell, life: Life) -> list[Line]:
    by, chunk = life.model or "no language model", short(life.chunk_id or "none")
    return [
        line(f"made by {found.prompt_version} ({by}), chunk {chunk}"),
        line(f"from {found.source_name}"),
    ]


def _strength(found: Cell, use: Use) -> str:
    left = use.effective_confidence
    strength = "" if left is None else f", {left:.2f} after fading and use"
    used = (
        f"{use.retrieval_count} times retrieved, {use.citation_count} cited, {use.confirmations} said again"
    )
    return f"salience {found.salience:.2f}, confidence {found.confidence:.2f}{strength}; {used}"


def _topic(found: Cell) -> list[Line]:
    rank = found.use.core_rank if found.use else None
    parts = [
        *([f"line {rank} of core memory"] if rank else []),
        *([f"topic {clipped(found.topic_name)}"] if found.topic_name else []),
    ]
    return [line(", ".join(parts))] if parts else []


def _quoted(turn: Turn) -> Line:
    said = f"message {short(turn.turn_id)}, {day_of(turn.event_time)}, {turn.whose}{STILL_QUOTED[turn.told]}"
    text = f"{said}, {clipped(turn.speaker or turn.role)}: {clipped(turn.content)}"
    return line(Span(text, "dim"), indent=1)


def _life(life: Life) -> Iterator[Line]:
    """The memories before and after one, its judgements, its contradictions and its events."""
    for how, cells in (("took the place of", life.before), ("was replaced by", life.after)):
        for cell in cells:
            held = f"{cell.status}, {valid(cell.valid_from, cell.valid_until)}"
            held = NEVER_TRUE if cell.was_taken_back else held
            yield line(f"{how} {short(cell.cell_id)} ({held}): {clipped(cell.content)}", indent=1)
    for one in life.judgements:
        by = one.prompt_version or "no language model"
        verdict = f"judged {one.verdict} ({one.effect}) against {short(one.other_id)} by {by}"
        yield line(f"{verdict}: {clipped(one.reason or 'no reason kept')}", indent=1)
    for dispute in life.contradictions:
        state = f"resolved, {dispute.resolution}" if dispute.resolution else dispute.status
        why = clipped(dispute.note or "no reason kept")
        yield line(f"contradiction {short(dispute.contradiction_id)}, {state}: {why}", indent=1)
    for event in life.events:
        yield line(f"{event.at:%Y-%m-%d %H:%M} {with_short_ids(event.told)}", indent=1)


RENDERERS: Final[dict[str, Render]] = {"Cell": _cell}
LISTS: Final[dict[str, Render]] = {"Cell": _cells, "Topic": _topics, "Entity": _entities}
