"""A memory or a message as a line of a tier. Only a person's word enters the first and the third one, by structure."""

from dataclasses import replace

from slowwave.language.excerpt import Asked, Cue
from slowwave.models.page_lines import page_line
from slowwave.recall.page import line_of
from slowwave.recall.question import Question
from slowwave.recall.render import (
    QUOTE_CHARACTERS,
    dispute_forms,
    full_text,
    marks,
    said_mark,
    said_text,
    said_word,
    value_line,
    whole_sentence,
)
from slowwave.recall.resolve import Unit
from slowwave.recall.said import Said
from slowwave.recall.select import CONTRADICTION, Candidate
from slowwave.schemas.choices import EPISODE, WHOSE
from slowwave.schemas.context import TierName
from slowwave.schemas.tables import STATED
from slowwave.trust.origins import WORD_BY_WORD, whose_of
from slowwave.trust.own_words import parts_of

OF_PERSONS: tuple[TierName, ...] = ("critical", "background")
"""Tiers that say what is current here and how things are done: what no person said is in `relevant` instead."""


def tier_of(tier: TierName, word: str, *, is_fix: bool = False) -> TierName:
    """The tier of a line of this word: the asked error's fix is mostly an assistant's, and may be."""
    is_allowed = not word or (is_fix and word in (WHOSE["agent"], WORD_BY_WORD))
    return tier if is_allowed or tier not in OF_PERSONS else "relevant"


def cell_line(
    unit: Unit,
    tier: TierName,
    score: float,
    why: str,
    *,
    question: Question,
    kind: str = "",
    is_fix: bool = False,
) -> Candidate:
    """A memory with its history, its value alone; both sides where nobody decided."""
    row, word = unit.row, whose_of(unit.row)
    if unit.rival is not None:
        return dispute_line(unit, tier, score)
    text = full_text(unit, question.settings, now=question.now)
    texts = [
        text,
        *(
            one
            for one in (value_line(unit), whole_sentence(row["compressed"]))
            if one and len(one) < len(text)
        ),
    ]
    source = (row["event_time"], row["source_name"])
    forms = tuple(
        dict.fromkeys(line_of(kind or row["cell_type"], f"{one}{marks(unit)}", *source) for one in texts)
    )
    is_heard = is_fix and row["prompt_version"] not in STATED
    line = Candidate(
        tier_of(tier, word, is_fix=is_heard),
        score,
        kind or row["cell_type"],
        forms,
        *source,
        why,
        (row["cell_id"],),
    )
    if row["cell_type"] == EPISODE:
        return line
    return replace(
        line, rests_on=frozenset(row["evidence"] or ()), wordings=frozenset({page_line(row["content"])})
    )


def dispute_line(unit: Unit, tier: TierName, score: float) -> Candidate:
    """Both sides of an undecided pair, in a tier of persons only where a person said the older side."""
    sides = unit.sides
    words = [whose_of(side) for side in sides]
    return Candidate(
        tier_of(tier, words[0] and words[1]),
        score,
        CONTRADICTION,
        dispute_forms(unit),
        sides[1]["event_time"],
        sides[1]["source_name"],
        "open contradiction",
        tuple(side["cell_id"] for side in sides),
        rests_on=frozenset(turn for side in sides for turn in side["evidence"] or ()),
        wordings=frozenset(page_line(side["content"]) for side in sides),
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
