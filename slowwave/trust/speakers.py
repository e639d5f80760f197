"""The name under which a message is shown, and whose word the part of it that is shown is.

A message may be a person's and the part that is shown of it another's text; and an assistant may have a person's name.
What prints answers asks here: no table is imported.
"""

import re
from typing import Final, Literal

from slowwave.schemas.choices import Origin
from slowwave.trust.own_words import NAME_WORDS, parts_of

NAME_CHARACTERS: Final = 40
"""Most of a speaker's name: an older version took any text for one."""

QUOTING: Final = {"quoted": ", quoting", "reported": ", perhaps quoting"}
"""Words for what a speaker does with a text that is not plainly the speaker's own."""


def speaker_of(*, role: str, speaker: str | None, content: str, shown: str) -> str:
    """The name of who says the part of a message that is shown, with the role of who is no person.

    It says too where the speaker quotes that part, or may be quoting it.
    """
    name = speaker if speaker and len(speaker.split()) <= NAME_WORDS else role
    named = name[:NAME_CHARACTERS]
    told = named if role == "user" or named.casefold() == role else f"{named} ({role})"
    how = standing(shown, content, role)
    if how == "quoted" and _is_partly_quoted(shown, content, role):
        return f"{told}, partly quoting"
    return f"{told}{QUOTING.get(how, '')}"


def origin_of(origin: Origin, *, role: str, content: str, shown: str) -> Origin:
    """The origin of the part of a message that is shown: what a person quotes is nobody's word."""
    how = standing(shown, content, role)
    if how == "quoted":
        is_own = origin in ("user", "reported") and _is_partly_quoted(shown, content, role)
        return "reported" if is_own else "untrusted"
    return "reported" if how == "reported" and origin == "user" else origin


def standing(told: str, content: str, role: str) -> Literal["said", "reported", "quoted", "absent"]:
    """The standing of a text in a message: said, perhaps passed on, only quoted, or absent but for a few words.

    A document says all that is in it.
    """
    if role == "document":
        return "said"
    asked, own, reported, quoted = _words_of(told, content, role)
    if (asked - own - reported) & quoted:
        return "quoted"
    if 2 * len(asked & (own | reported)) < len(asked):
        return "absent"
    return "reported" if (asked - own) & reported else "said"


def _is_partly_quoted(told: str, content: str, role: str) -> bool:
    """Return whether most words of a text that quotes are in what the writer of the message says itself."""
    asked, own, reported, _ = _words_of(told, content, role)
    return 2 * len(asked & (own | reported)) > len(asked)


def _words_of(told: str, content: str, role: str) -> tuple[frozenset[str], ...]:
    """The words of a text, and those of the parts of its message: own, reported, quoted."""
    texts = (told, *parts_of(content, is_typed=role == "user"))
    return tuple(frozenset(re.findall(r"\w+", text.lower())) for text in texts)
