"""The short forms of a memory, an index label and a compressed line, from its row and its own words.

No sentence is cut: a memory without a short whole form has none, and is shown longer.
"""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.journal.plan import Plan
from slowwave.language.text import sentences, single_spaced, without_speakers, word_count, words
from slowwave.schemas.table_parts import nullable
from slowwave.store import col, lit
from tasks.extractive import brief, is_telling
from tasks.frames import Frame
from tasks.step import Readable, step

LABEL_WORDS = 4
COMPRESSED_WORDS = 12
LEAST_WORDS = 3


class UnlabelledCells(Frame):
    """Active memories that lack an index label."""

    cell_id: str
    subject: str = nullable()
    attribute: str = nullable()
    value: str = nullable()
    topic_hint: str = nullable()
    content: str
    summary: str = nullable()
    supersedes: str = nullable()
    compressed: str = nullable()
    index_label: str = nullable()


@step
def find_unlabelled_cells(reader: Readable) -> DataFrame[UnlabelledCells]:
    """Active memories without a label, by id; both short forms are made at once, and a compressed line may be none."""
    where = (col("status") == lit("active")) & col("index_label").is_null()
    return UnlabelledCells.of(reader.store.rows("cells", UnlabelledCells.names(), where).sort("cell_id"))


@step
def plan_short_forms(cells: DataFrame[UnlabelledCells]) -> Plan:
    """The short forms that the memories lack."""
    return Plan(events={"cell.labelled": short_forms(cells)})


def short_forms(cells: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `compressed` (null for none), `index_label` of rows of `UnlabelledCells`.

    A form that is there stays. A label has one to four words joined by `_`: of the subject, else of the topic, else
    of the text, the ones that say what it is about first; `memory` for a text without a word. The compressed line has
    twelve words at most: the property with its value, else the extractor's brief, else the text's first whole clause.
    """
    content = words(without_speakers(pl.col("content")))
    label = pl.coalesce(
        "index_label",
        _joined(words(pl.col("subject"))),
        _joined(words(pl.col("topic_hint"))),
        _joined(
            content.list.eval(pl.element().filter(is_telling(pl.element()))).list.unique(maintain_order=True)
        ),
        _joined(content),
        pl.lit("memory"),
    )
    attribute = (
        pl.when(pl.col("attribute") != "status").then(pl.format(", {}", "attribute")).otherwise(pl.lit(""))
    )
    row = pl.format("{}{}: {}", "subject", attribute, "value")
    lines = [_short(row), _short(brief()), first_clause(pl.col("content"), COMPRESSED_WORDS)]
    compressed = pl.coalesce("compressed", *(pl.when(line != pl.col("content")).then(line) for line in lines))
    return cells.select("cell_id", compressed=compressed, index_label=label)


def first_clause(content: pl.Expr, most: int) -> pl.Expr:
    """The first sentence of three words or more, or what it says before a colon or semicolon; null if too long."""
    first = first_sentence(content)
    clause = first.str.extract(r"^(.+?)[;:]\s")
    whole = pl.when(word_count(clause) >= LEAST_WORDS).then(clause)
    return pl.coalesce(_short(first, most), _short(whole, most))


def first_sentence(content: pl.Expr) -> pl.Expr:
    """The first sentence of three words or more, without who said it; null for none."""
    is_long_enough = word_count(pl.element()) >= LEAST_WORDS
    return sentences(without_speakers(content)).list.eval(pl.element().filter(is_long_enough)).list.first()


# Inside


def _short(text: pl.Expr, most: int = COMPRESSED_WORDS) -> pl.Expr:
    """The text in one line; null for one with more words, or that was cut before."""
    line = single_spaced(text)
    return pl.when((line != "") & (word_count(line) <= most) & ~line.str.contains(r"(?:\.\.\.|…)$")).then(
        line
    )


def _joined(found: pl.Expr) -> pl.Expr:
    """The first words as a label; null for none."""
    label = found.list.head(LABEL_WORDS).list.join("_")
    return pl.when(label != "").then(label)
