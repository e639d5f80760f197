"""Answers that judge memories beside each other: which one holds, and which are worth most."""

from typing import Literal

from pydantic import Field

from slowwave.prompting.answers import Answer, Line, LineOrBlank, Page, is_off, listed


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

    def _problems(self, page: Page) -> list[str]:
        if self.verdict == "keep":
            self.target, self.subject, self.attribute = 0, "", ""
            return []
        problems = []
        numbers = page.get("page_numbers")
        others = None if numbers is None else numbers - {self.new}
        if self.target == self.new:
            problems.append(f"memory {self.new} cannot be its own target; choose {listed(others)}")
        elif self.target == 0 or is_off(self.target, others):
            problems.append(
                f'verdict "{self.verdict}" of memory {self.new} needs a target, not {self.target};'
                f' use only {listed(others)}, or write "keep" with target 0'
            )
        if self.verdict != "confirms" and not (self.subject and self.attribute):
            problems.append(
                f'verdict "{self.verdict}" of memory {self.new} needs the subject and attribute that both'
                ' memories share; if they share none, write "keep" with target 0'
            )
        return problems


class ReconcileAnswer(Answer):
    """Exactly one judgement for every NEW memory."""

    judgements: list[ReconcileJudgement]

    def _problems(self, page: Page) -> list[str]:
        """Judgements that are missing or go in a circle; repeated and idle ones are dropped."""
        new = page.get("new_numbers")
        problems: list[str] = []
        by_number: dict[int, ReconcileJudgement] = {}
        for judgement in self.judgements:
            if is_off(judgement.new, new):
                if judgement.verdict != "keep":
                    problems.append(f"memory {judgement.new} is not NEW; judge only {listed(new)}")
                continue
            before = by_number.get(judgement.new)
            if before is None or before.verdict == "keep":
                by_number[judgement.new] = judgement
            elif judgement.verdict != "keep" and (before.verdict, before.target) != (
                judgement.verdict,
                judgement.target,
            ):
                problems.append(
                    f"memory {judgement.new} has two judgements; give one, against its closest match"
                )
        for number in sorted((new or set()) - by_number.keys()):
            problems.append(
                f"the judgement of NEW memory {number} is missing; add one for each of {listed(new)}"
            )
        if not problems:
            problems = _untangle(by_number)
        self.judgements = list(by_number.values())
        return list(dict.fromkeys(problems))


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

    def _problems(self, page: Page) -> list[str]:
        if self.verdict == "keep":
            self.change, self.subject, self.attribute = 0, "", ""
            return []
        problems = []
        changes = page.get("change_numbers")
        if self.change == 0 or is_off(self.change, changes):
            problems.append(
                f'verdict "{self.verdict}" needs the number of a change, not {self.change};'
                f' use only {listed(changes)}, or write "keep" with change 0'
            )
        if not (self.subject and self.attribute):
            problems.append(
                f'verdict "{self.verdict}" needs the subject and attribute that the memory and the change share;'
                ' if they share none, write "keep" with change 0'
            )
        return problems


class PromoteAnswer(Answer):
    """Numbers of the memories that belong in core memory, most important first."""

    chosen: list[int] = Field(description="Numbers of the chosen memories, most important first")

    def _problems(self, page: Page) -> list[str]:
        """Numbers off the page; repeated ones go, and the least important ones past `max_lines`."""
        candidates = page.get("candidate_numbers")
        chosen = list(dict.fromkeys(self.chosen))
        self.chosen = chosen[: page.get("max_lines")]
        strange = ", ".join(str(number) for number in chosen if is_off(number, candidates))
        return [f"not on this page: {strange}; choose only from {listed(candidates)}"] if strange else []
