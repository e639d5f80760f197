"""Grounding: an extracted memory must rest on its page.

A small model may copy the prompt's example, or make things up.
"""

import polars as pl

from slowwave.language.text import names, normalized, numbers
from slowwave.models.prompts import prompt_files

UNGROUNDED = "nothing on its page says it"

LEAST_SHARE = 0.5
"""Share of a memory's names and numbers that its page must hold. Dates are resolved, units spelled out, sums done and
people named where the page says "I", so not all of them can be asked for. Measured on four recordings: of 1,728
memories 1,727 pass on their own page (at .7 1,722: a sum beside one name is refused). Made up, the prompt's examples in
other words pass on the sample's pages in 27 % (.3: 42 %, .7: 10 %), memories of two other worlds in 29 to 31 %
(.7: 17 to 21 %).
"""


def grounded(cells: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """The rows of `cells` (with `page`) of which the names and numbers stand on their page, and none of the example.

    `pieces` has the `text` of each `page`: its turns, its speakers, the known memories and topics that it shows. Dates
    are no marks, nor are the years around that of its turn: "last year" gives them.
    """
    example = normalized_text(prompt_files()["extract_cells"].system)
    text = pl.col("text").str.join(" ")
    # number words count as their numbers on both sides, and a mark is a whole word: "30" is not in "1030"
    said = normalized(pl.concat_str(text, numbers(text).list.join(" "), separator=" "))
    pages = pieces.group_by("page").agg(on_page=pl.format(" {} ", said))
    content = pl.col("content")
    year = pl.col("event_time").dt.year()
    derived = pl.concat_list((year + shift).cast(pl.String) for shift in (-1, 0, 1))
    told = numbers(content.str.replace_all(r"\d{4}-\d{2}(-\d{2})?", "")).list.set_difference(derived)
    marked = cells.join(pages, on="page", how="left", maintain_order="left").with_columns(
        marks=pl.concat_list(names(content), told).list.eval(normalized(pl.element())).list.unique(),
        copied=pl.lit(example).str.contains(normalized(content), literal=True),
    )
    shares = (
        marked.select("cell_id", "on_page", mark="marks")
        .explode("mark")
        .filter(pl.col("mark").str.len_chars() > 0)
        .group_by("cell_id")
        .agg(share=pl.col("on_page").str.contains(pl.format(" {} ", "mark"), literal=True).mean())
    )
    kept = marked.join(shares, on="cell_id", how="left", maintain_order="left").filter(
        (pl.col("share").fill_null(1.0) >= LEAST_SHARE) & ~pl.col("copied")
    )
    return kept.select(cells.columns)


def normalized_text(text: str) -> str:
    """`normalized` of one text."""
    return str(pl.select(normalized(pl.lit(text))).item())
