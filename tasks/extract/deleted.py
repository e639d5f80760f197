"""Keeps out what a person deleted, also where it is said in other words.

Similarity finds which deleted memories a new one could repeat; a language model decides, and a strict rule where there
is none. A chunk whose question the model did not answer stays pending, and so does one that could not be compared since
the embedder went away: an outage brings nothing back.
"""

from typing import NamedTuple

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.home.kept_out import without_deleted_cells
from slowwave.home.vectors import nearest_of_owner
from slowwave.language.terms import telling_terms
from slowwave.language.text import hard_values, names, normalized
from slowwave.models.answers.extract import TombstoneAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import page_rows
from slowwave.schemas.tables import OWNER
from tasks.ask import Model
from tasks.frames import Frame
from tasks.step import Readable, step
from tasks.tries import is_failed_try

KEPT_OUT = "deleted by a person"
WAITS = "waits: perhaps deleted by a person"

TOMBSTONES_A_MEMORY = 3
"""Nearest deleted memories that a new one is compared with, each a question to the model."""

SAME_WORDS = 0.6
"""Share of common words from which, without a model, a new memory repeats a deleted one, where no number, day, name or
negation differs."""

NOT_COMPARED = ""
"""In place of a deleted memory's text: nearness to any could not be computed."""


class Doubts(Frame):
    """Pairs of a new memory and the text of a deleted one, nearest first; `is_again` by the strict rule."""

    cell_id: str
    content: str
    deleted: str
    similarity: float
    is_again: bool


class Deleted(NamedTuple):
    """New memories that say what a person deleted, and those about which the model could not be asked."""

    same: set[str]
    undecided: set[str]


def without_deleted_turns(reader: Readable, chunks: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Turns of raw memories without those that a person deleted word by word."""
    dead = reader.store.rows("tombstones", [*OWNER, "content"]).drop_nulls("content")
    if dead.is_empty():
        return turns
    owned = turns.join(chunks.select("chunk_id", *OWNER), on="chunk_id", how="inner", maintain_order="left")
    return without_deleted(owned, dead, owner=OWNER).select(turns.columns)


@step
def find_deleted(reader: Readable, cells: pl.DataFrame) -> tuple[set[str], DataFrame[Doubts]]:
    """New memories with the very text (or id) of a deleted one, and pairs of others that could repeat one."""
    other = without_deleted_cells(reader.settings.home, reader.store, cells)
    exact = cells.join(other, on="cell_id", how="anti")["cell_id"]
    dead = reader.store.rows("tombstones", ["cell_id", *OWNER, "content"]).drop_nulls("content")
    return set(exact), _doubts(reader, other, dead)


@step
def ask_deleted(model: Model | None, exact: set[str], doubts: DataFrame[Doubts]) -> Deleted:
    """The memories in `exact`, and the model's word on each in doubt.

    The strict rule decides without a model, or where its answer is unusable.
    """
    by_rule = set(doubts.filter("is_again")["cell_id"])
    undecided = set(doubts.filter(deleted=NOT_COMPARED)["cell_id"]) - by_rule
    doubts = Doubts.of(
        doubts.filter(~pl.col("cell_id").is_in(sorted(undecided)), pl.col("deleted") != NOT_COMPARED)
    )
    if model is None or doubts.is_empty():
        return Deleted(exact | by_rule, undecided)
    pages = {str(page["cell_id"][0]): page for page in doubts.partition_by("cell_id", maintain_order=True)}
    requests = {
        cell_id: Request(
            render(
                "judge_tombstone",
                content=page["content"][0],
                deleted=page_rows(page.select(content="deleted")),
            ),
            TombstoneAnswer,
            {"page_numbers": set(range(1, page.height + 1))},
        )
        for cell_id, page in pages.items()
    }
    same = set(exact)
    for cell_id, said in model.outcomes(requests, work="tombstones").items():
        if isinstance(said.answer, TombstoneAnswer):
            same |= {cell_id} if said.answer.same_as else set()
        elif is_failed_try(said):
            same |= {cell_id} & by_rule
        else:
            undecided.add(cell_id)
    return Deleted(same, undecided)


# Inside


def _doubts(reader: Readable, cells: pl.DataFrame, dead: pl.DataFrame) -> DataFrame[Doubts]:
    asked = cells.join(dead, on=OWNER, how="semi", maintain_order="left")
    if asked.is_empty():
        return Doubts.of(pl.DataFrame(schema=Doubts.schema()))
    is_again = said_again("content", "deleted", same_words=SAME_WORDS)
    pairs = asked.select("cell_id", "content", *OWNER).join(dead.select(*OWNER, deleted="content"), on=OWNER)
    again = pairs.filter(is_again).select("cell_id", "content", "deleted", similarity=pl.lit(1.0))
    found = pl.concat([again, _near(reader, asked, dead)])
    ordered = found.sort("cell_id", "similarity", "deleted", descending=[False, True, False])
    distinct = ordered.unique(["cell_id", "deleted"], keep="first", maintain_order=True)
    nearest = distinct.group_by("cell_id", maintain_order=True).head(TOMBSTONES_A_MEMORY)
    return Doubts.of(nearest.with_columns(is_again=is_again & (pl.col("deleted") != NOT_COMPARED)))


def _near(reader: Readable, cells: pl.DataFrame, dead: pl.DataFrame) -> pl.DataFrame:
    """The deleted memories nearest to cells of their owner, from the embedder's threshold for near pairs on."""
    embedder, shape = reader.embedder, ["cell_id", "content", "deleted", "similarity"]
    vectors = reader.vectors_of(cells["content"])
    if embedder is None:
        return pl.DataFrame(schema={name: Doubts.schema()[name] for name in shape})
    if vectors is None:
        return cells.select("cell_id", "content", deleted=pl.lit(NOT_COMPARED), similarity=pl.lit(0.0))
    asked = cells.select("cell_id", *OWNER, "content", vectors)
    near = nearest_of_owner(reader.store, "tombstones", asked, k=TOMBSTONES_A_MEMORY)
    return (
        near.filter(pl.col("similarity") >= embedder.profile.near_threshold)
        .join(asked, on="cell_id", how="inner")
        .join(dead.select(target_id="cell_id", deleted="content"), on="target_id", how="inner")
        .select(shape)
    )


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
