"""Raw turns by full text at three scales, by vectors, and by the cells that came from them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from slowwave.embeddings import Vectors
from slowwave.excerpts.relevance import relevance_to
from slowwave.language.query_words import named_speaker
from slowwave.language.sentences import asking_share
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.search import Filters, Hit, TurnHit
from slowwave.schemas.tables import RAW_PROMPT, REMEMBERED
from slowwave.search.conditions import cell_condition, recorded_condition, scope_condition, turn_condition
from slowwave.search.fusing import Fused, RankedList, fuse_scores, fused_scores, with_given
from slowwave.search.standing_turns import standing_turns
from slowwave.settings.groups import ScopeSettings
from slowwave.settings.reading import SearchSettings
from slowwave.settings.tree import Settings
from slowwave.store import SCORE, Expr, Query, Row, RowsQuery, Store, TextQuery, VectorQuery, col, lit

LIST_ROWS = 100
"""Rows that each list brings: beyond them a list adds noise more than turns (benchmarks/retrieval_quality.py)."""

UNTOLD_TURNS = 5
"""Turns, best first by full text, among which one is looked for that no memory tells yet."""

UNTOLD, AS_WELL = 0.3, 0.7
"""Relevance from which on such a turn is worth a note, and its least share of the relevance of what is shown."""

NOT_YET_TOLD = (
    "messages that no memory tells yet match as well: `--detail evidence` asks what was said, "
    "`slowwave run nightly` makes memories of it"
)

DIALOGUE_TURNS = 60
"""Turns, best first, of which it is looked up who says them and what they answer."""

TURN_LISTS = ("turn", "near", "wide", "vector")
"""Lists that need no memories."""

TURN_COLUMNS = tuple(
    name for name in TurnHit.model_fields if name not in {*Hit.model_fields, "said_by", "whose"}
)

_BEGIN, _END = lit(f"{REMEMBERED}-"), lit(f"{REMEMBERED}.")
_TOLD = (col("session_id") >= _BEGIN) & (col("session_id") < _END)
"""Passages of what somebody told Slowwave itself, by the names of those sessions."""

_IN_TALK = (col("session_id") < _BEGIN) | (col("session_id") >= _END)


@dataclass(frozen=True)
class TurnQuestion:
    """A question to the raw turns: its words, its vector where there is one, and its filters."""

    words: str
    vector: Vectors | None
    filters: Filters


def turn_queries(question: TurnQuestion, settings: Settings) -> dict[str, TextQuery | VectorQuery]:
    """The lists by name: full text at three scales, vectors of turns, full text and vectors of cells."""
    owner, filters = settings.owner, question.filters
    of_turns = turn_condition(owner, filters)
    # an episode rests on every turn of its conversation, and would give all of them the same score
    of_cells = cell_condition(owner, filters) & (col("cell_type") != lit(EPISODE))
    words, vector = question.words, question.vector
    queries: dict[str, TextQuery | VectorQuery] = {
        scale: TextQuery(
            "passages", words, LIST_ROWS, of_turns & (col("scale") == lit(scale)), columns=("turn_ids",)
        )
        for scale in ("turn", "near", "wide")
    }
    # statements of a day form one session, and have nothing to do with those around them
    near = ((col("scale") == lit("near")) & _IN_TALK) | ((col("scale") == lit("turn")) & _TOLD)
    queries["near"] = replace(queries["near"], where=of_turns & near)
    queries["cell"] = TextQuery("cells", words, LIST_ROWS, of_cells, columns=("evidence",))
    if vector is not None:
        queries["vector"] = VectorQuery("turns", vector, LIST_ROWS, of_turns)
        queries["cell_vector"] = VectorQuery("cells", vector, LIST_ROWS, of_cells, columns=("evidence",))
    return queries


def rank_turns(found: Mapping[str, list[Row]], *, most: int | None = None) -> list[Fused]:
    """Turns by fused score, best first, at most `most`, with what each list gave (`fuse_scores`).

    A passage gives its score to each of its turns, a cell to each turn of its evidence; where several do, the best
    counts. Every list weighs the same: one setting for all embedders and all kinds of talk.
    """
    return fuse_scores(_ranked_lists(found), most=most)


def turn_scores(
    store: Store, found: Mapping[str, list[Row]], question: TurnQuestion, settings: Settings
) -> dict[str, float]:
    """The scores of `find_turns` by turn, of rows that are found already, without what each list gave."""
    scores = fused_scores(_ranked_lists(found))
    best = best_scores(scores, DIALOGUE_TURNS)
    said = _said(store, best, recorded_condition(settings.owner, question.filters))
    for shares in _dialogue_shares(scores, said, question.words.split(), settings.search).values():
        for turn_id, share in shares.items():
            scores[turn_id] += share
    return scores


def find_turns(
    store: Store, question: TurnQuestion, settings: Settings, *, lists: Collection[str] = ()
) -> list[Fused]:
    """Turns that the lists of one question find (all of them, or the named `lists`), as `in_dialogue` orders them."""
    queries = turn_queries(question, settings)
    queries = {name: query for name, query in queries.items() if not lists or name in lists}
    found = dict(zip(queries, store.find(list(queries.values())), strict=True))
    placed, _ = _placed(store, rank_turns(found), question, settings)
    return placed


def answering_turns(
    store: Store, found: Mapping[str, list[Row]], question: TurnQuestion, settings: Settings, *, most: int
) -> list[TurnHit]:
    """The best `most` turns of what the lists of one question found, as `in_dialogue` orders them.

    A memory that may be found rests on turns too that may not: those are left out.
    """
    placed, said = _placed(store, rank_turns(found, most=DIALOGUE_TURNS), question, settings)
    return _hits([entry for entry in placed if entry.key in said][:most], said)


def _placed(
    store: Store, ranked: Sequence[Fused], question: TurnQuestion, settings: Settings
) -> tuple[list[Fused], dict[str, Row]]:
    """Turns as `in_dialogue` orders them, and the rows of the best that may be found."""
    best = [entry.key for entry in ranked[:DIALOGUE_TURNS]]
    said = _said(store, best, recorded_condition(settings.owner, question.filters))
    return in_dialogue(ranked, said, question.words.split(), settings.search), said


def in_dialogue(
    ranked: Sequence[Fused], said: Mapping[str, Row], words: Collection[str], settings: SearchSettings
) -> list[Fused]:
    """Turns by fused score, best first, once who speaks and what each turn answers counts.

    A turn that answers a question seldom shares its words; the turn before it, in which somebody asked the same, does.
    `said` holds turns by id (`session_id`, `turn_index`, `speaker`, `content`); one that is missing there keeps
    its score. A turn gets a share of the score of the turn before it, where that one asks (list `answer`); a turn that
    itself asks gives up a part of its own (`asking`, below 0), and turns of the one speaker whom the question names
    get a bonus (`speaker`).
    """
    scores = {entry.key: entry.score for entry in ranked}
    return with_given(ranked, _dialogue_shares(scores, said, words, settings))


def _dialogue_shares(
    scores: Mapping[str, float], said: Mapping[str, Row], words: Collection[str], settings: SearchSettings
) -> dict[str, dict[str, float]]:
    """Parts that `in_dialogue` adds to scores, by list and turn."""
    asking = {turn_id: asking_share(row["content"]) for turn_id, row in said.items()}
    at = {(row["session_id"], row["turn_index"]): turn_id for turn_id, row in said.items()}
    named = named_speaker({row["speaker"] for row in said.values() if row["speaker"]}, words)
    given: dict[str, dict[str, float]] = {"answer": {}, "asking": {}, "speaker": {}}
    for key in said.keys() & scores.keys():
        row = said[key]
        before = at.get((row["session_id"], row["turn_index"] - 1))
        if before is not None and asking[before] > 0:
            given["answer"][key] = settings.answer_share * scores.get(before, 0.0)
        given["asking"][key] = -settings.asking_penalty * asking[key] * scores[key]
        if named is not None and row["speaker"] == named:
            given["speaker"][key] = settings.speaker_bonus
    return given


def best_scores(scores: Mapping[str, float], count: int) -> list[str]:
    """The `count` keys of the highest scores, best first, ties by key; none of a count below 1."""
    found: Iterable[str] = scores
    if count < 1:
        return []
    if len(scores) > count:
        least = sorted(scores.values(), reverse=True)[count - 1]
        found = [key for key, score in scores.items() if score >= least]
    return sorted(found, key=lambda key: (-scores[key], key))[:count]


def turn_hits(store: Store, ranked: Sequence[Fused], where: Expr) -> list[TurnHit]:
    """Hits of ranked turns, in their order; those that `where` keeps out are left out."""
    return _hits(ranked, _said(store, [entry.key for entry in ranked], where))


def _said(store: Store, turn_ids: Sequence[str], where: Expr) -> dict[str, Row]:
    """Rows of turns by id, without those that `where` keeps out."""
    if not turn_ids:
        return {}
    (found,) = store.find([RowsQuery("turns", TURN_COLUMNS, where & col("turn_id").isin(list(turn_ids)))])
    return {row["turn_id"]: row for row in found}


def _hits(ranked: Sequence[Fused], rows: Mapping[str, Row]) -> list[TurnHit]:
    return [
        TurnHit(**rows[entry.key], score=entry.score, found_by=entry.shares())
        for entry in ranked
        if entry.key in rows
    ]


def worked_turns(store: Store, owner: ScopeSettings, session_ids: Collection[str]) -> set[str]:
    """Ids of the turns of these conversations that a model has worked through: its memories speak for them."""
    where = scope_condition(owner) & col("session_id").isin(sorted(session_ids))
    (chunks,) = store.find([RowsQuery("chunks", ("turn_ids", "status", "prompt_version"), where)])
    return {
        turn_id
        for chunk in chunks
        if chunk["status"] in ("extracted", "gated_out") and chunk["prompt_version"] not in (None, RAW_PROMPT)
        for turn_id in chunk["turn_ids"]
    }


def _told_turns(store: Store, owner: ScopeSettings, session_ids: Collection[str]) -> set[str]:
    """Ids of the turns of these conversations that a memory rests on, or that a model has worked through."""
    where = scope_condition(owner) & col("session_id").isin(sorted(session_ids))
    (cells,) = store.find([RowsQuery("cells", ("cell_id", "evidence"), where)])
    return worked_turns(store, owner, session_ids).union(*(cell["evidence"] or () for cell in cells))


def untold_note(
    store: Store, question: TurnQuestion, settings: Settings, *, shown: Sequence[str]
) -> list[str]:
    """The note that a message of a person matches as well as the texts shown and is told by no memory yet, if so.

    Only full text is asked, and nothing where a filter or a past moment is given.
    """
    if question.filters.is_narrow or question.filters.is_historical:
        return []
    words = question.words.split()
    relevance = relevance_to(words, store.rarities("passages", words), None)
    (rows,) = store.find([replace(turn_queries(question, settings)["turn"], k=UNTOLD_TURNS)])
    named = [Fused(turn_id, 0.0, ()) for turn_id in by_turn(rows)]
    best = max((relevance.of(text, 0.0) for text in shown), default=0.0)
    better = [
        turn
        for turn in turn_hits(store, named, recorded_condition(settings.owner, question.filters))
        if turn.role == "user" and relevance.of(turn.content, 0.0) >= max(UNTOLD, AS_WELL * best)
    ]
    better = standing_turns(store, settings.owner, better)
    if not better:
        return []
    told = _told_turns(store, settings.owner, {turn.session_id for turn in better})
    return [NOT_YET_TOLD] if any(turn.turn_id not in told for turn in better) else []


def by_turn(rows: list[Row]) -> dict[str, float]:
    """The best value of each turn that the rows (turns, passages or cells, best first) name, in their order."""
    best: dict[str, float] = {}
    for row in rows:
        named, score = row.get("turn_ids") or row.get("evidence"), row[SCORE]
        for turn_id in [row["turn_id"]] if named is None else named:
            if turn_id not in best:
                best[turn_id] = score
    return best


def with_turns(queries: Mapping[str, Query], *more: str) -> dict[str, Query]:
    """The lists of memories, their rows with the turns that these rest on (`evidence`), and `more` columns."""
    return {
        name: query if name == "former" else replace(query, columns=(*query.columns, *more, "evidence"))
        for name, query in queries.items()
    }


def by_their_turns(
    store: Store, found: Mapping[str, list[Row]], question: TurnQuestion, settings: Settings
) -> dict[str, list[Row]]:
    """The list `evidence`, where raw memories are among those found: all of them by the best of their turns.

    A raw memory is a long window, in which what is said at one place counts little; full text over four turns is read
    instead of over one, since talk spreads an answer. Without raw memories there is no list. Rows have what
    `with_turns` adds, and `prompt_version`.
    """
    rows = {row["cell_id"]: row for name, part in found.items() if name != "former" for row in part}
    if not question.words or not any(row["prompt_version"] == RAW_PROMPT for row in rows.values()):
        return {}
    (said,) = store.find([turn_queries(question, settings)["near"]])
    best = by_turn(said)
    values = {key: [best[name] for name in row["evidence"] if name in best] for key, row in rows.items()}
    return {"evidence": [{**rows[key], SCORE: max(given)} for key, given in values.items() if given]}


def _ranked_lists(found: Mapping[str, list[Row]]) -> list[RankedList]:
    return [RankedList(name, _values_by_turn(rows), 1.0) for name, rows in found.items() if rows]


def _values_by_turn(rows: list[Row]) -> dict[str, float]:
    """The values of `by_turn` in whatever order, for lists that are put in order by their values: with less work."""
    name = next((name for name in ("turn_ids", "evidence") if rows and name in rows[0]), "")
    best_last = reversed(rows)  # the best comes last, and counts
    if not name:
        return {row["turn_id"]: row[SCORE] for row in best_last}
    return {turn_id: score for row in best_last for score in (row[SCORE],) for turn_id in row[name] or ()}
