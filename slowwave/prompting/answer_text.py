"""Reading single fields of a model's answer: what is harmless is put right, what is not is refused.

The messages of the `ValueError`s go back to the model, so each says how to mend the field. Nothing here knows
which prompt was asked.
"""

import datetime
import re
from typing import Final

from slowwave.language.lexicon import KIND_SYNONYMS, NOTHING
from slowwave.schemas.moments import DAY_UNKNOWN

KINDS: Final = ("person", "project", "organization", "place", "concept", "tool")

_DATE = re.compile(r"(?P<date>\d{4}(-\d{2}(-\d{2})?)?)([T ].*)?")
_WHOLE_DATE = "0000-01-01"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_ENTITY = re.compile(r"(?P<name>.*\S)\s*\((?P<kind>[^()]+)\)")


def one_line(text: str) -> str:
    """Text without control characters, every run of white space as one blank."""
    return " ".join(_CONTROL.sub(" ", text).split())


def paragraph(text: str) -> str:
    """Text with its line breaks, without other control characters and without blanks around its lines."""
    lines = (one_line(line) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def blank_if_none(text: str) -> str:
    """One line of text; "" for words that only say that there is nothing."""
    line = one_line(text)
    return "" if line.lower() in NOTHING else line


def date_or_blank(text: str) -> str:
    """A date as exactly as it is known: YYYY-MM-DD, YYYY-MM or YYYY, or "". A time of day is cut off.

    Raises:
        ValueError: anything else, such as a relative date.
    """
    line = blank_if_none(text)
    if not line or line.lower() == DAY_UNKNOWN:
        return ""
    match = _DATE.fullmatch(line)
    date = match["date"] if match else ""
    try:
        datetime.date.fromisoformat(date + _WHOLE_DATE[len(date) :])
    except ValueError:
        raise ValueError(
            f'{line[:40]!r} is no date; write YYYY-MM-DD, or YYYY-MM or YYYY where no more is known, or ""'
        ) from None
    return date


def entity(text: str) -> str:
    """`Name (kind)` with a kind of `KINDS`; common synonyms of kinds are put right; "" for nothing.

    Raises:
        ValueError: there is no kind, or not a known one.
    """
    line = blank_if_none(text)
    if not line:
        return ""
    match = _ENTITY.fullmatch(line)
    kind = match["kind"].strip().lower() if match else ""
    kind = KIND_SYNONYMS.get(kind, kind)
    if match is None or kind not in KINDS:
        name = match["name"] if match else line
        raise ValueError(
            f'entity {line[:60]!r} needs its kind: write "{name[:60]} (kind)" with one of {", ".join(KINDS)}'
        )
    return f"{match['name']} ({kind})"


def alias(text: str) -> str:
    """`Name = other name`; "" for anything else, and for a name that is its own."""
    name, sign, other = (part.strip() for part in one_line(text).partition(" = "))
    return f"{name} = {other}" if sign and name and other and name.lower() != other.lower() else ""


def label(text: str) -> str:
    """1-4 words in snake_case; words past the fourth are cut off."""
    words = re.findall(r"[^\W_]+", text.lower())
    return "_".join(words[:4])


def word_count(text: str) -> int:
    """Words as the model counts them: what stands between white space."""
    return len(text.split())
