"""Conditions on rows: said once, understood by LanceDB on disk and by tables in memory.

A comparison with null does not hold, and there is no negation that could turn it: so both readings agree. Whether a
column is null is asked by `is_null` and `is_not_null`. Values are values, never parts of a query text.
"""

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Literal

import polars as pl
from lancedb.expr import Expr as LanceExpr
from lancedb.expr import col as lance_col
from lancedb.expr import lit as lance_lit

from slowwave.errors import ContractError

Value = str | bool | int | float | datetime
Operator = Literal["==", "!=", "<", "<=", ">", ">="]

_OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


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
        """Return whether the column has one of these texts."""
        return IsIn(self.name, tuple(dict.fromkeys(values)))

    def is_null(self) -> "Expr":
        """Return whether the column has no value."""
        return IsNull(self.name, holds=True)

    def is_not_null(self) -> "Expr":
        """Return whether the column has a value."""
        return IsNull(self.name, holds=False)


col = Column
lit = Lit


@dataclass(frozen=True)
class Expr:
    """A condition on rows."""

    def __and__(self, other: "Expr") -> "Expr":
        return And(self, other)

    def __or__(self, other: "Expr") -> "Expr":
        return Or(self, other)


def is_none_of(column: str, values: Iterable[str]) -> Expr:
    """Return whether a column has none of these texts, of which there is one at least."""
    return reduce(operator.and_, (col(column) != lit(value) for value in values))


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
class IsNull(Expr):
    """A column without a value, or where it does not hold one with a value."""

    column: str
    holds: bool


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


def _comparisons(where: Expr) -> Iterator[Compare | IsIn | IsNull]:
    """The parts of a condition that look at a column."""
    match where:
        case And(left, right) | Or(left, right):
            yield from _comparisons(left)
            yield from _comparisons(right)
        case Compare() | IsIn() | IsNull():
            yield where
        case _:
            raise ContractError(f"{where!r} is no condition")


def columns_of(where: Expr) -> set[str]:
    """The columns that a condition names."""
    return {part.column for part in _comparisons(where)}


def on_disk(where: Expr) -> LanceExpr | str:
    """A condition as LanceDB takes it: an expression, or SQL where it asks for null, which expressions cannot say."""
    asks_for_null = any(isinstance(part, IsNull) for part in _comparisons(where))
    return _sql(where) if asks_for_null else _expression(where)


def _expression(where: Expr) -> LanceExpr:
    match where:
        case And(left, right):
            return _expression(left) & _expression(right)
        case Or(left, right):
            return _expression(left) | _expression(right)
        case IsIn(column, values):
            return lance_col(column).isin(list(values) or [""])  # an empty list is no SQL
        case Compare(column, sign, value):
            compared: LanceExpr = _OPERATORS[sign](lance_col(column), lance_lit(value))
            return compared
    raise ContractError(f"{where!r} is no condition")


def _sql(where: Expr) -> str:
    match where:
        case And(left, right):
            return f"({_sql(left)} AND {_sql(right)})"
        case Or(left, right):
            return f"({_sql(left)} OR {_sql(right)})"
        case IsNull(column, holds):
            return f"{_named(column)} IS {'' if holds else 'NOT '}NULL"
        case IsIn(column, values):
            return f"{_named(column)} IN ({', '.join(map(_literal, values or ('',)))})"
        case Compare(column, sign, value):
            return f"{_named(column)} {'=' if sign == '==' else sign} {_literal(value)}"
    raise ContractError(f"{where!r} is no condition")


def _named(column: str) -> str:
    if not column.isidentifier():
        raise ContractError(f"there is no column {column!r}")
    return f"`{column}`"


def _literal(value: Value) -> str:
    """A value in SQL. A backslash is a letter like any other there; `Expr.to_sql` does not know that."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return f"TIMESTAMP '{value.astimezone(UTC).isoformat()}'"
    return repr(value)


def as_filter(where: Expr) -> pl.Expr:
    """A condition as Polars takes it; a comparison with a value that is not there does not hold."""
    match where:
        case And(left, right):
            return as_filter(left) & as_filter(right)
        case Or(left, right):
            return as_filter(left) | as_filter(right)
        case IsNull(column, holds):
            return pl.col(column).is_null() if holds else pl.col(column).is_not_null()
        case IsIn(column, values):
            return pl.col(column).is_in(list(values)).fill_null(value=False)
        case Compare(column, sign, value):
            compared: pl.Expr = _OPERATORS[sign](pl.col(column), pl.lit(value))
            return compared.fill_null(value=False)
    raise ContractError(f"{where!r} is no condition")
