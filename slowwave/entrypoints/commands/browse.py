"""The commands that list memories and open one in an editor."""

import sys
from functools import partial
from typing import Annotated, Literal

import click
import typer

from slowwave.entrypoints.commands.editing import in_file
from slowwave.entrypoints.commands.edits import agree_on_losses
from slowwave.entrypoints.commands.options import Asked, HomeOption, JsonOption, asks, reply
from slowwave.entrypoints.resident.client import call, read
from slowwave.entrypoints.show.cells import show_cells
from slowwave.entrypoints.show.edits import show_done
from slowwave.errors import InputError
from slowwave.schemas.lists import CellDetail, CellPage
from slowwave.schemas.requests import LONGEST_TEXT, CellRequest, CellsRequest
from slowwave.schemas.results import Done
from slowwave.settings.place import home_folder

Listed = Literal["active", "superseded", "archived", "all"]

UNCHANGED = "the text is as it was: nothing was changed"


@asks(CellsRequest, without="status")
def list_cells(
    asked: Asked,
    *,
    status: Annotated[
        Listed | None,
        typer.Option(
            "--status", help="Only memories in this state (default: active; of a past moment what held then)."
        ),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List memories, newest first, a page at a time. The last line says how to see the next page."""
    is_past = "as_of" in asked or "known_at" in asked
    wanted = status or ("all" if is_past else "active")
    found = read(home, "cells", asked | ({} if wanted == "all" else {"status": wanted}), CellPage)
    shown = partial(
        show_cells,
        has_status=wanted == "all" and not is_past,
        entity=asked.get("entity"),
        has_projects="project" in asked,
    )
    reply(found, shown, as_json=as_json)


@asks(CellRequest, single="cell_id")
def edit(
    asked: Asked,
    *,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="The new text, instead of opening an editor.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open a memory's text in your editor. What you save corrects the memory; unchanged text changes nothing.

    The editor is the one that VISUAL or EDITOR names. Your text is protected; the old memory is kept in the history.
    """
    found = read(home, "cell", {"cell_id": asked["cell_id"]}, CellDetail)
    if found.status == "superseded":
        by = f" by {found.superseded_by}: edit that one" if found.superseded_by else ": remember what holds"
        raise InputError(f"memory {found.cell_id} was superseded{by}")
    saved = text if text is not None else _edited(found, home)
    if not saved.strip():
        raise InputError("the text is empty, and nothing was changed: `slowwave forget ID` deletes a memory")
    if saved.strip() == found.content.strip():
        done = Done(cell_id=found.cell_id, content=found.content, notes=[UNCHANGED])
        reply(done, partial(show_done, "Unchanged"), as_json=as_json)
        return
    asked = {**asked, "cell_id": found.cell_id, "text": saved.strip()}
    agree_on_losses(home, "correct", asked, as_json=as_json)
    done = call(home, "correct", asked, Done)
    reply(done, partial(show_done, "Corrected"), as_json=as_json)


def _edited(found: CellDetail, home: str | None) -> str:
    """The text of a memory as it came back from the editor."""
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to open an editor in: give the new text by --text")
    if len(found.content) > LONGEST_TEXT:
        raise InputError(
            f"the memory has {len(found.content)} characters, and what replaces it at most {LONGEST_TEXT}: "
            "say what is right in a sentence or two by --text"
        )
    try:
        with in_file(home_folder(home), found.content + "\n") as path:
            click.edit(filename=str(path))
            return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except click.ClickException as error:
        raise InputError(f"the editor failed, and nothing was changed: {error.format_message()}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"nothing was changed: what the editor saved is no text in UTF-8 (byte {error.start + 1})"
        ) from error
    except OSError as error:
        raise InputError(
            f"nothing was changed: the editor's file cannot be written or read again ({error.strerror})"
        ) from error
    except ValueError as error:
        raise InputError(f"nothing was changed: VISUAL or EDITOR is no command ({error})") from error


COMMANDS = (edit,)
"""In the order in which the help lists them; `list` has a name of its own."""
