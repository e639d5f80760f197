"""The short forms of a memory in its own words: an index label and a compressed line, without a language model."""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.journal.plan import Plan
from slowwave.language.sentences import sentences, shortened, word_count
from slowwave.language.text import without_speakers, words
from slowwave.schemas.table_parts import nullable
from slowwave.store import col, lit
from tasks.extractive import is_telling
from tasks.frames import Frame
from tasks.step import Readable, step

LABEL_WORDS = 3
COMPRESSED_WORDS = 12
LEAST_WORDS = 3


class UnlabelledCells(Frame):
    """Active memories that lack an index label or a compressed line."""

    cell_id: str
    subject: str = nullable()
    topic_hint: str = nullable()
    content: str
    compressed: str = nullable()
    index_label: str = nullable()


@step
def find_unlabelled_cells(reader: Readable) -> DataFrame[UnlabelledCells]:
    """Active memories that lack a short form, by id."""
    is_lacking = col("index_label").is_null() | col("compressed").is_null()
    where = (col("status") == lit("active")) & is_lacking
    return UnlabelledCells.of(reader.store.rows("cells", UnlabelledCells.names(), where).sort("cell_id"))


@step
def plan_short_forms(cells: DataFrame[UnlabelledCells]) -> Plan:
    """The short forms that the memories lack."""
    return Plan(events={"cell.labelled": short_forms(cells)})


def short_forms(cells: pl.DataFrame) -> pl.DataFrame:
    """`cell_id`, `compressed`, `index_label` of rows of `UnlabelledCells`, none of them null or empty.

    A form that is there stays. A label has one to three words joined by `_`: of the subject, else of the topic, else
    of the text, the ones that say what it is about first; `memory` for a text without a word.
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
    compressed = pl.coalesce("compressed", compressed_line(pl.col("content")))
    return cells.select("cell_id", compressed=compressed, index_label=label)


def compressed_line(content: pl.Expr) -> pl.Expr:
    """The first sentence of three words or more, at most 12 words of it; never empty."""
    long_enough = pl.element().filter(word_count(pl.element()) >= LEAST_WORDS)
    first = sentences(without_speakers(content)).list.eval(long_enough).list.first()
    line = shortened(pl.coalesce(first, content), COMPRESSED_WORDS)
    return pl.when(line == "").then(pl.lit("(no words)")).otherwise(line)


# Inside


def _joined(found: pl.Expr) -> pl.Expr:
    """The first words as a label; null for none."""
    label = found.list.head(LABEL_WORDS).list.join("_")
    return pl.when(label != "").then(label)
