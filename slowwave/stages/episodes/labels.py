"""The short forms of a memory from its own words: an index label and a compressed line, without a language model."""

import polars as pl

from slowwave.language.lexicon import THEMELESS_WORDS
from slowwave.language.sentences import sentences, shortened, word_count
from slowwave.language.text import without_speakers, words

LABEL_WORDS = 3
COMPRESSED_WORDS = 12

_SHORTEST_WORD = 3


def short_forms(cells: pl.DataFrame) -> pl.DataFrame:
    """The `index_label` and the `compressed` line that cells lack; what is there stays.

    `cells` has `cell_id`, `subject`, `topic_hint`, `content`, `compressed`, `index_label`. A label has one to three
    words joined by `_`: of the subject where there is one, else of the topic, else telling words of the text: those
    said most often, of equal ones the longest. A text without a word is labelled `memory`.

    Returns `cell_id`, `compressed`, `index_label`, none of them null or empty, sorted.
    """
    label = pl.coalesce(
        "index_label",
        _joined(words(pl.col("subject"))),
        _joined(words(pl.col("topic_hint"))),
        "telling",
        _joined(words(pl.col("content"))),
        pl.lit("memory"),
    )
    return (
        cells.join(_telling_labels(cells), on="cell_id", how="left", maintain_order="left")
        .select(
            "cell_id",
            compressed=pl.coalesce("compressed", compressed_line(pl.col("content"))),
            index_label=label,
        )
        .sort("cell_id")
    )


def compressed_line(content: pl.Expr) -> pl.Expr:
    """The first sentence with a telling word, at most 12 words of it; never empty."""
    long_enough = pl.element().filter(word_count(pl.element()) >= _SHORTEST_WORD)
    told = sentences(without_speakers(content)).list.eval(long_enough).list.first()
    line = shortened(pl.coalesce(told, content), COMPRESSED_WORDS)
    return pl.when(line == "").then(pl.lit("(no words)")).otherwise(line)


def _telling_labels(cells: pl.DataFrame) -> pl.DataFrame:
    """`cell_id` and `telling`; texts without a telling word are left out."""
    return (
        cells.select("cell_id", word=words(without_speakers(pl.col("content"))))
        .explode("word")
        .filter(
            (pl.col("word").str.len_chars() >= _SHORTEST_WORD)
            & ~pl.col("word").is_in(sorted(THEMELESS_WORDS))
            & ~pl.col("word").str.contains(r"^\d+$")
        )
        .group_by("cell_id", "word")
        .agg(times=pl.len())
        .sort(
            "cell_id", "times", pl.col("word").str.len_chars(), "word", descending=[False, True, True, False]
        )
        .group_by("cell_id", maintain_order=True)
        .agg(telling=pl.col("word").head(LABEL_WORDS).str.join("_"))
    )


def _joined(found: pl.Expr) -> pl.Expr:
    """The first words as a label; null for none."""
    label = found.list.head(LABEL_WORDS).list.join("_")
    return pl.when(label != "").then(label)
