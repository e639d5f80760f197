"""Past conversations in the background tier: what was done before, in the form of its age."""

from dataclasses import replace
from datetime import datetime

from slowwave.context.memories import KnownCell, cell_line, read_memories
from slowwave.context.near import WORD_SHARE, Near, look_near
from slowwave.context.tiers import Candidate
from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.language.signals import holds_words
from slowwave.schemas.episode_type import EPISODE
from slowwave.schemas.search import Filters
from slowwave.search import Reader
from slowwave.search.episodes import told_by_age
from slowwave.store import Store, col, lit

NEWEST = 5
"""Conversations told where there is no text to look near to."""

NEAREST = 3
"""Conversations told near a text, which hold half of its telling words."""


def episode_lines(reader: Reader, store: Store, text: str, *, now: datetime) -> list[Candidate]:
    """Lines of the episodes nearest to the text, best first; without any text, of the newest ones."""
    if not text:
        known = read_memories(store, reader.settings, col("cell_type") == lit(EPISODE))
        newest = list(known.values())[:NEWEST]
        return [
            _line(reader, memory, 0.8 - place / 100, "a recent conversation", now)
            for place, memory in enumerate(newest)
        ]
    only = Filters(cell_types=(EPISODE,))
    wanted = Near(text, 0.5, "a conversation about it", only, is_strict=False, has_turns=False)
    found, words = look_near(reader, store, [wanted], now=now), telling_words(text, most=QUERY_WORDS).split()
    return [
        _line(reader, memory, 0.9 + score, why, now)
        for memory, score, why in found.memories(reader, store)
        if holds_words(memory.content, words) >= WORD_SHARE
    ][:NEAREST]


def _line(reader: Reader, memory: KnownCell, score: float, why: str, now: datetime) -> Candidate:
    """One line: what stands for it by its age, else the compressed form."""
    text = told_by_age(
        memory.content,
        memory.summary,
        memory.compressed,
        memory.event_time,
        now=now,
        settings=reader.settings.episodes,
    )
    return cell_line("background", replace(memory, content=text, summary=None), score, why)
