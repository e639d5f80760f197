"""The derived columns of `cells`: `head_id`, the end of a memory's chain, and `property`, the value that it claims.

With them a question reads everything that belongs to what it found in one condition, instead of walking links. They
follow from the rows alone, so the journal never carries them and a rebuild makes the same.
"""

from collections.abc import Iterable, Mapping

import polars as pl

from slowwave.language.text import plain_value
from slowwave.lifecycle.walker import ends

SEPARATOR = "\x1f"
"""Between subject and attribute of a property: a control character, which no cleaned text holds."""


def property_key() -> pl.Expr:
    """Subject and attribute as they are compared, without case, outer dots and runs of blanks; null without both."""
    return pl.concat_str(plain_value(pl.col("subject", "attribute")), separator=SEPARATOR)


def heads_of(links: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The end of the chain of each id; an id that nothing follows is its own end. `links` are ids and successors."""
    named = dict(links)
    last = ends({name: after for name, after in named.items() if after})
    return {name: last.get(name, name) for name in named}


def with_derived(rows: pl.DataFrame, heads: Mapping[str, str]) -> pl.DataFrame:
    """Rows of `cells` with both columns; the head of an id that `heads` lacks is itself."""
    own = rows["cell_id"]
    named = pl.Series([heads.get(cell_id, cell_id) for cell_id in own], dtype=pl.String)
    return rows.with_columns(head_id=named, property=property_key())
