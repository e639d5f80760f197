"""The commands that look into the memory, and `erase`, which proves what is gone."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from slowwave.entrypoints.commands.edits import CellArgument
from slowwave.entrypoints.commands.options import DryRunOption, HomeOption, JsonOption
from slowwave.errors import InputError
from slowwave.schemas.search import MAX_LIMIT

NOT_PROVEN = 1
"""Exit code of an erase whose text still stands somewhere."""


def erase(
    cell_id: Annotated[
        str | None, typer.Argument(metavar="[CELL_ID]", help="A memory, with what was said for it.")
    ] = None,
    *,
    turn: Annotated[str | None, typer.Option("--turn", metavar="ID", help="One turn.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="A whole conversation.")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="Everything that says this text.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="End an erase that was cut off.")] = False,
    dry_run: DryRunOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take what was said out of the home, down to the bytes. A search over all of them proves it.

    Exit code 1 says that the same words still stand somewhere, and where.
    """
    from slowwave.entrypoints.show.inspection import show_erased
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    if resume == any((cell_id, turn, session, text)):
        raise InputError("name a memory, --turn, --session or --text; or give --resume alone")
    with Memory(home) as memory:
        done = memory.erase(cell_id, turn_id=turn, session_id=session, text=text, dry_run=dry_run)
    if as_json:
        show_json(done)
    else:
        show_erased(done)
    if done.remaining:
        raise typer.Exit(NOT_PROVEN)


def explain(cell_id: CellArgument, *, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Say why a memory is there. What was said, what was judged, what became of it."""
    from slowwave.entrypoints.show.inspection import show_explanation
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    with Memory(home) as memory:
        found = memory.explain(cell_id)
    if as_json:
        show_json(found)
    else:
        show_explanation(found)


def weak(
    *,
    days: Annotated[
        float | None, typer.Option("--days", min=0, metavar="DAYS", help="How far to look ahead; else 30.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Memories at most, soonest first.")] = 50,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """What will fade from search if nobody uses it. `confirm` or `cite` keeps it."""
    from slowwave.entrypoints.show.inspection import show_weak
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    now = datetime.now(UTC)
    with Memory(home) as memory:
        found = memory.weak(days, now=now)
    if as_json:
        show_json([one.model_dump(mode="json") for one in found[:limit]])
    else:
        show_weak(found[:limit], now=now, more=max(len(found) - limit, 0))


def archived(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words of what faded.")],
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MAX_LIMIT, help="Memories at most.")] = 10,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """What faded and is out of search. `cite` brings a memory back with the next night."""
    from slowwave.entrypoints.show.inspection import show_archived
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    with Memory(home) as memory:
        found = memory.archived(query, limit=limit)
    if as_json:
        show_json([one.model_dump(mode="json") for one in found])
    else:
        show_archived(found)


def stats(*, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """What the memory holds. By type, status, topic, age and origin; its use, and what it forgot wrongly."""
    from slowwave.entrypoints.show.inspection import show_stats
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    with Memory(home) as memory:
        found = memory.stats()
    if as_json:
        show_json(found)
    else:
        show_stats(found)


COMMANDS = (erase, explain, weak, archived, stats)
"""In the order in which the help lists them."""
