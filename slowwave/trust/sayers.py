"""Find the persons of whom a text says that they say something."""

import re
from typing import Final, NamedTuple

from slowwave.deferred import pattern
from slowwave.trust.table import compiled

_SAYER, _THEY_SAY = compiled("sayer"), compiled("they_say")
_JOINT: Final = pattern(r"\b(?:that|and|but|as|which|who|because|when|if|while|what)\b")
_CONDITION: Final = pattern(r"\b(?:when|if|until|as soon as)\b", re.IGNORECASE)
_CLOSING: Final = pattern(r",\s*(?:as|so|wie|comme|como)?\s*$")


class Sayer(NamedTuple):
    """Somebody of whom a text says that they say something, to whom, and whether that closes a sentence."""

    who: str
    to: str
    is_closing: bool


def sayers(text: str) -> list[Sayer]:
    """Find the sayers of a text; where a verb has no subject, all that is before it counts as one."""
    found = []
    for match in _SAYER.finditer(text):
        who = _JOINT.split(match["who"] or match["after"])[-1].strip() or text[: match.start("who")]
        is_closing = not text[match.end() :].strip(' .,;:!"”') and bool(
            _CLOSING.search(text[: match.start()])
        )
        if not _CONDITION.search(match["who"] or ""):
            found.append(Sayer(who, match["to"] or "", is_closing))
    return found


def is_hearsay(text: str) -> bool:
    """Return whether a message says of somebody, without a name, that they say something."""
    return _THEY_SAY.search(text) is not None
