"""The commands that look at the graph: `entity` and `timeline`."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from slowwave.entrypoints.commands.options import HomeOption, JsonOption
from slowwave.entrypoints.show.terminal import ago, flat, results, say, show_json, visible
from slowwave.schemas.graph import EntityPage, EntityResult, Fact, Timeline, TimelineEvent

LINE_CHARACTERS = 300
"""Characters of one memory on the screen; `--json` gives all of it."""


def entity(
    name: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="A person, a project, a tool, a place.")
    ],
    *,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell who or what a name stands for. Its other names, its values now and before, who stands beside it."""
    from slowwave.home.paths import open_home
    from slowwave.search import open_reader
    from slowwave.search.entity import describe

    found = describe(open_reader(open_home(home)), " ".join(name))
    if as_json:
        show_json(found)
    else:
        show_entities(found, now=datetime.now(UTC))


def timeline(
    name: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="A person, a thing or a subject.")
    ] = None,
    *,
    topic: Annotated[
        str, typer.Option("--topic", metavar="NAME", help="Of a topic instead, by its name or id.")
    ] = "",
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Of a conversation instead, by id or file name.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most events; the newest are kept.")] = 100,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show dated memories in their order. What was superseded is marked with its end."""
    from slowwave.home.paths import open_home
    from slowwave.search import open_reader
    from slowwave.search.timeline import timeline as read

    reader = open_reader(open_home(home))
    found = read(reader, " ".join(name or []), topic=topic, session=session, limit=limit)
    if as_json:
        show_json(found)
    else:
        show_timeline(found)


def show_entities(found: EntityResult, *, now: datetime) -> None:
    """Each entity under its name."""
    console = results()
    for note in found.notes:
        say(note)
    for page in found.entities:
        for line in _page(page, now):
            console.print(line, soft_wrap=not console.is_terminal)


def show_timeline(found: Timeline) -> None:
    """One line an event, oldest first."""
    console = results()
    for note in found.notes:
        say(note)
    console.print(Text(f"--- Timeline: {flat(found.title)} ---", style="bold"))
    for event in found.events:
        console.print(_event(event), soft_wrap=not console.is_terminal)


def _page(page: EntityPage, now: datetime) -> list[Text]:
    kind = f" [{page.entity_type}]" if page.entity_type else ""
    count = "1 memory" if page.mention_count == 1 else f"{page.mention_count} memories"
    lines = [Text(f"--- {flat(page.name)}{kind} ({count}, last {ago(page.last_at, now)}) ---", style="bold")]
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
    first = Text(f"  {flat(fact.attribute)}: {flat(fact.value)} (since {fact.since:%Y-%m-%d})")
    if fact.has_open_contradiction:
        first.append(" open contradiction", style="bold red")
    former = [
        f"      before: {flat(one.value)} (from {one.valid_from:%Y-%m-%d}"
        + (f" until {one.valid_until:%Y-%m-%d})" if one.valid_until else ")")
        for one in fact.history
    ]
    return [first, *(Text(line, style="dim") for line in former)]


def _event(event: TimelineEvent) -> Text:
    text = flat(event.content)
    if len(text) > LINE_CHARACTERS:
        text = f"{text[:LINE_CHARACTERS].rstrip()} ..."
    line = Text(f"  {event.at:%Y-%m-%d}  [{event.cell_type}] {text}")
    if event.status == "superseded":
        until = f" until {event.until:%Y-%m-%d}" if event.until else ""
        line.append(f" (superseded{until})", style="italic")
        line.stylize("dim")
    elif event.status == "archived":
        line.append(" (archived)", style="italic")
    return line
