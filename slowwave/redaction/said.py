"""Values that a sentence tells near a label: "the password for it is x", "login with a / b", "x is the password".

The languages differ in their labels and in the words that link them to a value; both stand in `labels.toml`. What
looks like nothing but a password is taken without a link.
"""

import re
from collections.abc import Iterator
from typing import Final

from slowwave.redaction.given import fits
from slowwave.redaction.labels import ABOUT, LINKS_AFTER, LINKS_BEFORE, LINKS_REPORTING, LINKS_TELLING, Label
from slowwave.redaction.shapes import is_identifier, is_mixed, is_mundane, is_strong
from slowwave.redaction.values import (
    SHORTEST_GIVEN,
    SHORTEST_SAID_KEY,
    is_ordinary,
    is_random,
    is_reference,
    is_sentence,
    looks_chosen,
)
from slowwave.redaction.written import Written, line_end, line_start, value_at

REACH: Final = 140
"""Characters after a label in which its value is looked for, on its line."""
_REACH_BEFORE: Final = 90
_FILLERS: Final = 5
_TOKEN = re.compile(r"\S+")
_MARKS = re.compile(r"(?:[:=→⇒>]|->|—|–)\Z")
_TELLING = re.compile(r"[\d\"'`“„«‹‘‚!@#$%^&*=:]|[-_]\w+[-_]|(?i:" + "|".join(sorted(LINKS_REPORTING)) + ")")
"""Without one of these a line tells no secret."""
_OPENERS = "\"'`“„«‹‘‚*(\\"
_END = re.compile(r"[.!]?[\"'”»`)*]{0,3}(?:\s*$|\s*\n|[.,;!]\s)")
_PAIR = re.compile(
    r"(?i)(?:\b(?:with|as|using|via|is|are|mit|als|avec|con|com|met|z|by|come|como|comme|used)\b|[:=>→|-])\s{1,4}(?:[^\W\d]{1,12}\s){0,2}?"
    r"[\"'`“„«]?(?P<user>[\w.@+\\-]{2,64})[\"'`”“»]?\s{0,3}(?:/|:|\||,|;|\s(?:and|und|et|y|e|en|i|with|plus|&)\s)\s{0,3}"
    r"(?:(?:password|passwort|pw|pass)\s)?[\"'`“„«]?(?P<secret>[^\s\"'`“”„«»/][^\s\"'`“”„«»]{4,80})"
)


def said_spans(text: str, label: Label) -> Iterator[tuple[int, int]]:
    """Places of what is said to be the value of a label, on its line."""
    end = line_end(text, label.name_end, REACH)
    is_telling = bool(_TELLING.search(text, label.name_end, end))
    if "login" in label.kinds and is_telling:
        yield from _pairs(text, label, end)
    if label.kind in ("login", "seed"):
        return
    found = (_after(text, label, end) if is_telling else None) or _before(text, label)
    if found:
        yield found


def _pairs(text: str, label: Label, end: int) -> Iterator[tuple[int, int]]:
    for match in _PAIR.finditer(text, label.end, end):
        value = match["secret"].rstrip(".,;:!?)")
        if looks_chosen(value) and not is_mundane(match["user"]) | ("/" in value):
            yield match.start("secret"), match.start("secret") + len(value)
            return


def _after(text: str, label: Label, end: int) -> tuple[int, int] | None:
    before = ""
    for number, token in enumerate(_TOKEN.finditer(text, label.name_end, end)):
        word = token[0].lower()
        if number or word[0].isalnum() or word[0] in _OPENERS:
            is_linked = bool(before) and (before.rstrip(":=,") in LINKS_AFTER or bool(_MARKS.search(before)))
            found = value_at(text, token.start())
            if found and _is_said(text, label, found, link=before if is_linked else "", number=number):
                return _trimmed(found)
        before = word
    return None


def _trimmed(found: Written) -> tuple[int, int]:
    """The place of a value without the sign that ends its sentence."""
    value = found.text if found.is_quoted else found.text.rstrip(".,;:)")
    return found.start, found.start + len(value)


def _is_said(text: str, label: Label, found: Written, *, link: str, number: int) -> bool:
    value = found.text if found.is_quoted else found.text.rstrip(".,;:!?)")
    if len(value) < SHORTEST_GIVEN or is_ordinary(value) or is_reference(value, is_shell=False):
        return False
    if (link or number == 0) and fits(label, value):
        return True
    if label.kind in ("key", "token", "totp", "codes"):
        is_told = len(value) >= SHORTEST_SAID_KEY and is_random(value) and not is_mundane(value)
        return (bool(link) and is_told) or (
            is_mixed(value) and not is_identifier(value) and not is_mundane(value)
        )
    if label.kind != "password":
        return False
    if is_strong(found.text) or (looks_chosen(value) and (bool(link) or found.is_quoted)):
        return not is_identifier(value) or bool(link)
    is_word = value.lower() not in ABOUT and not is_mundane(value) and not is_sentence(value)
    if found.is_quoted:
        is_stated = link.rstrip(":=,") in LINKS_TELLING or bool(_MARKS.search(link))
        return is_stated and is_word and value.count(" ") <= 12
    is_told = link.rstrip(":") in LINKS_REPORTING or link.endswith(":")
    joined = value.count("-") + value.count("_") + value.count(".") >= 2
    return (
        is_word
        and len(value) >= 6
        and bool(_END.match(text, found.end))
        and (
            (is_told and _MARKS.search(link) is None)
            or (bool(link) and joined and len(value) >= SHORTEST_SAID_KEY)
        )
    )


def _before(text: str, label: Label) -> tuple[int, int] | None:
    """A value that stands before its label: "x is the password", "use x as the password"."""
    if label.kind not in ("password", "key", "token"):
        return None
    start = line_start(text, label.name_start, _REACH_BEFORE)
    if not _TELLING.search(text, start, label.name_start):
        return None
    tokens = list(_TOKEN.finditer(text, start, label.name_start))[-_FILLERS - 2 :]
    for number, token in enumerate(tokens):
        link = tokens[number + 1][0].lower() if number + 1 < len(tokens) else ""
        if token.start() == start > 0 and not text[start - 1].isspace():
            continue
        found = value_at(text, token.start())
        if not found or is_ordinary(found.text) or is_reference(found.text, is_shell=False):
            continue
        value = found.text if found.is_quoted else found.text.rstrip(".,;:)")
        is_linked = link in LINKS_BEFORE
        if label.kind == "password":
            is_value = is_linked and looks_chosen(value)
            is_value = is_value or (is_strong(value) and not is_identifier(value))
        else:
            is_value = (
                is_linked and len(value) >= SHORTEST_SAID_KEY and is_mixed(value) and not is_mundane(value)
            )
        if is_value:
            return _trimmed(found)
    return None
