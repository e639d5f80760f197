"""The word lists of English, each in one place: `lexicon.toml` holds them, whoever needs one asks for it by name.

Patterns that are grammar (what a time or a question looks like) stay with the code that reads them.
"""

import re
import tomllib
from importlib.resources import files
from typing import Final

LISTS: Final = tomllib.loads((files(__package__) / "lexicon.toml").read_text(encoding="utf-8"))


def words(name: str) -> tuple[str, ...]:
    """The entries of a list, in their order."""
    found: str | list[str] = LISTS[name]
    return tuple(found.split() if isinstance(found, str) else found)


def word_set(*names: str) -> frozenset[str]:
    """The entries of several lists."""
    return frozenset(word for name in names for word in words(name))


def any_of(name: str) -> str:
    """A pattern for the entries of a list, as they are spelled."""
    return rf"(?:{'|'.join(map(re.escape, words(name)))})"


def table(name: str) -> dict[str, str]:
    """A table of words and what replaces them."""
    found: dict[str, str] = LISTS[name]
    return found


def by_alias(name: str) -> dict[str, str]:
    """A table of words and their aliases, turned around: alias to word."""
    return {alias: word for word, known in table(name).items() for alias in known.split()}


STOP_WORDS: Final = word_set("stop_words")
"""Words that are in nearly every text: their lists are the longest to read and tell the least."""
THEMELESS_WORDS: Final = STOP_WORDS | word_set("small_talk", "talk", "contractions", "going_on")
"""Words that name no subject: they mark no topic, and a message of them alone calls for no memory ("ok, go on")."""

DENIALS: Final = words("denials")
CHANGE_LEADS: Final = words("change_leads")
"""Words before the day of a change: of the text of a correction, or of its note."""
CHANGE_CUES: Final = words("change_cues")
"""Patterns of a correction by which the old value held until then, of several languages."""
MISTAKE_CUES: Final = words("mistake_cues")
"""Patterns of a correction by which the old value never held."""

MONTHS: Final = words("months")
WEEKDAYS: Final = words("weekdays")
NUMBERS: Final = words("numbers")
"""From zero to twenty."""
TENS: Final = words("tens")
"""From thirty to ninety."""

AMBIGUOUS_NAMES: Final = word_set("ambiguous_names")
"""Words that name nothing by themselves: no other name is joined to them."""
TRADES: Final = words("trades")
KIND_SYNONYMS: Final = by_alias("kind_synonyms")
FOLDED_LETTERS: Final = table("letters")

CLOSED_STATES: Final = word_set("closed")
NOTHING: Final = word_set("nothing")
"""Ways in which a model says that there is nothing, in lower case."""
