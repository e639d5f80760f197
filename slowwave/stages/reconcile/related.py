"""Pairs of memories that could be about the same, told by what their texts share and how rare that is.

Everything here is a frame computation. In a talk between two people every memory names one of them, so a shared name
tells nothing: each word weighs by how few memories have it (inverse document frequency). What passes is shown to the
judge; what does not costs no question, and nothing is decided about it.
"""

import polars as pl

from slowwave.language.lexicon import STOP_WORDS
from slowwave.language.text import normalized, words
from slowwave.stages.reconcile.pairs import with_both, within

UNSEEN = 20
"""Texts without any shared word that every sample is taken to hold: in a store of five memories no word is common."""

ENDING = r"^(.{3,}?)(?:'s|ings?|ies|ed|es|s)$"
"""Endings of English words that say nothing about what a memory is about ("volunteers", "volunteering")."""

SHOWN_FACTS = ["cell_id", "subject", "attribute", "content", "entities"]
"""Columns of `cells` that say what a memory is about."""

TOLD_FACTS = [*SHOWN_FACTS, "cell_type", "session_id", "event_time"]
"""The same, with where and when it was said."""


def word_weights(sample: pl.DataFrame) -> pl.DataFrame:
    """`word`, `weight` (>= 0): how much a word tells that two memories share. `sample` has `SHOWN_FACTS`.

    weight = ln((memories + UNSEEN) / (memories with the word + 0.5)), 0 at least. A word that no memory of the sample
    has weighs as much as the rarest one that is there.
    """
    count = sample.height
    return (
        bags(sample)
        .explode("word")
        .drop_nulls("word")
        .group_by("word")
        .agg(weight=((count + UNSEEN) / (pl.len() + 0.5)).log().clip(lower_bound=0.0))
        .sort("word")
    )


def bags(cells: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `word` (a list): the words of what a memory says and names, without endings and small words."""
    names = pl.col("entities").list.eval(pl.element().str.replace(r"\s*\([^)]*\)$", "")).list.join(" ")
    text = pl.concat_str(["content", "subject", "attribute", names], separator=" ", ignore_nulls=True)
    plain = words(text.str.replace_all("’", "'").str.replace_all(r"'s\b", ""))
    telling = plain.list.set_difference(sorted(STOP_WORDS))
    return cells.select(
        "cell_id", word=telling.list.eval(pl.element().str.replace(ENDING, "${1}")).list.unique()
    )


def with_closeness(pairs: pl.DataFrame, cells: pl.DataFrame, weights: pl.DataFrame) -> pl.DataFrame:
    """`pairs` (`cell_id`, `target_id`) with `closeness`: the cosine of their words by weight, 0..1."""
    unseen = weights.select(pl.col("weight").max()).item() if weights.height else 1.0
    weighed = (
        bags(cells)
        .explode("word")
        .drop_nulls("word")
        .join(weights, on="word", how="left")
        .select("cell_id", "word", square=pl.col("weight").fill_null(unseen) ** 2)
        .sort("cell_id", "word")
    )
    norms = weighed.group_by("cell_id", maintain_order=True).agg(norm=pl.col("square").sum().sqrt())
    shared = (
        pairs.select("cell_id", "target_id")
        .join(weighed, on="cell_id", how="inner")
        .join(weighed.select("word", target_id="cell_id"), on=["target_id", "word"], how="semi")
        .sort("cell_id", "target_id", "word")
        .group_by("cell_id", "target_id", maintain_order=True)
        .agg(shared=pl.col("square").sum())
    )
    both = with_both(shared, norms)
    closeness = both.select(
        "cell_id",
        "target_id",
        closeness=(pl.col("shared") / (pl.col("norm") * pl.col("norm_target"))).fill_nan(0.0),
    )
    return pairs.join(closeness, on=["cell_id", "target_id"], how="left", maintain_order="left").with_columns(
        pl.col("closeness").fill_null(0.0)
    )


def related(
    candidates: pl.DataFrame,
    cells: pl.DataFrame,
    weights: pl.DataFrame,
    *,
    near_words: float,
    near_vectors: float,
) -> pl.DataFrame:
    """Candidates that could be about the same as their memory, with a new `score`.

    `candidates` has `cell_id`, `target_id`, `score`, `similarity` and `is_noted` (somebody said that the two belong
    together), `cells` the `TOLD_FACTS` of both. A pair passes that is noted, or shares subject and attribute, or whose
    words are close: `near_words` for any two, less for one of the nearest by vector (`NEAR_ASKS` of it), less again for
    the nearest of them (`NEAREST_ASKS`), or where their similarity is `near_vectors` at least. Of two subjects that
    share no word half as much again is asked. What was told in one conversation on one day gets no discount, unless it
    is a task: the extractor knew what it had said before, and wrote what is new.
    """
    about = cells.select(
        "cell_id",
        "session_id",
        subject=_name_words("subject"),
        attribute=_name_words("attribute"),
        day=pl.col("event_time").dt.date(),
        is_task=pl.col("cell_type") == "task",
    )
    rank = pl.col("similarity").rank("ordinal", descending=True).over("cell_id")
    facts = with_both(with_closeness(candidates, cells, weights), about).with_columns(rank=rank)
    is_named = (pl.col("subject").list.len() > 0) & (pl.col("subject_target").list.len() > 0)
    is_same_thing = _shares("subject") & _shares("attribute")
    is_high = pl.col("rank") <= NEAREST
    is_near = (pl.col("rank") == 1) | (is_high & (pl.col("similarity") >= near_vectors))
    is_one_talk = (pl.col("session_id") == pl.col("session_id_target")) & (
        pl.col("day") == pl.col("day_target")
    )
    asked = (
        pl.when(is_one_talk & ~pl.any_horizontal("is_task", "is_task_target"))
        .then(near_words)
        .when(is_near.fill_null(value=False))
        .then(near_words * NEAREST_ASKS)
        .when(is_high.fill_null(value=False))
        .then(near_words * NEAR_ASKS)
        .otherwise(near_words)
    )
    asked = pl.when(is_named & ~_shares("subject")).then(asked * 1.5).otherwise(asked)
    strength = pl.col("is_noted").cast(pl.Int8) * 2 + is_same_thing.cast(pl.Int8)
    return (
        facts.filter((strength > 0) | (pl.col("closeness") >= asked))
        .with_columns(score=strength + pl.col("closeness") + 0.1 / pl.col("rank").fill_null(NEAREST))
        .select("cell_id", "target_id", "score", "similarity")
    )


NEAREST, NEAR_ASKS, NEAREST_ASKS = 4, 0.6, 0.4
"""Neighbours by vector of which less is asked of their words, and the shares that are asked."""


def _name_words(column: str) -> pl.Expr:
    return (
        normalized(pl.col(column).fill_null(""))
        .str.split(" ")
        .list.set_difference(["", "the", "a", "of", "s"])
    )


def _shares(column: str) -> pl.Expr:
    """All words of one side's name are among those of the other's."""
    return within(pl.col(column), pl.col(f"{column}_target"))
