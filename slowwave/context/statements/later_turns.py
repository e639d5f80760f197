"""Later statements of persons about what an earlier one tells: until a model works, nothing else says what changed.

"We use Jenkins" may match a message word by word, and "we moved to Buildkite", said weeks later, hardly at all. So the
newest statement that a person said later, that matches the message at all and tells that the matter changed, is told
above it, under its own date: on a page about what holds of memories and turns, in the small form of turns.

Of twenty such pairs that were made up (ten of them after the words of changes were chosen) the old turn stood alone
for six prompts before, now for one; 14 of 160 ordinary small forms changed (LoCoMo, transcripts of coding agents), by
nine lines more among 455.

Of 44 further pairs (half of them kept aside until the rule stood) a page about the question told the newer one first
for 30, without the rule for 6; wrongly so for 5 of 16 pairs of which the later one tells something beside the matter.
The coverage of LoCoMo's evidence by pages stayed as it was.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, TypeVar, cast

from slowwave.context.matches import key_of
from slowwave.context.situation import Situation
from slowwave.context.statements.changed_matters import Matter, tells_change
from slowwave.excerpts.matter import Rarity
from slowwave.language.query_words import telling_words
from slowwave.schemas.moments import latest_of
from slowwave.schemas.search import CellHit, TurnHit
from slowwave.store.terms import terms_of_words

SomeHit = TypeVar("SomeHit", bound=CellHit | TurnHit)

NOTHING_NEAR: Final[Mapping[str, float]] = MappingProxyType({})

AS_NEAR = 0.8
"""Share of the similarity of an earlier statement to the question that a later one has which is as near."""

_NAME = re.compile(r"(?<=[^.?!\s]\s)[^\W\d_a-z]\w+")

LOOKED_AT = 5
"""Quoted turns, best first, for which later turns are looked for."""

MOST_WORDS = 40
"""Different telling words of a turn that says what holds: one of more is a paste or a report."""

ABOVE = 1e-6
"""Score that a later turn has more than the one whose matter it changed, at least."""


def with_later(
    situation: Situation,
    told: Sequence[SomeHit],
    found: Sequence[SomeHit],
    similarity: Mapping[str, float] = NOTHING_NEAR,
    *,
    most: int = LOOKED_AT,
) -> list[SomeHit]:
    """The hits that are told, best first, each statement of the `most` best below the newest that changed its matter.

    Later statements are those of `found`, told or not; `similarity` has the cosine to the question by id, of those that
    are near. What was said later in the same conversation is left out: it does one piece of work after the other.
    """
    known = {key_of(hit): hit for hit in told}
    looked_at = sorted((hit for hit in told[:most] if is_statement(hit)), key=lambda hit: hit.event_time)
    later = [hit for hit in found if looked_at and hit.event_time > looked_at[0].event_time]
    newest_first = sorted(later, key=lambda hit: (hit.event_time, key_of(hit)), reverse=True)
    statements = list(filter(is_statement, newest_first))
    rarity = _remembered(partial(situation.store.rarities, "passages"))
    matter = Matter(frozenset(situation.asked.weights), rarity, _names(situation.text))
    for hit in looked_at:
        newest = next(
            (one for one in statements if _is_changed_by(situation, hit, one, matter, similarity)), None
        )
        if newest is not None:
            score = max(known.get(key_of(newest), newest).score, known[key_of(hit)].score + ABOVE)
            known[key_of(newest)] = cast("SomeHit", newest.model_copy(update={"score": score}))
    return sorted(known.values(), key=lambda hit: (-hit.score, -hit.event_time.timestamp(), key_of(hit)))


def _names(question: str) -> frozenset[str]:
    """The terms of the names in a question: words with a capital letter that do not begin it."""
    return terms_of_words(map(str.lower, _NAME.findall(question)))


def is_statement(hit: CellHit | TurnHit) -> bool:
    """Return whether a text is a few sentences of a person, and no paste or report."""
    is_persons = hit.role == "user" if isinstance(hit, TurnHit) else not hit.whose
    return is_persons and 0 < len(telling_words(hit.content, most=MOST_WORDS + 1).split()) <= MOST_WORDS


def _is_changed_by(
    situation: Situation, hit: SomeHit, later: SomeHit, matter: Matter, similarity: Mapping[str, float]
) -> bool:
    """Return whether a statement, said later in another conversation, tells that the matter of a hit changed."""
    if later.event_time <= latest_of(hit.event_time) or later.session_id in (
        hit.session_id,
        situation.request.conversation_id,
    ):
        return False
    near, other = similarity.get(key_of(hit), 0.0), similarity.get(key_of(later), 0.0)
    return tells_change(later.content, hit.content, matter, is_as_near=0.0 < AS_NEAR * near <= other)


def _remembered(rarity: Rarity) -> Rarity:
    """The same weights, each term's asked for once: many pairs of turns share their terms."""
    known: dict[str, float] = {}

    def weights(terms: Sequence[str]) -> list[float]:
        fresh = [term for term in terms if term not in known]
        known.update(zip(fresh, rarity(fresh), strict=True))
        return [known[term] for term in terms]

    return weights
