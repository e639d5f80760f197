"""Answers of a reader to questions about pages of memory, several in a request where that is asked for.

An answer is kept under a hash of the reader, the prompt, the page and the question (`Kept`), so that another sample,
another batch or a memory that changed in part asks only what is new. A killed run has its answers in the gateway's
cache.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from benchmarks.measuring import READER, ReaderAnswer
from benchmarks.pages import UNBOUNDED, Page
from slowwave.errors import ConfigError
from slowwave.models.gateway import LLM
from slowwave.models.prompts import render_file
from slowwave.models.requests import Outcome, Request
from slowwave.models.rows import Row
from slowwave.schemas.questions import Question

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A question about a page that one way to show memory made within a budget (null: everything)."""

    folder: Path
    question: Question
    way: str
    budget: int | None
    page: Page
    date: str

    def key(self, model: str) -> str:
        """The hash under which its answer is kept."""
        return hashed(READER.prompt_version, model, self.page.text, self.date, self.question.question)


@dataclass
class Kept:
    """What was answered before, by key; each folder has the lines of its own questions in `kept.jsonl`."""

    folders: Sequence[Path]
    entries: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in self.folders:
            path = folder / "kept.jsonl"
            lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
            self.entries |= {entry["key"]: entry for line in lines if (entry := read_line(line))}

    def add(self, folder: Path, key: str, **said: str) -> None:
        """Keep what was said, at once."""
        entry = {"key": key, **said}
        self.entries[key] = entry
        with (folder / "kept.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def read_line(line: str) -> dict[str, str]:
    """The entry of a line; an empty one for a line that a kill cut off."""
    try:
        return dict(json.loads(line))
    except ValueError:
        return {}


def hashed(*parts: str) -> str:
    """A hash of texts."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()[:32]


def parts_of(items: Sequence[T], most: int) -> list[Sequence[T]]:
    """The items in their order, at most so many together."""
    return [items[start : start + most] for start in range(0, len(items), most)]


def read_all(
    llm: LLM, asked: Sequence[Asked], kept: Kept, *, questions_a_request: int, pages_a_request: int
) -> None:
    """Ask everything that has no answer yet, and keep the answers.

    Questions about one page of everything share it; pages of a budget stand beside each other, each with its question.

    Raises:
        ConfigError: the server refuses every question.
    """
    model = llm.settings.model
    waiting = {one.key(model): one for one in asked if one.key(model) not in kept.entries}
    groups: dict[tuple[Path, str, int | None], list[Asked]] = {}
    for one in waiting.values():
        groups.setdefault((one.folder, one.way, one.budget), []).append(one)
    batches = [
        part
        for (_, way, _), group in groups.items()
        for part in parts_of(group, questions_a_request if way in UNBOUNDED else pages_a_request)
    ]
    for batch, outcome in zip(batches, ask_all(llm, [request_of(batch) for batch in batches]), strict=True):
        if isinstance(outcome.answer, ReaderAnswer):
            for given in outcome.answer.answers:
                one = batch[given.question - 1]
                kept.add(one.folder, one.key(model), answer=given.answer)


def request_of(batch: Sequence[Asked]) -> Request:
    """One request about the pages of a batch; questions are numbered from 1 in the order of the batch."""
    pages = list[Row]()
    together: dict[tuple[str, str], list[Row]] = {}
    for number, one in enumerate(batch, start=1):
        key = (one.page.text, one.date)
        if key not in together:
            together[key] = []
            page = {"number": len(pages) + 1, "date": one.date, "text": one.page.text}
            pages.append({**page, "questions": together[key]})
        together[key].append({"number": number, "text": one.question.question})
    numbers = frozenset(range(1, len(batch) + 1))
    return Request(render_file(READER, {"pages": pages}), ReaderAnswer, {"question_numbers": numbers})


def ask_all(llm: LLM, requests: Sequence[Request]) -> list[Outcome]:
    """Outcomes in the order of the requests, with progress.

    Raises:
        ConfigError: the server refuses every question.
    """
    from slowwave.progress import progress

    done = 0

    def count(outcome: Outcome) -> None:
        nonlocal done
        done += 1
        if isinstance(outcome.error, ConfigError):
            raise outcome.error
        progress(f"{outcome.prompt_version} ({llm.settings.model})", done, len(requests))

    return llm.ask_all(requests, count)
