"""Options that several commands share."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from slowwave.interfaces.cli import output
from slowwave.settings.place import former_home, home_folder

Command = TypeVar("Command", bound=Callable[..., Any])

CELL_TYPES = "fact|decision|preference|task|risk|code_ref|insight|pattern|workflow|episode"
WITHIN = (
    "Only this project and what belongs to none: its id, the beginning of it, a path in it, or `.` for this folder "
    "(default: all of yours)."
)
WHOSE = "Whose statement it is: user, reported (passed on by an assistant) or agent (an assistant's own)."


def home_option(command: Command) -> Command:
    """Add `--home`."""
    told = "Home folder (default: SLOWWAVE_HOME, else your own)."
    return click.option("--home", metavar="FOLDER", help=told, callback=_named)(command)


def _named(ctx: click.Context, option: click.Parameter, given: str | None) -> str | None:
    if given == "":  # of a variable that is not set: the user's own home is not meant
        raise click.BadParameter("the folder is empty: name one, or leave the option out", param=option)
    if given is None and ctx.info_name != "doctor" and not os.environ.get("SLOWWAVE_HOME"):
        name_former_home()
    return given


def name_former_home() -> None:
    """Say on stderr where this folder has the memory of an earlier version, for as long as the user has no home."""
    home = home_folder()
    if not home.is_dir() and (former := former_home(home)) is not None:
        output.fail(
            f"{former} holds an earlier memory, which is not used: your memory is {home} now. "
            f"To use the earlier one, add --home {former}"
        )


def json_option(command: Command) -> Command:
    """Add `--json`."""
    told = "Print one JSON document on stdout and nothing else."
    return click.option("--json", "as_json", is_flag=True, help=told)(command)


def dry_run_option(command: Command) -> Command:
    """Add `--dry-run`."""
    return click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")(
        command
    )


def project_option(command: Command) -> Command:
    """Add `--project`."""
    return click.option("--project", metavar="ID", help=WITHIN)(command)


def origin_option(command: Command) -> Command:
    """Add `--origin`."""
    return click.option("--origin", metavar="user|reported|agent", help=WHOSE)(command)


def statement_options(command: Command) -> Command:
    """Add what a statement is about: `--subject`, `--attribute`, `--value`, `--entity`."""
    for name, told in (
        ("--value", "The value of that property."),
        ("--attribute", "The property of the subject that it states; a later value replaces it."),
        ("--subject", "The person or thing that it is about."),
    ):
        command = click.option(name, metavar="TEXT", help=told)(command)
    return click.option(
        "--entity", "entities", metavar="NAME", multiple=True, help="A name in it. May be repeated."
    )(command)


def filter_options(command: Command) -> Command:
    """Add the filters of a search: type, source, name, times, scope and project."""
    for names, metavar, told in (
        (("--scope",), "user-private|project-shared|system", "Only memories of this scope."),
        (("--known-at",), "TIME", "As recorded by the end of this time."),
        (("--as-of",), "TIME", "What was true at the end of this time; nothing said later is shown."),
        (("--before",), "TIME", "Only from before this time."),
        (("--after",), "TIME", "Only from this time on: 2026-05-01, 2026-05, last_week, 3_days_ago."),
        (("--entity",), "NAME", "Only memories that name this person or thing."),
        (("--source", "source_type"), "conversation|file", "Only from this kind of source."),
    ):
        command = click.option(*names, metavar=metavar, help=told)(command)
    many = click.option(
        "--type", "cell_types", metavar=CELL_TYPES, multiple=True, help="Only this type. May be repeated."
    )
    return many(project_option(command))
