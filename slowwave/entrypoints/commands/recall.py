"""The commands that read, `search` and `context`, and `cite`, which says what of it was used."""

from datetime import UTC, datetime
from typing import Annotated, get_args

import typer

from slowwave.entrypoints.commands.options import HomeOption, JsonOption
from slowwave.entrypoints.resident.client import ask_resident, leave_resident
from slowwave.errors import InputError, TransientError
from slowwave.language.time_phrases import Use, time_of_filter
from slowwave.schemas.choices import CellType, SourceType
from slowwave.schemas.context import Activity, ContextRequest
from slowwave.schemas.refusals import possible
from slowwave.schemas.search import DetailLevel, Filters, Scope, SearchResult

ProjectOption = Annotated[
    str | None, typer.Option("--project", metavar="ID", help="Only of this project, of what you may see.")
]


def search(
    words: Annotated[list[str], typer.Argument(metavar="QUERY...", help="A question, or words.")],
    *,
    limit: Annotated[int | None, typer.Option("--limit", min=1, max=25, help="Most results.")] = None,
    detail: Annotated[
        DetailLevel,
        typer.Option(
            "--detail", help="`summary`: topics alone; `full`: memories too; `evidence`: and what was said."
        ),
    ] = "full",
    cell_type: Annotated[
        list[str] | None, typer.Option("--type", help="Only this type of memory; may be repeated.")
    ] = None,
    source: Annotated[
        SourceType | None, typer.Option("--source", help="Only from this kind of source.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option("--entity", metavar="NAME", help="Only what names this person or thing.")
    ] = None,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="TIME", help="2026-05-01, last_week, 3_days_ago and the like."),
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="TIME", help="Before the time begins.")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="TIME", help="What held when that day was over.")
    ] = None,
    known_at: Annotated[
        str | None, typer.Option("--known-at", metavar="TIME", help="What Slowwave had learned by then.")
    ] = None,
    scope: Annotated[Scope | None, typer.Option("--scope", help="Only memory of this scope.")] = None,
    project: ProjectOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each result was found.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the memory. No model is asked; that something was found is noted, and nothing else changes."""
    from slowwave.entrypoints.show.answer import show_answer
    from slowwave.entrypoints.show.terminal import show_json

    now = datetime.now(UTC)
    wanted = {
        "cell_types": _types(cell_type or []),
        "source_type": source,
        "entity": entity,
        "after": _moment(after, "after", now),
        "before": _moment(before, "before", now),
        "as_of": _moment(as_of, "as_of", now),
        "known_at": _moment(known_at, "as_of", now),
        "scope": scope,
        "project": project,
    }
    filters = possible(Filters, wanted, what="filter: ")
    found = _answer(home, " ".join(words), limit, detail, filters)
    if as_json:
        show_json(found)
    else:
        show_answer(found, now=now, explain=explain)


def context(
    question: Annotated[
        list[str] | None, typer.Argument(metavar="[QUESTION...]", help="What is asked, or the task at hand.")
    ] = None,
    *,
    activity: Annotated[
        Activity, typer.Option("--activity", help="What is being done; it decides the tiers' shares.")
    ] = "general",
    current_file: Annotated[
        str | None, typer.Option("--file", metavar="PATH", help="The file being worked in.")
    ] = None,
    error: Annotated[
        list[str] | None, typer.Option("--error", metavar="TEXT", help="A recent error; may be repeated.")
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", metavar="NAME", help="The branch worked on.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", min=1, metavar="TOKENS", help="Most tokens; else the setting.")
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", metavar="ID", help="Who reads it; --small never repeats itself."),
    ] = None,
    small: Annotated[bool, typer.Option("--small", help="The short form for every message.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Memory for a prompt, within a budget of tokens. Stdout is the text and nothing else."""
    from slowwave.context import assemble
    from slowwave.entrypoints.show.context import show_context
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.home.paths import open_home
    from slowwave.search import open_reader

    signals = {
        "question": " ".join(question or []),
        "activity": activity,
        "current_file": current_file,
        "recent_errors": tuple(error or ()),
        "branch": branch,
        "budget_tokens": budget,
        "conversation_id": conversation or None,
        "small": small,
    }
    request = possible(ContextRequest, signals)
    found = assemble(open_reader(open_home(home)), request, now=datetime.now(UTC))
    if as_json:
        show_json(found)
    else:
        show_context(found)


def cite(
    cell_ids: Annotated[
        list[str],
        typer.Argument(metavar="CELL_ID...", help="Memories, by id or by its first 6 or more digits."),
    ],
    *,
    where: Annotated[
        str, typer.Option("--context", metavar="TEXT", help="Where it was used: a conversation, a file.")
    ] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say that memories were used. What is cited is kept longest."""
    from slowwave.entrypoints.show.terminal import results, show_json
    from slowwave.home.paths import open_home
    from slowwave.home.usage import cite as note_cited

    cited = note_cited(open_home(home), cell_ids, context=where, now=datetime.now(UTC))
    if as_json:
        show_json({"cited": cited})
    else:
        results().print(f"Noted: {len(cited)} cited.")


def _answer(
    home: str | None, query: str, limit: int | None, detail: DetailLevel, filters: Filters
) -> SearchResult:
    """The answer of the reader that stays; without one this process reads, and leaves one for the next question."""
    arguments = {"query": query, "limit": limit, "detail_level": detail}
    found = ask_resident(home, "search", {**arguments, "filters": filters.model_dump(mode="json")})
    if found is not None:
        return SearchResult.model_validate(found)
    from slowwave.home.paths import open_home
    from slowwave.home.usage import Usage
    from slowwave.search import search as ask

    owner = open_home(home)
    answer = ask(owner, query, limit=limit, detail_level=detail, filters=filters)
    usage = Usage(owner)
    usage.note([hit.cell_id for hit in answer.cells], "retrieved", at=datetime.now(UTC))
    try:
        usage.flush()
    except TransientError as error:
        answer = answer.model_copy(update={"notes": [*answer.notes, f"its use is not noted: {error}"]})
    if owner.settings.search.resident_minutes > 0:
        leave_resident(home)
    return answer


def _types(names: list[str]) -> tuple[CellType, ...]:
    known: tuple[CellType, ...] = get_args(CellType)
    for name in names:
        if name not in known:
            raise InputError(f"--type: {name!r} is no type of memory: choose of {', '.join(known)}")
    return tuple(name for name in known if name in names)


def _moment(word: str | None, use: Use, now: datetime) -> datetime | None:
    return None if word is None else time_of_filter(word, use=use, now=now)
