"""What a language model must answer, one flat model a prompt.

Every field is required and none is a union, so that strict tool schemas accept them and a small local model
can follow them: an empty string or the number 0 says "none". Validators get the numbers that the prompt
showed through the validation context, and their messages tell the model how to mend its answer. What is
harmless is put right in silence (blanks, "n/a", a date with a time of day); what is not is refused. A check
whose key is missing in the context is left out.

Context keys: `turn_numbers`, `known_numbers`, `new_numbers`, `page_numbers`, `candidate_numbers`, `change_numbers`
(sets of int), `max_words`, `summary_words`, `max_lines`.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from slowwave.prompting.answer_text import (
    artifact,
    blank_if_none,
    date_or_blank,
    entity,
    label,
    listed,
    one_line,
    paragraph,
    shown,
    word_count,
)
from slowwave.schemas.identity import normalize_text

ExtractedType = Literal[
    "fact", "decision", "preference", "task", "risk", "code_ref", "insight", "pattern", "workflow"
]

MAX_CELLS = 20
MAX_CONTENT_CHARACTERS = 1200
WORKFLOW_STEPS = 2
LABEL_WORDS = 8
COMPRESSED_WORDS = 18
SUMMARY_COMPRESSED_WORDS = 22
"""Bounds that are enforced; the prompts ask for less (4, 12 and 15 words), since small models miscount."""

Line = Annotated[str, AfterValidator(one_line)]
LineOrBlank = Annotated[str, AfterValidator(blank_if_none)]
Date = Annotated[str, AfterValidator(date_or_blank)]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Answer(BaseModel):
    """Base of all answers: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class GateAnswer(Answer):
    """Is there anything in these turns worth remembering?"""

    reason: Line = Field(description="One short sentence: what there is to remember, or why nothing.")
    is_worth_remembering: bool = Field(description="true also when in doubt")


class ExtractedCell(Answer):
    """One memory. `known` and `relation` tie it to the numbered memories that the prompt showed."""

    cell_type: ExtractedType
    content: Annotated[str, AfterValidator(paragraph)] = Field(
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
    template: Annotated[str, AfterValidator(paragraph)] = Field(
        description='Of a pattern: the form that repeats, with <placeholders>; else ""'
    )
    compressed: Line = Field(description="At most 12 words, telegraphic")
    index_label: Annotated[str, AfterValidator(label)] = Field(description="1-3 words in snake_case")

    @model_validator(mode="after")
    def _is_usable(self, info: ValidationInfo) -> Self:
        self._mend()
        problems = [*self._problems_of_text(), *self._problems_of_numbers(info)]
        if problems:
            raise ValueError("; ".join(problems))
        return self

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

    def _problems_of_numbers(self, info: ValidationInfo) -> list[str]:
        problems = []
        turns, known = shown(info, "turn_numbers"), shown(info, "known_numbers")
        if not self.evidence:
            problems.append("evidence is empty; give the number of at least one turn that says it")
        strange = [number for number in self.evidence if turns is not None and number not in turns]
        for number in strange:
            problems.append(f"evidence {number} is not a turn on this page; use only {listed(turns)}")
        if known is not None and not known:
            self.relation, self.known = "new", 0
        elif self.relation == "new" and self.known != 0:
            problems.append(
                f'relation "new" needs known 0; if this memory is about known memory {self.known},'
                ' write relation "changed" or "confirmed"'
            )
        elif self.relation != "new" and (self.known == 0 or (known is not None and self.known not in known)):
            problems.append(
                f'relation "{self.relation}" needs the number of a known memory, not {self.known};'
                f' use only {listed(known)}, or write relation "new" with known 0'
            )
        return problems


class ExtractAnswer(Answer):
    """All memories of one page; an empty list is a good answer."""

    cells: list[ExtractedCell] = Field(max_length=MAX_CELLS)

    @model_validator(mode="after")
    def _join_repeated(self) -> Self:
        """The same content twice is one memory with the evidence of both."""
        joined: dict[str, ExtractedCell] = {}
        for cell in self.cells:
            first = joined.setdefault(normalize_text(cell.content), cell)
            if first is not cell:
                first.evidence = sorted({*first.evidence, *cell.evidence})
        self.cells = list(joined.values())
        return self


class TombstoneAnswer(Answer):
    """Whether a new memory says the same as one that a person deleted; 0 says no."""

    reason: Line = Field(description="One short sentence that names what is the same, or what differs")
    same_as: int = Field(description="Number of the deleted memory that says the same, 0 for none")

    @model_validator(mode="after")
    def _is_usable(self, info: ValidationInfo) -> Self:
        page = shown(info, "page_numbers")
        if self.same_as and page is not None and self.same_as not in page:
            raise ValueError(f"same_as {self.same_as} is not on this page; use 0 or one of {listed(page)}")
        return self


class ReconcileJudgement(Answer):
    """The judgement of one new memory against at most one other memory of the same page."""

    new: int = Field(description="Number of the NEW memory")
    reason: Line = Field(description="One short sentence that names both values")
    verdict: Literal["keep", "confirms", "corrects", "updates", "contradicts"]
    target: int = Field(description="Number of the other memory, 0 for keep")
    subject: LineOrBlank = Field(
        description='Subject that both share, in the words of the target, "" for keep'
    )
    attribute: LineOrBlank = Field(
        description='Attribute that both share, in the words of the target, "" for keep'
    )

    @model_validator(mode="after")
    def _is_usable(self, info: ValidationInfo) -> Self:
        if self.verdict == "keep":
            self.target, self.subject, self.attribute = 0, "", ""
            return self
        problems = []
        page = shown(info, "page_numbers")
        others = None if page is None else page - {self.new}
        if self.target == self.new:
            problems.append(f"memory {self.new} cannot be its own target; choose {listed(others)}")
        elif self.target == 0 or (others is not None and self.target not in others):
            problems.append(
                f'verdict "{self.verdict}" of memory {self.new} needs a target, not {self.target};'
                f' use only {listed(others)}, or write "keep" with target 0'
            )
        if self.verdict != "confirms" and not (self.subject and self.attribute):
            problems.append(
                f'verdict "{self.verdict}" of memory {self.new} needs the subject and attribute that both'
                ' memories share; if they share none, write "keep" with target 0'
            )
        if problems:
            raise ValueError("; ".join(problems))
        return self


class ReconcileAnswer(Answer):
    """Exactly one judgement for every NEW memory."""

    judgements: list[ReconcileJudgement]

    @model_validator(mode="after")
    def _is_one_for_each(self, info: ValidationInfo) -> Self:
        """Repeated and idle judgements go, in silence; what is missing or goes in a circle is refused."""
        new = shown(info, "new_numbers")
        problems: list[str] = []
        by_number: dict[int, ReconcileJudgement] = {}
        for judgement in self.judgements:
            if new is not None and judgement.new not in new:
                if judgement.verdict != "keep":
                    problems.append(f"memory {judgement.new} is not NEW; judge only {listed(new)}")
                continue
            before = by_number.get(judgement.new)
            if before is None or before.verdict == "keep":
                by_number[judgement.new] = judgement
            elif judgement.verdict != "keep" and _decision(before) != _decision(judgement):
                problems.append(
                    f"memory {judgement.new} has two judgements; give one, against its closest match"
                )
        for number in sorted((new or set()) - by_number.keys()):
            problems.append(
                f"the judgement of NEW memory {number} is missing; add one for each of {listed(new)}"
            )
        if not problems:
            problems = _untangle(by_number)
        if problems:
            raise ValueError("; ".join(dict.fromkeys(problems)))
        self.judgements = list(by_number.values())
        return self


def _decision(judgement: ReconcileJudgement) -> tuple[str, int]:
    return judgement.verdict, judgement.target


def _untangle(by_number: dict[int, ReconcileJudgement]) -> list[str]:
    """Make `keep` of the lower of two that name each other alike; a message for every other circle."""
    for number, judgement in by_number.items():
        back = by_number.get(judgement.target)
        if (
            back is not None
            and back.target == number
            and back.verdict == judgement.verdict
            and number < back.new
        ):
            judgement.verdict, judgement.target, judgement.subject, judgement.attribute = "keep", 0, "", ""
    problems = []
    for start, judgement in by_number.items():
        seen, number = {start}, judgement.target
        while number in by_number and number not in seen:
            seen.add(number)
            number = by_number[number].target
        if number == start:
            problems.append(
                f"memory {start} points back to itself through its target; make one of {listed(seen)} keep"
            )
    return problems


class ReviewAnswer(Answer):
    """Whether one memory still holds after what it rests on changed."""

    reason: Line = Field(description="One short sentence that names both values")
    verdict: Literal["keep", "updates", "retires"]
    change: int = Field(description="Number of the change that decides, 0 for keep")
    subject: LineOrBlank = Field(description='Subject that both share, "" for keep')
    attribute: LineOrBlank = Field(description='Attribute that both share, "" for keep')

    @model_validator(mode="after")
    def _is_usable(self, info: ValidationInfo) -> Self:
        if self.verdict == "keep":
            self.change, self.subject, self.attribute = 0, "", ""
            return self
        problems = []
        changes = shown(info, "change_numbers")
        if self.change == 0 or (changes is not None and self.change not in changes):
            problems.append(
                f'verdict "{self.verdict}" needs the number of a change, not {self.change};'
                f' use only {listed(changes)}, or write "keep" with change 0'
            )
        if not (self.subject and self.attribute):
            problems.append(
                f'verdict "{self.verdict}" needs the subject and attribute that the memory and the change share;'
                ' if they share none, write "keep" with change 0'
            )
        if problems:
            raise ValueError("; ".join(problems))
        return self


class SummaryAnswer(Answer):
    """A topic's name, its summary of the current state, and one compressed line."""

    name: Line = Field(description="Name of the topic in 2-4 words")
    summary: Annotated[str, AfterValidator(paragraph)] = Field(
        description="The current state, exact values kept"
    )
    compressed: Line = Field(description="At most 15 words, telegraphic")

    @model_validator(mode="after")
    def _is_usable(self, info: ValidationInfo) -> Self:
        problems = []
        max_words = (info.context or {}).get("max_words")
        count, short_count = word_count(self.summary), word_count(self.compressed)
        if not self.name or word_count(self.name) > LABEL_WORDS:
            problems.append("name must be a label of 2-4 words")
        if not self.summary:
            problems.append("summary is empty; write what the memories say now")
        if max_words is not None and count > max_words:
            problems.append(
                f"summary has {count} words, at most {max_words} are allowed;"
                " drop history and the least important details, keep exact values"
            )
        if not self.compressed or short_count > SUMMARY_COMPRESSED_WORDS:
            problems.append(
                f"compressed has {short_count} words; write the core of the topic in 1 to 15 words"
            )
        if problems:
            raise ValueError("; ".join(problems))
        return self


class PromoteAnswer(Answer):
    """Numbers of the memories that belong in core memory, most important first."""

    chosen: list[int] = Field(description="Numbers of the chosen memories, most important first")

    @model_validator(mode="after")
    def _is_usable(self, info: ValidationInfo) -> Self:
        """Repeated numbers go; since the most important come first, what is over `max_lines` is cut off."""
        candidates = shown(info, "candidate_numbers")
        strange = [number for number in self.chosen if candidates is not None and number not in candidates]
        if strange:
            numbers = ", ".join(str(number) for number in dict.fromkeys(strange))
            raise ValueError(f"not on this page: {numbers}; choose only from {listed(candidates)}")
        self.chosen = list(dict.fromkeys(self.chosen))[: (info.context or {}).get("max_lines")]
        return self
