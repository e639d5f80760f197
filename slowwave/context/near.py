"""What lies near a few words: cells and raw turns by full text and vectors, several texts in one round of reading.

A question is answered by the whole search (`slowwave.search.ask`); what a file's name, a branch or an error's text
only hint at is looked up here, at a fraction of its cost.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from slowwave.context.memories import TURN_COLUMNS, Memory, read_memories, turns_of
from slowwave.decay.retention import days_ago
from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.language.signals import holds_words
from slowwave.schemas.search import Filters, TopicHit, TurnHit
from slowwave.search import Reader
from slowwave.search.conditions import cell_condition, turn_condition
from slowwave.search.episodes import without_episodes
from slowwave.search.prior import prior
from slowwave.store import RowsQuery, Store, TextQuery, VectorQuery, col, lit

LIST_ROWS = 20
"""Rows that each list brings."""

WORD_SHARE = 0.5
"""Without an embedder, what is near must hold this share of the words."""


@dataclass
class Findings:
    """What signals found: cells by id with score (0..1) and reason, topic summaries, quotable turns."""

    cells: dict[str, tuple[float, str]] = field(default_factory=dict)
    topics: dict[str, tuple[TopicHit, float]] = field(default_factory=dict)
    turns: dict[str, tuple[TurnHit, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, cell_id: str, score: float, why: str) -> None:
        """Keeps a cell with its best score."""
        if self.cells.get(cell_id, (-1.0, ""))[0] < score:
            self.cells[cell_id] = (score, why)

    def add_turn(self, turn: TurnHit, score: float) -> None:
        """Keeps a turn with its best score."""
        if turn.turn_id not in self.turns or self.turns[turn.turn_id][1] < score:
            self.turns[turn.turn_id] = (turn, score)

    def join(self, other: "Findings") -> None:
        """Takes in what another round found."""
        for cell_id, (score, why) in other.cells.items():
            self.add(cell_id, score, why)
        for turn, score in other.turns.values():
            self.add_turn(turn, score)

    def keep_turns(self, turns: Iterable[TurnHit]) -> None:
        """Leaves only these turns."""
        self.turns = {turn.turn_id: self.turns[turn.turn_id] for turn in turns}

    def memories(self, reader: Reader, store: Store) -> list[tuple[Memory, float, str]]:
        """The cells that were made by a model or a person, with score and reason, best first."""
        known = read_memories(store, reader.settings, col("cell_id").isin(sorted(self.cells) or [""]))
        found = [(memory, *self.cells[memory.cell_id]) for memory in known.values() if not memory.is_raw]
        return sorted(found, key=lambda entry: -entry[1])


@dataclass(frozen=True)
class Near:
    """Words whose neighbours are wanted, what they weigh, and the reason to tell.

    Strictly near is what reaches the embedder's `relevance_threshold` and shares a word: a few words without a
    sentence are similar to much. Else the best of each list count, by rank.
    """

    text: str
    weight: float
    why: str
    filters: Filters = field(default_factory=Filters)
    is_strict: bool = True
    has_turns: bool = True


def look_near(reader: Reader, store: Store, wanted: Sequence[Near], *, now: datetime) -> list[Findings]:
    """What lies near each text, in their order; scores are 0..weight."""
    wanted = [near for near in wanted if telling_words(near.text, most=1)]
    queries = [_queries(reader, near) for near in wanted]
    frames = iter(store.at_once([query for named in queries for query in named.values()]))
    lists = [{name: _values(next(frames)) for name in named} for named in queries]
    cell_ids = sorted({key for named in lists for name in _CELLS for key in named.get(name, {})})
    turn_ids = sorted({key for named in lists for name in _TURNS for key in named.get(name, {})})
    cells = read_memories(store, reader.settings, col("cell_id").isin(cell_ids or [""]))
    allowed = turn_condition(reader.settings.owner, Filters()) & col("turn_id").isin(turn_ids or [""])
    (rows,) = store.at_once([RowsQuery("turns", TURN_COLUMNS, allowed)])
    turns = {turn.turn_id: turn for turn in turns_of(rows)}
    found = list[Findings]()
    for near, named in zip(wanted, lists, strict=True):
        part = Findings()
        contents = {key: cell.content for key, cell in cells.items()}
        for key, score in _scores(reader, near, [named.get(name) for name in _CELLS], contents).items():
            part.add(key, score, near.why)
        contents = {key: turn.content for key, turn in turns.items()}
        for key, score in _scores(reader, near, [named.get(name) for name in _TURNS], contents).items():
            part.add_turn(turns[key], score * turn_prior(reader, turns[key], now=now))
        found.append(part)
    return found


def turn_prior(reader: Reader, turn: TurnHit, *, now: datetime) -> float:
    """The prior of a raw turn, by its age."""
    age_days = days_ago(turn.event_time, now=now)
    return prior(age_days=age_days, search=reader.settings.search, decay=reader.settings.decay)


# Inside

_CELLS = ("cell_text", "cell_vector")
_TURNS = ("turn_text", "turn_vector")


def _queries(reader: Reader, near: Near) -> dict[str, TextQuery | VectorQuery]:
    owner, words = reader.settings.owner, telling_words(near.text, most=QUERY_WORDS)
    of_cells = without_episodes(cell_condition(owner, near.filters), near.filters)
    of_turns = turn_condition(owner, near.filters)
    vector, _ = reader.vector_of(near.text)
    queries: dict[str, TextQuery | VectorQuery] = {
        "cell_text": TextQuery("cells", words, LIST_ROWS, of_cells)
    }
    if vector is not None:
        queries["cell_vector"] = VectorQuery("cells", vector, LIST_ROWS, of_cells)
    if near.has_turns:
        single = of_turns & (col("scale") == lit("turn"))
        queries["turn_text"] = TextQuery("passages", words, LIST_ROWS, single, columns=("turn_ids",))
        if vector is not None:
            queries["turn_vector"] = VectorQuery("turns", vector, LIST_ROWS, of_turns)
    return queries


def _values(frame: pl.DataFrame) -> dict[str, float]:
    """Id and score or similarity, best first; passages by the turn that they hold."""
    if "turn_ids" in frame.columns:
        frame = frame.select(pl.col("turn_ids").list.first(), "match_score")
    elif "passage_id" in frame.columns:  # a list that was not asked: no words, or no index yet
        frame = frame.clear()
    key, value = frame.columns[0], "match_score" if "match_score" in frame.columns else "similarity"
    return dict(frame.select(key, value).iter_rows())


def _scores(
    reader: Reader, near: Near, lists: Sequence[dict[str, float] | None], contents: dict[str, str]
) -> dict[str, float]:
    by_text, by_vector = lists
    if not near.is_strict:
        asked = [list(values) for values in lists if values is not None]
        scores = dict[str, float]()
        for keys in asked:
            for rank, key in enumerate(keys, start=1):
                scores[key] = scores.get(key, 0.0) + near.weight / rank / len(asked)
        return {key: score for key, score in scores.items() if key in contents}
    words = telling_words(near.text, most=QUERY_WORDS).split()
    if by_vector is not None and reader.embedder is not None:
        least, share, values = reader.embedder.profile.relevance_threshold, 0.0, by_vector
    else:
        least, share, values = 0.0, WORD_SHARE, by_text or {}
    kept = {
        key: value
        for key, value in values.items()
        if value >= least
        and key in contents
        and (held := holds_words(contents[key], words)) > 0
        and held >= share
    }
    best = max(kept.values(), default=1.0) or 1.0
    return {key: near.weight * max(value, 0.0) / best for key, value in kept.items()}
