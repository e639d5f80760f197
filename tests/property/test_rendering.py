"""No stored text leaves its line on an agent's page, its fence or the bound, nor moves anything on a terminal."""

import unicodedata
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from slowwave.ingest.fences import FENCE_CLOSE, FENCE_OPEN, strip_injected
from slowwave.interfaces.rendering.agents import MOST_BYTES, page
from slowwave.interfaces.rendering.blocks import Block, Entry, Heading, Note, Page, Table, line, quote
from slowwave.interfaces.rendering.text import terminal
from slowwave.interfaces.rendering.view import View
from tests.property.test_page_lines import HOSTILE, folded

VIEW = View(datetime(2026, 9, 10, tzinfo=UTC))
LONG = st.tuples(HOSTILE, st.sampled_from([1, 30])).map(lambda drawn: drawn[0] * drawn[1])


def blocks_with(text: str) -> list[Block]:
    """The text wherever a block can hold one."""
    entry = Entry((Heading(text), quote(text), line("id 1a2b3c4d: ", text, indent=2)))
    return [
        Heading(text),
        quote(text),
        line(text),
        Table(("id", "memory"), (("1a2b", text),)),
        Page(text),
        Note(text),
        entry,
    ]


@given(text=LONG)
def test_a_stored_text_stays_in_its_line_its_fence_and_the_bound_of_a_page(text: str) -> None:
    shown = page([*blocks_with("plain"), *blocks_with(text)], VIEW)
    first, *lines, last = shown.split("\n")
    assert (first, last) == (FENCE_OPEN, FENCE_CLOSE)
    assert "slowwave-memory" not in folded("\n".join(lines))
    assert strip_injected(shown)[0].strip() == ""
    assert len(shown.encode()) <= MOST_BYTES
    assert shown.splitlines() == shown.split("\n"), "no text brings a line break of any kind"


@given(text=HOSTILE)
def test_nothing_stored_moves_hides_or_colours_what_a_terminal_shows(text: str) -> None:
    blocks = [block for block in blocks_with(text) if not isinstance(block, Page)]
    shown, notes = terminal([*blocks, Page(text)], VIEW)
    for one in (shown, *notes):
        assert not [
            sign
            for sign in one
            if sign not in "\n\t" and unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl"}
        ]
