"""Lines of a page from what was recalled: the lead, memories with their history, both sides of disputes, quotes.

Only a person's word enters the first and the third of the four tiers, by structure.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from slowwave.language.excerpt import Asked, Cue
from slowwave.language.lexicon import DENIALS, STOP_WORDS
from slowwave.language.query_words import plain_words
from slowwave.language.terms import terms_of_words
from slowwave.language.text import straight
from slowwave.models.page_lines import page_line
from slowwave.recall.lead import answering_sentence, is_raw, leading
from slowwave.recall.page import day_heading, line_of
from slowwave.recall.question import Question
from slowwave.recall.recalled import Recalled
from slowwave.recall.render import (
    QUOTE_CHARACTERS,
    dispute_forms,
    full_text,
    lead_forms,
    said_mark,
    said_text,
    said_word,
    unit_forms,
)
from slowwave.recall.resolve import Unit
from slowwave.recall.said import Said
from slowwave.recall.select import CONTRADICTION, Candidate
from slowwave.schemas.choices import EPISODE, WHOSE
from slowwave.schemas.context import TierName
from slowwave.schemas.moments import day_of
from slowwave.schemas.tables import STATED
from slowwave.trust.origins import WORD_BY_WORD, whose_of
from slowwave.trust.own_words import parts_of

CONTAINED = 0.9
"""Share of a memory's telling words that a richer one holds which says the same."""

FEWEST_WORDS = 3
"""A memory of fewer telling words repeats nothing: it occurs in too many others."""

LEAD_SCORE, DETAIL_SHARE = 1e6, 0.7
"""The lead comes first; the rest of its memory where other answers do not match much better."""

QUOTE_LENGTHS = (QUOTE_CHARACTERS, QUOTE_CHARACTERS // 2, 140)
"""Characters of the forms of a quote, longest first."""

OF_PERSONS: tuple[TierName, ...] = ("critical", "background")
"""Tiers that say what is current here and how things are done: what no person said is in `relevant` instead."""

_NUMBER = re.compile(r"\d+")
_DENIAL = re.compile(rf"\b(?:{'|'.join(DENIALS)})\b")


def tier_of(tier: TierName, word: str, *, is_fix: bool = False) -> TierName:
    """The tier of a line of this word: the asked error's fix is mostly an assistant's, and may be."""
    is_allowed = not word or (is_fix and word in (WHOSE["agent"], WORD_BY_WORD))
    return tier if is_allowed or tier not in OF_PERSONS else "relevant"


def question_lines(recalled: Recalled, units: Sequence[Unit], said: Iterable[Said]) -> list[Candidate]:
    """Lines of a page about a question: the lead first, then memories and messages by their scores."""
    lines = [_answer(recalled, unit) for unit in without_repeats([one for one in units if not is_raw(one)])]
    lines += quote_each(recalled, said)
    return with_lead(recalled, lines, units)


def with_lead(recalled: Recalled, lines: list[Candidate], units: Sequence[Unit]) -> list[Candidate]:
    """The lines with the one that leads in its short form before all others.

    It is the undecided pair, the sentence of a summary that answers, else the best.
    """
    unit = leading(units)
    best = max(lines, key=lambda line: line.score, default=None)
    if best is None:
        return lines
    if unit is None or (not best.cell_ids and best.score > unit.score):
        where = when_and_where(best.event_time, best.source_name)
        lead = replace(
            best, forms=tuple(f"{form} [{where}]" for form in best.forms), score=LEAD_SCORE, under=""
        )
        return [lead, *(line for line in lines if line is not best)]
    is_asked = unit.rival is not None or unit.columns["key"] > 0
    topic = next((one for one in recalled.topics if one.row["topic_id"] == unit.row["topic_id"]), None)
    sentence = "" if is_asked or topic is None else answering_sentence(recalled, topic, unit)
    if sentence and topic is not None:
        word = f", {topic.whose}" if topic.whose else ""
        text = f"- {page_line(sentence)} (summary, {day_of(topic.row['updated_at'])}{word})"
        lead = replace(
            _answer(recalled, unit), forms=(text,), kind="summary", cell_ids=(), rests_on=frozenset()
        )
        return [replace(lead, score=LEAD_SCORE, topic_ids=(topic.row["topic_id"],), under=""), *lines]
    lead, whole = (
        _answer(recalled, unit),
        full_text(unit, recalled.question.settings, now=recalled.question.now),
    )
    where = when_and_where(lead.event_time, lead.source_name)
    forms = tuple(f"{form} [{where}]" for form in lead_forms(
        recalled.question, unit, now=recalled.question.now
    ))  # fmt: skip
    others = [line for line in lines if line.cell_ids != lead.cell_ids]
    if unit.rival is None and page_line(whole) not in forms[0]:  # the lead is short, and the rest follows
        others.append(
            replace(lead, cell_ids=(), why="more of the first line", score=DETAIL_SHARE * unit.score)
        )
    return [replace(lead, forms=forms, score=LEAD_SCORE, under=""), *others]


def _answer(recalled: Recalled, unit: Unit) -> Candidate:
    why = "answers the question"
    return memory_line(unit, recalled.question, score=unit.score, why=why, asked=recalled.asked)


def when_and_where(event_time: datetime, source_name: str) -> str:
    """The day and the source of a line that is in no group."""
    return day_heading(event_time, source_name).rstrip(":")


def memory_line(
    unit: Unit,
    question: Question,
    *,
    tier: TierName = "relevant",
    score: float,
    why: str,
    kind: str = "",
    is_fix: bool = False,
    asked: Asked | None = None,
) -> Candidate:
    """A memory with its history, its value alone, its compressed form; both sides where nobody decided.

    On a page about a question (`asked`) it stands below its day and source, a long one with what answers.
    """
    row, sides = unit.newest, unit.sides[::-1]
    source, words = (row["event_time"], row["source_name"]), [whose_of(side) for side in sides]
    kind = CONTRADICTION if unit.rival is not None else kind or row["cell_type"]
    if unit.rival is not None:
        forms, why = dispute_forms(unit), why if asked is not None else "open contradiction"
    else:
        texts = unit_forms(unit, asked, question.settings, now=question.now)
        forms = tuple(line_of(kind, text, *source) if asked is None else f"- {text}" for text in texts)
    is_heard = is_fix and row["prompt_version"] not in STATED
    line = Candidate(
        tier_of(tier, min(words), is_fix=is_heard),
        score,
        kind,
        forms,
        *source,
        why,
        cell_ids=tuple(side["cell_id"] for side in sides),
        under="" if asked is None else day_heading(*source),
        wordings=frozenset(page_line(side["content"]) for side in sides),
    )
    if row["cell_type"] == EPISODE:  # it rests on a whole conversation
        return line
    return replace(line, rests_on=frozenset(turn for side in sides for turn in side["evidence"] or ()))


def quote_each(recalled: Recalled, said: Iterable[Said]) -> Iterator[Candidate]:
    """Quotes of messages in their order; only sections of files are quoted of what nobody answers for."""
    for one in said:
        row = one.row
        texts = [said_text(one, recalled.asked, most=length) for length in QUOTE_LENGTHS]
        text = texts[0]
        if not text or (row["origin"] == "untrusted" and row["role"] != "document"):
            continue
        yield Candidate(
            tier="relevant",
            score=one.score,
            kind="quote",
            forms=tuple(
                dict.fromkeys(f"- {page_line(form)}{said_mark(one, form)}" for form in texts if form)
            ),
            event_time=row["event_time"],
            source_name=row["source_name"],
            why="said about the question",
            turn_ids=(one.turn_id,),
            rests_on=frozenset({one.turn_id}),
            under=day_heading(row["event_time"], row["source_name"]),
            wordings=frozenset({page_line(row["content"])}),
        )


def said_line(
    one: Said,
    tier: TierName,
    score: float,
    why: str,
    *,
    asked: Asked,
    kind: str = "quote",
    cue: Cue | None = None,
) -> Candidate | None:
    """A message under its speaker's name; in a tier of persons without what it quotes. None where nothing is left.

    With a `cue` it is the fix of an error, which may be an assistant's.
    """
    row = one.row
    if tier in OF_PERSONS and row["role"] != "document":
        own = parts_of(row["content"], is_typed=row["role"] == "user").own
        one = replace(one, row={**row, "content": own or row["content"]})
    text = said_text(one, asked, most=QUOTE_CHARACTERS, cue=cue)
    if not text:
        return None
    mark = said_mark(one, text)
    source = (row["event_time"], row["source_name"])
    return Candidate(
        tier_of(tier, said_word(one, text), is_fix=cue is not None),
        score,
        kind,
        (line_of(kind, f"{text}{mark}", *source),),
        *source,
        why,
        turn_ids=(one.turn_id,),
        wordings=frozenset({page_line(row["content"])}),
    )


def without_repeats(units: Sequence[Unit]) -> list[Unit]:
    """Each memory once, in the order of its best form; of two of which one holds the other the richer is kept.

    A memory holds another with nine tenths of its telling words and all of its numbers and denials.
    """
    texts = [straight(" ".join((unit.row["content"], *(unit.row["steps"] or ())))) for unit in units]
    words = [terms_of_words(plain_words(text) - STOP_WORDS) for text in texts]
    hard = [(frozenset(_NUMBER.findall(text)), _DENIAL.search(text) is not None) for text in texts]
    holder: dict[int, int] = {}
    for poorer, richer in _contained(words):
        (numbers, is_denied), (others, is_other_denied) = hard[poorer], hard[richer]
        is_free = units[poorer].rival is None and units[richer].rival is None
        if is_free and numbers <= others and is_denied == is_other_denied and poorer not in holder:
            holder[poorer] = richer
    for place in holder:
        end = place
        while end in holder:
            end = holder[end]
        units[end].score = max(units[end].score, units[place].score)
    kept = [unit for place, unit in enumerate(units) if place not in holder]
    return sorted(kept, key=lambda unit: (-unit.score, unit.cell_id))


def _contained(words: Sequence[frozenset[str]]) -> list[tuple[int, int]]:
    """Pairs of places: the words of the first are in the second, which has more, or as many and comes first."""
    bit_of = {word: 1 << place for place, word in enumerate(sorted(set().union(*words)))}
    whole = [sum(bit_of[word] for word in named) for named in words]
    order = sorted(range(len(words)), key=lambda place: (-len(words[place]), place))
    found = list[tuple[int, int]]()
    for at, poorer in enumerate(order):
        count = len(words[poorer])
        if count >= FEWEST_WORDS:
            bits, needed = whole[poorer], CONTAINED * count
            found += [(poorer, other) for other in order[:at] if (bits & whole[other]).bit_count() >= needed]
    return found
