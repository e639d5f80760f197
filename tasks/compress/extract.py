"""Episodes without a language model: a conversation's most central messages, each by its first sentence."""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.language.text import shortened, word_count
from slowwave.recall.standing_turns import standing_turns
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.trust.origins import in_own_words
from tasks.ask import author_columns
from tasks.compress.pages import EpisodeTurns
from tasks.compress.rows import EpisodeTexts, Told
from tasks.compress.short_forms import first_sentence, short_forms
from tasks.extractive import with_centrality
from tasks.step import Readable, step

EPISODE_WORDS, SUMMARY_WORDS = 220, 60
"""Longest text and summary of an episode: one is read when its day was asked for, the other among hits."""

LINE_WORDS, TITLE_WORDS = 30, 10
CODE = r"(?s)```.*?(?:```|$)"


@step
def extract_episodes(reader: Readable, turns: DataFrame[EpisodeTurns]) -> Told:
    """Episodes of the conversations with anything to show: own words of the speakers, as far as they are current."""
    written = extractive_episodes(in_own_words(_current(reader, turns.filter("is_shown"))))
    nothing = ["compressed", "index_label", "topic_hint", "attribute", "value", "supersedes"]
    texts = written.with_columns(
        *author_columns(RAW_PROMPT),
        **dict.fromkeys(nothing, pl.lit(None, dtype=pl.String)),
        subject="title",
        cell_ids=pl.lit([], dtype=pl.List(pl.String)),
    )
    whole = texts.drop("compressed", "index_label").join(short_forms(texts), on="cell_id")
    return Told(EpisodeTexts.of(whole), {})


def extractive_episodes(turns: pl.DataFrame) -> pl.DataFrame:
    """Central messages with who said them: `cell_id`, `title`, `content`, `summary`, sorted.

    `turns` has `episode_id`, `turn_id`, `turn_index`, `role`, `speaker`, `content`. The title is from the most central
    message of a person. Content and summary begin with the most central lines and end where their words are used up.
    """
    talk = pl.col("content").str.replace_all(CODE, " ").str.strip_chars()
    plain = turns.with_columns(
        content=pl.when(talk == "").then(pl.col("content").str.strip_chars()).otherwise(talk)
    )
    spoken = plain.filter(pl.col("content") != "")
    best_first = ["episode_id", "centrality", "turn_index", "turn_id"]
    ranked = (
        with_centrality(spoken, group="episode_id", text="turn_id", content="content")
        .sort(best_first, descending=[False, True, False, False])
        .with_columns(line=pl.format("{}: {}", pl.coalesce("speaker", "role"), _beginning(LINE_WORDS)))
        .with_columns(total=word_count(pl.col("line")).cum_sum().over("episode_id"))
    )
    title, is_persons = _beginning(TITLE_WORDS), pl.col("role") == "user"
    return (
        ranked.group_by("episode_id", maintain_order=True)
        .agg(
            title=pl.coalesce(title.filter(is_persons).first(), title.first()),
            content=_lines(EPISODE_WORDS),
            summary=_lines(SUMMARY_WORDS),
        )
        .select("title", "summary", cell_id="episode_id", content=pl.format("{}\n{}", "title", "content"))
        .sort("cell_id")
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


def _beginning(most: int) -> pl.Expr:
    """The first sentence of a message, cut after so many words."""
    return shortened(pl.coalesce(first_sentence(pl.col("content")), "content"), most)


def _lines(most_words: int) -> pl.Expr:
    """The most central lines of a conversation in their order; a line of words that no other message has is none."""
    is_first = pl.int_range(pl.len()) == 0
    fits = is_first | ((pl.col("centrality") > 0) & (pl.col("total") <= most_words))
    return pl.col("line").filter(fits).sort_by(pl.struct("turn_index", "turn_id").filter(fits)).str.join("\n")
