"""The small form: the few memories that a message itself calls for, or nothing.

Memories and turns are ranked as for a page about the message. Of them it tells those that are relevant, and near the
best of these (what was shown counts there too, so that a conversation that has seen the best is not told the second
best instead). The more of the message's telling words one holds, the less similar to it by the embedder it must be:
with none of them twice the `relevance_threshold`, with half of them once, with all not at all. One with fewer than two
of the words needs one and a half times the threshold. Without an embedder it must hold half of them, and two at least.
A message that only greets or tells to go on calls for nothing, and the same message said before tells nothing. A turn
whose matter a person changed later stands below the turn that says so (`later_turns`).

On two LoCoMo conversations (embedded embedder, the set's own memories) 66 of 100 questions get evidence, and 91 of 100
questions about the other conversation get nothing; by the threshold alone it was 69 and 21.
"""

from dataclasses import replace
from typing import NamedTuple

from slowwave.context.fixes import fix_lines
from slowwave.context.matches import IsTold, find_matches
from slowwave.context.question_page import memory_lines
from slowwave.context.situation import Situation
from slowwave.context.statements.later_turns import with_later
from slowwave.context.tiers import Candidate
from slowwave.language.query_words import calls_for_nothing, is_repeated
from slowwave.language.signals import holds_words
from slowwave.schemas.search import TurnHit

MIN_WORDS = 2
"""Telling words that a memory must hold, where the message has so many."""

WORDLESS = 2.0
"""Similarity, in `relevance_threshold`s, that a memory without any of the words needs."""

FEW_WORDS = 1.5
"""The same of one with fewer words than `MIN_WORDS`, at least."""

MIN_WORD_SHARE = 0.5
"""Share of the words that a memory must hold where there is no embedder."""

RANKED = 24
"""Memories, and turns, that are ranked. With 50 two in 200 small forms are other ones, and it takes a third longer."""

NEAR_BEST = 0.6
"""Share of the best relevant score from which on a memory is told."""


class SmallLines(NamedTuple):
    """Lines for one message, turns to quote after them, best first, and notes."""

    lines: list[Candidate]
    turns: list[TurnHit]
    notes: list[str]


def small_lines(situation: Situation, *, budget_tokens: int) -> SmallLines:
    """Lines for one message. Memories of the asking conversation itself are left out."""
    lines = [replace(line, tier="relevant") for line in fix_lines(situation)]
    if calls_for_nothing(situation.request.question):
        return SmallLines(lines, [], [])
    is_relevant = _relevance(situation)
    matches = find_matches(situation, most_cells=RANKED, most_turns=RANKED, is_told=is_relevant)
    conversation, similarity = situation.request.conversation_id, matches.similarity
    cells = [hit for hit in matches.cells if hit.session_id != conversation]
    turns = [
        hit
        for hit in matches.turns
        if hit.session_id != conversation and is_relevant(hit.content, similarity.get(hit.turn_id, 0.0))
    ]
    best = max((hit.score for hit in (*cells, *turns)), default=0.0)
    told = replace(matches, cells=[hit for hit in cells if hit.score >= NEAR_BEST * best])
    near = [hit for hit in turns if hit.score >= NEAR_BEST * best]
    lines += memory_lines(situation, told, budget_tokens=budget_tokens)
    return SmallLines(lines, with_later(situation, near, matches.turns, similarity), matches.notes)


def _relevance(situation: Situation) -> IsTold:
    """Return whether a text is worth telling unasked, by the rule in this module's docstring."""
    embedder, words, asked = situation.reader.embedder, situation.words, situation.request.question
    needed = min(MIN_WORDS, len(words))

    def is_relevant(text: str, similarity: float) -> bool:
        share = holds_words(text, words)
        has_words = round(share * len(words)) >= needed
        if embedder is None:
            return has_words and share >= MIN_WORD_SHARE and not is_repeated(text, asked)
        least = WORDLESS * (1.0 - share) if has_words else max(FEW_WORDS, WORDLESS * (1.0 - share))
        return similarity >= least * embedder.profile.relevance_threshold and not is_repeated(text, asked)

    return is_relevant
