"""Names of topics: how they are compared, what a new one is called, and ids that are not taken."""

from collections.abc import Collection

import polars as pl

from slowwave.language.lexicon import THEMELESS_WORDS
from slowwave.language.text import plain_value
from slowwave.schemas.identity import stable_id

UNTITLED = "untitled"
"""The name of a topic whose memories have no words; it says nothing, so such topics are not one topic."""

NAME_WORDS = 3

_WORD = r"[\p{L}\p{N}][\p{L}\p{N}_'-]*"


def name_topics(cells: pl.DataFrame) -> pl.DataFrame:
    """A name for each topic: topic_id, name, in the order of topic_id.

    `cells`: topic_id, topic_hint (nullable), content. The most frequent hint (as it is most often written); without
    one, the words that mark the topic among the given ones; without a word, `untitled`. Ties go by the alphabet.
    """
    hints = (
        cells.select(
            "topic_id", hint=pl.col("topic_hint").str.strip_chars(), key=plain_value(pl.col("topic_hint"))
        )
        .filter(pl.col("key") != "")
        .group_by("topic_id", "key", "hint")
        .agg(times=pl.len())
        .with_columns(key_times=pl.col("times").sum().over("topic_id", "key"))
        .sort("topic_id", "key_times", "key", "times", "hint", descending=[False, True, False, True, False])
        .unique("topic_id", keep="first", maintain_order=True)
    )
    every = cells.select("topic_id").unique().join(hints, on="topic_id", how="left")
    named = every.join(marking_words(cells), on="topic_id", how="left")
    return named.select("topic_id", name=pl.coalesce("hint", "words", pl.lit(UNTITLED))).sort("topic_id")


def marking_words(cells: pl.DataFrame) -> pl.DataFrame:
    """topic_id, words: the words that mark each topic among the given ones (term count * inverse topic frequency)."""
    words = cells.select("topic_id", word=pl.col("content").str.to_lowercase().str.extract_all(_WORD))
    counted = (
        words.explode("word", empty_as_null=False)
        .filter(~pl.col("word").is_in(list(THEMELESS_WORDS)) & (pl.col("word").str.len_chars() > 2))  # noqa: PLR2004
        .filter(~pl.col("word").str.contains(r"^\d"))  # a date or a number names nothing
        .group_by("topic_id", "word")
        .agg(times=pl.len())
    )
    rarity = (1 + cells["topic_id"].n_unique() / pl.len().over("word")).log()
    best = counted.with_columns(weight=pl.col("times") * rarity).sort(
        "topic_id", "weight", "word", descending=[False, True, False]
    )
    return best.group_by("topic_id", maintain_order=True).agg(
        words=pl.col("word").head(NAME_WORDS).str.join(" ")
    )


def founded_id(founder: str, taken: Collection[str]) -> str:
    """The id of a topic, made from its first memory; made again where that memory founded a topic before."""
    topic_id = stable_id("topic", founder)
    while topic_id in taken:
        topic_id = stable_id("topic", topic_id)
    return topic_id
