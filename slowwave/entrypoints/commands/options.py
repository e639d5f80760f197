"""Options that several commands take."""

from typing import Annotated

import typer

HomeOption = Annotated[
    str | None,
    typer.Option("--home", metavar="FOLDER", help="Home folder; else SLOWWAVE_HOME, else data/home."),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
