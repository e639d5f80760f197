"""Answers about new turns: whether they hold a memory, which ones, and whether a person deleted it before."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from slowwave.prompting.answer_text import alias, entity, one_line, word_count
from slowwave.prompting.answers import (
    LABEL_WORDS,
    Answer,
    Date,
    Line,
    LineOrBlank,
    Page,
    Paragraph,
    Score,
    is_off,
    listed,
)
from slowwave.schemas.choices import ExtractedType
from slowwave.schemas.identity import normalize_text

MAX_CELLS = 40
MAX_CONTENT_CHARACTERS = 1200
WORKFLOW_STEPS = 2


class GateAnswer(Answer):
    """Is there anything in these turns worth remembering?"""

    reason: Line = Field(description="One short sentence: what there is to remember, or why nothing.")
    is_worth_remembering: bool = Field(description="true also when in doubt")


def bare(schema: dict[str, Any]) -> None:
    """Takes out the titles of fields, which repeat their names, and defaults, which strict tools refuse."""
    for shape in schema["properties"].values():
        shape.pop("title", None)
        shape.pop("default", None)


class ExtractedCell(Answer):
    """One memory."""

    # the prompt says what each field holds: said here too, it would be paid for twice with every page
    model_config = ConfigDict(json_schema_extra=bare)

    cell_type: ExtractedType
    content: Paragraph
    subject: LineOrBlank
    attribute: LineOrBlank
    value: Annotated[str, AfterValidator(one_line)]
    topic: Line
    salience: Score
    confidence: Score
    valid_from: Date
    valid_until: Date
    evidence: list[int]
    relation: Literal["new", "changed", "confirmed"]
    known: int
    entities: list[Annotated[str, AfterValidator(entity)]]
    steps: list[Line]
    # most memories have none of these, and what is left out costs nothing
    stated_by: int = 0
    is_wish: bool = False
    aliases: list[Annotated[str, AfterValidator(alias)]] = Field(default=[])

    def _problems(self, page: Page) -> list[str]:
        self._mend()
        self._mend_speaker(page)
        return [*self._problems_of_text(), *self._problems_of_numbers(page)]

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

    def _mend_speaker(self, page: Page) -> None:
        """Whoever states a memory is evidence of it; a single piece of evidence states it."""
        if is_off(self.stated_by, page.get("turn_numbers")):
            self.stated_by = 0
        if self.stated_by:
            self.evidence = sorted({*self.evidence, self.stated_by})
        elif len(self.evidence) == 1:
            self.stated_by = self.evidence[0]

    def _problems_of_text(self) -> list[str]:
        problems = []
        if not self.content:
            problems.append("content is empty; write 1-2 sentences or leave this memory out")
        if len(self.content) > MAX_CONTENT_CHARACTERS:
            problems.append(
                f"content has {len(self.content)} characters; write 1-2 sentences or split the memory"
            )
        if self.cell_type == "workflow" and len(self.steps) < WORKFLOW_STEPS:
            problems.append(
                f"a workflow needs its steps in order, at least {WORKFLOW_STEPS}, not {len(self.steps)};"
                ' write them into steps, or choose another cell_type such as "fact"'
            )
        if not self.topic or word_count(self.topic) > LABEL_WORDS:
            problems.append("topic must be a label of 2-4 words")
        shorter = min(len(self.valid_from), len(self.valid_until))
        if self.valid_until[:shorter] < self.valid_from[:shorter]:
            problems.append(
                f"valid_until {self.valid_until} is before valid_from {self.valid_from};"
                ' mend the dates or write "" for the one that is not told'
            )
        return problems

    def _problems_of_numbers(self, page: Page) -> list[str]:
        problems = []
        turns, known = page.get("turn_numbers"), page.get("known_numbers")
        if not self.evidence:
            problems.append("evidence is empty; give the number of at least one turn that says it")
        problems += [
            f"evidence {number} is not a turn on this page; use only {listed(turns)}"
            for number in self.evidence
            if is_off(number, turns)
        ]
        if known is not None and not known:
            self.relation, self.known = "new", 0
        elif self.relation == "new" and self.known != 0:
            problems.append(
                f'relation "new" needs known 0; if this memory is about known memory {self.known},'
                ' write relation "changed" or "confirmed"'
            )
        elif self.relation != "new" and (self.known == 0 or is_off(self.known, known)):
            problems.append(
                f'relation "{self.relation}" needs the number of a known memory, not {self.known};'
                f' use only {listed(known)}, or write relation "new" with known 0'
            )
        return problems


class ExtractAnswer(Answer):
    """All memories of one page; an empty list is a good answer."""

    cells: list[ExtractedCell] = Field(max_length=MAX_CELLS)

    def _problems(self, page: Page) -> list[str]:
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

    reason: Line = Field(description="One short sentence that names what is the same, or what differs")
    same_as: int = Field(description="Number of the deleted memory that says the same, 0 for none")

    def _problems(self, page: Page) -> list[str]:
        numbers = page.get("page_numbers")
        if self.same_as and is_off(self.same_as, numbers):
            return [f"same_as {self.same_as} is not on this page; use 0 or one of {listed(numbers)}"]
        return []
