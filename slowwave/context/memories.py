"""Memories as candidate lines: cells, topic summaries and quotes of turns, each with its shorter forms."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from slowwave.context.page import line_of
from slowwave.context.tiers import Candidate
from slowwave.language.signals import quoted
from slowwave.schemas.context import TierName
from slowwave.schemas.episode_type import EPISODE
from slowwave.schemas.search import Filters, TopicHit, TurnHit
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.search import Reader
from slowwave.search.conditions import cell_condition, scope_condition
from slowwave.settings.tree import Settings
from slowwave.store import Expr, RowsQuery, Store, col

QUOTE_CHARACTERS = 480
"""Longest quote of a turn, about 120 tokens."""

CELL_COLUMNS = (
    "cell_id", "cell_type", "content", "summary", "compressed", "index_label", "steps", "template", "subject",
    "attribute", "value", "salience",
    "event_time", "source_name", "source_type", "session_id", "topic_id", "evidence", "artifacts", "prompt_version",
)  # fmt: skip

TURN_COLUMNS = (
    "turn_id", "session_id", "turn_index", "role", "speaker", "content", "origin", "event_time", "source_name",
)  # fmt: skip

_CLOSED = frozenset(
    [
        "done",
        "finished",
        "closed",
        "complete",
        "completed",
        "cancelled",
        "canceled",
        "dropped",
        "resolved",
        "merged",
    ]
)


@dataclass(frozen=True)
class Memory:
    """A cell, as far as a context needs it."""

    cell_id: str
    cell_type: str
    content: str
    summary: str | None
    compressed: str | None
    index_label: str | None
    steps: tuple[str, ...]
    template: str | None
    subject: str | None
    attribute: str | None
    value: str | None
    salience: float
    event_time: datetime
    source_name: str
    source_type: str
    session_id: str
    topic_id: str | None
    evidence: tuple[str, ...]
    artifacts: tuple[str, ...]
    prompt_version: str

    @property
    def is_raw(self) -> bool:
        """Made without a language model: a window of talk, which is quoted by its turns instead."""
        return self.prompt_version == RAW_PROMPT and not self.is_episode

    @property
    def is_episode(self) -> bool:
        """A whole conversation, told in lines of its own (`slowwave/context/episodes.py`)."""
        return self.cell_type == EPISODE

    @property
    def procedure(self) -> str | None:
        """A workflow's steps or a pattern's form in one line; None where there is neither."""
        name = self.subject or self.compressed or self.content
        if self.steps:
            return f"how to {name}: {'; '.join(self.steps)}"
        return f"{name}: {self.template}" if self.template else None

    @property
    def is_closed_task(self) -> bool:
        """A task that is done or dropped."""
        return self.cell_type == "task" and (self.value or "").strip().lower() in _CLOSED


def memories_of(rows: pl.DataFrame) -> list[Memory]:
    """Rows with `CELL_COLUMNS` as memories, in their order."""
    return [
        Memory(**{**row, **{name: tuple(row[name] or ()) for name in ("evidence", "artifacts", "steps")}})
        for row in rows.select(CELL_COLUMNS).iter_rows(named=True)
    ]


def read_memories(store: Store, settings: Settings, where: Expr) -> dict[str, Memory]:
    """Living cells that the owner may see and the condition holds for, by id, newest first, raw ones included."""
    allowed = cell_condition(settings.owner, Filters()) & where
    (rows,) = store.at_once([RowsQuery("cells", CELL_COLUMNS, allowed)])
    ordered = rows.sort("event_time", "cell_id", descending=[True, False])
    return {memory.cell_id: memory for memory in memories_of(ordered)}


def turns_of(rows: pl.DataFrame) -> list[TurnHit]:
    """Rows of turns as hits, in the order in which they were said."""
    ordered = rows.sort("session_id", "turn_index")
    return [
        TurnHit(**{name: row[name] for name in TURN_COLUMNS}, score=0.0)
        for row in ordered.iter_rows(named=True)
    ]


def untold_turns(reader: Reader, store: Store, turns: Sequence[TurnHit]) -> list[TurnHit]:
    """The turns that no model has worked through, in their order: the others speak through their cells.

    Of untrusted origin only sections of files are quoted.
    """
    sessions = sorted({turn.session_id for turn in turns})
    if not sessions:
        return []
    where = scope_condition(reader.settings.owner, Filters()) & col("session_id").isin(sessions)
    (chunks,) = store.at_once([RowsQuery("chunks", ("turn_ids", "status", "prompt_version"), where)])
    is_told = pl.col("status").is_in(["extracted", "gated_out"]) & (
        pl.col("prompt_version").fill_null(RAW_PROMPT) != RAW_PROMPT
    )
    told = set(chunks.filter(is_told)["turn_ids"].explode().drop_nulls())
    return [
        turn
        for turn in turns
        if turn.turn_id not in told and (turn.origin != "untrusted" or turn.role == "document")
    ]


def cell_line(
    tier: TierName, memory: Memory, score: float, why: str, *, kind: str | None = None
) -> Candidate:
    """A cell: with its history, alone, compressed."""
    label = kind or memory.cell_type
    history = memory.summary if memory.summary and memory.summary != memory.content else None
    content = memory.procedure or memory.content
    texts = [
        f"{content} History: {history}" if history else content,
        content,
        memory.compressed or content,
    ]
    return Candidate(
        tier=tier,
        score=score,
        kind=label,
        forms=_forms(label, texts, memory.event_time, memory.source_name),
        event_time=memory.event_time,
        source_name=memory.source_name,
        why=why,
        cell_ids=(memory.cell_id,),
    )


def topic_line(
    tier: TierName, topic: TopicHit, compressed: str | None, score: float, why: str, *, told_until: datetime
) -> Candidate:
    """A topic's summary, or its compressed form, dated by its newest memory: it knows nothing that came later."""
    count = "1 memory" if topic.cell_count == 1 else f"{topic.cell_count} memories"
    texts = [f"{topic.name}: {text}" for text in (topic.summary, compressed or topic.summary)]
    return Candidate(
        tier=tier,
        score=score,
        kind="summary",
        forms=_forms("summary", texts, told_until, count),
        event_time=told_until,
        source_name=count,
        why=why,
        topic_ids=(topic.topic_id,),
    )


def quote_line(
    tier: TierName, turn: TurnHit, score: float, why: str, *, words: Collection[str], kind: str = "quote"
) -> Candidate | None:
    """A turn word by word, or its telling sentences; None where no whole sentence is short enough."""
    speaker = turn.speaker or ("" if turn.role == "document" else turn.role)
    texts = [
        quoted(turn.content, words=words, most=most) for most in (QUOTE_CHARACTERS, QUOTE_CHARACTERS // 2)
    ]
    texts = [f'{speaker}: "{text}"' if speaker else f'"{text}"' for text in texts if text]
    if not texts:
        return None
    return Candidate(
        tier=tier,
        score=score,
        kind=kind,
        forms=_forms(kind, texts, turn.event_time, turn.source_name),
        event_time=turn.event_time,
        source_name=turn.source_name,
        why=why,
        turn_ids=(turn.turn_id,),
    )


def _forms(kind: str, texts: Iterable[str], event_time: datetime, source_name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line_of(kind, text, event_time, source_name) for text in texts))
