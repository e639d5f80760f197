"""One record of what tools answer, made of one part of a result of `Memory`: each text in one line, and cut."""

from collections.abc import Sequence
from datetime import datetime

from slowwave.entrypoints.mcp.answers.shapes import ToldMemory, ToldSummary, ToldTurn
from slowwave.entrypoints.mcp.asking import for_the_model
from slowwave.models.page_lines import page_line
from slowwave.schemas.choices import WHOSE
from slowwave.schemas.lists import CellRow
from slowwave.schemas.moments import day_of, from_day, is_unknown
from slowwave.schemas.report import several_memories
from slowwave.schemas.results import Link, Quote, Side
from slowwave.schemas.results.explanation import is_taken_back
from slowwave.schemas.search import (
    CellHit,
    ChainStep,
    EntityPage,
    Fact,
    FormerValue,
    Hit,
    TimelineEvent,
    TopicHit,
    TurnHit,
)

TEXT_CHARACTERS = 800
"""Characters of one memory; of a longer one `explain_fact` tells more, and search chooses the parts that matter."""

REMARK_CHARACTERS = 200
NAME_CHARACTERS = 80

PERSON = "a person said"
CONFIRMED = "confirmed by a person"
TAKEN_BACK = "taken back: it never held"

STEP_NAMES = {
    "causal": "led to it",
    "supersedes": "was replaced by it",
    "elaborates": "is told further by it",
}


def of_cell(hit: CellHit, *, has_projects: bool = False) -> ToldMemory:
    """A memory that answers; with its project where those of several do."""
    steps = [
        f"step {number}: {cut(step, REMARK_CHARACTERS)}" for number, step in enumerate(hit.steps, start=1)
    ]
    form = [f"form: {cut(hit.template, REMARK_CHARACTERS)}"] if hit.template else []
    state = [] if hit.status == "active" else [hit.status]
    doubt = ["in an open contradiction"] if hit.has_open_contradiction else []
    if hit.rival is not None:
        doubt = [
            f"undecided; the other side: {cut(hit.rival.content, REMARK_CHARACTERS)} (id {hit.rival.cell_id})"
        ]
    echo = [cut(hit.echo, REMARK_CHARACTERS)] if hit.echo else []
    again = [f"said again {hit.confirmations} times"] if hit.confirmations else []
    return ToldMemory(
        cell_id=hit.cell_id,
        cell_type=hit.cell_type,
        text=_chosen(hit, hit.text),
        date=day_of(hit.event_time),
        source=cut(hit.source_name, NAME_CHARACTERS),
        said_by=hit.whose or PERSON,
        remarks=[
            *state,
            *doubt,
            *echo,
            *steps,
            *form,
            *map(_former, hit.history),
            *again,
            *(_project(hit) if has_projects else []),
        ],
    )


def of_reason(step: ChainStep) -> ToldMemory:
    """A memory that led to one that answers."""
    how = f"{STEP_NAMES.get(step.relation, step.relation)}: {step.reached_from}"
    return ToldMemory(
        cell_id=step.cell_id,
        cell_type=step.cell_type,
        text=cut(step.content if step.excerpt is None else step.excerpt.text),
        date=day_of(step.event_time),
        source=cut(step.source_name, NAME_CHARACTERS),
        said_by=step.whose or PERSON,
        remarks=[how, *([] if step.status == "active" else [step.status])],
    )


def of_row(row: CellRow, *, has_projects: bool = False) -> ToldMemory:
    """A memory of a list, in short; with its project where the list has those of several."""
    topic = [f"topic {cut(row.topic_name, NAME_CHARACTERS)}"] if row.topic_name else []
    state = _state(row.status, row.superseded_by, row.valid_from, row.valid_until)
    return ToldMemory(
        cell_id=row.cell_id,
        cell_type=row.cell_type,
        text=cut(row.content, TEXT_CHARACTERS // 4),
        date=day_of(row.event_time),
        source=cut(row.source_name, NAME_CHARACTERS),
        said_by=PERSON if row.protected else who_said(row.origin),
        remarks=[*state, *topic, *(_project(row) if has_projects else [])],
    )


def _project(memory: CellHit | CellRow) -> list[str]:
    return [f"of the project {cut(memory.project_id, NAME_CHARACTERS)}"]


def of_topic(hit: TopicHit) -> ToldSummary:
    """A topic that answers."""
    return ToldSummary(
        title=cut(hit.name, NAME_CHARACTERS),
        text=_chosen(hit, hit.summary),
        date=day_of(hit.updated_at),
        remarks=[
            *(["a memory behind it changed since"] if hit.is_outdated else []),
            several_memories(hit.cell_count),
            *([hit.whose] if hit.whose else []),
        ],
    )


def of_entity(page: EntityPage) -> ToldSummary:
    """A person or thing: its summary, other names and neighbours."""
    aliases = [f"also called {', '.join(map(page_line, page.aliases))}"] if page.aliases else []
    beside = ", ".join(f"{page_line(one.name)} ({one.shared_count})" for one in page.neighbours)
    since = "" if is_unknown(page.first_at) else f" since {day_of(page.first_at)}"
    old = ["a memory behind the summary was superseded since"] if page.summary and page.needs_review else []
    return ToldSummary(
        title=cut(page.name, NAME_CHARACTERS),
        text=cut(page.summary or "", 2 * TEXT_CHARACTERS),
        date=day_of(page.last_at),
        remarks=[
            *([page.entity_type] if page.entity_type else []),
            f"{several_memories(page.mention_count)}{since}",
            *(cut(line, REMARK_CHARACTERS) for line in aliases),
            *([cut(f"named together with {beside}", REMARK_CHARACTERS)] if beside else []),
            *old,
        ],
    )


def of_fact(page: EntityPage, fact: Fact) -> ToldMemory:
    """A value of a person or thing, with those before."""
    doubt = ["in an open contradiction"] if fact.has_open_contradiction else []
    return ToldMemory(
        cell_id=fact.cell_id,
        cell_type="fact",
        text=cut(f"{page.name}: {fact.attribute} = {fact.value}. {fact.content}"),
        date=day_of(fact.since),
        remarks=[*doubt, *map(_former, fact.history)],
    )


def of_event(event: TimelineEvent) -> ToldMemory:
    """A memory at its date."""
    return ToldMemory(
        cell_id=event.cell_id,
        cell_type=event.cell_type,
        text=cut(event.content, TEXT_CHARACTERS // 2),
        date=day_of(event.at),
        source=cut(event.source_name, NAME_CHARACTERS),
        said_by=event.whose or PERSON,
        remarks=_state(event.status, event.superseded_by, event.at, event.until),
    )


def of_link(how: str, link: Link) -> ToldMemory:
    """A memory before or after another, and `how` it stands to it."""
    held = f"{link.status}, {from_day(link.valid_from)}{until(link.valid_until)}"
    if link.was_taken_back:
        held = TAKEN_BACK
    return ToldMemory(
        cell_id=link.cell_id,
        cell_type="",
        text=cut(link.content, TEXT_CHARACTERS // 2),
        date=day_of(link.valid_from),
        remarks=[how, held],
    )


def of_side(side: Side | None) -> ToldMemory | None:
    """One side of a contradiction; null where it is no longer there."""
    if side is None:
        return None
    return ToldMemory(
        cell_id=side.cell_id,
        cell_type="",
        text=cut(side.content),
        date=day_of(side.event_time),
        source=cut(side.source_name, NAME_CHARACTERS),
        said_by=CONFIRMED if side.protected else who_said(side.origin),
        remarks=[] if side.status == "active" else [side.status],
    )


def of_turn(hit: TurnHit) -> ToldTurn:
    """A message that answers."""
    return ToldTurn(
        turn_id=hit.turn_id,
        text=_chosen(hit, hit.content),
        date=day_of(hit.event_time),
        source=cut(hit.source_name, NAME_CHARACTERS),
        said_by=f"{page_line(hit.said_by)} ({hit.whose or PERSON})",
    )


def of_quote(quote: Quote) -> ToldTurn:
    """A message that a memory rests on, and whose word the memory is there."""
    return ToldTurn(
        turn_id=quote.turn_id,
        text=cut(quote.content),
        date=day_of(quote.event_time),
        source=cut(quote.source_name, NAME_CHARACTERS),
        said_by=f"{page_line(quote.speaker or quote.role)} ({page_line(quote.whose)})",
    )


def _state(status: str, by: str | None, since: datetime, end: datetime | None) -> list[str]:
    """Remarks on a memory that does not hold any more, or faded: since when, and what took its place."""
    if is_taken_back(status, since, end):
        return [TAKEN_BACK if by is None else f"{TAKEN_BACK}; right is {by}"]
    if by is None:
        return [] if status == "active" else [f"{status}{until(end)}"]
    return [*([f"held{until(end)}"] if end else []), f"superseded by {by}"]


def who_said(origin: str) -> str:
    """Words for whose word an origin is; an unknown origin as it is."""
    return next((said for name, said in WHOSE.items() if name == origin), origin) or PERSON


def _chosen(hit: Hit, whole: str) -> str:
    """The parts of a text that tell what was asked, where search chose some."""
    return cut(whole if hit.excerpt is None else hit.excerpt.text, 2 * TEXT_CHARACTERS)


def _former(value: FormerValue) -> str:
    return f"before: {cut(value.value, REMARK_CHARACTERS)} ({from_day(value.valid_from)}{until(value.valid_until)})"


def cut(text: str, most: int = TEXT_CHARACTERS) -> str:
    """Text in one line of at most so many characters."""
    line = page_line(text)
    return line if len(line) <= most else f"{line[:most].rstrip()} ..."


def cut_or_none(text: str | None) -> str | None:
    """A short text in one line, where there is one."""
    return None if text is None else cut(text, REMARK_CHARACTERS)


def cut_notes(notes: Sequence[str]) -> list[str]:
    """Notes in one line each, with the names of tools instead of commands."""
    return [cut(for_the_model(note), 2 * REMARK_CHARACTERS) for note in notes]


def until(end: datetime | None) -> str:
    """` until YYYY-MM-DD`, or nothing."""
    return f" until {day_of(end)}" if end else ""
