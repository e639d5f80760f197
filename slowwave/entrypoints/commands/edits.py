"""The commands by which a person changes the memory."""

import sys
from functools import partial
from typing import Annotated, Literal

import typer

from slowwave.entrypoints.caller import CALLER, HereOnlyError
from slowwave.entrypoints.commands.options import (
    Asked,
    DryRunOption,
    HomeOption,
    JsonOption,
    asks,
    reply,
)
from slowwave.entrypoints.resident.client import call
from slowwave.entrypoints.show.edits import show_disputes, show_done, show_erased, show_resolved, show_said
from slowwave.entrypoints.show.terminal import progress_bars, tell, tell_notes
from slowwave.errors import InputError
from slowwave.schemas.choices import Resolution
from slowwave.schemas.report import several
from slowwave.schemas.requests import (
    ConfirmRequest,
    CorrectRequest,
    EraseRequest,
    ForgetRequest,
    RememberRequest,
    ResolveRequest,
)
from slowwave.schemas.results import Dispute, Done, Erased, Remembered, Resolved

NOT_AGREED = 1
NOT_PROVEN = 1
"""Exit code of an erase whose text is still found somewhere."""


@asks(RememberRequest, "text")
def remember(asked: Asked, *, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Remember what you say. It can be found at once; secrets in it are redacted."""
    said = call(home, "remember", asked, Remembered)
    reply(said, lambda found: show_said("Remembered", found.cell_id, found.notes), as_json=as_json)


@asks(CorrectRequest, "text", single="cell_id", without="dry_run")
def correct(asked: Asked, *, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Replace a memory by what is right. Your text is protected; the old memory is kept in the history.

    Without a language model a memory is a passage of talk: only what your text is about makes way, the rest stays.
    """
    agree_on_losses(home, "correct", asked, as_json=as_json)
    done = call(home, "correct", asked, Done)
    reply(done, partial(show_done, "Corrected"), as_json=as_json)


@asks(ConfirmRequest, single="cell_id")
def confirm(asked: Asked, *, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Confirm that a memory is right. It never fades, and no model replaces it without asking you."""
    done = call(home, "confirm", asked, Done)
    reply(done, partial(show_done, "Confirmed"), as_json=as_json)


@asks(ForgetRequest, single="cell_id", without="dry_run")
def forget(asked: Asked, *, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Delete a memory. It stays out even if it is said again; `erase` deletes the conversation's text as well.

    Without a language model a memory is a passage of talk: --only says which of it goes, the rest stays.
    """
    agree_on_losses(home, "forget", asked, as_json=as_json)
    done = call(home, "forget", asked, Done)
    reply(done, partial(show_done, "Forgotten"), as_json=as_json)


def contradictions(
    *,
    resolved: Annotated[bool, typer.Option("--all", help="Show resolved ones too.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List contradictions that wait for your decision. Both sides are shown with dates and sources."""
    found = call(home, "contradictions", {"has_resolved": resolved}, list[Dispute])
    reply(found, show_disputes, as_json=as_json)


@asks(ResolveRequest, single="contradiction_id", without="resolution")
def resolve(
    asked: Asked,
    resolution: Annotated[
        Resolution | None,
        typer.Argument(metavar="[RESOLUTION]", help=ResolveRequest.model_fields["resolution"].description),
    ] = None,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Take the resolution back.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Settle a contradiction, or take that back. The memory that loses is kept in the history."""
    if undo and resolution is not None:
        raise InputError(
            f"--undo takes the resolution back, and {resolution} gives one: choose one of the two"
        )
    if not undo and resolution is None:
        raise InputError("say how it ends: a_wins, b_wins, both_valid or merged; --undo takes that back")
    if resolution is None:
        done = call(home, "unresolve", {"contradiction_id": asked["contradiction_id"]}, Resolved)
    else:
        done = call(home, "resolve", {"resolution": resolution, **asked}, Resolved)
    reply(done, show_resolved, as_json=as_json)


@asks(EraseRequest, single="cell_id", without="dry_run")
def erase(
    asked: Asked,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Erase without asking.")] = False,
    dry_run: DryRunOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase what was said, down to the bytes. A search over every byte of the home proves that it is gone.

    It shows what goes and asks first; without a terminal it wants --yes.

    Exit code 1 means that the text is still found somewhere; the output says where.
    """
    resume = bool(asked.get("resume"))
    if resume == any(value for name, value in asked.items() if name != "resume"):
        raise InputError("name a memory, --turn, --session or --text; or give --resume alone")
    if not (dry_run or resume or yes or _is_agreed(home, asked, as_json=as_json)):
        tell("Nothing was erased.")
        raise typer.Exit(NOT_AGREED)
    with progress_bars():
        done = call(home, "erase", {**asked, "dry_run": dry_run}, Erased)
    reply(done, show_erased, as_json=as_json)
    if done.remaining:
        raise typer.Exit(NOT_PROVEN)


def agree_on_losses(
    home: str | None, edit: Literal["correct", "forget"], asked: Asked, *, as_json: bool
) -> None:
    """Show a person at a terminal what a correction or deletion takes along, and ask; else the answer tells it.

    Raises:
        Exit: he did not agree.
        HereOnlyError: whoever is asked sits elsewhere.
    """
    caller = CALLER.get()
    if as_json or not (_has_terminal() if caller is None else caller.terminal.are_terminals[0]):
        return
    found = call(home, edit, {**asked, "dry_run": True}, Done)
    if not found.left_out:
        return
    if caller is not None:
        raise HereOnlyError
    tell(
        f"This memory is {several(len(found.left_out), 'statement')} of one conversation, and all of them go:"
    )
    tell_notes(found.left_out)
    if not typer.confirm("Go on?"):
        tell("Nothing was changed.")
        raise typer.Exit(NOT_AGREED)


def _has_terminal() -> bool:
    return sys.stdin.isatty()


def _is_agreed(home: str | None, asked: Asked, *, as_json: bool) -> bool:
    """Show what would be erased, and ask.

    Raises:
        InputError: there is nobody to ask.
        HereOnlyError: whoever is asked sits elsewhere.
    """
    if CALLER.get() is not None:
        raise HereOnlyError
    if as_json or not _has_terminal():
        raise InputError(
            "erasing cannot be undone, and nobody is there to ask: look with --dry-run, then give --yes"
        )
    show_erased(call(home, "erase", {**asked, "dry_run": True}, Erased))
    return typer.confirm("Erase this for good?")


COMMANDS = (remember, correct, confirm, forget, contradictions, resolve, erase)
"""In the order in which the help lists them."""
