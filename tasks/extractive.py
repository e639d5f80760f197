"""The central parts of a group of texts: sentences of a topic for a summary, messages of a conversation for a page.

There is one measure. It depends on the group alone, so that the same texts give the same page on every night.
"""

from datetime import datetime

import polars as pl

from slowwave.language.lexicon import STOP_WORDS
from slowwave.language.text import sentences, single_spaced, token_count, word_count, words
from slowwave.lifecycle.retention import days_since

LONGEST_SENTENCE = 60
COMPRESSED_WORDS = 15
"""Words; longer sentences are mostly lists and tables that lost their lines."""

SHORTEST_WORD = 3
"""Letters of a word that counts."""


def is_telling(word: pl.Expr) -> pl.Expr:
    """Return whether a word says what a text is about."""
    return (word.str.len_chars() >= SHORTEST_WORD) & ~word.is_in(sorted(STOP_WORDS))


def with_centrality(parts: pl.DataFrame, *, group: str, text: str, content: str) -> pl.DataFrame:
    """The parts of texts with `centrality` (0 or more) and `telling_count`, their different telling words.

    A word weighs ln(texts of the group that use it), so that a word of one text alone weighs nothing. Centrality is the
    sum over the part's different words, divided by the square root of their number: neither the longest nor the
    shortest part wins by its length.
    """
    numbered = parts.with_row_index("part")
    scored = (
        numbered.select("part", group, text, word=words(pl.col(content)).list.unique())
        .explode("word")
        .filter(is_telling(pl.col("word")))
        .with_columns(weight=pl.col(text).n_unique().over(group, "word").log())
        .group_by("part")
        .agg(
            centrality=pl.col("weight").sort().sum() / pl.len().sqrt(), telling_count=pl.len().cast(pl.Int64)
        )
    )
    return (
        numbered.join(scored, on="part", how="left", maintain_order="left")
        .with_columns(pl.col("centrality").fill_null(0.0), pl.col("telling_count").fill_null(0))
        .drop("part")
    )


def brief() -> pl.Expr:
    """The extractor's short form of a memory; null for one that has none.

    The summary of a memory that took another's place is its timeline, which does not name the thing.
    """
    return pl.when(pl.col("supersedes").is_null()).then("summary")


def shorter_beyond(cells: pl.DataFrame, *, tokens: int) -> pl.DataFrame:
    """The cells, with a short form in `content` where a topic's contents above use up the `tokens`.

    `cells`: topic_id, content and, all nullable, summary, supersedes and compressed, the most important of a topic
    first. A summary has room for a few words of each memory of a large topic: those of its short forms.
    """
    used = token_count(pl.col("content")).cum_sum().over("topic_id")
    shorter = pl.coalesce(brief(), "compressed", "content")
    return cells.with_columns(content=pl.when(used > tokens).then(shorter).otherwise("content"))


def extractive_summaries(
    cells: pl.DataFrame, *, max_words: int, now: datetime, age_rate: float
) -> pl.DataFrame:
    """For each topic, its most central, most salient, newest sentences, in the order in which they were said.

    `cells` has `topic_id`, `cell_id`, `content`, `salience`, `event_time`. A sentence's score is
    (1 + centrality) * salience * exp(-age_rate * age_days).

    Returns `topic_id`, `summary` (at most `max_words` words), `compressed` (its best sentence of at most 15
    words, null for none), sorted by topic.
    """
    cut = _sentences(cells, most=min(LONGEST_SENTENCE, max_words))
    central = with_centrality(cut, group="topic_id", text="cell_id", content="sentence")
    scored = central.with_columns(
        score=(1.0 + pl.col("centrality"))
        * pl.col("salience")
        * (-age_rate * days_since(pl.col("event_time"), now=now)).exp()
    )
    best_first = ["topic_id", "score", "event_time", "cell_id", "position"]
    chosen = (
        scored.sort(best_first, descending=[False, True, True, False, False])
        .unique(["topic_id", "plain"], keep="first", maintain_order=True)
        .with_columns(total=pl.col("word_count").cum_sum().over("topic_id"))
        .filter(pl.col("total") <= max_words)
    )
    return chosen.group_by("topic_id", maintain_order=True).agg(
        summary=pl.col("sentence").sort_by("event_time", "cell_id", "position").str.join(" "),
        compressed=pl.col("sentence").filter(pl.col("word_count") <= COMPRESSED_WORDS).first(),
    )


def _sentences(cells: pl.DataFrame, *, most: int) -> pl.DataFrame:
    """Statements of 4 to `most` words, no questions; a cell without one counts as one statement, cut there."""
    cut = cells.with_columns(sentence=sentences(pl.col("content"))).explode("sentence")
    split = cut.with_columns(
        position=pl.int_range(pl.len()).over("cell_id"), word_count=word_count(pl.col("sentence"))
    ).filter(pl.col("word_count").is_between(4, most) & ~pl.col("sentence").str.ends_with("?"))
    whole = single_spaced(pl.col("content")).str.split(" ").list.head(most).list.join(" ")
    rest = (
        cells.join(split, on="cell_id", how="anti")
        .with_columns(sentence=whole, position=pl.lit(0, dtype=pl.Int64))
        .with_columns(word_count=word_count(pl.col("sentence")))
    )
    columns = ["topic_id", "cell_id", "sentence", "position", "word_count", "salience", "event_time"]
    return pl.concat([split.select(columns), rest.select(columns)]).with_columns(
        plain=pl.col("sentence").str.to_lowercase()
    )
