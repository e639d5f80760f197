"""The commands that read: `search`, `context` and `cite`."""

from datetime import UTC, datetime
from typing import Annotated, get_args

import typer

from slowwave.entrypoints.options import HomeOption, JsonOption
from slowwave.errors import InputError
from slowwave.schemas.choices import CellType, SourceType
from slowwave.schemas.search import DetailLevel, Filters, Scope
from slowwave.transforms.times import Use, time_of_filter


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
    explain: Annotated[bool, typer.Option("--explain", help="Say why each result was found.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the memory. No model is asked, and nothing is changed."""
    from slowwave.entrypoints.show import show_json
    from slowwave.entrypoints.show_answer import show_answer
    from slowwave.home import open_home
    from slowwave.query import search as ask

    now = datetime.now(UTC)
    filters = Filters(
        cell_types=_types(cell_type or []),
        source_type=source,
        entity=entity,
        after=_moment(after, "after", now),
        before=_moment(before, "before", now),
        as_of=_moment(as_of, "as_of", now),
        known_at=_moment(known_at, "as_of", now),
        scope=scope,
    )
    found = ask(open_home(home), " ".join(words), limit=limit, detail_level=detail, filters=filters, now=now)
    if as_json:
        show_json(found)
    else:
        show_answer(found, now=now, explain=explain)


def _types(names: list[str]) -> tuple[CellType, ...]:
    known: tuple[CellType, ...] = get_args(CellType)
    for name in names:
        if name not in known:
            raise InputError(f"--type: {name!r} is no type of memory: choose of {', '.join(known)}")
    return tuple(name for name in known if name in names)


def _moment(word: str | None, use: Use, now: datetime) -> datetime | None:
    return None if word is None else time_of_filter(word, use=use, now=now)
