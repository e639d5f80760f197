"""Blocks as text for a terminal: Rich lays it out, and stored text is spelled out where a terminal would obey it."""

import unicodedata
from collections.abc import Sequence
from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from slowwave.interfaces.rendering.blocks import (
    Block,
    Cursor,
    Entry,
    Heading,
    Line,
    Note,
    Opening,
    Page,
    Quote,
    Span,
    Table,
)
from slowwave.interfaces.rendering.view import View
from slowwave.interfaces.rendering.words import with_short_ids

_STYLES = {"": "", "bold": "bold", "dim": "dim", "alert": "bold red"}
_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that move, hide or turn what a terminal shows."""


def visible(text: str) -> str:
    """Text with control, direction and other invisible characters spelled out; line breaks and tabs stay."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in _OBEYED
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text
    )


def flat(text: str) -> str:
    """`visible` text in one line."""
    return " ".join(visible(" ".join(text.split())).split())


def terminal(blocks: Sequence[Block], view: View) -> tuple[str, list[str]]:
    """The text for stdout, and the notes for stderr, a line each."""
    console = Console(
        file=StringIO(),
        width=view.width,
        height=25,  # without one Rich asks the server's own environment for the width, too
        force_terminal=view.color,
        color_system="standard" if view.color else None,
        no_color=not view.color,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )
    shown = [block for block in blocks if not isinstance(block, Note)]
    for place, block in enumerate(shown):
        if place and isinstance(block, Heading | Entry):
            console.print()
        _print(console, block)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue(), [
        flat(with_short_ids(note.text)) for note in blocks if isinstance(note, Note)
    ]


def _print(console: Console, block: Block) -> None:
    match block:
        case Entry():
            for part in block.blocks:
                _print(console, part)
        case Opening() | Cursor():
            console.print(Text(flat(block.text)), soft_wrap=True)
        case Heading():
            console.print(Text(f"--- {flat(block.text)} ---", style="bold"), soft_wrap=True)
        case Line():
            text = Text("  " * block.indent).append(_styled(block.spans, is_flat=True))
            console.print(text, soft_wrap=True)
        case Quote():  # a screen wraps it at words, a pipe gets it as it is
            console.print(_styled(block.spans, is_flat=False), soft_wrap=not console.is_terminal)
        case Table():
            console.print(_table(block))
        case Page():
            _print_page(console, block)


def _styled(spans: Sequence[Span], *, is_flat: bool) -> Text:
    text = Text()
    for span in spans:
        shown = visible(span.text)
        text.append(" ".join(shown.splitlines()) if is_flat else shown, style=_STYLES[span.style])
    return text


def _table(block: Table) -> RichTable:
    """A table whose cells fold instead of being cut, so that an id is never shown in part."""
    columns = [
        Column(name, justify="right" if place in block.numbers else "left", overflow="fold")
        for place, name in enumerate(block.columns)
    ]
    made = RichTable(*columns, box=SIMPLE_HEAD, show_edge=False)
    for row in block.rows:
        made.add_row(*(Text(flat(cell)) for cell in row))
    return made


def _print_page(console: Console, block: Page) -> None:
    """A page with its headings in bold; in a pipe to a prompt it stays as it is, its lines were made safe before."""
    if not console.is_terminal and block.is_fenced:
        console.file.write(f"{block.text}\n")
        return
    for one in visible(block.text).splitlines():
        style = "bold" if one.startswith("#") else "dim" if one.startswith("<") else ""
        console.print(Text(one, style=style), soft_wrap=not console.is_terminal)
