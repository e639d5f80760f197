"""The rule by which a new memory says what a person deleted, where no language model can be asked.

The rule is strict: what it keeps out is lost to the store, and a wrong "same" would silence something new.
"""

import polars as pl

from slowwave.language.terms import telling_terms
from slowwave.language.text import hard_values, names, normalized

LEAST_LINE_WORDS = 3
"""A line of fewer words stands in many conversations and tells nothing of a deleted one."""

_SPEAKER = r"^([^:]{1,60}): "


def said_again(new: str, deleted: str, *, same_words: float) -> pl.Expr:
    """Return whether the text in column `new` says the same as the one in column `deleted`.

    Both have the same numbers, days and negation; neither has a name that the other lacks while the other has one of
    its own; and of all their telling words (stems without stop words) at least the share `same_words` is common.
    """
    one, other = telling_terms(pl.col(new)), telling_terms(pl.col(deleted))
    common = one.list.set_intersection(other).list.len()
    every = one.list.len() + other.list.len() - common
    named, known = names(pl.col(new)), names(pl.col(deleted))
    differ = (named.list.set_difference(known).list.len() > 0) & (
        known.list.set_difference(named).list.len() > 0
    )
    alike = (common > 0) & (common >= same_words * every)
    return (normalized(pl.col(new)) == normalized(pl.col(deleted))) | (
        alike & ~differ & (hard_values(pl.col(new)) == hard_values(pl.col(deleted)))
    )


def without_deleted(turns: pl.DataFrame, deleted: pl.DataFrame, *, owner: list[str]) -> pl.DataFrame:
    """Turns of which some line was not deleted: a text that a person deleted does not come back with new context.

    `turns` has `chunk_id`, `turn_number`, `text` and the columns `owner`; `deleted` has `content` and the same columns.
    A deleted line counts with and without the name of who speaks; a turn of short lines alone stays.
    """
    key = ["chunk_id", "turn_number"]
    dead = deleted.select(*owner, line=pl.col("content").str.split("\n")).explode("line").drop_nulls()
    spoken = dead.with_columns(pl.col("line").str.replace(_SPEAKER, ""))
    gone = pl.concat([dead, spoken]).with_columns(line=_compared("line"))
    asked = (
        turns.select(*key, *owner, line=pl.col("text").str.split("\n"))
        .explode("line")
        .with_columns(line=_compared("line"))
        .filter(pl.col("line").str.split(" ").list.len() >= LEAST_LINE_WORDS)
    )
    told = asked.join(gone, on=[*owner, "line"], how="anti")
    silent = asked.join(told, on=key, how="anti")
    return turns.join(silent, on=key, how="anti", maintain_order="left")


def _compared(line: str) -> pl.Expr:
    """A line as it is compared: a name before a colon stays apart from what is said."""
    parts = pl.col(line).str.replace(_SPEAKER, "$1\n").str.split("\n")
    return parts.list.eval(normalized(pl.element())).list.join(": ")
