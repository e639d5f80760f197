"""Answers that judge memories beside each other: which one holds, and which are worth most."""

from typing import Annotated, Literal

from slowwave.models.answers.fields import (
    Answer,
    Line,
    LineOrBlank,
    bound_of_page,
    is_off,
    listed,
    number_of,
    of_page,
)

CHANGING = ("corrects", "updates", "contradicts")
"""Verdicts about the value of one property, which they name."""

TURNED = {"absorbs": "absorbed", "absorbed": "absorbs"}
"""Verdicts that say the same from the other side."""


class ReconcileJudgement(Answer):
    """The judgement of one new memory against one other memory of the same page."""

    new: int
    reason: Line
    verdict: Literal[
        "keep", "confirms", "absorbs", "absorbed", "completes", "corrects", "updates", "contradicts"
    ]
    target: int
    subject: LineOrBlank
    attribute: LineOrBlank
    target_value: LineOrBlank
    new_value: LineOrBlank

    def _problems(self) -> list[str]:
        if self.verdict == "keep":
            return []
        problems, numbers = [], of_page("page_numbers")
        others = None if numbers is None else numbers - {self.new}
        if self.target in {0, self.new} or is_off(self.target, "page_numbers"):
            problems.append(
                f'verdict "{self.verdict}" of memory {self.new} needs another memory as target, not {self.target};'
                f" use only {listed(others)}, or leave this judgement out"
            )
        if self.verdict in CHANGING and not (self.subject and self.attribute):
            problems.append(
                f'verdict "{self.verdict}" of memory {self.new} needs the subject and attribute that both'
                " memories share; if they share none, leave this judgement out"
            )
        return problems


class ReconcileAnswer(Answer):
    """At most one judgement for every NEW memory; what is not listed is kept."""

    judgements: list[ReconcileJudgement]

    def _problems(self) -> list[str]:
        """Judgements of memories that are not NEW, two of one memory, circles; repetitions and keeps are dropped."""
        problems: list[str] = []
        by_number: dict[int, ReconcileJudgement] = {}
        for judgement in self.judgements:
            if judgement.verdict == "keep":
                continue
            number = judgement.new
            if is_off(number, "new_numbers"):
                problems.append(f"memory {number} is not NEW; judge only {listed(of_page('new_numbers'))}")
                continue
            before = by_number.setdefault(number, judgement)
            if (before.verdict, before.target) != (judgement.verdict, judgement.target):
                problems.append(f"memory {number} has two judgements; give one, against its closest match")
        if not problems:
            problems = _untangle(by_number)
        self.judgements = list(by_number.values())
        return list(dict.fromkeys(problems))


def _untangle(by_number: dict[int, ReconcileJudgement]) -> list[str]:
    """Drop the lower of two memories that name each other alike; a message for every other circle."""
    for number, judgement in sorted(by_number.items()):
        back = by_number.get(judgement.target)
        is_alike = back is not None and back.verdict == TURNED.get(judgement.verdict, judgement.verdict)
        if back is not None and back.target == number and is_alike and number < back.new:
            del by_number[number]
    problems = []
    for start, judgement in by_number.items():
        seen, number = {start}, judgement.target
        while number in by_number and number not in seen:
            seen.add(number)
            number = by_number[number].target
        if number == start:
            problems.append(
                f"memory {start} points back to itself through its target; leave one of {listed(seen)} out"
            )
    return problems


class PromoteAnswer(Answer):
    """Numbers of the memories that belong in core memory, most important first."""

    chosen: list[Annotated[int, number_of("candidate_numbers")]]

    def _problems(self) -> list[str]:
        """None; repeated numbers go, and the least important ones past `max_lines`."""
        self.chosen = list(dict.fromkeys(self.chosen))[: bound_of_page("max_lines")]
        return []
