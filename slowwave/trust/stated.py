"""Statements of persons: a memory is the word of the person who states it, where code finds it in the own words.

The extractor names the turn; nothing is believed of that. A person's turn states a memory whose value and subject stand
in the turn's own part, or in the own part of an assistant's turn right before it that it clearly agrees to. What an
assistant says beside it takes nothing away then: it carries out what the person wants. What a document, a tool or a
quote says still counts against it (`origins.py`).
"""

import re
from typing import Final

import polars as pl

from slowwave.deferred import pattern
from slowwave.schemas.choices import TRUST
from slowwave.trust.origins import PERSON, PIECES, traceable_words, traced_origins
from slowwave.trust.own_words import parts_of

_LEADS = (
    r"(?:(?:ok(?:ay)?|sure|great|perfect|good|fine|right|nice|cool|well|then|so|and|alright|odd|hm+)\b\W*)*"
)
_AGREES = pattern(
    rf"^\W*{_LEADS}(?:yes|yep|yeah|yup|i agree|agreed?|approved|confirmed|deal|exactly|sounds good|good idea"
    r"|(?:please |let's |then |i'd |we )*do (?:that|it|so|this)|go (?:ahead|for it|with (?:that|it|this))|make it so"
    r"|works for me|(?:fine|ok(?:ay)?) (?:by|with|for) me|let's (?!see|talk|wait|think|not)\w+"
    r"|ja|genau|einverstanden|mach das|oui|d'accord|s[ií]|de acuerdo|hazlo)\b",
    re.IGNORECASE,
)
"""A sentence that accepts what was proposed."""

_DOUBTS = pattern(
    r"\?|\b(?:no|not|never|but|however|instead|rather|except|wait|later|maybe|perhaps|unless|if|nicht|aber|nein|kein\w*"
    r"|mais|non|pas|pero)\b|n't\b",
    re.IGNORECASE,
)
"""A sentence that agrees and takes it back, or only asks."""

_SENTENCE_END = pattern(r"(?<=[.!?\n])\s*")
_FIRST_SENTENCES: Final = 3

_SAYS: Final = r"(?i)\b(?:(?:decid|want|prefer|agree|ask|like|choos|chose|wish)\w*|(?:the|said) user)\b"
"""Words with which a memory tells that somebody said it."""

HALF: Final = 0.5
"""The share of a memory's words that the person who states it must have said: the rest tells the setting."""


def agrees(own: str) -> bool:
    """Return whether a person's own words begin by clearly accepting what was proposed just before."""
    first = [part for part in _SENTENCE_END.split(own.strip()) if part.strip(" .!\n")][:_FIRST_SENTENCES]
    return any(_AGREES.search(part) and not _DOUBTS.search(part) for part in first)


def stated_origins(told: pl.DataFrame, lines: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """The origin of each memory that a person's turn states: `key`, `origin`; the other memories are left out.

    `told` has `key`, `page`, `text`, `subject`, `attribute`, `value` (nullable) and `stated_by`, the number of a turn
    of its page; `lines` are those of the pages with the whole `content` of their turns, `pieces` their texts.
    """
    grounds = _grounds(told, lines)
    held = grounds.filter(pl.col("key").is_in(_held(told, grounds).implode()))
    if held.is_empty():
        return pl.DataFrame(schema={"key": told.schema["key"], "origin": pl.String})
    others = pieces.filter(pl.col("rank") != TRUST.index("agent")).rename({"page": "shown_on"})
    shown = told.select("key", shown_on="page").join(held, on="key").join(others, on="shown_on")
    own = held.select("key", text="ground", rank=pl.lit(TRUST.index(PERSON)))
    both = [part.select("text", "rank", page="key").cast(dict(PIECES.items())) for part in (shown, own)]
    stated = told.join(held, on="key", how="semi").select("key", "text", page="key", origin=pl.lit(PERSON))
    return traced_origins(
        stated.cast({"page": pl.Int64}), pl.concat(part.select(PIECES.names()) for part in both)
    )


def _grounds(told: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """The words of the person who states each memory, or agrees to it: `key`, `ground`, `speaker`, `before`.

    `before` is what an assistant says itself right before, which a short answer takes its subject from.
    """
    turns = lines.select("page", "role", "speaker", "origin", "content", stated_by="turn_number")
    before = turns.select("page", pl.col("stated_by") + 1, role_before="role", before="content")
    is_persons = (pl.col("role") == "user") & (pl.col("origin") == PERSON)
    stating = told.select("key", "page", "stated_by").join(turns, on=["page", "stated_by"]).filter(is_persons)
    rows = stating.join(before, on=["page", "stated_by"], how="left", maintain_order="left")
    own = [parts_of(text).own for text in rows["content"]]
    said = [
        parts_of(text or "", is_typed=False).own if role == "assistant" else ""
        for role, text in rows.select("role_before", "before").iter_rows()
    ]
    ground = [f"{mine}\n{its}" if its and agrees(mine) else mine for mine, its in zip(own, said, strict=True)]
    texts = {
        name: pl.Series(values, dtype=pl.String) for name, values in (("ground", ground), ("before", said))
    }
    return rows.select("key", "speaker", **texts).filter(pl.col("ground") != "")


def _held(told: pl.DataFrame, grounds: pl.DataFrame) -> pl.Series:
    """The keys of memories whose ground has their value, and a word of their subject or attribute.

    Numbers, paths and the like of a value must all be there. A memory without a value needs half of its words; its
    numbers are often days that the extractor counted, and are left out. Whoever speaks need not say the own name.
    """
    mine = told.join(grounds.select("key"), on="key", how="semi")
    bare = pl.col("text").str.replace_all(r"\S*\d\S*", " ").str.replace_all(_SAYS, " ")
    stated = mine.select("key", text=pl.coalesce("value", bare))
    said = _share(stated, grounds.select("key", text=_joined("ground", "speaker")))
    matter = mine.select("key", text=_joined("subject", "attribute")).filter(pl.col("text") != "")
    named = _share(matter, grounds.select("key", text=_joined("ground", "speaker", "before")))
    whole = said.filter(pl.col("has_exact") & (pl.col("share") >= HALF))
    return whole.join(named.filter(pl.col("share") == 0), on="key", how="anti")["key"]


def _joined(*columns: str) -> pl.Expr:
    return pl.concat_str(*columns, separator="\n", ignore_nulls=True)


def _share(asked: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Share of the words of each text (`key`, `text`) that `texts` has, and whether it has all exact values."""
    there = traceable_words(texts, "key").with_columns(is_there=pl.lit(value=True))
    found = traceable_words(asked, "key").join(there, on=["key", "word", "is_exact"], how="left")
    is_there = pl.col("is_there").fill_null(value=False)
    return found.group_by("key").agg(
        share=is_there.filter(~pl.col("is_exact")).mean().fill_null(1.0),
        has_exact=(is_there | ~pl.col("is_exact")).all(),
    )
