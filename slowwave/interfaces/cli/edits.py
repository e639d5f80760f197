"""Commands by which a person changes the memory. A write is sent to the server at most once."""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slowwave.errors import InputError
from slowwave.interfaces.cli import output
from slowwave.interfaces.cli.client import Question, asking, document, part, show
from slowwave.interfaces.cli.options import (
    CELL_TYPES,
    dry_run_option,
    home_option,
    json_option,
    origin_option,
    project_option,
    statement_options,
)

if TYPE_CHECKING:
    from slowwave.schemas.results import Erased

NOT_AGREED = 1
NOT_PROVEN = 1
"""Exit code of an erase whose text is still found somewhere."""


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--type", "cell_type", metavar=CELL_TYPES, help="The type of memory (default: fact).")
@click.option("--salience", type=float, metavar="0..1", help="How important it is (default: 0.8).")
@click.option("--new-project", is_flag=True, help="Begin that project if none has this name yet.")
@statement_options
@origin_option
@project_option
@asking
def remember(text: tuple[str, ...], **asked: Any) -> Question:
    """Remember a statement of yours.

    It can be found at once; secrets in it are redacted. Write one or two whole sentences that can be understood alone.
    """
    return Question("/v1/remember", body={"text": " ".join(text), **asked}, writes=True)


@click.command()
@click.argument("cell_id", metavar="ID")
@click.argument("text", nargs=-1)
@click.option(
    "--reason",
    metavar="changed|wrong",
    help="changed: it was true until then; wrong: it never was (default: the words decide).",
)
@click.option("--since", metavar="DAY", help="Day of the change: 2026-05-01, last_week (default: today).")
@click.option("--note", metavar="TEXT", help="Your reason; kept with the memory.")
@statement_options
@origin_option
@home_option
@json_option
def correct(cell_id: str, text: tuple[str, ...], *, home: str | None, as_json: bool, **asked: Any) -> None:
    """Replace a memory by what is right.

    Without TEXT the memory opens in your editor (VISUAL or EDITOR). Your text is protected; the old memory is kept in
    the history. Without a language model a memory is a passage of talk: only what your text is about is replaced.
    """
    words = " ".join(text) if text else _edited(cell_id, home)
    if words is None:
        output.emit("Unchanged.")
        return
    body = {"text": words, **asked}
    _agree_on_losses(home, cell_id, "correct", body, as_json=as_json)
    show(home, Question(f"/v1/cells/{part(cell_id)}/correct", body=body, writes=True), as_json=as_json)


@click.command()
@click.argument("cell_id", metavar="ID")
@click.option("--note", metavar="TEXT", help="Your reason; kept with the memory.")
@origin_option
@asking
def confirm(cell_id: str, **asked: Any) -> Question:
    """Confirm that a memory is right.

    It never fades, and no model replaces it without asking you.
    """
    return Question(f"/v1/cells/{part(cell_id)}/confirm", body=asked, writes=True)


@click.command()
@click.argument("cell_id", metavar="ID")
@click.option(
    "--only", metavar="WORDS", help="Words of the part that is meant, where the memory is a passage of talk."
)
@click.option("--note", metavar="TEXT", help="Your reason; kept with the memory.")
@home_option
@json_option
def forget(cell_id: str, *, home: str | None, as_json: bool, **asked: Any) -> None:
    """Delete a memory.

    It stays out even if it is said again; `erase` deletes the conversation's text as well.
    """
    _agree_on_losses(home, cell_id, "forget", asked, as_json=as_json)
    show(home, Question(f"/v1/cells/{part(cell_id)}/forget", body=asked, writes=True), as_json=as_json)


@click.command()
@click.argument("contradiction_id", metavar="ID")
@click.argument("resolution", metavar="[a_wins|b_wins|both_valid|merged]", required=False)
@click.option("--text", metavar="TEXT", help="The text that replaces both memories; only for merged.")
@click.option("--note", metavar="TEXT", help="Your reason; kept with the contradiction.")
@click.option("--undo", is_flag=True, help="Take the resolution back.")
@asking
def resolve(contradiction_id: str, resolution: str | None, *, undo: bool, **asked: Any) -> Question:
    """Resolve a contradiction, or take that back.

    The memory that loses is kept in the history.
    """
    if undo == (resolution is not None):
        raise click.UsageError("say how it ends (a_wins, b_wins, both_valid, merged), or give --undo")
    end = "undo" if undo else "resolve"
    body = {} if undo else {"resolution": resolution, **asked}
    return Question(f"/v1/contradictions/{part(contradiction_id)}/{end}", body=body, writes=True)


@click.command()
@click.argument("cell_id", metavar="[ID]", required=False)
@click.option("--turn", "turn_id", metavar="ID", help="Erase one message of a conversation.")
@click.option("--session", "session_id", metavar="ID", help="Erase a whole conversation.")
@click.option("--text", metavar="TEXT", help="Erase every message and memory that contains this text.")
@click.option("--resume", is_flag=True, help="Finish an erase that was interrupted.")
@click.option("--yes", is_flag=True, help="Erase without asking.")
@dry_run_option
@home_option
@json_option
def erase(*, yes: bool, dry_run: bool, home: str | None, as_json: bool, **asked: Any) -> None:
    """Erase what was said, down to the bytes.

    A memory goes with the messages that it was made from. A search over every byte of the home proves that the text is
    gone. It shows what goes and asks first; without a terminal it needs --yes. Exit code 1: the text is still found
    somewhere; the output says where.
    """
    named = {name: value for name, value in asked.items() if value}
    if ("resume" in named) == bool(named.keys() - {"resume"}):
        raise InputError("name a memory, --turn, --session or --text; or give --resume alone")
    from slowwave.interfaces.cli.local import progress_bars, show_result
    from slowwave.memory import Memory

    with Memory(home) as memory:
        if not (dry_run or yes or named.get("resume")) and not _agrees_to_erase(
            memory.erase(**named, dry_run=True), as_json=as_json
        ):
            output.emit("Nothing was erased.")
            raise SystemExit(NOT_AGREED)
        with progress_bars():
            done = memory.erase(**named, dry_run=dry_run)
    show_result(done, as_json=as_json)
    if done.remaining:
        raise SystemExit(NOT_PROVEN)


def _agrees_to_erase(planned: "Erased", *, as_json: bool) -> bool:
    """Show what would be erased, and ask.

    Raises:
        InputError: there is nobody to ask.
    """
    from slowwave.interfaces.cli.local import show_result

    if as_json or not _has_terminal():
        raise InputError(
            "erasing cannot be undone, and there is no terminal to ask at: look with --dry-run, then give --yes"
        )
    show_result(planned, as_json=False)
    return click.confirm("Erase this for good?")


def _agree_on_losses(
    home: str | None, cell_id: str, edit: str, body: dict[str, Any], *, as_json: bool
) -> None:
    """At a terminal, show what an edit takes along, and ask; elsewhere the answer says it.

    Raises:
        SystemExit: the person did not agree.
    """
    if as_json or not _has_terminal():
        return
    planned = document(home, Question(f"/v1/cells/{part(cell_id)}/{edit}", body={**body, "dry_run": True}))
    if not planned["left_out"]:
        return
    output.emit("This memory is a passage of one conversation, and all of these statements go with it:")
    for text in planned["left_out"]:
        output.emit("  " + " ".join(text.split()))
    if not click.confirm("Go on?"):
        output.emit("Nothing was changed.")
        raise SystemExit(NOT_AGREED)


def _has_terminal() -> bool:
    return sys.stdin.isatty()


def _edited(cell_id: str, home: str | None) -> str | None:
    """The text of a memory as it comes back from the editor; None where it did not change.

    Raises:
        InputError: the memory is no current one, there is no terminal, or the editor left nothing usable.
    """
    from slowwave.settings.place import home_folder

    if not _has_terminal():
        raise InputError("there is no terminal to open an editor in: give the new text after the id")
    found = document(home, Question(f"/v1/cells/{part(cell_id)}"))
    if found["status"] == "superseded":
        by = found["superseded_by"]
        what = f" by {by}: correct that one" if by else ": remember what is right"
        raise InputError(f"memory {found['cell_id']} was superseded{what}")
    before = found["content"]
    saved = text_from_editor(home_folder(home), before)
    if not saved:
        raise InputError("the text is empty, and nothing was changed: `slowwave forget ID` deletes a memory")
    return None if saved == before.strip() else saved


FOLDER = "editing"
"""Below the home; each edit has a folder of its own there, for what the editor adds to it.

What a killed one leaves is this user's alone, and an erase takes it when it quotes what goes.
"""


def text_from_editor(home: Path, text: str) -> str:
    """The text as the person saved it, without blanks at its ends. The file goes afterwards.

    Raises:
        InputError: the home cannot be written, the editor failed, or what it saved is no text.
    """
    above = home / FOLDER
    try:
        above.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=above, ignore_cleanup_errors=True) as own:
            path = Path(own) / "memory.md"
            path.write_text(f"{text}\n", encoding="utf-8")
            path.chmod(0o600)
            click.edit(filename=str(path))
            return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").strip()
    except (click.ClickException, OSError, ValueError) as error:  # no command, no file, no UTF-8
        raise InputError(f"the editor left no usable text, and nothing was changed: {error}") from error
