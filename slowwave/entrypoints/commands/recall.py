"""The commands that read what is remembered, and `cite`, which says what of it was used."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer

from slowwave.entrypoints.commands.options import (
    Asked,
    HomeOption,
    JsonOption,
    ProjectOption,
    asks,
    named_project,
    reply,
)
from slowwave.entrypoints.resident.client import call, read
from slowwave.entrypoints.show.answer import show_answer
from slowwave.entrypoints.show.context import show_context
from slowwave.entrypoints.show.graph import show_entities, show_timeline
from slowwave.entrypoints.show.terminal import results, show_json
from slowwave.schemas.context import Context, ContextRequest
from slowwave.schemas.requests import CiteRequest, TimelineRequest
from slowwave.schemas.search import EntityResult, SearchRequest, SearchResult, Timeline


@asks(SearchRequest, "query")
def search(
    asked: Asked,
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each result was found.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the memory. No language model is asked. That a memory was found is noted; nothing else changes."""
    shown = partial(
        show_answer, now=datetime.now(UTC), explain=explain, is_narrowed=bool(asked.get("project"))
    )
    reply(read(home, "search", asked, SearchResult), shown, as_json=as_json)


@asks(ContextRequest, "question")
def context(asked: Asked, *, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Print memory for a prompt, within a budget of tokens. Stdout is the text and nothing else."""
    found = read(home, "context", asked, Context)
    reply(found, show_context, as_json=as_json)


@asks(CiteRequest, "cell_ids")
def cite(asked: Asked, *, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Say that memories were used in an answer. Cited memories are kept longest."""
    cited = call(home, "cite", asked, list[str])
    if as_json:
        show_json({"cited": cited})
    else:
        results().print(f"Noted: {len(cited)} cited.")


def entity(
    name: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="A person, a project, a tool or a place.")
    ],
    *,
    project: ProjectOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a person or thing. Its other names, its values now and before, its neighbours."""
    asked = {"name": " ".join(name), "project": named_project(project, home)}
    found = read(home, "entity", asked, EntityResult)
    reply(found, lambda found: show_entities(found, now=datetime.now(UTC)), as_json=as_json)


@asks(TimelineRequest, "name")
def timeline(asked: Asked, *, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show memories in the order of their dates. Superseded ones carry the date of their end."""
    found = read(home, "timeline", asked, Timeline)
    reply(found, show_timeline, as_json=as_json)


COMMANDS = (search, context, cite, entity, timeline)
"""In the order in which the help lists them."""
