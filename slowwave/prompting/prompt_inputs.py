"""Items of the prompt pages: one small frozen row for each numbered item.

Numbers are those of the page, from 1 on, and are what a model's answer may name. Dates are ISO texts. Text
fields come from the store as they are; the prompt gateway fences them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from slowwave.schemas.moments import days_of

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One message of a conversation, or one section of a file; `is_read` where it is shown as context only."""

    number: int
    speaker: str
    role: str
    date: str
    text: str
    is_read: bool = False


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
class DeletedCell:
    """A memory that a person deleted."""

    number: int
    content: str


@dataclass(frozen=True, slots=True)
class TopicCell:
    """A live memory of a topic."""

    number: int
    cell_type: str
    date: str
    content: str


@dataclass(frozen=True, slots=True)
class TopicLine:
    """A topic that there is; `cell_count` live memories."""

    number: int
    name: str
    cell_count: int


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A memory that is to be filed, in its first words."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class PersonLine:
    """A person with memories, each as one dated text."""

    number: int
    name: str
    memories: tuple[str, ...]


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
    """A candidate for core memory with its usage record; `is_wish` for a standing wish of a person."""

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
    is_wish: bool = False


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question about a page of memory."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class ReaderPage:
    """A page of memory for a reader, and the questions about it; questions are numbered through all pages."""

    number: int
    date: str
    text: str
    questions: Sequence[AskedQuestion]


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """A question with the right answer and a given one."""

    number: int
    question: str
    right: str
    given: str


def told_date() -> pl.Expr:
    """`valid_from` as exactly as it was told: YYYY-MM-DD, YYYY-MM or YYYY, by `valid_precision`; null is a day."""
    date, precision = pl.col("valid_from"), pl.col("valid_precision")
    formats = {"month": "%Y-%m", "year": "%Y"}
    exact = [pl.when(precision == name).then(date.dt.strftime(form)) for name, form in formats.items()]
    return pl.coalesce(*exact, days_of(date))


def items(kind: Callable[..., Item], rows: pl.DataFrame, *, first: int = 1) -> list[Item]:
    """Rows as items, counted from `first` unless they have a `number`; a time is its date, and a null is ""."""
    numbered = rows if "number" in rows.columns else rows.with_row_index("number", offset=first)
    dates = days_of(pl.selectors.datetime()).fill_null("")
    shown = numbered.with_columns(pl.col(pl.String).fill_null(""), dates)
    return [kind(**row) for row in shown.iter_rows(named=True)]


def items_by(kind: Callable[..., Item], rows: pl.DataFrame) -> dict[object, list[Item]]:
    """The items of every page, by the first column of `rows`, which names it."""
    pages = rows.partition_by(rows.columns[0], as_dict=True, include_key=False)
    return {key: items(kind, page) for (key,), page in pages.items()}


def topic_lines(cells: pl.DataFrame, *, first: int = 1) -> list[TopicCell]:
    """Rows of `cells` in their order, numbered from `first` on."""
    return items(TopicCell, cells.select("cell_type", "content", date=told_date()), first=first)
