"""The names that the extractor gives to topics: whom or which project a name is for, and how near two names are."""

from typing import Final

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from slowwave.language.lexicon import THEMELESS_WORDS
from slowwave.language.names import plain_name, said_name, said_type
from slowwave.stages.topics.topic_names import normalized

OWN_SHARE = 0.8
"""Share of the memories under a name that speak of one person alone, from which the name counts as that person's."""

MIN_PAIRS = 30
"""Pairs of names from which their median says what unrelated ones score."""

MOST_NOISE = 0.95
"""Where all names lie this close together, their vectors tell nothing apart."""

_POSSESSIVE = r"\b([\p{L}\p{N}-]+)['’](?:s\b|\s|$)"
_FIRST_POSSESSOR = r"^([\p{L}\p{N}-]+)['’](?:s\b|\s)"
_ENDING = r"^(.{3,}?)(?:ings?|ers?|ies|ied|es|ed|s|y|e)$"
_OWNING_TYPES: Final = ["person", "project"]


def owned_hints(cells: pl.DataFrame) -> pl.DataFrame:
    """Every name among the memories of one owner: hint, about, words, in the order of hint.

    `cells`: topic_hint (nullable), subject (nullable), entities as `Name (type)`. `hint` is the name as it is compared.
    `about` names the people and projects that the name is for: those in it, else the one of whom nearly all of its
    memories speak; "" where nobody is. `words` are the stems of its other words.
    """
    hinted = cells.select("subject", "entities", hint=normalized("topic_hint")).filter(pl.col("hint") != "")
    people = _people(hinted)
    hints = hinted.select("hint").unique().sort("hint")
    return (
        hints.join(_named_in(hints, people), on="hint", how="left")
        .join(_spoken_of(hinted, people), on="hint", how="left")
        .select(
            "hint",
            about=pl.coalesce("named", "spoken_of", pl.lit("")),
            words=_stems(pl.col("hint"), pl.col("named_words").fill_null([])),
        )
    )


def overlap(words: pl.Series) -> NDArray[np.float64]:
    """Common stems of every two names as a share of the shorter name: 1 where one contains the other."""
    rows = words.to_frame("word").with_row_index("row").explode("word", empty_as_null=False).drop_nulls()
    column = (
        rows["word"].rank("dense").to_numpy().astype(np.intp) - 1 if rows.height else np.empty(0, np.intp)
    )
    width = int(column.max()) + 1 if rows.height else 1
    ones = np.ones(rows.height, dtype=np.float64)
    marks = scipy.sparse.csr_array((ones, (rows["row"].to_numpy(), column)), shape=(len(words), width))
    size = np.asarray(marks.sum(axis=1)).ravel()
    common = np.asarray((marks @ marks.T).toarray())
    least = np.minimum(size[:, None], size[None, :])
    shared: NDArray[np.float64] = np.divide(common, least, out=np.zeros_like(common), where=least > 0)
    return shared


def abouts(nodes: pl.DataFrame) -> pl.Series:
    """The people each node (node, about, cell_count) is for, in the order of node; "" for nobody."""
    counted = nodes.group_by("node", "about").agg(pl.col("cell_count").sum())
    best = counted.sort(
        "node", pl.col("about") == "", "cell_count", "about", descending=[False, False, True, False]
    )
    return best.unique("node", keep="first", maintain_order=True)["about"].fill_null("")


def same_about(about: pl.Series) -> NDArray[np.bool_]:
    """A mark on each pair that is for the same people, or one of which is for nobody in particular."""
    code = about.rank("dense").to_numpy().astype(np.intp)
    open_to_all = (about == "").to_numpy()
    pairs: NDArray[np.bool_] = (code[:, None] == code[None, :]) | open_to_all[:, None] | open_to_all[None, :]
    return pairs


def noise_of(cosine: NDArray[np.float64], same: NDArray[np.bool_], *, otherwise: float) -> float:
    """The median cosine of the pairs in `same`: what names for the same people score whatever they are about.

    `otherwise` among fewer than `MIN_PAIRS` pairs.
    """
    pairs = cosine[np.triu(same, 1)]
    return min(max(float(np.median(pairs)), 0.0), MOST_NOISE) if len(pairs) >= MIN_PAIRS else otherwise


def over_noise(cosine: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Cosines measured from the noise (0) to identity (1)."""
    return (cosine - noise) / (1.0 - noise)


def _people(cells: pl.DataFrame) -> pl.DataFrame:
    """Words of people's and projects' names, and of those to whom a topic name belongs: word, person (one word)."""
    said = cells.select(said="entities").explode("said", empty_as_null=False).drop_nulls()
    named = (
        said.filter(said_type(pl.col("said")).is_in(_OWNING_TYPES))
        .select(name=plain_name(said_name(pl.col("said"))))
        .unique()
    )
    words = named.select(
        "name", word=pl.col("name").str.split(" "), person=pl.col("name").str.split(" ").list[0]
    )
    by_name = words.explode("word", empty_as_null=False).select("word", "person")
    possessors = cells.select(word=plain_name(pl.col("hint").str.extract(_FIRST_POSSESSOR, 1))).drop_nulls()
    every = pl.concat([by_name, possessors.with_columns(person="word")])
    known = every.filter(pl.col("word").str.len_chars() > 1)
    return known.group_by("word").agg(_one_person()).sort("word")


def _one_person() -> pl.Expr:
    """The only person with this word in the name; the word itself where several have it."""
    others = pl.col("person").filter(pl.col("person") != pl.col("word")).unique().sort()
    return pl.when(others.len() == 1).then(others.first()).otherwise(pl.col("word").first()).alias("person")


def _plain_words(text: pl.Expr) -> pl.Expr:
    return plain_name(text.str.replace_all(_POSSESSIVE, "$1 ")).str.split(" ")


def _named_in(hints: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """hint, named (people in the name, joined), named_words: of the names that hold any."""
    words = hints.select("hint", word=_plain_words(pl.col("hint"))).explode("word", empty_as_null=False)
    return (
        words.join(people, on="word", how="inner")
        .group_by("hint")
        .agg(
            named=pl.col("person").unique().sort().str.join(" and "),
            named_words=pl.col("word").unique().sort(),
        )
    )


def _spoken_of(cells: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """hint, spoken_of: the one person of whom nearly all memories of the name speak, and nobody else so often."""
    numbered = cells.with_row_index("row")
    subject = pl.concat_list(pl.col("subject").fill_null(""))
    told = numbered.select("row", "hint", said=subject.list.concat("entities")).explode(
        "said", empty_as_null=False
    )
    words = told.select("row", "hint", word=_plain_words(said_name(pl.col("said")))).explode(
        "word", empty_as_null=False
    )
    spoken = words.join(people, on="word", how="inner").unique(["row", "person"])
    count = cells.group_by("hint").agg(cell_count=pl.len())
    shares = spoken.group_by("hint", "person").agg(times=pl.len()).join(count, on="hint")
    often = shares.filter(pl.col("times") >= OWN_SHARE * pl.col("cell_count"))
    return often.filter(pl.len().over("hint") == 1).select("hint", spoken_of="person")


def _stems(hint: pl.Expr, names: pl.Expr) -> pl.Expr:
    """Words of a name without people and small words, cut to their stems, as a sorted list."""
    plain = _plain_words(hint).list.set_difference(names)
    kept = plain.list.filter(~pl.element().is_in(list(THEMELESS_WORDS)) & (pl.element() != ""))
    return kept.list.eval(pl.element().str.replace(_ENDING, "$1")).list.unique().list.sort()
