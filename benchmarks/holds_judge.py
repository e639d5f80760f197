"""Whether a text gives the current value of a property, and whether it gives an older one as current. Pure.

A form alone proves nothing: a line that is older than the current value cannot state it, though it holds the same
string ("we chose sessions, no JWT"). So a line names the current value if it holds one of its forms and is not older
than the first statement of it. A line gives an older value as current if it holds a form of that value, does not name
the current one, and has no mark of the past (`MARKS`) in the sentence.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, partial

from benchmarks.holds_world import Property, Value

MARKS = re.compile(
    r"\b(until|before|previously|formerly|earlier|was|were|had been|used to|then|no longer|not any ?more|"
    r"instead of|superseded|replaced|reverses|from \S+ (?:\w+ )?to)\b|\(done\)|~~",
    re.IGNORECASE,
)
"""What marks a value as past, in the sentence that holds it. `--show fail` prints what they let through."""

SENTENCE = re.compile(r"(?<=[.!?])\s+")
DAY = re.compile(r"\b20\d\d-\d\d-\d\d\b")
WORD = re.compile(r"[^\W_]+")
LEAST_LETTERS, STEM_LETTERS = 4, 5


@dataclass(frozen=True)
class Line:
    """A line that is shown, the day of what it says, and the messages that it rests on."""

    text: str
    day: date | None
    messages: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Verdict:
    """What the lines of one answer give."""

    first: bool
    """The first line names the current value; both sides where it is undecided."""
    named: bool
    """Any line does, or of an undecided one the lines together name both sides."""
    older_first: bool
    """The first line gives an older value, or one side of an undecided property, as current."""
    older: bool
    """Any line gives an older value as current, or one side of an undecided property is named alone."""
    marked: tuple[str, ...]
    """Lines that hold an older value alone, and are let through because of a mark."""


def judge(lines: Sequence[Line], asked: Property) -> Verdict:
    """The verdict on an answer; one without lines names nothing and gives nothing as current."""
    relevant = [(place, line) for place, line in enumerate(lines) if is_about(line, asked)]
    sides = [
        {side for side in range(len(asked.current)) if names(line, asked.current[side])}
        for _, line in relevant
    ]
    whole, together = set(range(len(asked.current))), set().union(*sides)
    is_first = bool(relevant) and relevant[0][0] == 0
    stale = [
        line
        for (_, line), named in zip(relevant, sides, strict=True)
        if not named and holds_former(line, asked)
    ]
    unmarked = [line for line in stale if not is_past(line, asked)]
    first_side = sides[0] if is_first else set()
    return Verdict(
        first=first_side == whole,
        named=together == whole,
        older_first=bool(lines) and (lines[0] in unmarked or set() < first_side < whole),
        older=bool(unmarked) or set() < together < whole,
        marked=tuple(line.text for line in stale if line not in unmarked),
    )


def is_about(line: Line, asked: Property) -> bool:
    """Return whether a line rests on a statement of the property, or has a word of its subject or attribute.

    Without this a weekday or a small number of anything else counts.
    """
    return bool(line.messages & asked.evidence) or bool(_stems(line.text) & _stems(" ".join(asked.about)))


def names(line: Line, value: Value) -> bool:
    """Return whether a line holds a form of a value, and is not older than its first statement.

    Days that the line itself names count: "100 decided (180 since 2026-08-19)" has both.
    """
    days = [line.day, *map(date.fromisoformat, DAY.findall(line.text))]
    is_late_enough = line.day is None or any(day >= value.known_from for day in days if day)
    return is_late_enough and holds(line.text, value.forms)


def holds_former(line: Line, asked: Property) -> bool:
    """Return whether a line holds a form of a value that is not current any more."""
    return any(holds(line.text, value.forms) for value in asked.former)


def is_past(line: Line, asked: Property) -> bool:
    """Return whether each sentence with a former value has a mark of the past."""
    sentences = [part for part in SENTENCE.split(line.text) if holds_former(Line(part, None), asked)]
    return bool(sentences) and all(MARKS.search(part) for part in sentences)


def holds(text: str, forms: Iterable[str]) -> bool:
    """Return whether a text holds one of the forms as whole words or numbers, whatever their case."""
    spellings = _spellings(text)
    return any(_form(form).search(spelling) for form in forms for spelling in spellings)


@cache
def _form(form: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?<!\d[.,]){re.escape(_plain(form))}(?!\w)(?![.,]\d)")


MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
RATE = re.compile(r"\bper (?=second|minute|hour|day|night|week|month|year)")
ISO_DAY = re.compile(r"\b\d{4}-(\d\d)-(\d\d)\b")


def _spellings(text: str) -> set[str]:
    """A text as forms are looked for in it, its days as "2026-09-15", as "15 september" and as "september 15"."""

    def spelled(found: re.Match[str], template: str) -> str:
        month, day = int(found[1]), int(found[2])
        return template.format(day=day, month=MONTHS[month - 1]) if 0 < month <= len(MONTHS) else found[0]

    forms = [partial(spelled, template=form) for form in ("{day} {month}", "{month} {day}")]
    return {_plain(text), *(_plain(ISO_DAY.sub(form, text)) for form in forms)}


def _plain(text: str) -> str:
    """Text in lower case with straight marks and single blanks; "per minute" also counts as "a minute"."""
    text = text.translate({0x2019: "'", 0x201C: '"', 0x201D: '"', 0xA0: " "}).casefold()
    return " ".join(RATE.sub("a ", text).split())


@cache
def _stems(text: str) -> frozenset[str]:
    words = (word for word in WORD.findall(text.casefold()) if len(word) >= LEAST_LETTERS)
    return frozenset(word[:STEM_LETTERS] for word in words)
