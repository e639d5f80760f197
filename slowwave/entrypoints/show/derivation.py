"""A derivation and its difference from the memory, for a terminal."""

from rich.text import Text

from slowwave.entrypoints.show.terminal import flat, results
from slowwave.schemas.derivation import SHOWN_LINES, Derivation, page


def show_derivation(found: Derivation) -> None:
    """Show what was done and, where there is one, the difference; the file has all of a long one."""
    console = results()
    console.print(Text(page(found, safe=flat, most=SHOWN_LINES).rstrip()), soft_wrap=True)
    if found.dry_run:
        console.print(Text("A dry run: nothing was changed.", style="bold"))
