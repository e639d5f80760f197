"""Memories as candidate lines: cells, topic summaries and quotes of turns, each with its shorter forms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime

import polars as pl

from slowwave.context.page import line_of
from slowwave.context.situation import Situation
from slowwave.context.tiers import Candidate
from slowwave.decay.tasks import TaskState, task_state
from slowwave.excerpts import Asked, quoted
from slowwave.language.signals import fix_cue
from slowwave.prompting.page_lines import page_line
from slowwave.schemas.choices import EPISODE, WHOSE, Origin
from slowwave.schemas.context import TierName
from slowwave.schemas.report import several_memories
from slowwave.schemas.search import CellHit, TopicHit, TurnHit
from slowwave.schemas.tables import RAW_PROMPT, STATED
from slowwave.search.conditions import cell_condition
from slowwave.search.standing_turns import standing_turns
from slowwave.search.turns import TURN_COLUMNS, worked_turns
from slowwave.store import Expr
from slowwave.trust.origins import PERSON, WORD_BY_WORD, whose_word
from slowwave.trust.own_words import is_quoted, parts_of
from slowwave.trust.speakers import speaker_of

OF_PERSONS: tuple[TierName, ...] = ("critical", "background")
"""Tiers that say what holds here and how things are done: what no person said stands in `relevant` instead."""


@dataclass(frozen=True)
class KnownCell:
    """A cell, as far as a context needs it."""

    cell_id: str
    cell_type: str
    content: str
    summary: str | None
    compressed: str | None
    steps: tuple[str, ...]
    template: str | None
    subject: str | None
    attribute: str | None
    value: str | None
    salience: float
    event_time: datetime
    valid_from: datetime
    valid_until: datetime | None
    source_name: str
    evidence: tuple[str, ...]
    artifacts: tuple[str, ...]
    prompt_version: str
    origin: Origin
    protected: bool

    @property
    def is_raw(self) -> bool:
        """Made without a language model: a window of talk, which is quoted by its turns instead."""
        return self.prompt_version == RAW_PROMPT and not self.is_episode

    @property
    def is_episode(self) -> bool:
        """A whole conversation, told in lines of its own (`slowwave/context/episodes.py`)."""
        return self.cell_type == EPISODE

    @property
    def is_persons(self) -> bool:
        """A person said or confirmed it: all that the tiers hold which tell how things are done here."""
        return self.protected or (self.origin == PERSON and not self.is_raw)

    @property
    def whose(self) -> str:
        """Words for whose word it is, where that is no person."""
        return whose_word(
            self.origin,
            cell_type=self.cell_type,
            prompt_version=self.prompt_version,
            protected=self.protected,
        )

    @property
    def procedure(self) -> str | None:
        """A workflow's steps or a pattern's form in one line; None where there is neither."""
        name = self.subject or self.compressed or self.content
        if self.steps:
            return f"how to {name}: {'; '.join(self.steps)}"
        return f"{name}: {self.template}" if self.template else None


def is_over(situation: Situation, memory: KnownCell) -> bool:
    """Return whether a memory is a task that is done or dropped, or whose day has long passed."""
    return state_of(situation, memory) in {"closed", "past"}


def state_of(situation: Situation, memory: KnownCell | CellHit) -> TaskState:
    """The state of a memory as a task, now."""
    return task_state(
        memory.cell_type,
        memory.value,
        event_time=memory.event_time,
        valid_from=memory.valid_from,
        valid_until=memory.valid_until,
        now=situation.now,
        past_days=situation.settings.context.past_task_days,
    )


CELL_COLUMNS = tuple(field.name for field in fields(KnownCell))


def memories_of(rows: pl.DataFrame) -> list[KnownCell]:
    """Rows with `CELL_COLUMNS` as memories, in their order."""
    return [
        KnownCell(**{**row, **{name: tuple(row[name] or ()) for name in ("evidence", "artifacts", "steps")}})
        for row in rows.select(CELL_COLUMNS).iter_rows(named=True)
    ]


def read_memories(situation: Situation, where: Expr) -> dict[str, KnownCell]:
    """Living cells that the owner may see and the condition holds for, by id, newest first, raw ones included."""
    allowed = cell_condition(situation.settings.owner) & where
    ordered = situation.store.rows("cells", CELL_COLUMNS, allowed).sort(
        "event_time", "cell_id", descending=[True, False]
    )
    return {memory.cell_id: memory for memory in memories_of(ordered)}


def turns_of(rows: pl.DataFrame) -> list[TurnHit]:
    """Rows of turns as hits, in the order in which they were said."""
    ordered = rows.sort("session_id", "turn_index")
    return [
        TurnHit(**{name: row[name] for name in TURN_COLUMNS}, score=0.0)
        for row in ordered.iter_rows(named=True)
    ]


def untold_turns(situation: Situation, turns: Sequence[TurnHit]) -> list[TurnHit]:
    """The turns that no model has worked through, in their order: the others speak through their cells.

    Of untrusted origin only sections of files are quoted, and only what stands (`standing_turns`).
    """
    if not turns:
        return []
    store, owner = situation.store, situation.settings.owner
    told = worked_turns(store, owner, {turn.session_id for turn in turns})
    untold = [
        turn
        for turn in turns
        if turn.turn_id not in told and (turn.origin != "untrusted" or turn.role == "document")
    ]
    return standing_turns(store, owner, untold)


def line(
    tier: TierName,
    score: float,
    kind: str,
    texts: Iterable[str],
    source: tuple[datetime, str],
    why: str,
    *,
    whose: str = "",
    is_fix: bool = False,
    cell_ids: tuple[str, ...] = (),
    topic_ids: tuple[str, ...] = (),
    turn_ids: tuple[str, ...] = (),
) -> Candidate:
    """A candidate whose forms are `texts`, longest first, each with its date and source.

    `whose` says whose word it is where that is no person: it then stands in no tier of `OF_PERSONS`. A fix
    (`is_fix`) of the very error that is asked about is mostly told by an assistant, and may be.
    """
    forms = tuple(dict.fromkeys(line_of(kind, text, *source, whose) for text in texts))
    is_allowed = not whose or (is_fix and whose in (WHOSE["agent"], WORD_BY_WORD))
    tier = tier if is_allowed or tier not in OF_PERSONS else "relevant"
    return Candidate(tier, score, kind, forms, *source, why, cell_ids, topic_ids, turn_ids)


def cell_line(
    tier: TierName, cell: KnownCell, score: float, why: str, *, kind: str | None = None, is_fix: bool = False
) -> Candidate:
    """A cell: with its history, alone, compressed."""
    content = cell.procedure or cell.content
    history = cell.summary if cell.summary and cell.summary != cell.content else None
    if history:  # the timeline of a memory without a value begins with its text
        history = history.removeprefix(f"now {cell.content.rstrip('.')}; ")
    texts = [f"{content} History: {history}"] * bool(history) + [content, cell.compressed or content]
    source = (cell.event_time, cell.source_name)
    ids = (cell.cell_id,)
    told = kind or cell.cell_type
    is_heard = is_fix and cell.prompt_version not in STATED
    made = line(tier, score, told, texts, source, why, whose=cell.whose, is_fix=is_heard, cell_ids=ids)
    if cell.is_episode:
        return made
    return replace(made, rests_on=frozenset(cell.evidence), wordings=frozenset({page_line(cell.content)}))


def topic_line(
    topic: TopicHit, compressed: str | None, score: float, *, told_until: datetime, whose: str
) -> Candidate:
    """A topic's summary, or its compressed form, dated by its newest memory: it knows nothing that came later."""
    texts = [f"{topic.name}: {text}" for text in (topic.summary, compressed or topic.summary)]
    source = (told_until, several_memories(topic.cell_count))
    return line(
        "relevant", score, "summary", texts, source, "topic", whose=whose, topic_ids=(topic.topic_id,)
    )


def quote_lines(
    tier: TierName,
    turn: TurnHit,
    score: float,
    why: str,
    *,
    asked: Asked,
    most: int,
    kind: str = "quote",
    is_fix: bool = False,
) -> list[Candidate]:
    """A turn word by word, or the parts of at most `most` characters, and half of that, that tell what is asked.

    In a tier of `OF_PERSONS` only what the speaker says itself is told, without what it quotes.
    """
    if tier in OF_PERSONS and turn.role != "document":
        own = parts_of(turn.content, is_typed=turn.role == "user").own
        turn = turn.model_copy(update={"content": own or turn.content})
    quotes = [quoted(turn.content, asked, most=length, cue=fix_cue) for length in (most, most // 2)]
    texts = [said_by(turn, text) for text in quotes if text]
    if not texts:
        return []
    source = (turn.event_time, turn.source_name)
    whose = WHOSE[
        "untrusted" if is_quoted(quotes[0] or turn.content, turn.content, turn.role) else turn.origin
    ]
    made = line(tier, score, kind, texts, source, why, whose=whose, is_fix=is_fix, turn_ids=(turn.turn_id,))
    return [replace(made, wordings=frozenset({page_line(turn.content)}))]


def said_by(turn: TurnHit, text: str) -> str:
    """A part of a turn under its speaker's name, which says whether the speaker says it or quotes it."""
    if turn.role == "document":
        return f'"{text}"'
    speaker = speaker_of(role=turn.role, speaker=turn.speaker, content=turn.content, shown=text)
    return f'{speaker}: "{text}"'
