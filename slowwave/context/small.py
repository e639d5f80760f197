"""The small form: the few memories that a message itself calls for, or nothing.

With an embedder a memory is told when its similarity to the message reaches the embedder's `relevance_threshold`,
and four fifths of the best similarity of the answer (what was shown counts there too, so that a conversation that
has seen the best is not told the second best instead).
Without one it must hold half of the message's telling words, and two of them at least (one, where the message
has no more).
"""

from dataclasses import replace
from typing import TypeVar

from slowwave.context.fixes import fix_lines
from slowwave.context.memories import cell_line, quote_lines, read_memories, untold_turns
from slowwave.context.near import turn_prior, value_of
from slowwave.context.situation import Situation
from slowwave.context.tiers import Candidate
from slowwave.language.signals import holds_words
from slowwave.schemas.search import MAX_LIMIT, CellHit, TurnHit
from slowwave.search import ask
from slowwave.store import col

MIN_WORD_SHARE = 0.5
MIN_WORDS = 2
NEAR_BEST = 0.8

SomeHit = TypeVar("SomeHit", CellHit, TurnHit)


def small_lines(situation: Situation) -> tuple[list[Candidate], list[str]]:
    """Lines for one message, all in one tier, with notes. Memories of the asking conversation itself are left out."""
    lines = [replace(line, tier="relevant") for line in fix_lines(situation)]
    request = situation.request
    if not request.question:
        return lines, []
    answer = ask(
        situation.reader, request.question, limit=MAX_LIMIT, detail_level="evidence", now=situation.now
    )
    hits = [hit for hit in answer.cells if hit.session_id != request.conversation_id]
    told = _relevant(situation, hits)
    known = read_memories(situation, col("cell_id").isin([hit.cell_id for hit, _ in told]))
    lines += [
        cell_line("relevant", known[hit.cell_id], relevance, "answers the message")
        for hit, relevance in told
        if hit.cell_id in known and not known[hit.cell_id].is_raw
    ]
    turns = [turn for turn in answer.turns if turn.session_id != request.conversation_id]
    turns = untold_turns(situation, turns)
    for turn, relevance in _relevant(situation, turns):
        score = relevance * turn_prior(situation, turn)
        lines += quote_lines("relevant", turn, score, "answers the message", words=situation.words)
    return lines, answer.notes


def _relevant(situation: Situation, hits: list[SomeHit]) -> list[tuple[SomeHit, float]]:
    """The hits that are worth telling unasked, by the rule in this module's docstring, with their relevance (0..1)."""
    embedder, words = situation.reader.embedder, situation.words
    if embedder is not None:
        values = [value_of(hit, "vector") for hit in hits]
        least = max(embedder.profile.relevance_threshold, NEAR_BEST * max(values, default=0.0))
        return [(hit, value) for hit, value in zip(hits, values, strict=True) if value >= least]
    shares = [holds_words(hit.content, words) for hit in hits]
    needed = min(MIN_WORDS, len(words))
    return [
        (hit, share)
        for hit, share in zip(hits, shares, strict=True)
        if share >= MIN_WORD_SHARE and round(share * len(words)) >= needed
    ]
