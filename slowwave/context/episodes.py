"""Past conversations in the background tier: what was done before, in the form of its age."""

from dataclasses import replace

from slowwave.context.memories import KnownCell, cell_line, read_memories
from slowwave.context.near import WORD_SHARE, Near, look_near
from slowwave.context.situation import Situation
from slowwave.context.tiers import Candidate
from slowwave.language.signals import holds_words
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.search import Filters
from slowwave.search.episodes import told_by_age
from slowwave.store import col, lit

NEWEST = 5
"""Conversations told where there is no text to look near to."""

NEAREST = 3
"""Conversations told near a text, which hold half of its telling words."""


def episode_lines(situation: Situation) -> list[Candidate]:
    """Lines of the episodes nearest to the text, best first; without any text, of the newest ones."""
    text = situation.text
    if not text:
        known = read_memories(situation, col("cell_type") == lit(EPISODE))
        newest = list(known.values())[:NEWEST]
        why = "a recent conversation"
        return [_line(situation, memory, 0.8 - place / 100, why) for place, memory in enumerate(newest)]
    only = Filters(cell_types=(EPISODE,))
    wanted = Near(text, 0.5, "a conversation about it", only, is_strict=False, has_turns=False)
    found = look_near(situation, [wanted])
    return [
        _line(situation, memory, 0.9 + score, why)
        for memory, score, why in found.memories(situation)
        if holds_words(memory.content, situation.words) >= WORD_SHARE
    ][:NEAREST]


def _line(situation: Situation, memory: KnownCell, score: float, why: str) -> Candidate:
    """One line: the form of its age, else the compressed form."""
    forms, settings = (memory.content, memory.summary, memory.compressed), situation.settings.episodes
    text = told_by_age(*forms, memory.event_time, now=situation.now, settings=settings)
    return cell_line("background", replace(memory, content=text, summary=None), score, why)
