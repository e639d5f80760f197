"""Queries of one table, answered alike on disk and in memory: the best rows, those of a condition, or the first."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowwave.store.conditions import Expr

Row = dict[str, Any]
"""A row that was found: its columns by name."""


@dataclass(frozen=True)
class SearchQuery:
    """The union of the `k` rows that match `words` best, of the `k` nearest to `vector`, and of the rows of `also`.

    Every row has the key, `columns`, `text_score` (BM25, 0 without a match), `similarity` (cosine, 0 without a
    vector) and `held`, the terms of the words that its fields have (`held_terms`), whichever list brought it. With
    `parts`, the best `k` of the rows of each of these conditions.
    """

    table: str
    words: str
    vector: NDArray[np.float32] | None
    k: int
    where: Expr | None
    columns: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    parts: tuple[Expr, ...] = ()


FOUND = ("text_score", "similarity", "held")
"""The columns that a search adds to a row."""


@dataclass(frozen=True)
class RowsQuery:
    """The named columns of the rows that a condition holds for."""

    table: str
    columns: tuple[str, ...]
    where: Expr | None


@dataclass(frozen=True)
class FirstQuery:
    """The named columns of the first `k` rows that a condition holds for: highest `by` first, ties by key."""

    table: str
    by: str
    k: int
    where: Expr | None
    columns: tuple[str, ...]


Query = SearchQuery | RowsQuery | FirstQuery
