"""Pages: what a reader of this memory is shown for a question, each with the turns that it rests on.

Ways to make one within a budget: `context` and `search` as shipped, `turns` (raw turns found by their own words and
vectors, as without any night) and `ranked turns` (the turn ranking of search, which also follows memories to their
turns). Without a budget: `memories` (every memory) and `whole` (everything that was said). Nothing here writes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, cast

import polars as pl

from benchmarks.ways import lists_of
from slowwave.language.tokens import count_tokens
from slowwave.measure import gathered_for
from slowwave.recall.assemble import assemble
from slowwave.recall.reader import Reader
from slowwave.recall.search import ask
from slowwave.recall.turns import summed
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.context import ContextRequest
from slowwave.schemas.moments import day_of, days_of
from slowwave.schemas.questions import Question
from slowwave.schemas.results import Cell, SearchResult
from slowwave.schemas.search import MAX_LIMIT, Filters
from slowwave.store import Store

BUDGETED: Final = ("context", "search", "turns", "ranked turns")
UNBOUNDED: Final = ("memories", "whole")


@dataclass(frozen=True)
class Page:
    """A text, its tokens, and the turns that it rests on: those it quotes and the evidence of memories in it."""

    text: str
    tokens: int
    turn_ids: frozenset[str]


@dataclass(frozen=True)
class PageLine:
    """One line of a page, with the turns that it rests on and its tokens, line break included."""

    text: str
    turn_ids: frozenset[str]
    tokens: int


@dataclass(frozen=True)
class MemoryPages:
    """A memory that is asked many questions: its reader, the evidence of every memory, the line of every turn."""

    reader: Reader
    store: Store
    evidence: Mapping[str, frozenset[str]]
    """Turns by memory. Episodes are left out: one rests on a whole conversation, and tells little of it."""
    turns: Mapping[str, PageLine]
    """Lines of all turns by id, in the order in which they were said."""
    memories: tuple[PageLine, ...]
    """Lines of all memories that hold or held, in the order of time."""
    said_until: datetime
    """The time of the last turn: context cannot be asked as of an earlier one."""

    def everything(self, way: str) -> Page:
        """The page of `memories` or `whole`."""
        return _page(self.memories if way == "memories" else self.turns.values())

    def pages(
        self, question: Question, ways: Iterable[str], budgets: Sequence[int], *, now: datetime
    ) -> dict[tuple[str, int | None], Page]:
        """Pages of the budgeted ways by way and budget, asked at `asked_at` of the question or else at `now`."""
        moment, made = question.asked_at or now, dict[tuple[str, int | None], Page]()
        for way in ways:
            if way == "context":
                made |= {(way, budget): self._context(question, budget, moment) for budget in budgets}
                continue
            lines = self._found(question, moment) if way == "search" else self._turns(question, way)
            made |= {(way, budget): packed(lines, budget) for budget in budgets}
        return made

    def _context(self, question: Question, budget: int, now: datetime) -> Page:
        request = ContextRequest(question=question.question, budget_tokens=budget)
        found = assemble(self.reader, request, now=now)
        told = {turn for line in found.lines for cell in line.cell_ids for turn in self._of(cell)}
        quoted = {turn for line in found.lines for turn in line.turn_ids}
        return Page(found.text, found.tokens, frozenset(told | quoted))

    def _found(self, question: Question, now: datetime) -> list[PageLine]:
        """The answer of search at its longest: memories with their former values, summaries, raw turns."""
        filters = Filters(as_of=question.asked_at)
        found = ask(
            self.reader,
            question.question,
            limit=MAX_LIMIT,
            detail_level="evidence",
            filters=filters,
            now=now,
        )
        told = [(_cell_text(cell), self._of(cell.cell_id)) for cell in found.cells]
        told += [(f"topic {topic.name}: {topic.summary}", frozenset()) for topic in found.topics]
        return page_lines(told) + self._lines_of(found)

    def _lines_of(self, found: SearchResult) -> list[PageLine]:
        return [self.turns[turn.turn_id] for turn in found.turns if turn.turn_id in self.turns]

    def _turns(self, question: Question, way: str) -> list[PageLine]:
        """All turns that the lists of one question find, best first."""
        gathered = gathered_for(self.reader, self.store, question)
        if way == "turns":  # as if there were no memories
            gathered.lists = gathered.lists._replace(cells=())
        _, shares = lists_of(gathered, question.question)
        scores = summed(shares.values())
        ranked = sorted(scores, key=lambda key: (-scores[key], key))
        return [self.turns[key] for key in ranked if key in self.turns]

    def _of(self, cell_id: str) -> frozenset[str]:
        return self.evidence.get(cell_id, frozenset())


def memory_pages(reader: Reader, store: Store) -> MemoryPages:
    """Everything that a home holds, read once."""
    columns = [
        "cell_id",
        "cell_type",
        "content",
        "status",
        "evidence",
        "event_time",
        "valid_from",
        "valid_until",
    ]
    cells = store.rows("cells", columns).filter(pl.col("cell_type") != EPISODE)
    evidence = {
        cell_id: frozenset(turns or ()) for cell_id, turns in cells.select("cell_id", "evidence").iter_rows()
    }
    said = store.rows(
        "turns", ["turn_id", "session_id", "turn_index", "speaker", "role", "content", "event_time"]
    )
    turns = said.sort("event_time", "session_id", "turn_index").select("turn_id", text=_turn_text())
    said_lines = page_lines([(text, frozenset((name,))) for name, text in turns.iter_rows()])
    lines = dict(zip(turns["turn_id"], said_lines, strict=True))
    known = known_memories(cells).select("cell_id", "text")
    memories = tuple(page_lines([(text, evidence[name]) for name, text in known.iter_rows()]))
    said_until = (
        cast("datetime", said["event_time"].max()) if said.height else datetime.min.replace(tzinfo=UTC)
    )
    return MemoryPages(reader, store, evidence, lines, memories, said_until)


def known_memories(cells: pl.DataFrame) -> pl.DataFrame:
    """Memories that hold, and those that held for a time, as `cell_id` and `text`, in the order of time.

    What was merged into another, or never held, is not told.
    """
    is_active = pl.col("status") == "active"
    held = (pl.col("status") == "superseded") & (pl.col("valid_until") > pl.col("valid_from"))
    day = days_of(pl.col("event_time"))
    until = pl.format(" (until {})", days_of(pl.col("valid_until")))
    ended = pl.when(held).then(until).otherwise(pl.lit(""))
    return (
        cells.filter(is_active | held.fill_null(value=False))
        .sort("event_time", "cell_id")
        .select("cell_id", text=pl.format("[{}] ({}) {}{}", day, "cell_type", "content", ended))
    )


def packed(lines: Iterable[PageLine], budget: int) -> Page:
    """The first lines that fit, up to the first that does not."""
    kept, used = list[PageLine](), 0
    for line in lines:
        if used + line.tokens > budget:
            break
        kept.append(line)
        used += line.tokens
    return _page(kept)


def page_lines(told: Sequence[tuple[str, frozenset[str]]]) -> list[PageLine]:
    """Lines of texts and the turns that each rests on; the tokens of all are counted at once."""
    counts = count_tokens([f"{text}\n" for text, _ in told])
    return [PageLine(text, turns, count) for (text, turns), count in zip(told, counts, strict=True)]


def _page(lines: Iterable[PageLine]) -> Page:
    listed = list(lines)
    text = "\n".join(line.text for line in listed)
    rests_on = frozenset(turn for line in listed for turn in line.turn_ids)
    return Page(text, sum(line.tokens for line in listed), rests_on)


def _turn_text() -> pl.Expr:
    speaker = pl.coalesce("speaker", "role")
    return pl.format("[{}] {}: {}", days_of(pl.col("event_time")), speaker, "content")


def _cell_text(cell: Cell) -> str:
    before = "".join(f" | before: {former.value}" for former in cell.history)
    return f"[{day_of(cell.event_time)}] ({cell.cell_type}) {cell.rank.text if cell.rank else cell.content}{before}"
