"""Items of the prompt pages: rows of frames as the templates read them.

Numbers are those of the page, from 1 on, and are what a model's answer may name. Dates are ISO texts. Text
fields come from the store as they are; the templates fence them.
"""

from typing import Any

import polars as pl

from slowwave.schemas.moments import days_of

Row = dict[str, Any]
"""One item of a page, by the names that its prompt's template reads."""


def told_date() -> pl.Expr:
    """`valid_from` as exactly as it was told: YYYY-MM-DD, YYYY-MM or YYYY, by `valid_precision`; null is a day."""
    date, precision = pl.col("valid_from"), pl.col("valid_precision")
    formats = {"month": "%Y-%m", "year": "%Y"}
    exact = [pl.when(precision == name).then(date.dt.strftime(form)) for name, form in formats.items()]
    return pl.coalesce(*exact, days_of(date))


def page_rows(frame: pl.DataFrame) -> list[Row]:
    """Rows counted from 1 unless they have a `number`; a time is its date, and a null text is ""."""
    numbered = frame if "number" in frame.columns else frame.with_row_index("number", offset=1)
    dates = days_of(pl.selectors.datetime()).fill_null("")
    return numbered.with_columns(pl.col(pl.String).fill_null(""), dates).to_dicts()


def rows_by_page(frame: pl.DataFrame) -> dict[object, list[Row]]:
    """The rows of every page, by the first column, which names it."""
    pages = frame.partition_by(frame.columns[0], as_dict=True, include_key=False)
    return {key: page_rows(page) for (key,), page in pages.items()}


def cell_rows(cells: pl.DataFrame) -> list[Row]:
    """Memories in their order, as pages show them that have nothing to say but what was remembered, and when."""
    return page_rows(cells.select("cell_type", "content", date=told_date()))


def numbers_of(rows: list[Row]) -> set[int]:
    """The numbers that an answer may name."""
    return {row["number"] for row in rows}
