"""Answers about new turns: whether they hold a memory, which ones, and whether a person deleted it before."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from slowwave.prompting.answer_text import artifact, entity, label, one_line, word_count
from slowwave.prompting.answers import (
    COMPRESSED_WORDS,
    LABEL_WORDS,
    Answer,
    Date,
    Label,
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

MAX_CELLS = 20
MAX_CONTENT_CHARACTERS = 1200
WORKFLOW_STEPS = 2


class GateAnswer(Answer):
    """Is there anything in these turns worth remembering?"""

    reason: Line = Field(description="One short sentence: what there is to remember, or why nothing.")
    is_worth_remembering: bool = Field(description="true also when in doubt")


class ExtractedCell(Answer):
    """One memory. `known` and `relation` tie it to the numbered memories that the prompt showed."""

    cell_type: ExtractedType
    content: Paragraph = Field(
        description="1-2 sentences that can be understood alone: names, exact values, absolute dates"
    )
    subject: LineOrBlank = Field(description="The thing it is about, by name")
    attribute: LineOrBlank = Field(description='The one property with a single value at a time, else ""')
    value: Annotated[str, AfterValidator(one_line)] = Field(
        description='The value of that property, exact, else ""'
    )
    topic: Line = Field(description="Theme in 2-4 words")
    salience: Score = Field(description="0..1: how much it matters for later conversations")
    confidence: Score = Field(description="0..1: how sure it is that this is true")
    valid_from: Date = Field(description='YYYY-MM-DD since when it holds, "" if not told')
    valid_until: Date = Field(description='YYYY-MM-DD until when it holds, "" if not told')
    evidence: list[int] = Field(description="Numbers of the turns that say it")
    relation: Literal["new", "changed", "confirmed"] = Field(description="Compared with the known memories")
    known: int = Field(description="Number of the known memory that is changed or confirmed, 0 if new")
    entities: list[Annotated[str, AfterValidator(entity)]] = Field(
        description='Each "Name (person|project|organization|place|concept|tool)"'
    )
    artifacts: list[Annotated[str, AfterValidator(artifact)]] = Field(
        description='Each "commit:...", "pr:...", "adr:..." or "file:..."'
    )
    steps: list[Line] = Field(description="Of a workflow: its steps in order, each one action; else []")
    template: Paragraph = Field(
        description='Of a pattern: the form that repeats, with <placeholders>; else ""'
    )
    compressed: Line = Field(description="At most 12 words, telegraphic")
    index_label: Label = Field(description="1-3 words in snake_case")

    def _problems(self, page: Page) -> list[str]:
        self._mend()
        return [*self._problems_of_text(), *self._problems_of_numbers(page)]

    def _mend(self) -> None:
        """A value needs its attribute, an attribute its subject; a redaction mark is no value."""
        if "[redacted" in self.value.lower():
            self.value = ""
        if not self.subject:
            self.attribute = ""
        if not self.attribute or normalize_text(self.value) in {"n/a", "null", "-"}:
            self.value = ""
        self.evidence = sorted(set(self.evidence))
        self.entities = [*dict.fromkeys(name for name in self.entities if name)]
        self.artifacts = [*dict.fromkeys(name for name in self.artifacts if name)]
        self.steps = [step for step in self.steps if step] if self.cell_type == "workflow" else []
        self.template = self.template if self.cell_type == "pattern" else ""
        self.index_label = self.index_label or label(self.topic) or label(" ".join(self.content.split()[:3]))

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
        if self.cell_type == "pattern" and not self.template:
            problems.append(
                "a pattern needs its template, the form that repeats;"
                ' write it into template, or choose another cell_type such as "preference"'
            )
        if not self.topic or word_count(self.topic) > LABEL_WORDS:
            problems.append("topic must be a label of 2-4 words")
        if not self.compressed or word_count(self.compressed) > COMPRESSED_WORDS:
            count = word_count(self.compressed)
            problems.append(f"compressed has {count} words; write the core of the memory in 1 to 12 words")
        if self.valid_from and self.valid_until and self.valid_until < self.valid_from:
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
