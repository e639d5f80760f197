"""Entities and timelines, for a terminal."""

from datetime import datetime

from rich.text import Text

from slowwave.entrypoints.show.terminal import ago, flat, results, say, until, visible
from slowwave.schemas.moments import day_of, from_day
from slowwave.schemas.report import several_memories
from slowwave.schemas.search import EntityPage, EntityResult, Fact, Timeline, TimelineEvent

LINE_CHARACTERS = 300
"""Characters of one memory on the screen; `--json` gives all of it."""


def show_entities(found: EntityResult, *, now: datetime) -> None:
    """Each entity under its name."""
    console = results()
    for note in found.notes:
        say(note)
    has_projects = len({page.project_id for page in found.entities}) > 1
    for page in found.entities:
        for line in _page(page, now, project=flat(page.project_id) if has_projects else ""):
            console.print(line, soft_wrap=not console.is_terminal)


def show_timeline(found: Timeline) -> None:
    """One line an event, oldest first."""
    console = results()
    for note in found.notes:
        say(note)
    console.print(Text(f"--- Timeline: {flat(found.title)} ---", style="bold"))
    for event in found.events:
        console.print(_event(event), soft_wrap=not console.is_terminal)


def _page(page: EntityPage, now: datetime, *, project: str) -> list[Text]:
    where = f", project {project}" if project else ""
    kind = f" [{page.entity_type}]" if page.entity_type else ""
    count = several_memories(page.mention_count)
    lines = [
        Text(f"--- {flat(page.name)}{kind} ({count}{where}, last {ago(page.last_at, now)}) ---", style="bold")
    ]
    if page.aliases:
        lines.append(Text(f"also called: {', '.join(flat(alias) for alias in page.aliases)}"))
    if page.summary:
        lines.append(Text(visible(page.summary)))
        if page.needs_review:
            lines.append(
                Text("(a memory behind this was superseded; the next night writes it anew)", style="dim")
            )
    lines += [line for fact in page.facts for line in _fact(fact)]
    if page.neighbours:
        beside = ", ".join(f"{flat(one.name)} ({one.shared_count})" for one in page.neighbours)
        lines.append(Text(f"named together with: {beside}", style="dim"))
    if page.lately:
        lines.append(Text("lately:", style="dim"))
        lines += [_event(event) for event in page.lately]
    return [*lines, Text("")]


def _fact(fact: Fact) -> list[Text]:
    first = Text(f"  {flat(fact.attribute)}: {flat(fact.value)} (since {day_of(fact.since)})")
    if fact.has_open_contradiction:
        first.append(" open contradiction", style="bold red")
    former = [
        f"      before: {flat(one.value)} ({from_day(one.valid_from)}{until(one.valid_until)})"
        for one in fact.history
    ]
    return [first, *(Text(line, style="dim") for line in former)]


def _event(event: TimelineEvent) -> Text:
    text = flat(event.content)
    if len(text) > LINE_CHARACTERS:
        text = f"{text[:LINE_CHARACTERS].rstrip()} ..."
    line = Text(f"  {day_of(event.at)}  [{event.cell_type}] {text}")
    if event.status == "superseded":
        line.append(f" (superseded{until(event.until)})", style="italic")
        line.stylize("dim")
    elif event.status == "archived":
        line.append(" (archived)", style="italic")
    return line
