"""Items of the prompt pages: one small frozen row for each numbered item.

Numbers are those of the page, from 1 on, and are what a model's answer may name. Dates are ISO texts. Text
fields come from the store as they are; the prompt gateway fences them.
"""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One message of a conversation, or one section of a file."""

    number: int
    speaker: str
    role: str
    date: str
    text: str


@dataclass(frozen=True, slots=True)
class KnownCell:
    """A memory that the extractor is shown; "" where it has no topic, subject, attribute or value."""

    number: int
    cell_type: str
    topic: str
    subject: str
    attribute: str
    value: str
    date: str
    content: str


@dataclass(frozen=True, slots=True)
class PageCell:
    """A memory of a reconciliation page; `date` is its `valid_from`, `said_by` a person's name, else its origin."""

    number: int
    is_new: bool
    cell_type: str
    subject: str
    attribute: str
    value: str
    date: str
    said_by: str
    content: str


@dataclass(frozen=True, slots=True)
class ReviewedCell:
    """A memory that rests on others which changed; `date` is its `valid_from`."""

    cell_type: str
    subject: str
    attribute: str
    value: str
    date: str
    content: str


@dataclass(frozen=True, slots=True)
class DeletedCell:
    """A memory that a person deleted."""

    number: int
    content: str


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One change of what a memory rests on; `date` is since when the new one holds."""

    number: int
    is_correction: bool
    date: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TopicCell:
    """A live memory of a topic."""

    number: int
    cell_type: str
    date: str
    content: str


def topic_lines(cells: pl.DataFrame, *, first: int = 1) -> list[TopicCell]:
    """Rows of `cells` in their order, numbered from `first` on."""
    return [
        TopicCell(number, row["cell_type"], f"{row['valid_from']:%Y-%m-%d}", row["content"])
        for number, row in enumerate(cells.iter_rows(named=True), start=first)
    ]


@dataclass(frozen=True, slots=True)
class EpisodeCell:
    """A memory of a conversation; `replaced_by` is what holds since `replaced_date`, both "" while it holds itself."""

    number: int
    cell_type: str
    date: str
    content: str
    replaced_by: str
    replaced_date: str


@dataclass(frozen=True, slots=True)
class CandidateCell:
    """A candidate for core memory with its usage record."""

    number: int
    cell_type: str
    content: str
    salience: float
    retrievals: int
    citations: int
    confirmations: int
    date: str
    is_core: bool
    ignores: int = 0
