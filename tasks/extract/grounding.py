"""Grounding: an extracted memory must rest on its page.

A small model may copy the prompt's example, or make things up.
"""

import polars as pl

from slowwave.language.text import names, normalized, numbers
from slowwave.models.prompts import prompt_files

UNGROUNDED = "nothing on its page says it"

LEAST_SHARE = 0.5
"""Share of a memory's names and numbers that its page must hold. Dates are resolved, units spelled out, sums done and
people named where the page says "I", so not all of them can be asked for. A judgement, and no measured figure: a memory
whose only mark is a year that was worked out ("last year") is refused with it."""


def grounded(cells: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """The rows of `cells` (with `page`) of which the names and numbers stand on their page, and none of the example.

    `pieces` has the `text` of each `page`: its turns, its speakers, and the known memories that it shows.
    """
    example = normalized_text(prompt_files()["extract_cells"].system)
    pages = pieces.group_by("page").agg(on_page=normalized(pl.col("text").str.join(" ")))
    content = pl.col("content")
    marks = pl.concat_list(names(content), numbers(content.str.replace_all(r"\d{4}-\d{2}(-\d{2})?", "")))
    marked = cells.join(pages, on="page", how="left", maintain_order="left").with_columns(
        marks=marks.list.eval(normalized(pl.element())).list.unique(),
        copied=pl.lit(example).str.contains(normalized(content), literal=True),
    )
    shares = (
        marked.select("cell_id", "on_page", mark="marks")
        .explode("mark")
        .filter(pl.col("mark").str.len_chars() > 0)
        .group_by("cell_id")
        .agg(share=pl.col("on_page").str.contains(pl.col("mark"), literal=True).mean())
    )
    kept = marked.join(shares, on="cell_id", how="left", maintain_order="left").filter(
        (pl.col("share").fill_null(1.0) >= LEAST_SHARE) & ~pl.col("copied")
    )
    return kept.select(cells.columns)


def normalized_text(text: str) -> str:
    """`normalized` of one text."""
    return str(pl.select(normalized(pl.lit(text))).item())
