"""The texts of a topic for its summary: as a page shows them to a model, and cut into a summary without one."""

from datetime import datetime

import polars as pl

from slowwave.language.sentences import sentences, single_spaced, word_count
from slowwave.language.text import token_count, words
from slowwave.lifecycle.retention import days_since

LONGEST_SENTENCE = 60
"""Words; longer sentences are mostly lists and tables that lost their lines."""


def shorter_beyond(cells: pl.DataFrame, *, tokens: int) -> pl.DataFrame:
    """The cells, with the compressed form in `content` where a topic's contents above use up the `tokens`.

    `cells`: topic_id, content, compressed (nullable), the most important of a topic first. A summary has room for a
    few words of each memory of a large topic, and those words are in the compressed form.
    """
    used = token_count(pl.col("content")).cum_sum().over("topic_id")
    shorter = pl.coalesce("compressed", "content")
    return cells.with_columns(content=pl.when(used > tokens).then(shorter).otherwise("content"))


def extractive_summaries(
    cells: pl.DataFrame, *, max_words: int, now: datetime, age_rate: float
) -> pl.DataFrame:
    """For each topic, its most central, most salient, newest sentences, in the order in which they were said.

    `cells` has `topic_id`, `cell_id`, `content`, `salience`, `event_time`. A sentence's centrality is the mean
    weight of its words: the share of the topic's cells that use the word, times how rare it is among topics
    (tf-idf with the topic as the document). Score = centrality * salience * exp(-age_rate * age_days).

    Returns `topic_id`, `summary` (at most `max_words` words), `compressed` (its best sentence, at most 15
    words), `cell_ids` (all live cells of the topic), sorted by topic.
    """
    cut = _sentences(cells, most=min(LONGEST_SENTENCE, max_words))
    scored = _centrality(cut).with_columns(
        score=pl.col("centrality")
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
    told = chosen.group_by("topic_id", maintain_order=True).agg(
        summary=pl.col("sentence").sort_by("event_time", "cell_id", "position").str.join(" "),
        compressed=pl.col("sentence").first().str.split(" ").list.head(15).list.join(" "),
    )
    live = cells.group_by("topic_id").agg(cell_ids=pl.col("cell_id").sort())
    return told.join(live, on="topic_id", how="inner").sort("topic_id")


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


def _centrality(cut: pl.DataFrame) -> pl.DataFrame:
    keys = ["topic_id", "cell_id", "position"]
    tokens = cut.select(*keys, word=words(pl.col("sentence"))).explode("word").drop_nulls("word")
    cells_in_topic = cut.group_by("topic_id").agg(topic_cells=pl.col("cell_id").n_unique())
    share = tokens.group_by("topic_id", "word").agg(cell_count=pl.col("cell_id").n_unique())
    topic_count = tokens["topic_id"].n_unique()
    rarity = share.group_by("word").agg(rarity=(1.0 + topic_count / pl.len()).log())
    weight = (
        share.join(cells_in_topic, on="topic_id")
        .join(rarity, on="word")
        .select("topic_id", "word", weight=pl.col("cell_count") / pl.col("topic_cells") * pl.col("rarity"))
    )
    mean = tokens.join(weight, on=["topic_id", "word"]).group_by(keys).agg(centrality=pl.col("weight").mean())
    return cut.join(mean, on=keys, how="left").with_columns(pl.col("centrality").fill_null(0.0))
