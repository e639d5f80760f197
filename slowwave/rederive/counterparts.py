"""Counterparts: which memories of two derivations of the same record say the same.

Ids do not tell: a text in other words has another id. What tells is the turns that a memory rests on, its words, and
the subject and attribute that it names. Words count by how few memories have them, so that the names of the people,
which most memories share, tell next to nothing.
"""

import polars as pl

from slowwave.language.text import days_and_months, is_negated, normalized, numbers, telling_words
from slowwave.schemas.tables import OWNER

COLUMNS = ["cell_id", *OWNER, "content", "content_hash", "subject", "attribute", "value", "evidence"]
"""Columns of a memory that say whether another one is its counterpart."""

PAIRS = pl.Schema(
    {
        "cell_id": pl.String,
        "target_id": pl.String,
        "score": pl.Float64,
        "agrees": pl.Boolean,
        "says_all": pl.Boolean,
    }
)
"""A memory, its counterpart, and how surely it is one (0..1).

`agrees` says that no number, day, negation or value of one is another one in the other; `says_all` also that the
counterpart has every number and day of the memory.
"""

LONGER = 1.5
"""Telling words, times those of the other text, from which a text may deny something that the other leaves out."""

WORDS, TURNS, ABOUT = 0.6, 0.25, 0.15
"""Weights of common words, common turns, and the same subject and attribute; together 1."""

SAME_VALUE = 0.8
"""Score of two memories with the same subject, attribute and value, whatever their words."""


def counterparts(
    old: pl.DataFrame, new: pl.DataFrame, near: pl.DataFrame, *, least_score: float
) -> pl.DataFrame:
    """Pairs (`PAIRS`) of an old and a new memory that say the same, the surest first within an old one.

    `old` and `new` have `COLUMNS`; `near` has `cell_id` and `target_id` of pairs that are worth a look beside those
    that share a turn, a subject and attribute, or their whole text.
    """
    key = ["cell_id", "target_id"]
    candidates = pl.concat([_sharing(old, new, "content_hash"), _about_the_same(old, new), near.select(key)])
    turns = _common_turns(old, new)
    pairs = pl.concat([candidates, turns.select(key)]).unique().join(turns, on=key, how="left")
    named = [name for name in COLUMNS if name not in OWNER]
    known = pairs.join(old.select(named), on="cell_id", how="inner").join(
        new.select(target_id="cell_id", **{f"new_{name}": name for name in named[1:]}),
        on="target_id",
        how="inner",
    )
    weighed = known.join(_common_words(old, new, pairs.select(key)), on=key, how="left")
    return (
        weighed.select(*key, score=_score(), agrees=_agrees(), says_all=_agrees() & _nested(*_values()))
        .filter(pl.col("score") >= least_score)
        .sort(
            "cell_id",
            "score",
            pl.col("cell_id") == pl.col("target_id"),
            "agrees",
            "target_id",
            descending=[False, True, True, True, False],
        )
    )


def best_counterparts(pairs: pl.DataFrame) -> dict[str, str]:
    """The surest counterpart of each memory, by its id."""
    return dict(
        pairs.unique("cell_id", keep="first", maintain_order=True).select("cell_id", "target_id").iter_rows()
    )


def _score() -> pl.Expr:
    evidence = pl.min_horizontal(pl.col("evidence").list.len(), pl.col("new_evidence").list.len())
    shared = (pl.col("shared").fill_null(0) / evidence.clip(lower_bound=1)).clip(upper_bound=1.0)
    about = (_same("subject") & _same("attribute")).fill_null(value=False)
    stated = (about & _same("value")).fill_null(value=False)
    score = WORDS * pl.col("alike").fill_null(0.0) + TURNS * shared + ABOUT * about.cast(pl.Float64)
    sure = pl.when(stated).then(pl.max_horizontal(score, pl.lit(SAME_VALUE))).otherwise(score)
    return pl.when(pl.col("content_hash") == pl.col("new_content_hash")).then(1.0).otherwise(sure)


def _agrees() -> pl.Expr:
    old, new = _values()
    is_other_value = (~_same("value")).fill_null(value=False)
    one, other = (telling_words(pl.col(name)).list.len() for name in ("content", "new_content"))
    is_longer = pl.max_horizontal(one, other) > LONGER * pl.min_horizontal(one, other)
    denies = is_negated(pl.col("content")) == is_negated(pl.col("new_content"))
    return (_nested(old, new) | _nested(new, old)) & ~is_other_value & (denies | is_longer)


def _values() -> tuple[pl.Expr, pl.Expr]:
    """Numbers and days of both texts."""
    old, new = (
        numbers(pl.col(name)).list.concat(days_and_months(pl.col(name)))
        for name in ("content", "new_content")
    )
    return old, new


def _nested(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Return whether all values of one text stand in the other."""
    return one.list.set_difference(other).list.len() == 0


def _same(name: str) -> pl.Expr:
    return normalized(pl.col(name)) == normalized(pl.col(f"new_{name}"))


def _sharing(old: pl.DataFrame, new: pl.DataFrame, column: str) -> pl.DataFrame:
    one = old.select("cell_id", *OWNER, column).drop_nulls(column)
    other = new.select(*OWNER, column, target_id="cell_id").drop_nulls(column)
    return one.join(other, on=[*OWNER, column], how="inner").select("cell_id", "target_id")


def _about_the_same(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    about = pl.concat_str(normalized(pl.col("subject")), normalized(pl.col("attribute")), separator="\x1f")
    return _sharing(old.with_columns(about=about), new.with_columns(about=about), "about")


def _common_turns(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    one = old.select("cell_id", *OWNER, turn_id="evidence").explode("turn_id").drop_nulls("turn_id")
    other = (
        new.select(*OWNER, target_id="cell_id", turn_id="evidence").explode("turn_id").drop_nulls("turn_id")
    )
    return (
        one.join(other, on=[*OWNER, "turn_id"], how="inner")
        .group_by("cell_id", "target_id")
        .agg(shared=pl.len())
    )


def _common_words(old: pl.DataFrame, new: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The words that each pair shares (`alike`, 0..1): the mean of Dice's measure and of the share of the shorter."""
    texts = pl.concat([old.select("cell_id", "content"), new.select("cell_id", "content")])
    words = texts.unique("content").select(word=telling_words(pl.col("content"))).explode("word").drop_nulls()
    weights = words.group_by("word").len().select("word", weight=(1.0 + texts.height / pl.col("len")).log())
    told, untold = (
        frame.select("cell_id", word=telling_words(pl.col("content")))
        .explode("word")
        .join(weights, on="word", how="inner")
        for frame in (old, new)
    )
    size, new_size = (frame.group_by("cell_id").agg(size=pl.col("weight").sum()) for frame in (told, untold))
    common = (
        pairs.join(told, on="cell_id", how="inner")
        .join(untold.select("word", target_id="cell_id"), on=["target_id", "word"], how="inner")
        .group_by("cell_id", "target_id")
        .agg(common=pl.col("weight").sum())
        .join(size, on="cell_id", how="inner")
        .join(new_size.rename({"cell_id": "target_id", "size": "new_size"}), on="target_id", how="inner")
    )
    dice = 2 * pl.col("common") / (pl.col("size") + pl.col("new_size"))
    of_shorter = pl.col("common") / pl.min_horizontal("size", "new_size")
    return common.select("cell_id", "target_id", alike=(dice + of_shorter) / 2)
