"""The name under which a message is shown, and whose word what is shown of it is.

A message may be a person's and the part that is shown of it another's text; and an assistant may have a person's name.
What prints answers asks here: no table is imported.
"""

from typing import Final

from slowwave.schemas.choices import Origin
from slowwave.trust.own_words import NAME_WORDS, is_partly_quoted, standing

NAME_CHARACTERS: Final = 40
"""Most of a speaker's name: an older version took any text for one."""

QUOTING: Final = {"quoted": ", quoting", "reported": ", perhaps quoting"}
"""Words for what a speaker does with a text that is not plainly the speaker's own."""

PARTLY_QUOTING: Final = ", partly quoting"
"""The same of a text that is the speaker's own for the most part, and quotes beside it."""


def speaker_of(*, role: str, speaker: str | None, content: str, shown: str) -> str:
    """The name of who says the part of a message that is shown, with the role of who is no person.

    It says too where the speaker quotes that part, or may be quoting it.
    """
    name = speaker if speaker and len(speaker.split()) <= NAME_WORDS else role
    named = name[:NAME_CHARACTERS]
    told = named if role == "user" or named.casefold() == role else f"{named} ({role})"
    how = _standing(role, content, shown)
    if how == "quoted" and is_partly_quoted(shown, content, role):
        return f"{told}{PARTLY_QUOTING}"
    return f"{told}{QUOTING.get(how, '')}"


def origin_of(origin: Origin, *, role: str, content: str, shown: str) -> Origin:
    """The origin of the part of a message that is shown: what a person quotes is nobody's word."""
    how = _standing(role, content, shown)
    if how == "quoted":
        is_own = origin in ("user", "reported") and is_partly_quoted(shown, content, role)
        return "reported" if is_own else "untrusted"
    return "reported" if how == "reported" and origin == "user" else origin


def _standing(role: str, content: str, shown: str) -> str:
    return "said" if role == "document" else standing(shown, content, role)
