"""Origins, most trusted first (`TRUST`): what each may do, and the texts of a page by trust.

`stated.py` says whose word a memory is. Only a person's word may enter core memory and the tiers that say what is
current (`is_persons_word`), however often anybody else says something.
"""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from slowwave.schemas.choices import EPISODE, TRUST, WHOSE, Origin
from slowwave.schemas.tables import RAW_PROMPT, REMEMBERED
from slowwave.trust.own_words import NAME_WORDS, Parts, parts_of

PERSON: Final[Origin] = "user"
REPORTED: Final[Origin] = "reported"
"""The origin of what a person says and may be passing on: believed, and never taken for the person's word."""

QUOTED: Final[Origin] = "untrusted"
"""The origin of what somebody only quotes: nobody answers for it."""

NAMED: Final = -1
"""The rank of names of speakers: who says something tells nothing of where it was taken from."""

PIECES: Final = pl.Schema({"page": pl.Int64(), "text": pl.String(), "rank": pl.Int64()})
"""A part of a page: its text, and its place in `TRUST`."""

WORD_BY_WORD: Final = "a conversation word by word"
"""Whose word a passage is that an assistant speaks in."""


ON_TRUST: Final = ("origin", "cell_type", "prompt_version", "protected")
"""The columns of a cell that say whose word it is."""


def whose_of(cell: Mapping[str, Any]) -> str:
    """Words for whose word a row of `cells` is; empty where a person said or confirmed it."""
    origin: Origin = cell["origin"]
    if cell["protected"] or not WHOSE[origin]:
        return ""
    if cell["cell_type"] == EPISODE:
        return "a conversation retold"
    return WORD_BY_WORD if origin == "agent" and cell["prompt_version"] == RAW_PROMPT else WHOSE[origin]


def least_to_outdate(origin: Origin, *, is_judged: bool) -> int:
    """The place in `TRUST` of the least trusted word that may take the place of a memory of this origin.

    By its later date alone a word must be trusted as much. A judge who has read both texts may also let an assistant
    tell what became of a person's word: it says what was done. What nobody answers for outdates nothing else.
    """
    rank = TRUST.index(origin)
    return max(rank, TRUST.index("agent")) if is_judged else rank


def may_outdate(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    """Return whether a later value may take the place of an earlier one unread, both rows of `cells`.

    What a person confirmed counts as a person's word, and only what a person confirmed, or told Slowwave itself since,
    outdates it.
    """
    if later["protected"] or earlier["protected"]:
        return bool(later["protected"] or (is_told(later) and later["event_time"] >= earlier["event_time"]))
    return TRUST.index(later["origin"]) <= least_to_outdate(earlier["origin"], is_judged=False)


def is_told(cell: Mapping[str, Any]) -> bool:
    """Return whether a person told Slowwave itself what a row of `cells` says."""
    return bool(cell["origin"] == PERSON and cell["prompt_version"] == REMEMBERED)


def is_passage(cell: Mapping[str, Any]) -> bool:
    """Return whether a row of `cells` is raw talk, as it is kept where there is no model."""
    return bool(cell["prompt_version"] == RAW_PROMPT and cell["cell_type"] != EPISODE)


def least_trusted(origin: pl.Expr) -> pl.Expr:
    """The least trusted of several origins, as an aggregate."""
    return origin.cast(pl.Enum(TRUST)).max().cast(pl.String)


def rank_of(origin: pl.Expr) -> pl.Expr:
    """The place of an origin in `TRUST`, 0 for the most trusted; an unknown one comes last."""
    ranks = {name: rank for rank, name in enumerate(TRUST)}
    return origin.replace_strict(ranks, return_dtype=pl.Int64, default=len(TRUST) - 1)


def is_persons_word() -> pl.Expr:
    """Return whether a row of `cells` is what a person said or confirmed: all that core memory may hold.

    A person confirmed it, or a person said it and it is more than a raw window of talk. Documents, tools, assistants
    and what anybody quotes are not, however often they say it and whatever a model makes of it.
    """
    is_told = (pl.col("origin") == PERSON) & (pl.col("prompt_version") != RAW_PROMPT)
    return (pl.col("protected") | is_told).fill_null(value=False)


def is_anybodys() -> pl.Expr:
    """Return whether nobody answers for a row of `cells` or `turns`: a document, a tool's output, a quote."""
    return pl.col("origin").is_in(["tool", QUOTED])


def answered_for_first(*over: str) -> pl.Expr:
    """The rows somebody answers for, of each group that has any, and all rows of the other groups."""
    return _all_but(is_anybodys(), over)


def surely_answered_for_first(*over: str) -> pl.Expr:
    """The same without what a person may only be passing on: a name alone cannot say whose word it is."""
    return _all_but(is_anybodys() | (pl.col("origin") == REPORTED), over)


def _all_but(left: pl.Expr, over: tuple[str, ...]) -> pl.Expr:
    """The rows that are not left, and all rows where nothing else is there: of each group, or of the whole frame."""
    return ~left | (left.all().over(*over) if over else left.all())


def as_told(turns: pl.DataFrame) -> pl.DataFrame:
    """Turns with the origin of all that stands in them: one that quotes something holds text that nobody answers for.

    What a person may be passing on makes the turn `reported`. `turns` has `role`, `content`, `origin`.
    """
    parted = _parted(turns)
    quotes = pl.Series([bool(parts.quoted) for parts in parted], dtype=pl.Boolean)
    reports = pl.Series([bool(parts.reported) for parts in parted], dtype=pl.Boolean)
    return turns.with_columns(
        origin=pl.when(quotes)
        .then(pl.lit(QUOTED))
        .when(reports & (pl.col("origin") == PERSON))
        .then(pl.lit(REPORTED))
        .otherwise("origin")
    )


def in_own_words(turns: pl.DataFrame) -> pl.DataFrame:
    """Turns without what they quote; one that holds nothing else is left out of an episode that has others.

    `turns` has `episode_id`, `turn_id`, `role`, `content`.
    """
    own = [f"{parts.own}\n{parts.reported}" for parts in _parted(turns)]
    bare = turns.with_columns(content=pl.Series(own, dtype=pl.String).str.strip_chars())
    has_own = pl.col("content") != ""
    return bare.filter(has_own | ~has_own.any().over("episode_id")).with_columns(
        content=pl.when(has_own).then("content").otherwise(pl.lit("[quoted text]"))
    )


def _parted(turns: pl.DataFrame) -> list[Parts]:
    """Each message (`role`, `content`) in its parts; a document is one part."""
    return [
        Parts(text, "", "") if role == "document" else parts_of(text, is_typed=role == "user")
        for role, text in turns.select("role", "content").rows()
    ]


def pieces_of(turns: pl.DataFrame) -> pl.DataFrame:
    """The texts of turns by trust (`PIECES`): what each says itself, may be passing on, and quotes.

    `turns` has `page`, `role`, `speaker`, `content`, `origin`.
    """
    parted = _parted(turns)
    own, reported, quoted = (
        pl.Series(texts, dtype=pl.String) for texts in (zip(*parted, strict=True) if parted else ((), (), ()))
    )
    own_rank, lowest = rank_of(pl.col("origin")), TRUST.index(QUOTED)
    doubtful = pl.max_horizontal(own_rank, TRUST.index(REPORTED))
    is_name = pl.col("speaker").str.count_matches(r"\S+") <= NAME_WORDS
    both = [
        turns.select("page", text=own, rank=own_rank),
        turns.select("page", text=reported, rank=doubtful),
        turns.select("page", text=quoted, rank=lowest),
        turns.drop_nulls("speaker").select(
            "page", text="speaker", rank=pl.when(is_name).then(NAMED).otherwise(lowest)
        ),
    ]
    return pl.concat(frame.cast(dict(PIECES.items())) for frame in both).filter(pl.col("text") != "")
