"""Options of the commands: those that several share, and those made from a request model."""

import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from slowwave.entrypoints.caller import CALLER, current_folder
from slowwave.entrypoints.show.terminal import show_json
from slowwave.errors import InputError, NotFoundError
from slowwave.schemas.refusals import Request, bounds
from slowwave.schemas.search import FROM_WITHIN

if TYPE_CHECKING:
    from slowwave.memory import Memory

THIS_FOLDER = " `.` is the one of this folder."

HomeOption = Annotated[
    str | None,
    typer.Option(
        "--home",
        metavar="FOLDER",
        help="Home folder (default: SLOWWAVE_HOME, else your own).",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")
]
ProjectOption = Annotated[str | None, typer.Option("--project", metavar="ID", help=FROM_WITHIN + THIS_FOLDER)]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]

Asked = dict[str, Any]
"""Keywords for a method of `Memory`, as they were given on the command line."""

Result = TypeVar("Result", bound=BaseModel | Sequence[BaseModel])

SHORT_NAMES = {
    "cell_type": "type",
    "cell_types": "type",
    "source_type": "source",
    "detail_level": "detail",
    "current_file": "file",
    "recent_errors": "error",
    "budget_tokens": "budget",
    "conversation_id": "conversation",
    "entities": "entity",
    "turn_id": "turn",
    "session_id": "session",
    "scopes": "scope",
}
"""Options that are shorter than the names of their fields."""

METAVARS = {
    "file": "PATH", "error": "TEXT", "branch": "NAME", "budget": "TOKENS", "conversation": "ID", "entity": "NAME",
    "subject": "NAME", "attribute": "NAME", "value": "TEXT", "note": "TEXT", "text": "TEXT", "project": "ID",
    "topic": "NAME", "session": "ID", "turn": "ID", "days": "DAYS", "context": "TEXT", "after": "TIME",
    "before": "TIME", "only": "WORDS", "cursor": "CURSOR", "to": "FOLDER", "as-of": "TIME", "known-at": "TIME",
    "since": "DAY",
}  # fmt: skip


def asks(
    model: type[Request], *words: str, single: str = "", without: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of a request model as its options, but for the one that it reads itself (`without`).

    The command gets what was given as its first argument, `Asked`. The fields in `words` are arguments of any number
    of words, which become one text (or a list, where the field is one); the field `single` is an argument of one word.
    """
    names = [name for name in model.model_fields if name != without]

    def made(function: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            asked = {name: given.pop(name) for name in names}
            for name in words:
                if isinstance(asked[name], list) and not _is_list(model.model_fields[name]):
                    asked[name] = " ".join(asked[name])
            if "project" in asked:
                asked["project"] = named_project(asked["project"], given.get("home"))
            try:
                function({name: value for name, value in asked.items() if value not in (None, [])}, **given)
            except (InputError, NotFoundError) as error:
                told = _by_option(str(error), [name for name in names if name not in (*words, single)])
                raise type(error)(told) from error

        own = [
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for one in list(inspect.signature(function).parameters.values())[1:]
        ]
        fields = sorted(names, key=lambda name: (name not in (single, *words), name in words))
        parameters = [_parameter(model, name, words=words, single=single) for name in fields]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__signature__ = inspect.Signature([*parameters, *own])  # type: ignore[attr-defined]
        return command

    return made


def named_project(project: str | None, home: str | None) -> str | None:
    """The project that an option names; a path as the whole one. `.` outside of any repository is the home's own."""
    if project is None or not (project == "." or os.sep in project):
        return project
    from slowwave.settings.projects import project_of, repository_project

    folder = os.path.normpath(current_folder() / Path(project).expanduser())
    if project != "." or repository_project(folder) is not None:
        return folder
    if (caller := CALLER.get()) is not None:
        return caller.memory().project_of(folder)
    from slowwave.settings.tree import load_settings

    return project_of(load_settings(home).owner, folder)


def reply(found: Result, show: Callable[[Result], None], *, as_json: bool) -> None:
    """Print a result as one JSON document, or as `show` prints it for people."""
    (show_json if as_json else show)(found)


@contextmanager
def memory_of(home: str | None) -> Iterator["Memory"]:
    """The memory of a home, imported when a command needs it: that takes seconds, and help takes none."""
    from slowwave.memory import Memory

    with Memory(home) as memory:
        yield memory


def _parameter(model: type[Request], name: str, *, words: tuple[str, ...], single: str) -> inspect.Parameter:
    field = model.model_fields[name]
    kind, default, told = _kind(field), field.get_default(), field.description or ""
    info: Any
    if name in words or name == single:
        label = name.removesuffix("s").upper() + ("..." if name in words else "")
        info = typer.Argument(metavar=label if field.is_required() else f"[{label}]", help=told)
        kind = list[str] if name in words else kind
    else:
        low, high = bounds(model, name)
        option = _option(name)
        repeated = " May be repeated." if _is_list(field) else ""
        metavar = METAVARS.get(option) or _choices(field)
        told += THIS_FOLDER if name == "project" else ""
        info = typer.Option(f"--{option}", metavar=metavar, help=told + repeated, min=low, max=high)
    is_open = kind is not bool and (default is None or _is_list(field) or name in words)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.is_required() else None if is_open else default,
        annotation=Annotated[kind | None if is_open and not field.is_required() else kind, info],
    )


def _by_option(message: str, names: Sequence[str]) -> str:
    """A refusal that begins with the name of a field, with the option that gives it here."""
    named = next((name for name in names if re.match(rf"(an entry of )?{name}\b", message)), None)
    told = message if named is None else message.replace(named, f"--{_option(named)}", 1)
    return re.sub(r"\bnew_project\b", "--new-project", told)


def _option(name: str) -> str:
    return SHORT_NAMES.get(name, name.replace("_", "-"))


def _kind(field: FieldInfo) -> Any:
    """The type that the command line reads; a time is read as text."""
    found = [part for part in _parts(field.annotation) if part is not type(None)]
    if _is_list(field):
        return list[str]
    return str if datetime in found else found[0]


def _choices(field: FieldInfo) -> str | None:
    """The values that each entry of a list may have, as Typer shows them where a single value is wanted."""
    entries = [get_args(part)[0] for part in _parts(field.annotation) if get_origin(part) is tuple]
    known = [str(value) for entry in entries if get_origin(entry) is Literal for value in get_args(entry)]
    return f"<{'|'.join(known)}>" if known else None


def _is_list(field: FieldInfo) -> bool:
    return any(get_origin(part) is tuple for part in _parts(field.annotation))


def _parts(annotation: Any) -> tuple[Any, ...]:
    """The types of a union without their rules; of another type that one."""
    if get_origin(annotation) in (Union, UnionType):
        return tuple(part for one in get_args(annotation) for part in _parts(one))
    return (get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation,)
