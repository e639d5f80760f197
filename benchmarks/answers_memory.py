"""The memory of a folder of nights, its questions, and the coverage of their evidence."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.answers_nights import finished, kept_conversation, use_own_environment
from benchmarks.answers_read import Asked
from benchmarks.coverage import BUDGETS, CoverageLine, cover, coverage_lines, wanted_by_question
from benchmarks.evaluation import said_turns
from benchmarks.pages import BUDGETED, UNBOUNDED, MemoryPages, Page, memory_pages
from benchmarks.question_sets import Conversation
from slowwave.errors import InputError
from slowwave.home.paths import open_home
from slowwave.measure import wanted_turns
from slowwave.recall.reader import open_reader
from slowwave.schemas.questions import Question

WRONG_CITATION = "WRONG_CITATION"
"""The kind of error that leaves the answer right."""


@dataclass(frozen=True)
class Correction:
    """A third party's word on one question of a set."""

    is_answer_wrong: bool
    evidence: tuple[str, ...]


Audit = dict[tuple[str, str], Correction]
"""Corrections by question and the set's answer."""


@dataclass(frozen=True)
class FolderMemory:
    """A folder's memory, its conversation, and the moment after its last night."""

    pages: MemoryPages
    conversation: Conversation
    now: datetime
    everything: Mapping[str, Page]
    """The pages that do not depend on the question."""


@dataclass(frozen=True)
class Coverage:
    """Coverage by way and budget, and counts of what does not count, by reason."""

    lines: list[CoverageLine]
    left_out: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """One object."""
        return {"coverage": [line.model_dump() for line in self.lines], "left_out": self.left_out}


@contextmanager
def opened(folder: Path) -> Iterator[FolderMemory]:
    """The memory of a folder, for reading.

    Raises:
        InputError: no night was finished there.
    """
    conversation, nights = kept_conversation(folder), finished(folder)
    if not nights:
        raise InputError(f"no night of {folder} is finished: give the command `night` again, it goes on")
    use_own_environment(folder)
    reader = open_reader(open_home(folder / "home"))
    store = reader.current()
    if store is None:
        raise InputError(f"{folder} has no memory: {reader.why_nothing()}")
    pages, clock = memory_pages(reader, store), datetime.fromisoformat(nights[-1]["clock"])
    everything = {way: pages.everything(way) for way in UNBOUNDED}
    yield FolderMemory(pages, conversation, clock, everything)


def read_audit(path: Path | None) -> Audit:
    """Corrections in the form of dial481/locomo-audit: a list with question, golden_answer, error_type and evidence.

    Raises:
        InputError: the file has another form.
    """
    if path is None:
        return {}
    try:
        return {
            (entry["question"], str(entry["golden_answer"])): Correction(
                entry["error_type"] != WRONG_CITATION, tuple(entry.get("correct_evidence") or ())
            )
            for entry in json.loads(path.read_text(encoding="utf-8"))
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is no audit ({type(error).__name__}: {error})") from error


def audited(questions: Sequence[Question], audit: Audit) -> tuple[dict[int, Question], dict[str, int]]:
    """Questions by their place, corrected; those whose answer is called wrong are left out and counted."""
    kept, left_out = dict[int, Question](), Counter[str]()
    for place, question in enumerate(questions):
        correction = audit.get((question.question, question.answer or ""))
        if correction is None:
            kept[place] = question
        elif correction.is_answer_wrong:
            left_out["answer called wrong by the audit"] += 1
        else:
            evidence = correction.evidence or question.evidence
            kept[place] = question.model_copy(update={"evidence": evidence})
    return kept, dict(left_out)


def measured_coverage(
    folders: Sequence[Path], *, audit: Path | None = None, budgets: Sequence[int] = BUDGETS
) -> Coverage:
    """Coverage of all questions of the folders together; every question counts the same."""
    corrections, parts, left_out = read_audit(audit), list[pl.DataFrame](), Counter[str]()
    for folder in folders:
        with opened(folder) as memory:
            kept, wrong = audited(memory.conversation.questions, corrections)
            questions = [one for one in kept.values() if one.is_answerable]
            wanted, lost = wanted_turns(questions, said_turns(memory.conversation))
            left_out.update({**wrong, **lost, "not answerable": len(kept) - len(questions)})
            parts.append(
                cover(memory.pages, questions, wanted_by_question(wanted), now=memory.now, budgets=budgets)
            )
    return Coverage(
        coverage_lines(pl.concat(parts)), {name: count for name, count in left_out.items() if count}
    )


Chosen = tuple[tuple[str, int | None], ...]
"""Ways to show memory with their budgets; null where a way shows everything."""

EVERY_PAGE: Chosen = (
    *((way, budget) for way in ("context", "search", "turns") for budget in BUDGETS),
    *((way, None) for way in UNBOUNDED),
)


def chosen_pages(text: str) -> Chosen:
    """Pages by their names: `context:2000,turns:2000,memories,whole`.

    Raises:
        ValueError: there is no such page, or a budget is missing or not wanted.
    """
    found = list[tuple[str, int | None]]()
    for part in text.split(","):
        way, _, budget = part.strip().partition(":")
        if way in UNBOUNDED and not budget:
            found.append((way, None))
        elif way in BUDGETED and budget.isdigit():
            found.append((way, int(budget)))
        else:
            budgeted = ", ".join(f"{name}:TOKENS" for name in BUDGETED)
            raise ValueError(f"no page {part!r}: give {budgeted}, {', '.join(UNBOUNDED)}")
    return tuple(found)


def asked_pages(
    folders: Sequence[Path], chosen: Chosen, *, audit: Path | None = None, every: int = 1
) -> tuple[list[Asked], dict[str, int]]:
    """Every `every`-th question of each folder on every chosen page, and counts of what does not count."""
    corrections, asked, left_out = read_audit(audit), list[Asked](), Counter[str]()
    for folder in folders:
        with opened(folder) as memory:
            kept, wrong = audited(memory.conversation.questions, corrections)
            told = [one for one in kept.values() if one.answer is not None or not one.is_answerable]
            left_out.update({**wrong, "no right answer": len(kept) - len(told)})
            asked += [
                one for question in told[::every] for one in _on_pages(folder, memory, question, chosen)
            ]
    order = {page: place for place, page in enumerate(chosen)}
    asked.sort(key=lambda one: order[one.way, one.budget])
    return asked, {name: count for name, count in left_out.items() if count}


def _on_pages(folder: Path, memory: FolderMemory, question: Question, chosen: Chosen) -> Iterator[Asked]:
    date = f"{question.asked_at or memory.now:%Y-%m-%d}"
    for way in dict.fromkeys(way for way, _ in chosen):
        budgets = [budget for name, budget in chosen if name == way]
        pages: dict[tuple[str, int | None], Page] = {
            (name, None): page for name, page in memory.everything.items()
        }
        if way not in UNBOUNDED:
            pages.update(
                memory.pages.pages(question, (way,), [one for one in budgets if one], now=memory.now)
            )
        for budget in budgets:
            yield Asked(folder, question, way, budget, pages[way, budget], date)
