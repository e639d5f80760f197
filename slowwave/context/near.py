"""Cells and raw turns near a few words, by full text and vectors, several texts in one round of reading.

A question is answered by the whole search (`slowwave.search.ask`); what a file's name, a branch or an error's text
only hint at is looked up here, at a fraction of its cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowwave.context.memories import (
    CELL_COLUMNS,
    KnownCell,
    memories_of,
    read_memories,
    turns_of,
    untold_turns,
)
from slowwave.context.situation import Situation
from slowwave.decay.retention import days_ago
from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.language.signals import holds_words
from slowwave.schemas.search import Filters, Hit, TopicHit, TurnHit
from slowwave.search.conditions import cell_condition, turn_condition
from slowwave.search.current_values import Pair
from slowwave.search.episodes import without_episodes
from slowwave.search.fusing import prior
from slowwave.search.turns import TURN_COLUMNS, by_turn
from slowwave.store import SCORE, RowsQuery, TextQuery, VectorQuery, col, lit

LIST_ROWS = 20
"""Rows that each list brings."""

WORD_SHARE = 0.5
"""Without an embedder, what is near must hold this share of the words."""


@dataclass
class Findings:
    """Memories that the signals found: cells by id with score (0..1) and reason, topic summaries, quotable turns.

    `undecided` are pairs of memories with two values of one property of which no date decides which holds.
    """

    cells: dict[str, tuple[float, str]] = field(default_factory=dict)
    topics: dict[str, tuple[TopicHit, float]] = field(default_factory=dict)
    turns: dict[str, tuple[TurnHit, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    undecided: frozenset[Pair] = frozenset()

    def add(self, cell_id: str, score: float, why: str) -> None:
        """Keep a cell with its best score."""
        if self.cells.get(cell_id, (-1.0, ""))[0] < score:
            self.cells[cell_id] = (score, why)

    def add_turn(self, turn: TurnHit, score: float) -> None:
        """Keep a turn with its best score."""
        if turn.turn_id not in self.turns or self.turns[turn.turn_id][1] < score:
            self.turns[turn.turn_id] = (turn, score)

    def keep_untold_turns(self, situation: Situation) -> None:
        """Drop the turns that a model has worked through (`untold_turns`)."""
        untold = untold_turns(situation, [turn for turn, _ in self.turns.values()])
        self.turns = {turn.turn_id: self.turns[turn.turn_id] for turn in untold}

    def memories(self, situation: Situation) -> list[tuple[KnownCell, float, str]]:
        """The cells that were made by a model or a person, with score and reason, best first."""
        known = read_memories(situation, col("cell_id").isin(sorted(self.cells)))
        found = [(memory, *self.cells[memory.cell_id]) for memory in known.values() if not memory.is_raw]
        return sorted(found, key=lambda entry: -entry[1])


@dataclass(frozen=True)
class Near:
    """A text whose neighbours are wanted, what they weigh, and the reason to tell.

    `words` are what full text looks for, where these are not the text's telling words. Strictly near is what reaches
    the embedder's `relevance_threshold` and shares a word: a few words without a sentence are similar to much. Else
    the best of each list count, by rank.
    """

    text: str
    weight: float = 1.0
    why: str = ""
    filters: Filters = field(default_factory=Filters)
    is_strict: bool = True
    has_turns: bool = True
    words: str = ""


@dataclass(frozen=True)
class Neighbours:
    """Results of the lists: for each text and list the values by id, best first; and all rows by id."""

    of_cells: list[list[dict[str, float]]]
    of_turns: list[list[dict[str, float]]]
    cells: dict[str, KnownCell]
    turns: dict[str, TurnHit]


def neighbours(situation: Situation, wanted: Sequence[Near]) -> Neighbours:
    """Cells but episodes, and raw turns, by full text and by vectors: two rounds of reading for all texts together."""
    if not wanted:
        return Neighbours([], [], {}, {})
    owner = situation.settings.owner
    cell_queries, turn_queries = list[list[TextQuery | VectorQuery]](), list[list[TextQuery | VectorQuery]]()
    for near in wanted:
        words = near.words or telling_words(near.text, most=QUERY_WORDS)
        of_cells = without_episodes(cell_condition(owner, near.filters), near.filters)
        of_turns = turn_condition(owner, near.filters)
        single = of_turns & (col("scale") == lit("turn"))
        vector, _ = situation.reader.vector_of(near.text)
        cell_queries.append([TextQuery("cells", words, LIST_ROWS, of_cells)])
        turn_queries.append([TextQuery("passages", words, LIST_ROWS, single, columns=("turn_ids",))])
        if vector is not None:
            cell_queries[-1].append(VectorQuery("cells", vector, LIST_ROWS, of_cells))
            turn_queries[-1].append(VectorQuery("turns", vector, LIST_ROWS, of_turns))
        if not near.has_turns:
            turn_queries[-1].clear()
    rows = iter(situation.store.find([query for part in (*cell_queries, *turn_queries) for query in part]))
    cell_lists = [[{row["cell_id"]: row[SCORE] for row in next(rows)} for _ in part] for part in cell_queries]
    turn_lists = [[by_turn(next(rows)) for _ in part] for part in turn_queries]
    cell_ids, turn_ids = (
        sorted({key for named in lists for values in named for key in values})
        for lists in (cell_lists, turn_lists)
    )
    cell_rows, turn_rows = situation.store.at_once(
        [
            RowsQuery("cells", CELL_COLUMNS, cell_condition(owner) & col("cell_id").isin(cell_ids)),
            RowsQuery("turns", TURN_COLUMNS, turn_condition(owner) & col("turn_id").isin(turn_ids)),
        ]
    )
    cells = {cell.cell_id: cell for cell in memories_of(cell_rows.sort("cell_id"))}
    return Neighbours(cell_lists, turn_lists, cells, {turn.turn_id: turn for turn in turns_of(turn_rows)})


def look_near(situation: Situation, wanted: Sequence[Near], found: Findings | None = None) -> Findings:
    """Memories near the texts; scores are 0..weight, and of several the best counts. `found` is added to, if given."""
    wanted = [near for near in wanted if telling_words(near.text, most=1)]
    found, beside = found or Findings(), neighbours(situation, wanted)
    for near, of_cells, of_turns in zip(wanted, beside.of_cells, beside.of_turns, strict=True):
        for key, score in _scores(situation, near, of_cells, beside.cells).items():
            found.add(key, score, near.why)
        for key, score in _scores(situation, near, of_turns, beside.turns).items():
            turn = beside.turns[key]
            found.add_turn(turn, score * turn_prior(situation, turn))
    return found


def value_of(hit: Hit, *lists: str) -> float:
    """The best value that one of the lists gave it: BM25 score or cosine; 0 where none found it."""
    return max((share.value for share in hit.found_by if share.list_name in lists), default=0.0)


def turn_prior(situation: Situation, turn: TurnHit) -> float:
    """The prior of a raw turn, by its age."""
    age_days, settings = days_ago(turn.event_time, now=situation.now), situation.settings
    return prior(age_days=age_days, search=settings.search, decay=settings.decay)


def _scores(
    situation: Situation,
    near: Near,
    lists: Sequence[dict[str, float]],
    known: Mapping[str, KnownCell | TurnHit],
) -> dict[str, float]:
    """Scores by id, of what the lists (full text, then vectors where there are any) found."""
    if not near.is_strict:
        scores = dict[str, float]()
        for values in lists:
            for rank, key in enumerate(values, start=1):
                scores[key] = scores.get(key, 0.0) + near.weight / rank / len(lists)
        return {key: score for key, score in scores.items() if key in known}
    words = telling_words(near.text, most=QUERY_WORDS).split()
    least, share, embedder = 0.0, WORD_SHARE, situation.reader.embedder
    if len(lists) > 1 and embedder is not None:
        least, share = embedder.profile.relevance_threshold, 0.0
    kept = {
        key: value
        for key, value in (lists[-1] if lists else {}).items()
        if value >= least
        and key in known
        and (held := holds_words(known[key].content, words)) > 0
        and held >= share
    }
    best = max(kept.values(), default=1.0) or 1.0
    return {key: near.weight * max(value, 0.0) / best for key, value in kept.items()}
