"""The word lists of English, each in one place: `lexicon.toml` holds them, here they get their types.

Patterns that are grammar (what a time or a question looks like) stay with the code that reads them.
"""

import tomllib
from importlib.resources import files
from typing import Final

_LISTS: Final = tomllib.loads((files(__package__) / "lexicon.toml").read_text(encoding="utf-8"))


def _words(name: str) -> tuple[str, ...]:
    words: str | list[str] = _LISTS[name]
    return tuple(words.split() if isinstance(words, str) else words)


def _set(*names: str) -> frozenset[str]:
    return frozenset(word for name in names for word in _words(name))


def _by_alias(name: str) -> dict[str, str]:
    """A table of words and their aliases, turned around: alias to word."""
    aliases: dict[str, str] = _LISTS[name]
    return {alias: word for word, known in aliases.items() for alias in known.split()}


STOP_WORDS: Final = _set("stop_words")
"""Words that stand in nearly every text: their lists are the longest to read and tell the least."""
MATTERLESS_WORDS: Final = STOP_WORDS | _set("any_matter")
"""Words of a question for whatever there was."""

HABITS: Final = _words("habits")
"""Words of a sentence that tells a habit or a lasting state."""
SMALL_TALK: Final = _set("small_talk")
"""Words of greetings, thanks and acknowledgements, of several languages."""
THEMELESS_WORDS: Final = STOP_WORDS | SMALL_TALK | _set("talk", "contractions", "going_on")
"""Words that name no subject: they mark no topic, and a message of them alone calls for no memory ("ok, go on")."""
ANNOUNCING: Final = _words("announcing")
PERSONAL: Final = _words("personal")
DAY_WORDS: Final = _words("day_words")

DENIALS: Final = _words("denials")
CHANGED: Final = _words("changed")
"""Words of a sentence that tells that something is otherwise than before."""
CHANGE_LEADS: Final = _words("change_leads")
"""Words before the day of a change: of the text of a correction, or of its note."""
CHANGE_CUES: Final = _words("change_cues")
"""Patterns of a correction by which the old value held until then, of several languages."""
MISTAKE_CUES: Final = _words("mistake_cues")
"""Patterns of a correction by which the old value never held."""
STANDING: Final = _words("standing")
"""Words of a sentence that says how something is always to be done."""
STANDING_BEHIND: Final = _words("standing_behind")
NEVER_AGAIN: Final = _words("never_again")
GIVING_UP: Final = _words("giving_up")
WITHDRAWING: Final = _words("withdrawing")
"""Words that take a wish back, before what it was about."""
WISH_NOUNS: Final = _set("wish_nouns")
HENCEFORTH: Final = _words("henceforth")
HENCEFORTH_FIRST: Final = _words("henceforth_first")
KEEP_IN_MIND: Final = _words("keep_in_mind")
CHOOSING: Final = _words("choosing")
AT_HAND: Final = _words("at_hand")
NO_ORDER: Final = _words("no_order")
"""Words after those of `STANDING` where something is told and nothing is asked for."""

MONTHS: Final = _words("months")
WEEKDAYS: Final = _words("weekdays")
NUMBERS: Final = _words("numbers")
"""From zero to twenty."""
TENS: Final = _words("tens")
"""From thirty to ninety."""
ORDINALS: Final = _words("ordinals")

AFTER: Final = _set("after")
SINCE: Final = _set("since")
BEFORE: Final = _set("before")
UNTIL: Final = _set("until")
AROUND: Final = _set("around")
INSIDE: Final = _set("inside")

PERSON_WORDS: Final = _set("person_words")
"""Words that describe a person where no name is said."""

AMBIGUOUS_NAMES: Final = _set("ambiguous_names")
"""Words that name nothing by themselves: no other name is joined to them."""
TRADES: Final = _words("trades")
NICKNAMES: Final = _by_alias("nicknames")
KNOWN_AS: Final[dict[str, str]] = _LISTS["known_as"]
KIND_SYNONYMS: Final = _by_alias("kind_synonyms")
FOLDED_LETTERS: Final[dict[str, str]] = _LISTS["letters"]

GENERAL_FOLDERS: Final = _set("general_folders")
TRUNK_BRANCHES: Final = _set("trunk_branches")
EVERYDAY_ERRORS: Final = _set("everyday_errors")
CLOSED_STATES: Final = _set("closed")
NOTHING: Final = _set("nothing")
"""Ways in which a model says that there is nothing, in lower case."""
