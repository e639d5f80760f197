"""The commands of a person who speaks: remember, correct, confirm, forget, contradictions, resolve."""

from typing import Annotated

import typer

from slowwave.entrypoints.commands.options import HomeOption, JsonOption
from slowwave.errors import InputError
from slowwave.schemas.choices import CellType, Resolution

CellArgument = Annotated[
    str, typer.Argument(metavar="CELL_ID", help="A memory, by id or by its first 6 or more digits.")
]
NoteOption = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why; kept with it.")]
SubjectOption = Annotated[str | None, typer.Option("--subject", metavar="NAME", help="What it is about.")]
AttributeOption = Annotated[
    str | None, typer.Option("--attribute", metavar="NAME", help="The one property that it states.")
]
ValueOption = Annotated[str | None, typer.Option("--value", metavar="TEXT", help="The property's value.")]
EntityOption = Annotated[
    list[str] | None, typer.Option("--entity", metavar="NAME", help="What it names; may be repeated.")
]


def remember(
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="One or two whole sentences.")],
    *,
    cell_type: Annotated[CellType, typer.Option("--type", help="What kind of memory it is.")] = "fact",
    subject: SubjectOption = None,
    attribute: AttributeOption = None,
    value: ValueOption = None,
    entity: EntityOption = None,
    salience: Annotated[
        float, typer.Option("--salience", min=0, max=1, help="How much it matters, 0 to 1.")
    ] = 0.8,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep what you say as a memory. It is found at once; secrets are redacted."""
    from slowwave.entrypoints.show.edits import show_said
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    with Memory(home) as memory:
        said = memory.remember(
            " ".join(text),
            cell_type=cell_type,
            subject=subject,
            attribute=attribute,
            value=value,
            entities=entity or [],
            salience=salience,
        )
    if as_json:
        show_json({"cell_id": said.cell_id, "is_searchable": said.is_searchable, "notes": list(said.notes)})
    else:
        show_said("Remembered", said.cell_id, said.notes)


def correct(
    cell_id: CellArgument,
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="What is right, as a sentence.")],
    *,
    subject: SubjectOption = None,
    attribute: AttributeOption = None,
    value: ValueOption = None,
    entity: EntityOption = None,
    note: NoteOption = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is right in place of a memory. Yours is protected; the old one stays for audit."""
    from slowwave.entrypoints.show.edits import show_done
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    with Memory(home) as memory:
        done = memory.correct(
            cell_id,
            " ".join(text),
            subject=subject,
            attribute=attribute,
            value=value,
            entities=entity,
            note=note,
        )
    if as_json:
        show_json(done)
    else:
        show_done("Corrected", done)


def confirm(
    cell_id: CellArgument, *, note: NoteOption = "", home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Say that a memory holds. It never fades, and no judge retires it without you."""
    from slowwave.entrypoints.show.edits import show_done
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    with Memory(home) as memory:
        done = memory.confirm(cell_id, note=note)
    if as_json:
        show_json(done)
    else:
        show_done("Confirmed", done)


def forget(
    cell_id: CellArgument, *, note: NoteOption = "", home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Take a memory away for good. It stays out, in other words too; `erase` takes what was said as well."""
    from slowwave.entrypoints.show.edits import show_done
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    with Memory(home) as memory:
        done = memory.forget(cell_id, note=note)
    if as_json:
        show_json(done)
    else:
        show_done("Forgotten", done)


def contradictions(
    *,
    resolved: Annotated[bool, typer.Option("--all", help="Those that are settled too.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """What cannot both hold and waits for you. Both sides with dates and sources."""
    from slowwave.entrypoints.show.edits import show_disputes
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    with Memory(home) as memory:
        found = memory.contradictions(has_resolved=resolved)
    if as_json:
        show_json([one.model_dump(mode="json") for one in found])
    else:
        show_disputes(found)


def resolve(
    contradiction_id: Annotated[
        str, typer.Argument(metavar="ID", help="A contradiction, by id or by its first 6 or more digits.")
    ],
    resolution: Annotated[
        Resolution | None,
        typer.Argument(metavar="[RESOLUTION]", help="One of: a_wins, b_wins, both_valid, merged."),
    ] = None,
    *,
    text: Annotated[
        str, typer.Option("--text", metavar="TEXT", help="What holds of both, for `merged`.")
    ] = "",
    note: NoteOption = "",
    undo: Annotated[bool, typer.Option("--undo", help="Take the resolution back.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Settle a contradiction, or take that back. The loser stays for audit."""
    from slowwave.entrypoints.show.edits import show_resolved
    from slowwave.entrypoints.show.terminal import show_json
    from slowwave.memory import Memory

    if undo and resolution is not None:
        raise InputError(f"--undo takes the resolution back, and {resolution} gives one: say one of the two")
    if not undo and resolution is None:
        raise InputError("say how it ends: a_wins, b_wins, both_valid or merged; --undo takes that back")
    with Memory(home) as memory:
        if resolution is None:
            done = memory.unresolve(contradiction_id)
        else:
            done = memory.resolve(contradiction_id, resolution, text=text, note=note)
    if as_json:
        show_json(done)
    else:
        show_resolved(done)


COMMANDS = (remember, correct, confirm, forget, contradictions, resolve)
"""In the order in which the help lists them."""
