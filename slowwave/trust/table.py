"""The table of patterns by which a text is somebody else's, with an example beside each.

Data and not code, so that no brace of a formatted string can change a pattern, and a test can try each alone.
"""

import re
import tomllib
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple

from slowwave.deferred import pattern

Part = Literal["reported", "quoted"]

_TABLE: Final[dict[str, Any]] = tomllib.loads((files(__package__) / "table.toml").read_text(encoding="utf-8"))


class Mark(NamedTuple):
    """The beginning of a line from which on a person's message is not typed, and where that ends."""

    part: Part
    end: Literal["message", "paragraph", "mark", "name"]
    pattern: str
    example: str


def _words(text: str) -> str:
    return "|".join(text.strip().split("\n"))


def _lists() -> dict[str, str]:
    lists = {name: _words(text) for name, text in _TABLE.items() if isinstance(text, str)}
    source = rf"(?<![\w./-])(?:{lists['texts']}|{lists['agents']})"
    spoken = rf"\b(?:{lists['speech']})\b"
    words = {name: _words(text) for name, text in _TABLE["words"].items()}
    return lists | words | {"text": lists["texts"], "source": source, "speech": spoken}


_LISTS: Final = _lists()

_SPEECH: Final = _words(_TABLE["speech"]).split("|")
REPORTING: Final = frozenset(
    {one for word in _SPEECH for one in (word.replace("?", ""), re.sub(r".\?", "", word))}
    | {*_TABLE["reporting"].split()}
)
"""Words of which each match of `reports` has one: those take long."""

MARKS: Final = tuple(Mark(*row) for row in _TABLE["marks"])
SENTENCES: Final[dict[str, list[tuple[str, str]]]] = {
    name: [(re.sub(r"\{([a-z_]+)\}", lambda found: _LISTS[found[1]], one), example) for one, example in rows]
    for name, rows in _TABLE["sentences"].items()
}
"""By the name of what they recognise: patterns, an example each."""


def compiled(name: str) -> re.Pattern[str]:
    """One pattern for all of a name."""
    return pattern("|".join(one for one, _ in SENTENCES[name]), re.IGNORECASE)
