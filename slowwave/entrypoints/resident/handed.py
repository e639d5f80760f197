"""Commands that are handed to whoever listens for a home. The standard library alone: each command looks here first."""

QUESTIONS = (
    "search",
    "context",
    "entity",
    "timeline",
    "list",
    "explain",
    "weak",
    "archived",
    "stats",
)
"""Commands that ask; where nobody listens they start a reader."""

LOOKS = ("status", "contradictions")
"""Commands that ask, and start none."""

WRITES = ("ingest", "remember", "correct", "confirm", "forget", "resolve", "erase", "cite")
"""Commands that write: a server does that, a reader does not."""

HANDED = (*QUESTIONS, *LOOKS, *WRITES)

TYPED_HERE = frozenset({"-h", "--help", "--", "--discover"})
"""Words with which a command stays in the process in which it was typed: help, and what asks at the terminal."""

OF_A_TERMINAL = (
    "COLORTERM",
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "TERM",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
)
"""Variables by which output is laid out and coloured."""


def home_in(words: list[str]) -> str | None:
    """The home that a command line seems to name; who runs the command knows, and runs it for no other."""
    found = None
    for before, word in zip(["", *words], words, strict=False):
        if before == "--home":
            found = word
        elif word.startswith("--home="):
            found = word.removeprefix("--home=")
    return found
