"""Standing preferences from the raw record: what a person said to be done always or never, word by word.

A model's night makes memories of them, of which core memory tells the best at every start. Until then, and where there
is no model at all, the newest of those turns are quoted: they concern every conversation and seldom share a word with
its prompts.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from slowwave.context.memories import quote_lines, untold_turns
from slowwave.context.situation import Situation
from slowwave.context.statements.later_turns import is_statement, with_later
from slowwave.context.tiers import Candidate, Chosen
from slowwave.excerpts.matter import joined_units
from slowwave.excerpts.units import units_of
from slowwave.language.query_words import plain_words, telling_words
from slowwave.language.wishes import WISH_WORDS, WITHDRAWAL_WORDS, is_standing, withdrawn_matters
from slowwave.schemas.report import several
from slowwave.schemas.search import Filters, TurnHit
from slowwave.search.conditions import turn_condition
from slowwave.search.fusing import Fused
from slowwave.search.standing_turns import standing_turns
from slowwave.search.turns import by_turn, turn_hits
from slowwave.store import TextQuery, col, lit
from slowwave.store.terms import terms_of_words
from slowwave.trust.origins import PERSON
from slowwave.trust.own_words import parts_of

READ_ROWS = 100
"""Turns that are looked at for each list of words of a preference, the shortest first."""

LATER_ROWS = 50
"""Turns near those that are quoted, of which some may say that one changed, for so many of them (`AT_ONCE`)."""

AT_ONCE = 5

KIND = "preference"
WHY = "said to hold always, and not yet worked through"


def preference_lines(situation: Situation) -> list[Candidate]:
    """Quotes of the preferences that no model has worked through and that were not withdrawn, newest first.

    Each stands below what changed it later.
    """
    found = _with_words(situation, WISH_WORDS, READ_ROWS, Filters())
    standing = [turn for turn in found if turn.origin == PERSON and is_standing(_own_words(turn))]
    newest = sorted(standing, key=lambda turn: (turn.event_time, turn.turn_id), reverse=True)
    told = _without_withdrawn(situation, untold_turns(situation, newest))
    if not told:
        return []
    ranked = [turn.model_copy(update={"score": 1 - place / len(told)}) for place, turn in enumerate(told)]
    words = [telling_words(turn.content, most=12) for turn in ranked]
    lists = [" ".join(words[place : place + AT_ONCE]) for place in range(0, len(words), AT_ONCE)]
    later = _with_words(situation, lists, LATER_ROWS, Filters(after=min(turn.event_time for turn in ranked)))
    most = situation.settings.context.quote_characters
    return [
        replace(line, tier="index") if line.tier == "background" else line
        for turn in with_later(
            situation,
            ranked,
            standing_turns(situation.store, situation.settings.owner, later),
            most=len(ranked),
        )
        for line in quote_lines(
            "background", turn, 0.5 * turn.score, WHY, asked=situation.asked, most=most, kind=KIND
        )
    ]


def more_wishes(lines: Sequence[Candidate], chosen: Sequence[Chosen], now: datetime) -> Candidate | None:
    """The line that says how many preferences have no room."""
    shown = frozenset[str]().union(*(entry.candidate.ids for entry in chosen))
    left = [line for line in lines if line.kind == KIND and not shown & line.ids]
    if not left:
        return None
    count = several(len(left), "older wish", "older wishes")
    text = f"({count} without room here; a search for the matter finds them.)"
    return Candidate("index", 0.0, "pointer", (text,), now, "memory", "more of the wishes")


# Inside


def _without_withdrawn(situation: Situation, wishes: Sequence[TurnHit]) -> list[TurnHit]:
    """The turns without the sentences whose wish a person took back later; without those left no wish the turn goes."""
    if not wishes:
        return []
    since = Filters(after=min(turn.event_time for turn in wishes))
    said = _with_words(situation, WITHDRAWAL_WORDS, READ_ROWS, since)
    taken_back = [
        (turn.event_time, terms_of_words(words))
        for turn in said
        if turn.origin == PERSON
        for words in withdrawn_matters(_own_words(turn))
    ]
    left = list[TurnHit]()
    for turn in wishes:
        matters = [terms for moment, terms in taken_back if moment > turn.event_time]
        units = units_of(turn.content)
        kept = [unit for unit in units if not _is_withdrawn(turn.content[unit.start : unit.end], matters)]
        told = turn.content if len(kept) == len(units) else joined_units(turn.content, kept)
        if told == turn.content or is_standing(told):
            left.append(turn.model_copy(update={"content": told}))
    return left


def _is_withdrawn(sentence: str, matters: Sequence[frozenset[str]]) -> bool:
    """Return whether a sentence is a wish about one of the matters."""
    terms = terms_of_words(plain_words(sentence))
    return any(matter <= terms for matter in matters) and is_standing(sentence)


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
