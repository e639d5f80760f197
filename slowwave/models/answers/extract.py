"""Answers about new turns: whether they hold a memory, which ones, and whether a person deleted it before."""

import datetime
import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from slowwave.language.lexicon import KIND_SYNONYMS
from slowwave.models.answers.fields import (
    Answer,
    Line,
    LineOrBlank,
    Name,
    Paragraph,
    Score,
    blank_if_none,
    is_off,
    listed,
    number_of,
    of_page,
    one_line,
)
from slowwave.schemas.choices import ExtractedType
from slowwave.schemas.identity import normalize_text
from slowwave.schemas.moments import DAY_UNKNOWN

MAX_CELLS = 40
MAX_CONTENT_CHARACTERS = 1200
WORKFLOW_STEPS = 2
BRIEF_WORDS = 16
"""A longer brief is none; the prompt asks for ten words, since small models miscount."""

KINDS: Final = ("person", "project", "organization", "place", "concept", "tool")

_DATE = re.compile(r"(?P<date>\d{4}(-\d{2}(-\d{2})?)?)([T ].*)?")
_WHOLE_DATE = "0000-01-01"
_ENTITY = re.compile(r"(?P<name>.*\S)\s*\((?P<kind>[^()]+)\)")


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


class GateAnswer(Answer):
    """Is there anything in these turns worth remembering?"""

    reason: Line
    is_worth_remembering: bool


class ExtractedCell(Answer):
    """One memory. Most have nothing to say in most fields, and what is left out costs nothing."""

    cell_type: ExtractedType
    content: Paragraph
    brief: LineOrBlank = ""
    question: LineOrBlank = ""
    subject: LineOrBlank = ""
    attribute: LineOrBlank = ""
    value: Line = ""
    topic: Name
    salience: Score
    confidence: Score = 0.9
    valid_from: Annotated[str, AfterValidator(date_or_blank)] = ""
    valid_until: Annotated[str, AfterValidator(date_or_blank)] = ""
    evidence: list[Annotated[int, number_of("turn_numbers")]]
    stated_by: int = 0
    is_wish: bool = False
    relation: Literal["new", "changed", "confirmed"] = "new"
    known: int = 0
    entities: list[Annotated[str, AfterValidator(entity)]]
    aliases: list[Annotated[str, AfterValidator(alias)]] = Field(default=[])
    steps: list[Line] = Field(default=[])

    def _problems(self) -> list[str]:
        self._mend()
        self._mend_speaker()
        shorter = min(len(self.valid_from), len(self.valid_until))
        is_backwards = self.valid_until[:shorter] < self.valid_from[:shorter]
        problems = {
            "content is empty; write 1-2 sentences or leave this memory out": not self.content,
            f"content has {len(self.content)} characters; write 1-2 sentences or split the memory": (
                len(self.content) > MAX_CONTENT_CHARACTERS
            ),
            f"a workflow needs its steps in order, at least {WORKFLOW_STEPS}, not {len(self.steps)}; write them into"
            ' steps, or choose another cell_type such as "fact"': (
                self.cell_type == "workflow" and len(self.steps) < WORKFLOW_STEPS
            ),
            f"valid_until {self.valid_until} is before valid_from {self.valid_from}; mend the dates or write"
            ' "" for the one that is not told': is_backwards,
            "evidence is empty; give the number of at least one turn that says it": not self.evidence,
        }
        return [problem for problem, is_so in problems.items() if is_so] + self._problems_of_relation()

    def _mend(self) -> None:
        """A value needs its attribute, an attribute its subject, a pattern its form; a redaction mark is no value."""
        if "[redacted" in self.value.lower():
            self.value = ""
        if not self.subject:
            self.attribute = ""
        if not self.attribute or normalize_text(self.value) in {"n/a", "null", "-"}:
            self.value = ""
        self.evidence = sorted(set(self.evidence))
        self.entities = [*dict.fromkeys(name for name in self.entities if name)]
        named = tuple(f"{name.rpartition(' (')[0]} = " for name in self.entities)
        self.aliases = [*dict.fromkeys(name for name in self.aliases if name.startswith(named))]
        self.steps = (
            [step for step in self.steps if step] if self.cell_type in {"workflow", "pattern"} else []
        )
        if self.cell_type == "pattern" and not self.steps:
            self.cell_type = "fact"
        if len(self.brief.split()) > BRIEF_WORDS or normalize_text(self.brief) == normalize_text(
            self.content
        ):
            self.brief = ""

    def _mend_speaker(self) -> None:
        """Whoever states a memory is evidence of it; a single piece of evidence states it."""
        if is_off(self.stated_by, "turn_numbers"):
            self.stated_by = 0
        if self.stated_by:
            self.evidence = sorted({*self.evidence, self.stated_by})
        elif len(self.evidence) == 1:
            self.stated_by = self.evidence[0]

    def _problems_of_relation(self) -> list[str]:
        known = of_page("known_numbers")
        if known is not None and not known:
            self.relation, self.known = "new", 0
        elif self.relation == "new" and self.known != 0:
            return [
                f'relation "new" needs known 0; if this memory is about known memory {self.known},'
                ' write relation "changed" or "confirmed"'
            ]
        elif self.relation != "new" and (self.known == 0 or is_off(self.known, "known_numbers")):
            return [
                f'relation "{self.relation}" needs the number of a known memory, not {self.known};'
                f' use only {listed(known)}, or write relation "new" with known 0'
            ]
        return []


class ExtractAnswer(Answer):
    """All memories of one page; an empty list is a good answer."""

    cells: list[ExtractedCell] = Field(max_length=MAX_CELLS)

    def _problems(self) -> list[str]:
        """None; the same content twice becomes one memory with the evidence of both."""
        joined: dict[str, ExtractedCell] = {}
        for cell in self.cells:
            first = joined.setdefault(normalize_text(cell.content), cell)
            if first is not cell:
                first.evidence = sorted({*first.evidence, *cell.evidence})
        self.cells = list(joined.values())
        return []


class TombstoneAnswer(Answer):
    """Whether a new memory says the same as one that a person deleted; 0 says no."""

    reason: Line
    same_as: Annotated[int, number_of("page_numbers", or_none=True)]
