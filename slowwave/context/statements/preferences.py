"""Standing preferences from the raw record: what a person said to be done always or never, word by word.

A model's night makes memories of them, of which core memory tells the best at every start. Until then, and where there
is no model at all, the newest of those turns are quoted: they concern every conversation and seldom share a word with
its prompts.
"""

from collections.abc import Sequence
from dataclasses import replace

from slowwave.context.memories import quote_lines, untold_turns
from slowwave.context.situation import Situation
from slowwave.context.statements.later_turns import is_statement, with_later
from slowwave.context.tiers import Candidate
from slowwave.language.query_words import telling_words
from slowwave.language.wishes import WISH_WORDS, is_standing
from slowwave.schemas.search import Filters, TurnHit
from slowwave.search.conditions import turn_condition
from slowwave.search.fusing import Fused
from slowwave.search.standing_turns import standing_turns
from slowwave.search.turns import by_turn, turn_hits
from slowwave.store import TextQuery, col, lit
from slowwave.trust.origins import PERSON
from slowwave.trust.own_words import parts_of

MOST = 5
"""Preferences that are quoted."""

READ_ROWS = 100
"""Turns that are looked at for each list of words of a preference, the shortest first."""

LATER_ROWS = 50
"""Turns near those that are quoted, of which some may say that one changed."""

WHY = "said to hold always, and not yet worked through"


def preference_lines(situation: Situation) -> list[Candidate]:
    """Quotes of the newest preferences that no model has worked through, each below what changed it later."""
    found = _with_words(situation, WISH_WORDS, READ_ROWS, Filters())
    standing = [turn for turn in found if turn.origin == PERSON and is_standing(_own_words(turn))]
    newest = sorted(standing, key=lambda turn: (turn.event_time, turn.turn_id), reverse=True)
    told = untold_turns(situation, newest)[:MOST]
    if not told:
        return []
    ranked = [turn.model_copy(update={"score": 1 - place / READ_ROWS}) for place, turn in enumerate(told)]
    words = " ".join(telling_words(turn.content, most=12) for turn in ranked)
    later = _with_words(
        situation, [words], LATER_ROWS, Filters(after=min(turn.event_time for turn in ranked))
    )
    most = situation.settings.context.quote_characters
    return [
        replace(line, tier="index") if line.tier == "background" else line
        for turn in with_later(
            situation, ranked, standing_turns(situation.store, situation.settings.owner, later)
        )
        for line in quote_lines(
            "background", turn, 0.5 * turn.score, WHY, asked=situation.asked, most=most, kind="preference"
        )
    ]


def _own_words(turn: TurnHit) -> str:
    """A turn without what it quotes."""
    return parts_of(turn.content, is_typed=True).own


def _with_words(situation: Situation, lists: Sequence[str], most: int, filters: Filters) -> list[TurnHit]:
    """Short statements of persons, in other conversations, that hold most of the words of one of the lists."""
    where = turn_condition(situation.settings.owner, filters)
    single = where & (col("scale") == lit("turn"))
    asked = [TextQuery("passages", words, most, single, columns=("turn_ids",)) for words in lists]
    ids = dict.fromkeys(turn_id for found in situation.store.find(asked) for turn_id in by_turn(found))
    hits = turn_hits(situation.store, [Fused(turn_id, 0.0, ()) for turn_id in ids], where)
    here = situation.request.conversation_id
    return [turn for turn in hits if is_statement(turn) and turn.session_id != here]
