"""The command that shows what redaction would take out of files."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.entrypoints.commands.options import HomeOption, JsonOption
from slowwave.entrypoints.show.terminal import flat, show_json, tell
from slowwave.schemas.report import several

if TYPE_CHECKING:
    from slowwave.ingest.redact.table import Rules
    from slowwave.schemas.results import SecretPlace

FOUND = 1


def redact(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Files to look through as text; - is standard input."),
    ],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Show what would be taken, and change nothing; needed.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what redaction would take out of files. Place, kind, rule and the line without the secret.

    Exit code 1 means that something was found, 0 that nothing was. Own rules come from the home's settings. To redact a
    whole home, `slowwave run redact`.
    """
    from slowwave.ingest.redact.table import rules_with
    from slowwave.settings.tree import load_settings

    if not check:
        raise typer.BadParameter(
            "files are never changed: give --check to see what would be taken", param_hint="--check"
        )
    own = load_settings(home).redaction
    rules = rules_with(own.rules, own.labels, own.keep)
    counts: Counter[str] = Counter()
    listed: list[SecretPlace] = []
    for place in _places(files, rules):
        counts[place.kind] += 1
        if as_json:
            listed.append(place)
        else:
            tell(f"{flat(place.file)}:{place.line}:{place.column}: {place.kind} ({place.rule})")
            tell(f"    {flat(place.shown)}")
    if as_json:
        show_json({"found": dict(sorted(counts.items())), "places": [place.model_dump() for place in listed]})
    else:
        told = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
        tell(f"{several(counts.total(), 'secret')}: {told}" if told else "No secrets found.")
    if counts:
        raise typer.Exit(FOUND)


def _places(files: list[Path], rules: "Rules") -> "Iterator[SecretPlace]":
    from slowwave.ingest.redact.files import check_file, check_stream

    for path in files:
        if str(path) == "-":
            yield from check_stream(sys.stdin.buffer, "-", rules)
        else:
            yield from check_file(path, rules)


COMMANDS = (redact,)
"""In the order in which the help lists them."""
