"""The derived columns of `cells`: `head_id`, the end of a memory's chain, and `property`, the value that it claims.

With them a question reads everything that belongs to what it found in one condition, instead of walking links. They
follow from the rows alone, so the journal never carries them and a rebuild makes the same.
"""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from slowwave.language.text import plain_value
from slowwave.lifecycle.walker import ends
from slowwave.store.stored import Rows

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


def with_chains(
    store: Rows, rows: pl.DataFrame, known: pl.DataFrame, gone: pl.DataFrame, columns: Sequence[str]
) -> pl.DataFrame:
    """Rows of `cells` with their derived columns, and the rows of their chains whose end moves with them.

    `known` are the same rows as the store has them, `gone` those that leave it; `columns` are read of the others. All
    rows of a chain have one head, so the chains that a change touches are found by it, old and new. They are written
    together: cut off in between, nothing would tell that an end had moved.
    """
    was = known.select("cell_id", was="superseded_by", known=pl.lit(value=True))
    links = rows.select("cell_id", "superseded_by").join(was, on="cell_id", how="left")
    moved = links.filter(pl.col("known").is_null() | pl.col("superseded_by").ne_missing(pl.col("was")))
    heads = dict(known.select("cell_id", "head_id").iter_rows())
    if moved.is_empty() and gone.is_empty():
        return with_derived(rows, heads)
    left = known.join(moved, on="cell_id", how="semi")["head_id"]
    joined = pl.concat([moved["superseded_by"], moved["was"]]).drop_nulls().unique()
    targets = store.by_key("cells", joined, ["cell_id", "head_id"])["head_id"]
    ends_gone = [gone["cell_id"], gone["head_id"]]
    named = pl.concat([moved["cell_id"], left, joined, targets, *ends_gone]).drop_nulls().unique()
    members = store.having("cells", "head_id", named, columns)
    given = pl.concat([rows["cell_id"], gone["cell_id"]])
    others = members.filter(~pl.col("cell_id").is_in(given.implode()))
    links_now = [part.select("cell_id", "superseded_by") for part in (others, rows)]
    heads |= heads_of(pl.concat(links_now, how="vertical_relaxed").iter_rows())
    changed = with_derived(others, heads)
    changed = changed.filter(changed["head_id"].ne_missing(others["head_id"]))
    made = with_derived(rows, heads)
    return pl.concat([made, changed.select(made.columns).cast(dict(made.schema.items()))])
