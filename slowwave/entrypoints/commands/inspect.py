"""The commands that look into the memory and at its home."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer

from slowwave.entrypoints.commands.options import (
    Asked,
    HomeOption,
    JsonOption,
    asks,
    reply,
)
from slowwave.entrypoints.resident.client import call, read
from slowwave.entrypoints.show.home import show_quarantine, show_status
from slowwave.entrypoints.show.inspection import show_archived, show_explanation, show_stats, show_weak
from slowwave.entrypoints.show.terminal import results, show_json
from slowwave.schemas.requests import ArchivedRequest, CellRequest, WeakRequest
from slowwave.schemas.results import Explanation, Fading, ForgottenCell, QuarantinedChunk, Stats, Status


@asks(CellRequest, single="cell_id", without="note")
def explain(asked: Asked, *, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Explain why a memory is there. What was said, what was judged, and every event of its life."""
    found = read(home, "explain", asked, Explanation)
    reply(found, show_explanation, as_json=as_json)


@asks(WeakRequest)
def weak(
    asked: Asked,
    *,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="The most memories to show, soonest first.")
    ] = 50,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List memories that fade soon unless they are used. `confirm` or `cite` keeps one."""
    now = datetime.now(UTC)
    found = read(home, "weak", asked, list[Fading])
    shown = partial(show_weak, now=now, more=max(len(found) - limit, 0))
    reply(found[:limit], shown, as_json=as_json)


@asks(ArchivedRequest, single="query")
def archived(asked: Asked, *, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Search memories that were archived. `cite` brings one back with the next night."""
    found = read(home, "archived", asked, list[ForgottenCell])
    reply(found, show_archived, as_json=as_json)


def stats(*, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Count what the memory holds. By type, status, topic, age and origin; also its use and wrong forgetting."""
    found = read(home, "stats", {}, Stats)
    reply(found, show_stats, as_json=as_json)


def status(*, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show waiting work, the last night and sizes."""
    now = datetime.now(UTC)
    found = call(home, "status", {}, Status)
    reply(found, partial(show_status, now=now), as_json=as_json)


def list_quarantine(*, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the work in quarantine, with reasons. Chunks, conversations and memories to judge."""
    found = call(home, "quarantine", {}, list[QuarantinedChunk])
    reply(found, show_quarantine, as_json=as_json)


def release(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="What to send back.")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Send everything back.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send work back to the next night. It asks the model again."""
    if bool(ids) == everything:
        raise typer.BadParameter("name what goes back, or give --all", param_hint="ID")
    released = call(home, "release", {"ids": ids or None}, list[str])
    if as_json:
        show_json({"released": released})
    else:
        results().print(f"{len(released)} of them go back to work with the next night.")


COMMANDS = (explain, weak, archived, stats, status)
"""In the order in which the help lists them."""
