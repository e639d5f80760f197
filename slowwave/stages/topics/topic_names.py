"""Names of topics, and the words that mark a topic among others: the same words place cells without vectors."""

import polars as pl

from slowwave.language.lexicon import THEMELESS_WORDS
from slowwave.schemas.tables import OWNER

NAME_WORDS = 3

_WORD = r"[\p{L}\p{N}][\p{L}\p{N}_'-]*"


def name_topics(cells: pl.DataFrame) -> pl.DataFrame:
    """A name for each topic: topic_id, name, in the order of topic_id.

    `cells`: topic_id, topic_hint (nullable), content. The most frequent hint (as it is most often written);
    without one, the words that mark this topic among the given ones (term count * inverse topic frequency),
    best first; without a word, `untitled`. Ties go by the alphabet.
    """
    filed = cells.drop_nulls("topic_id")
    by_hint = (
        filed.select("topic_id", hint=pl.col("topic_hint").str.strip_chars(), key=normalized("topic_hint"))
        .filter(pl.col("key") != "")
        .group_by("topic_id", "key", "hint")
        .agg(times=pl.len())
        .with_columns(key_times=pl.col("times").sum().over("topic_id", "key"))
        .sort("topic_id", "key_times", "key", "times", "hint", descending=[False, True, False, True, False])
        .unique("topic_id", keep="first", maintain_order=True)
        .select("topic_id", "hint")
    )
    by_words = (
        words_of(filed.select(document="topic_id", text="content"))
        .filter(pl.col("word").str.len_chars() > 2)  # noqa: PLR2004 - one or two letters name nothing
        .with_columns(weight=pl.col("times") * rarity(filed["topic_id"].n_unique()))
        .sort("document", "weight", "word", descending=[False, True, False])
        .group_by("document", maintain_order=True)
        .agg(words=pl.col("word").head(NAME_WORDS).str.join(" "))
    )
    return (
        filed.select("topic_id")
        .unique()
        .join(by_hint, on="topic_id", how="left")
        .join(by_words, left_on="topic_id", right_on="document", how="left")
        .select("topic_id", name=pl.coalesce("hint", "words", pl.lit("untitled")))
        .sort("topic_id")
    )


def better_names(topics: pl.DataFrame, cells: pl.DataFrame, every: pl.DataFrame) -> pl.DataFrame:
    """Names for topics most of whose memories are named otherwise than they are: topic_id, name.

    `topics`: topic_id, the owner's columns, name. `cells`: topic_id, topic_hint (nullable). A name that one of `every`
    (the owner's columns, name) bears is left to it.
    """
    hinted = cells.with_columns(hint=normalized("topic_hint")).filter(pl.col("hint") != "")
    counted = hinted.group_by("topic_id", "hint").agg(cell_count=pl.len())
    main = name_topics(hinted.with_columns(content=pl.lit(""))).with_columns(hint=normalized("name"))
    own = topics.select("topic_id", *OWNER, hint=normalized("name")).join(
        counted.rename({"cell_count": "own_count"}), on=["topic_id", "hint"], how="left"
    )
    both = main.join(counted, on=["topic_id", "hint"]).join(own.drop("hint"), on="topic_id")
    ahead = both.filter(pl.col("cell_count") > pl.col("own_count").fill_null(0))
    free = ahead.join(every.select(*OWNER, hint=normalized("name")), on=[*OWNER, "hint"], how="anti")
    first = free.sort("topic_id").unique([*OWNER, "hint"], keep="first", maintain_order=True)
    return first.select("topic_id", "name")


def normalized(column: str) -> pl.Expr:
    """Text as hints and names are compared; null is the empty text."""
    return pl.col(column).str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars().fill_null("")


def words_of(documents: pl.DataFrame) -> pl.DataFrame:
    """document, word, times: the words of each text without the stop words."""
    return (
        documents.select("document", word=pl.col("text").str.to_lowercase().str.extract_all(_WORD))
        .explode("word", empty_as_null=False)
        .drop_nulls("word")
        .filter(~pl.col("word").is_in(list(THEMELESS_WORDS)))
        .group_by("document", "word")
        .agg(times=pl.len())
    )


def rarity(document_count: int) -> pl.Expr:
    """Inverse document frequency, smoothed so that a word of every document still counts a little."""
    return (1 + document_count / pl.len().over("word")).log()
