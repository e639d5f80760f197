"""The central turns of a conversation: excerpts for a page about it, and an episode without a language model."""

import polars as pl

from slowwave.language.lexicon import STOP_WORDS
from slowwave.language.sentences import sentences, shortened, word_count
from slowwave.language.text import words

ENDS = 2
"""Turns at the beginning and at the end of a conversation that are always telling."""

REQUEST_WORDS = 4
"""Telling words that make a turn a request rather than a greeting."""

TITLE_WORDS = 10
COMPRESSED_WORDS = 15

_SHORTEST_WORD = 3
_GAP = " [...] "


def central_turns(turns: pl.DataFrame) -> pl.DataFrame:
    """The turns with `centrality` and `word_count` (their different telling words).

    `turns` has `episode_id`, `turn_id`, `content`. A word weighs ln(turns of the conversation that use it), so what
    only one turn says weighs nothing; centrality is the sum over a turn's different words, divided by the square
    root of their number, so that neither the longest nor the shortest turn wins by its length. It depends on the
    conversation alone.
    """
    keys = ["episode_id", "turn_id"]
    scored = (
        turns.select(*keys, word=words(pl.col("content")).list.unique())
        .explode("word")
        .filter(_is_telling(pl.col("word")))
        .with_columns(weight=pl.len().over("episode_id", "word").log())
        .group_by(keys)
        .agg(centrality=pl.col("weight").sort().sum() / pl.len().sqrt(), word_count=pl.len().cast(pl.Int64))
    )
    return turns.join(scored, on=keys, how="left", maintain_order="left").with_columns(
        pl.col("centrality").fill_null(0.0), pl.col("word_count").fill_null(0)
    )


def choose_excerpts(
    turns: pl.DataFrame, *, most: int, turn_characters: int, page_characters: int
) -> pl.DataFrame:
    """The turns that stand for a conversation, cut to size, in their order.

    The first and the last two, then the most central ones of people and of assistants by turns, since people say
    shortly what they want and decide, until `most` turns or `page_characters` characters. A turn longer than
    `turn_characters` keeps its beginning and its end.

    `turns` has `episode_id`, `turn_id`, `turn_index`, `role`, `content`. Returns them with `text`, sorted by
    conversation and place.
    """
    order = pl.int_range(pl.len()).over("episode_id")
    left = pl.len().over("episode_id") - 1 - order
    ties = ["turn_index", "turn_id"]
    marked = central_turns(turns.sort("episode_id", *ties)).with_columns(
        is_end=(order < ENDS) | (left < ENDS),
        is_user=pl.col("role") == "user",
        text=_cut(pl.col("content").str.strip_chars(), turn_characters),
    )
    best_first = ["episode_id", "is_end", "centrality", *ties]
    by_turns = ["episode_id", "is_end", "round", "is_user", *ties]
    ranked = (
        marked.filter(pl.col("text") != "")
        .sort(best_first, descending=[False, True, True, False, False])
        .with_columns(round=pl.int_range(pl.len()).over("episode_id", "is_end", "is_user"))
        .sort(by_turns, descending=[False, True, False, True, False, False])
    )
    size = pl.col("text").str.len_chars().cum_sum().over("episode_id")
    place = pl.int_range(pl.len()).over("episode_id")
    kept = ranked.filter((place == 0) | ((place < most) & (size <= page_characters)))
    return kept.select(*turns.columns, "text").sort("episode_id", *ties)


def extractive_episodes(
    turns: pl.DataFrame, topics: pl.DataFrame, *, max_words: int, summary_words: int
) -> pl.DataFrame:
    """Episodes without a model: central turns, each by its first sentences, with who said it.

    `turns` has `episode_id`, `turn_id`, `turn_index`, `role`, `speaker`, `content`; `topics` has `episode_id` and
    `topic`, the name of a topic that holds most of a conversation's memories. The title is that topic, else the
    first telling request of a person. Returns `episode_id`, `title`, `content` (at most `max_words` words after the
    title), `summary` (at most `summary_words`), `compressed` (what the title says, in 15 words), sorted.
    """
    plain = turns.with_columns(content=_plain(pl.col("content"))).filter(pl.col("content") != "")
    each = max(summary_words // 2, 1)
    who = pl.coalesce("speaker", "role")
    scored = central_turns(plain).with_columns(
        is_telling=pl.col("centrality") > 0,
        line=pl.format("{}: {}", who, _first_sentences(pl.col("content"), each)),
    )
    ranked = scored.sort(
        "episode_id", "centrality", "turn_index", "turn_id", descending=[False, True, False, False]
    ).with_columns(total=word_count(pl.col("line")).cum_sum().over("episode_id"))
    lead = pl.int_range(pl.len()).over("episode_id") == 0
    short, long = (pl.col("is_telling") & (pl.col("total") <= most) for most in (summary_words, max_words))
    return (
        _told(ranked.filter(lead | long), "content")
        .join(_told(ranked.filter(lead | short), "summary"), on="episode_id")
        .join(_titles(scored, topics), on="episode_id")
        .with_columns(content=pl.format("{}\n{}", "title", "content"))
        .select("episode_id", "title", "content", "summary", "compressed")
        .sort("episode_id")
    )


def _titles(turns: pl.DataFrame, topics: pl.DataFrame) -> pl.DataFrame:
    """The main topic, else the first sentence of a person that asks or tells something, else the first sentence."""
    telling = words(pl.col("sentence")).list.eval(pl.element().filter(_is_telling(pl.element())))
    requests = (
        turns.with_columns(sentence=sentences(pl.col("content")))
        .explode("sentence")
        .drop_nulls("sentence")
        .with_columns(place=pl.int_range(pl.len()).over("episode_id", "turn_id"))
        .with_columns(is_request=(pl.col("role") == "user") & (telling.list.len() >= REQUEST_WORDS))
        .sort(
            "episode_id", "is_request", "turn_index", "turn_id", "place",
            descending=[False, True, False, False, False],
        )
        .group_by("episode_id", maintain_order=True)
        .agg(pl.col("sentence").first())
    )  # fmt: skip
    whole = pl.coalesce("topic", "sentence")
    return requests.join(topics, on="episode_id", how="left").select(
        "episode_id", title=shortened(whole, TITLE_WORDS), compressed=shortened(whole, COMPRESSED_WORDS)
    )


def _is_telling(word: pl.Expr) -> pl.Expr:
    return (word.str.len_chars() >= _SHORTEST_WORD) & ~word.is_in(sorted(STOP_WORDS))


def _told(chosen: pl.DataFrame, name: str) -> pl.DataFrame:
    ordered = chosen.sort("episode_id", "turn_index", "turn_id")
    return ordered.group_by("episode_id", maintain_order=True).agg(pl.col("line").str.join("\n").alias(name))


def _plain(text: pl.Expr) -> pl.Expr:
    """Talk without blocks of code and marks at the start of lines; talk of nothing else stays as it is."""
    talk = text.str.replace_all(r"(?s)```.*?(?:```|$)", " ")
    bare = talk.str.replace_all(r"(?m)^\s*(?:[-*#>|]+|\d+[.)])\s+", "")
    short = bare.str.replace_all(r"[ \t]+", " ").str.strip_chars()
    return pl.when(short != "").then(short).otherwise(text.str.strip_chars())


def _first_sentences(text: pl.Expr, most: int) -> pl.Expr:
    """Whole sentences from the beginning with at most `most` words together, else the first words."""
    first = pl.element().filter(word_count(pl.element()).cum_sum() <= most)
    fits = sentences(text).list.eval(first).list.join(" ")
    return pl.when(fits != "").then(fits).otherwise(shortened(text, most))


def _cut(text: pl.Expr, most: int) -> pl.Expr:
    tail = most // 3
    short = pl.concat_str(text.str.slice(0, most - tail - len(_GAP)), pl.lit(_GAP), text.str.slice(-tail))
    return pl.when(text.str.len_chars() > most).then(short).otherwise(text)
