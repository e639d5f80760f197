"""Conditions on rows: said once, understood by LanceDB on disk and by tables in memory.

A comparison with null does not hold, and there is no negation that could turn it: so both readings
agree. Values are values, never parts of a query text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import polars as pl
from lancedb.expr import Expr as LanceExpr
from lancedb.expr import col as lance_col
from lancedb.expr import lit as lance_lit

from slowwave.errors import ContractError

Value = str | bool | int | float | datetime
Operator = Literal["==", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Lit:
    """A constant."""

    value: Value


class Column:
    """A column by name, to be compared."""

    def __init__(self, name: str) -> None:
        self.name = name

    __hash__ = None  # type: ignore[assignment]  # a comparison is a condition, not an answer

    def __eq__(self, other: Lit) -> "Expr":  # type: ignore[override]
        return Compare(self.name, "==", other.value)

    def __ne__(self, other: Lit) -> "Expr":  # type: ignore[override]
        return Compare(self.name, "!=", other.value)

    def __lt__(self, other: Lit) -> "Expr":
        return Compare(self.name, "<", other.value)

    def __le__(self, other: Lit) -> "Expr":
        return Compare(self.name, "<=", other.value)

    def __gt__(self, other: Lit) -> "Expr":
        return Compare(self.name, ">", other.value)

    def __ge__(self, other: Lit) -> "Expr":
        return Compare(self.name, ">=", other.value)

    def isin(self, values: Iterable[str]) -> "Expr":
        """Whether the column has one of these texts."""
        return IsIn(self.name, tuple(dict.fromkeys(values)))


def col(name: str) -> Column:
    """The column of this name."""
    return Column(name)


def lit(value: Value) -> Lit:
    """A constant."""
    return Lit(value)


@dataclass(frozen=True)
class Expr:
    """A condition on rows."""

    def __and__(self, other: "Expr") -> "Expr":
        return And(self, other)

    def __or__(self, other: "Expr") -> "Expr":
        return Or(self, other)


@dataclass(frozen=True)
class Compare(Expr):
    """A column against a constant."""

    column: str
    operator: Operator
    value: Value


@dataclass(frozen=True)
class IsIn(Expr):
    """A column that has one of several texts."""

    column: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class And(Expr):
    """Both hold."""

    left: Expr
    right: Expr


@dataclass(frozen=True)
class Or(Expr):
    """At least one holds."""

    left: Expr
    right: Expr


def columns_of(where: Expr) -> set[str]:
    """The columns that a condition names."""
    match where:
        case And(left, right) | Or(left, right):
            return columns_of(left) | columns_of(right)
        case IsIn(column, _) | Compare(column, _, _):
            return {column}
    raise ContractError(f"{where!r} is no condition")


def on_disk(where: Expr) -> LanceExpr:
    """A condition as LanceDB takes it."""
    match where:
        case And(left, right):
            return on_disk(left) & on_disk(right)
        case Or(left, right):
            return on_disk(left) | on_disk(right)
        case IsIn(column, values):
            return lance_col(column).isin(list(values) or [""])  # an empty list is no SQL
        case Compare(column, operator, value):
            there, constant = lance_col(column), lance_lit(value)
            named = {
                "==": there.eq,
                "!=": there.ne,
                "<": there.lt,
                "<=": there.lte,
                ">": there.gt,
                ">=": there.gte,
            }
            return named[operator](constant)
    raise ContractError(f"{where!r} is no condition")


def in_memory(where: Compare | IsIn) -> pl.Expr:
    """A single comparison as Polars takes it; null where the column is null."""
    there = pl.col(where.column)
    if isinstance(where, IsIn):
        return there.is_in(list(where.values))
    constant = pl.lit(where.value)
    named = {
        "==": there.eq,
        "!=": there.ne,
        "<": there.lt,
        "<=": there.le,
        ">": there.gt,
        ">=": there.ge,
    }
    return named[where.operator](constant)


def as_filter(where: Expr) -> pl.Expr:
    """A whole condition as Polars takes it; what cannot be said for want of a value does not hold."""
    if isinstance(where, And):
        return as_filter(where.left) & as_filter(where.right)
    if isinstance(where, Or):
        return as_filter(where.left) | as_filter(where.right)
    assert isinstance(where, (Compare, IsIn))  # there is nothing else
    return in_memory(where).fill_null(value=False)
