"""Commands for what coding agents keep on this machine: found by `ingest --discover`, and followed by `watch`."""

import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.entrypoints.commands.options import HomeOption, JsonOption, memory_of
from slowwave.entrypoints.show.sources import show_found, show_taken
from slowwave.entrypoints.show.terminal import say, show_json, tell
from slowwave.interfaces.hooks.follower import follow
from slowwave.progress import listening
from slowwave.schemas.report import several

LONG_WORK = 100
"""Parts of a work from which a watch says how far it is."""

if TYPE_CHECKING:
    from slowwave.schemas.report import StageReport


def found_sources(home: str | None, *, is_agreed: bool, as_json: bool) -> list[str]:
    """The files of coding agents on this machine that the user wants taken in; they are shown first.

    Empty where there are none, or the user does not agree; without a terminal to ask at, only `is_agreed` does.
    """
    with memory_of(home) as memory:
        found = memory.discover()
    can_ask = sys.stdin.isatty() and not as_json
    if as_json and not is_agreed:
        show_json(found)
    elif not as_json:
        show_found(found)
    if not found:
        return []
    if not is_agreed and not (can_ask and typer.confirm("Take this in?")):
        if not as_json:
            tell("Nothing was taken in." if can_ask else "Nothing was taken in: add --yes to take it in.")
        return []
    return [str(path) for source in found for path in source.paths]


def watch(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Files and folders to follow (default: what --discover finds)."),
    ] = None,
    *,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Follow transcripts as they grow, until Ctrl-C. What is new in them is taken in; no language model is asked.

    Without paths it follows what `slowwave ingest --discover` finds.
    """
    with memory_of(home) as memory:
        _wake_from_locks()

        def began() -> None:
            if not as_json:
                where = "what you named" if paths else "what coding agents keep on this machine"
                say(f"Following {where}; Ctrl-C ends it.")

        def told(report: "StageReport") -> None:
            if not as_json:
                show_taken(report)

        with listening(_show_progress):
            began()
            found = follow(memory, paths or None, stop=threading.Event(), told=told)
    if not as_json:
        turns, files = several(found.turn_count, "turn"), several(found.followed_count(), "file")
        tell(f"{turns} came in; {files} followed.")


def _show_progress(work: str, done: int, total: int) -> None:
    """Say how far long work is, such as the first look at many files: ten lines of it at most."""
    if total >= LONG_WORK and done % (total // 10) == 0 and sys.stderr.isatty():
        say(f"{work}: {done:,} of {total:,}")


def _wake_from_locks() -> None:
    """Lets Ctrl-C reach Python again, which LanceDB's import takes away from a thread that waits."""
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


COMMANDS = (watch,)
"""In the order in which the help lists them."""
