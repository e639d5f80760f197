"""Later turns of persons about what a quoted turn tells: where no model has worked, nothing else says what was retired.

"We use Jenkins" may match a message word by word, and "we moved to Buildkite", said weeks later, hardly at all. So the
newest turn that a person said later, that matches the message at all and tells that a quoted matter changed, is quoted
above it, under its own date.

Of twenty such pairs that were made up (ten of them after the words of changes were chosen) the old turn stood alone
for six prompts before, now for one; 14 of 160 ordinary small forms changed (LoCoMo, transcripts of coding agents), by
nine lines more among 455.
"""

from collections.abc import Sequence
from functools import partial

from slowwave.context.situation import Situation
from slowwave.context.statements.changed_matters import Rarity, tells_change
from slowwave.language.query_words import telling_words
from slowwave.schemas.search import TurnHit

LOOKED_AT = 5
"""Quoted turns, best first, for which later turns are looked for."""

MOST_WORDS = 40
"""Different telling words of a turn that says what holds: one of more is a paste or a report."""

ABOVE = 1e-6
"""Score that a later turn has more than the one whose matter it changed, at least."""


def with_later_turns(
    situation: Situation, told: Sequence[TurnHit], found: Sequence[TurnHit]
) -> list[TurnHit]:
    """The turns that are told, best first, each of a person among the best below the newest that changed its matter.

    Later turns are those of `found`, told or not. What was said later in the same conversation is left out: its turns
    do one piece of work after the other.
    """
    known = {turn.turn_id: turn for turn in told}
    looked_at = sorted(
        (turn for turn in told[:LOOKED_AT] if is_statement(turn)), key=lambda turn: turn.event_time
    )
    later = [turn for turn in found if looked_at and turn.event_time > looked_at[0].event_time]
    newest_first = sorted(later, key=lambda turn: (turn.event_time, turn.turn_id), reverse=True)
    statements = [turn for turn in newest_first if is_statement(turn)]
    rarity = _remembered(partial(situation.store.rarities, "passages"))
    for turn in looked_at:
        newest = next((later for later in statements if _is_changed_by(situation, turn, later, rarity)), None)
        if newest is not None:
            score = max(known.get(newest.turn_id, newest).score, known[turn.turn_id].score + ABOVE)
            known[newest.turn_id] = newest.model_copy(update={"score": score})
    return sorted(known.values(), key=lambda turn: (-turn.score, -turn.event_time.timestamp(), turn.turn_id))


def is_statement(turn: TurnHit) -> bool:
    """Return whether a turn is a few sentences of a person, and no paste or report."""
    if turn.role != "user":
        return False
    return 0 < len(telling_words(turn.content, most=MOST_WORDS + 1).split()) <= MOST_WORDS


def _is_changed_by(situation: Situation, turn: TurnHit, later: TurnHit, rarity: Rarity) -> bool:
    """Return whether a statement, said later in another conversation, tells that the matter of a turn changed."""
    return (
        later.event_time > turn.event_time
        and later.session_id not in (turn.session_id, situation.request.conversation_id)
        and tells_change(later.content, turn.content, rarity)
    )


def _remembered(rarity: Rarity) -> Rarity:
    """The same weights, each term's asked for once: many pairs of turns share their terms."""
    known: dict[str, float] = {}

    def weights(terms: Sequence[str]) -> list[float]:
        fresh = [term for term in terms if term not in known]
        known.update(zip(fresh, rarity(fresh), strict=True))
        return [known[term] for term in terms]

    return weights
