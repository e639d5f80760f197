"""Candidate lines of the first two tiers: from searches for the signals, or from what is newest."""

import math
from datetime import timedelta
from typing import TypeVar

import polars as pl

from slowwave.context.matches import find_matches, key_of
from slowwave.context.memories import (
    KnownCell,
    cell_line,
    is_over,
    quote_lines,
    read_memories,
    topic_line,
)
from slowwave.context.near import WORD_SHARE, Findings, Near, look_near, turn_prior, value_of
from slowwave.context.situation import Situation
from slowwave.context.tiers import Candidate
from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.language.signals import file_words, holds_words, names_file
from slowwave.schemas.choices import CellType
from slowwave.schemas.search import MAX_QUERY_CHARACTERS, CellHit, Hit, TurnHit
from slowwave.search import ask
from slowwave.search.conditions import UNFILTERED, cell_condition, turn_condition
from slowwave.search.episodes import without_episodes
from slowwave.search.topics import whose_topics
from slowwave.store import TextQuery, col, lit
from slowwave.trust.origins import ON_TRUST

NAMES_FILE = "names the current file"
CRITICAL_TYPES: tuple[CellType, ...] = ("decision", "risk", "task")

TEXT_SHARE = 0.5
"""A hit is near also when it has this share of the best full-text score of its answer."""

FILE_ROWS = 50
"""Cells that full text brings for the name of the current file."""

BRANCH_ROWS = 40
RECENT_DAYS = 30.0
"""Without any signal, decisions, risks and tasks of this time are told."""

ANSWERS = 50
"""Memories, and raw turns, that answer a question beside other signals."""

ANSWERED_FOR = col("origin").isin(["system", "user", "reported", "agent"])
"""Unasked only what somebody answers for is told; a document, or a quote, is found by what it says."""

RECENT_ROWS = 25
TOPICS = 3


SomeHit = TypeVar("SomeHit", bound=Hit)


def signals_find(situation: Situation) -> Findings:
    """Memories that question, file, branch and errors bring, without the errors' own fixes."""
    found, request = Findings(), situation.request
    around = " ".join(dict.fromkeys(" ".join(situation.file_and_branch).split()))
    errors = " ".join(failure.message for failure in situation.failures[:2])
    if request.question:
        _answer(situation, found)
        _topics(situation, request.question, found)
    elif around or errors:
        _topics(situation, f"{around} {errors}", found)
    hints = [Near(around, 0.5, "near the file or branch"), Near(errors, 0.5, "near the error")]
    look_near(situation, hints, found)
    if request.current_file:
        for memory in _of_file(situation, request.current_file):
            found.add(memory.cell_id, 0.9 + 0.1 * memory.salience, NAMES_FILE)
    if request.branch and situation.file_and_branch[1]:
        for memory in _of_branch(situation, request.branch):
            found.add(memory.cell_id, 0.5 + 0.2 * memory.salience, "said on this branch")
    if not (request.question or around or situation.failures):
        recent = col("event_time") >= lit(situation.now - timedelta(days=RECENT_DAYS))
        known = read_memories(situation, recent & col("cell_type").isin(CRITICAL_TYPES) & ANSWERED_FOR)
        for memory in list(known.values())[:RECENT_ROWS]:
            found.add(memory.cell_id, 0.5 + 0.5 * memory.salience, "recent")
    found.keep_untold_turns(situation)
    return found


def tier_lines(situation: Situation, found: Findings) -> list[Candidate]:
    """Lines of the first two tiers for what the signals found; what is raw is quoted by its turns."""
    lines = list[Candidate]()
    for memory, score, why in found.memories(situation):
        wanted = (*CRITICAL_TYPES, "insight") if why == NAMES_FILE else CRITICAL_TYPES
        if memory.cell_type in wanted and memory.is_persons and not is_over(situation, memory):
            lines.append(cell_line("critical", memory, score, why))
        lines.append(cell_line("relevant", memory, score * (0.5 if is_over(situation, memory) else 1.0), why))
    named = col("topic_id").isin(found.topics)
    compressed = dict(situation.store.rows("topics", ("topic_id", "compressed"), named).iter_rows())
    best_topics = sorted(found.topics.values(), key=lambda entry: -entry[1])[:TOPICS]
    living = cell_condition(situation.settings.owner)
    named = col("topic_id").isin([topic.topic_id for topic, _ in best_topics])
    cells = situation.store.rows("cells", ("topic_id", "event_time", *ON_TRUST), living & named)
    whose = whose_topics(cells)
    newest = dict(cells.group_by("topic_id").agg(pl.col("event_time").max()).iter_rows())
    for topic, score in best_topics:
        until = newest.get(topic.topic_id, topic.updated_at)
        told, short = whose.get(topic.topic_id, ""), compressed.get(topic.topic_id)
        lines.append(topic_line(topic, short, 0.2 + score, told_until=until, whose=told))
    for turn, score in found.turns.values():
        why = "said in a turn that is not yet worked through"
        most = situation.settings.context.quote_characters
        lines += quote_lines("relevant", turn, 0.9 * score, why, asked=situation.asked, most=most)
    return lines


# Inside


def _answer(situation: Situation, found: Findings) -> None:
    """Add what answers the question and is near it, ranked as for a page about it; scores are shares of the best.

    Near is what is similar enough or holds half of the question's words: other tiers want the rest.
    """
    matches = find_matches(situation, most_cells=ANSWERS, most_turns=ANSWERS)
    found.notes += matches.notes
    found.undecided = matches.undecided
    embedder = situation.reader.embedder
    least = embedder.profile.relevance_threshold if embedder is not None else math.inf

    def is_near(hit: CellHit | TurnHit) -> bool:
        is_similar = matches.similarity.get(key_of(hit), 0.0) >= least
        return is_similar or holds_words(hit.content, situation.words) >= WORD_SHARE

    for cell in filter(is_near, matches.cells):
        found.add(cell.cell_id, cell.score, "answers the question")
    for turn in filter(is_near, matches.turns):
        found.add_turn(turn, turn.score * turn_prior(situation, turn))


def _topics(situation: Situation, text: str, found: Findings) -> None:
    """Add topics that are near to a text and hold a word of it."""
    text, now = text[:MAX_QUERY_CHARACTERS], situation.now
    answer = ask(situation.reader, text, limit=TOPICS, detail_level="summary", now=now)
    words = telling_words(text, most=QUERY_WORDS).split()
    found.notes += answer.notes
    for topic, score in _near(situation, answer.topics):
        if holds_words(f"{topic.name} {topic.summary}", words) > 0:
            found.topics[topic.topic_id] = (topic, 0.5 * score)


def _near(situation: Situation, hits: list[SomeHit]) -> list[tuple[SomeHit, float]]:
    """Hits that are similar enough, or have half of the best full-text score, with their share of the best score."""
    embedder = situation.reader.embedder
    threshold = embedder.profile.relevance_threshold if embedder else math.inf
    best_text = max((value_of(hit, "text", "turn") for hit in hits), default=0.0)
    kept = [
        hit
        for hit in hits
        if value_of(hit, "vector", "cell_vector") >= threshold
        or 0 < TEXT_SHARE * best_text <= value_of(hit, "text", "turn")
    ]
    best = max((hit.score for hit in kept), default=1.0) or 1.0
    return [(hit, hit.score / best) for hit in kept]


def _of_file(situation: Situation, path: str) -> list[KnownCell]:
    """Living cells that name the file in their text or artifacts."""
    words = telling_words(f"{file_words(path)} {path}", most=12)
    where = cell_condition(situation.settings.owner)
    (rows,) = situation.store.find([TextQuery("cells", words, FILE_ROWS, where)])
    known = read_memories(situation, col("cell_id").isin(row["cell_id"] for row in rows))
    return [
        memory
        for memory in known.values()
        if not memory.is_episode and names_file(" ".join((memory.content, *memory.artifacts)), path)
    ]


def _of_branch(situation: Situation, branch: str) -> list[KnownCell]:
    """Newest living cells of conversations that were held on the branch."""
    where = turn_condition(situation.settings.owner) & (col("git_branch") == lit(branch))
    sessions = situation.store.rows("turns", ("session_id",), where)["session_id"].unique().sort()
    where = without_episodes(col("session_id").isin(sessions), UNFILTERED)
    return list(read_memories(situation, where).values())[:BRANCH_ROWS]
