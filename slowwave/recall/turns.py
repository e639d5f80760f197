"""Raw messages, ranked: full text at three scales, vectors, and the memories that rest on them, by min-max fusion.

Cells are fused by rank, messages by score: a message that leads a list leads it by a margin that says much
(`benchmarks/retrieval_quality.py`: evidence among the first five 69.8 % by score, 63.4 % by rank).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from slowwave.language.query_words import named_speaker
from slowwave.language.text import asking_share
from slowwave.models.embed.relevance import Vectors
from slowwave.recall.conditions import scope_condition, turn_condition
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.results import Turn, columns_of
from slowwave.schemas.search import Filters
from slowwave.schemas.tables import RAW_PROMPT, REMEMBERED
from slowwave.settings.groups import ScopeSettings
from slowwave.settings.tree import Settings
from slowwave.store import Query, Row, RowsQuery, SearchQuery, Store, col, lit

LIST_ROWS = 100
"""Rows that each list brings: beyond them a list adds noise more than messages (benchmarks/retrieval_quality.py)."""

DIALOGUE_TURNS = 60
"""Messages, best first, of which it is looked up who says them and what they answer."""

# the three were chosen by `benchmarks/retrieval_quality.py`
ANSWER_SHARE = 0.4
"""Share of a message's score that the next one gets where it asks: answers follow questions."""

ASKING_PENALTY = 0.4
"""Share of its score that a message of nothing but questions gives up; of half of them, half of it."""

SPEAKER_BONUS = 0.5
"""Added to messages of the speaker whom a question names; a list that leads gives 1."""

SCALES = ("turn", "near", "wide")
TURN_COLUMNS = columns_of(Turn)

_BEGIN, _END = lit(f"{REMEMBERED}-"), lit(f"{REMEMBERED}.")
IS_STATED = (col("session_id") >= _BEGIN) & (col("session_id") < _END)
"""Passages of what somebody told Slowwave itself, by the names of those sessions."""

IN_TALK = (col("session_id") < _BEGIN) | (col("session_id") >= _END)


class TurnLists(NamedTuple):
    """Rows that rank messages: passages by full text, messages by vector, memories by both."""

    passages: Sequence[Row]
    vectors: Sequence[Row]
    cells: Sequence[Row]

    def values(self) -> dict[str, dict[str, float]]:
        """The value of each message by list; a passage or a memory gives its value to all of its messages."""
        cells = [row for row in self.cells if row["cell_type"] != EPISODE and row["status"] == "active"]
        lists = {scale: _best(self._of_scale(scale), "text_score", "turn_ids") for scale in SCALES}
        lists["vector"] = {row["turn_id"]: row["similarity"] for row in self.vectors}
        lists["cell"] = _best(_first(cells, "text_score"), "text_score", "evidence")
        lists["cell_vector"] = _best(_first(cells, "similarity"), "similarity", "evidence")
        return {name: values for name, values in lists.items() if values}

    def _of_scale(self, scale: str) -> list[Row]:
        """Passages of a scale; a statement to Slowwave stands alone, so that it is its own surroundings."""

        def belongs(row: Row) -> bool:
            is_stated = scale == "near" and row["session_id"].startswith(f"{REMEMBERED}-")
            return bool(row["scale"] == ("turn" if is_stated else scale))

        return _first([row for row in self.passages if belongs(row)], "text_score")


def passages_query(words: str, filters: Filters, settings: Settings) -> Query:
    """Messages by full text at three scales: alone, among four, and within the extractor's windows."""
    scale = {name: col("scale") == lit(name) for name in SCALES}
    # statements of a day form one session, and have nothing to do with those around them
    near = (scale["near"] & IN_TALK) | (scale["turn"] & IS_STATED)
    where = turn_condition(settings.owner, filters)
    columns = ("turn_ids", "scale", "session_id")
    parts = (scale["turn"], near, scale["wide"])
    return SearchQuery("passages", words, None, LIST_ROWS, where, columns, parts=parts)


def vectors_query(vector: Vectors | None, filters: Filters, settings: Settings) -> Query:
    """Messages nearest to a question."""
    return SearchQuery("turns", "", vector, LIST_ROWS, turn_condition(settings.owner, filters))


def turn_scores(lists: TurnLists) -> dict[str, float]:
    """The fused score of each message: the sum over the lists of values stretched to 0..1.

    Every list weighs the same: one setting for all embedders and all kinds of talk.
    """
    return summed(stretched(values) for values in lists.values().values())


def summed(shares: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The sum of each key's shares."""
    totals: dict[str, float] = {}
    for part in shares:
        for key, share in part.items():
            totals[key] = totals.get(key, 0.0) + share
    return totals


def stretched(values: Mapping[str, float]) -> dict[str, float]:
    """Values between the worst (0) and the best (1) of them; all 1 where they are equal."""
    best, worst = max(values.values()), min(values.values())
    width = best - worst
    return {key: (value - worst) / width if width else 1.0 for key, value in values.items()}


def in_dialogue(
    scores: Mapping[str, float], said: Mapping[str, Row], words: Collection[str]
) -> dict[str, float]:
    """Scores once who speaks and what each message answers counts, best first, ties by id."""
    placed = summed([scores, *dialogue_shares(scores, said, words).values()])
    return dict(sorted(placed.items(), key=lambda entry: (-entry[1], entry[0])))


def dialogue_shares(
    scores: Mapping[str, float], said: Mapping[str, Row], words: Collection[str]
) -> dict[str, dict[str, float]]:
    """The shares that the talk around messages adds to their scores, by list and message.

    A message that answers a question seldom shares its words; the one before it, in which somebody asked the same,
    does. `said` holds messages by id; one that is missing there gets nothing. A message gets a share of the score of
    the one before it, where that one asks (`answer`); one that itself asks gives up a part of its own (`asking`), and
    messages of the one speaker whom the question names get a bonus (`speaker`).
    """
    asking = {turn_id: asking_share(row["content"]) for turn_id, row in said.items()}
    at = {(row["session_id"], row["turn_index"]): turn_id for turn_id, row in said.items()}
    named = named_speaker({row["speaker"] for row in said.values() if row["speaker"]}, words)
    shares: dict[str, dict[str, float]] = {"answer": {}, "asking": {}, "speaker": {}}
    for key in said.keys() & scores.keys():
        row = said[key]
        before = at.get((row["session_id"], row["turn_index"] - 1))
        if before is not None and asking[before] > 0:
            shares["answer"][key] = ANSWER_SHARE * scores.get(before, 0.0)
        shares["asking"][key] = -ASKING_PENALTY * asking[key] * scores[key]
        if named is not None and row["speaker"] == named:
            shares["speaker"][key] = SPEAKER_BONUS
    return shares


def worked_turns(store: Store, owner: ScopeSettings, session_ids: Collection[str]) -> set[str]:
    """Ids of the messages of these conversations that a model has worked through: its memories speak for them."""
    where = scope_condition(owner) & col("session_id").isin(sorted(session_ids))
    (chunks,) = store.find([RowsQuery("chunks", ("turn_ids", "status", "prompt_version"), where)])
    return {
        turn_id
        for chunk in chunks
        if chunk["status"] in ("extracted", "gated_out") and chunk["prompt_version"] not in (None, RAW_PROMPT)
        for turn_id in chunk["turn_ids"]
    }


def _first(rows: Iterable[Row], value: str) -> list[Row]:
    """The rows that a list of `LIST_ROWS` by this value has, best first."""
    ranked = sorted((row for row in rows if row[value] > 0), key=lambda row: -row[value])
    return ranked[:LIST_ROWS]


def _best(rows: Iterable[Row], value: str, turns: str) -> dict[str, float]:
    """The best value of each message that rows, best first, name."""
    best: dict[str, float] = {}
    for row in rows:
        for turn_id in row[turns] or ():
            best.setdefault(turn_id, row[value])
    return best
