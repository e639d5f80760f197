"""Episodes without a language model: a conversation's most central messages, each by its first sentences."""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.language.text import sentences, shortened, word_count, words
from slowwave.recall.standing_turns import standing_turns
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.trust.origins import in_own_words
from tasks.ask import author_columns
from tasks.compress.pages import EpisodeTurns
from tasks.compress.rows import EpisodeTexts, Told
from tasks.compress.short_forms import first_clause, short_forms
from tasks.extractive import is_telling, with_centrality
from tasks.step import Readable, step

REQUEST_WORDS = 4
"""Telling words that make a message a request rather than a greeting."""

EPISODE_WORDS, SUMMARY_WORDS = 220, 60
"""Longest text and summary of an episode: one is read when its day was asked for, the other among hits."""

TITLE_WORDS = 10
COMPRESSED_WORDS = 15


@step
def extract_episodes(reader: Readable, turns: DataFrame[EpisodeTurns]) -> Told:
    """Episodes of the conversations with anything to show: own words of the speakers, as far as they are current."""
    own = in_own_words(_current(reader, turns.filter("is_shown")))
    written = extractive_episodes(own, max_words=EPISODE_WORDS, summary_words=SUMMARY_WORDS)
    nothing = pl.lit(None, dtype=pl.String)
    texts = written.rename({"episode_id": "cell_id"}).with_columns(
        *author_columns(RAW_PROMPT),
        **dict.fromkeys(["index_label", "topic_hint", "attribute", "value", "supersedes"], nothing),
        subject="title",
        cell_ids=pl.lit([], dtype=pl.List(pl.String)),
    )
    forms = short_forms(texts)
    whole = texts.drop("compressed", "index_label").join(forms, on="cell_id")
    return Told(EpisodeTexts.of(whole), {})


def extractive_episodes(turns: pl.DataFrame, *, max_words: int, summary_words: int) -> pl.DataFrame:
    """Central messages with who said them: `episode_id`, `title`, `content`, `summary`, `compressed`, sorted.

    `turns` has `episode_id`, `turn_id`, `turn_index`, `role`, `speaker`, `content`. The title is the first request of a
    person, of ten words at most. The content has at most `max_words` words after it, the summary `summary_words`.
    """
    plain = turns.with_columns(content=_plain(pl.col("content"))).filter(pl.col("content") != "")
    first = _first_sentences(pl.col("content"), max(summary_words // 2, 1))
    central = with_centrality(plain, group="episode_id", text="turn_id", content="content").with_columns(
        line=pl.format("{}: {}", pl.coalesce("speaker", "role"), first)
    )
    ranked = central.sort(
        "episode_id", "centrality", "turn_index", "turn_id", descending=[False, True, False, False]
    ).with_columns(
        total=word_count(pl.col("line")).cum_sum().over("episode_id"),
        is_first=pl.int_range(pl.len()).over("episode_id") == 0,
    )
    fits = {
        name: pl.col("is_first") | ((pl.col("centrality") > 0) & (pl.col("total") <= most))
        for name, most in (("content", max_words), ("summary", summary_words))
    }
    by_place = ranked.sort("episode_id", "turn_index", "turn_id").group_by("episode_id", maintain_order=True)
    written = by_place.agg(
        pl.col("line").filter(fit).str.join("\n").alias(name) for name, fit in fits.items()
    )
    return (
        written.join(_titles(plain), on="episode_id")
        .with_columns(content=pl.format("{}\n{}", "title", "content"))
        .select("episode_id", "title", "content", "summary", "compressed")
        .sort("episode_id")
    )


# Inside


def _current(reader: Readable, turns: pl.DataFrame) -> pl.DataFrame:
    """The turns with what is current of them; one that was taken back is left out, unless nothing else was said."""
    rows = turns.select("turn_id", "session_id", "content").to_dicts()
    current = {
        row["turn_id"]: row["content"] for row in standing_turns(reader.store, reader.settings.owner, rows)
    }
    left = turns.with_columns(
        content=pl.col("turn_id").replace_strict(current, default=None, return_dtype=pl.String)
    )
    is_current = pl.col("content").is_not_null()
    kept = left.filter(is_current | ~is_current.any().over("episode_id"))
    return kept.with_columns(pl.col("content").fill_null("[taken back]"))


def _titles(turns: pl.DataFrame) -> pl.DataFrame:
    """The first sentence of a person that asks or says something, else the first sentence."""
    telling = words(pl.col("sentence")).list.eval(pl.element().filter(is_telling(pl.element())))
    is_request = (pl.col("role") == "user") & (telling.list.len() >= REQUEST_WORDS)
    first = (
        turns.with_columns(sentence=sentences(pl.col("content")))
        .explode("sentence")
        .drop_nulls("sentence")
        .with_columns(is_request=is_request, place=pl.int_range(pl.len()).over("episode_id", "turn_id"))
        .sort("is_request", "turn_index", "turn_id", "place", descending=[True, False, False, False])
        .group_by("episode_id", maintain_order=True)
        .agg(pl.col("sentence").first())
    )
    whole = pl.col("sentence")
    return first.select(
        "episode_id", title=shortened(whole, TITLE_WORDS), compressed=first_clause(whole, COMPRESSED_WORDS)
    )


def _plain(text: pl.Expr) -> pl.Expr:
    """Talk without blocks of code and marks at the start of lines; talk of nothing else stays as it is."""
    talk = text.str.replace_all(r"(?s)```.*?(?:```|$)", " ")
    bare = talk.str.replace_all(r"(?m)^\s*(?:[-*#>|]+|\d+[.)])\s+", "")
    short = bare.str.replace_all(r"[ \t]+", " ").str.strip_chars()
    return pl.when(short != "").then(short).otherwise(text.str.strip_chars())


def _first_sentences(text: pl.Expr, most: int) -> pl.Expr:
    """Whole sentences from the beginning with at most `most` words together, else a clause, else the first words."""
    first = pl.element().filter(word_count(pl.element()).cum_sum() <= most)
    fits = sentences(text).list.eval(first).list.join(" ")
    return pl.coalesce(pl.when(fits != "").then(fits), first_clause(text, most), shortened(text, most))
