"""The output of `slowwave context`: in a pipe the plain text for a prompt, on a terminal headings and notes too."""

from typing import TYPE_CHECKING

from rich.text import Text

from slowwave.entrypoints.show.answer import FIRST_STEPS
from slowwave.entrypoints.show.terminal import flat, results, say, visible, write

if TYPE_CHECKING:
    from slowwave.schemas.context import Context


def show_context(context: "Context") -> None:
    """The assembled text on stdout, nothing where there is none; notes and the count of tokens go to stderr."""
    for note in context.notes:
        say(f"{note} {FIRST_STEPS}" if note.startswith("No memory yet") else note)
    if not context.text:
        if not context.notes:
            say("Nothing in memory that is relevant and new here.")
        return
    console = results()
    if not console.is_terminal:
        write(context.text + "\n")
        return
    for line in visible(context.text).splitlines():
        is_frame = line.startswith("<")
        console.print(Text(line, style="bold" if line.startswith("## ") else "dim" if is_frame else ""))
    tiers = ", ".join(f"{tier.name} {tier.tokens}" for tier in context.tiers if tier.lines)
    say(flat(f"{context.tokens} of {context.budget_tokens} tokens ({tiers})"))
