"""Identities: a description or another name (`name`) of a person or thing (`same_as`), both as names are compared.

Pure functions. The extractor reads them off a page, or the night's question about people finds them.
"""

import polars as pl

from slowwave.language.names import (
    is_ambiguous,
    is_description,
    is_relative,
    plain_name,
    said_name,
    said_type,
)
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER, frame_schema
from slowwave.trust.origins import is_anybodys


def page_identities(cells: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """Identities that the extractor read off a page, as rows of `identities` but for `recorded_at`.

    `cells` has `page`, `aliases` (`Name = other name`) and the columns of `cells`; `pieces` are the texts of the pages.
    An alias counts if its page has it and the memory does not list it as an entity of its own, which a description may
    be ("Mara (person)", "Ines's wife (person)"). Memories that nobody answers for give none. First names are left to
    the rules of entities, which know when two people share one.
    """
    texts = pieces.group_by("page").agg(shown=pl.col("text").str.to_lowercase().str.join("\n"))
    split = cells.filter(~is_anybodys()).explode("aliases").drop_nulls("aliases")
    split = split.join(texts, on="page", how="inner").with_columns(
        called=pl.col("aliases").str.extract("^(.+?) = "), other=pl.col("aliases").str.extract(" = (.+)$")
    )
    named = split.with_columns(name=plain_name(pl.col("other")), same_as=plain_name(pl.col("called")))
    said = cells.select("cell_id", said="entities").explode("said").drop_nulls("said").unique()
    listed = said.with_columns(plain=plain_name(said_name(pl.col("said"))), kind=said_type(pl.col("said")))
    kinds = listed.select("cell_id", "kind", same_as="plain")
    separate = listed.select("cell_id", name="plain", is_listed=pl.lit(value=True)).unique()
    words, whole = (pl.col(name).str.split(" ") for name in ("name", "same_as"))
    is_first_name = (pl.col("kind") == "person") & (words.list.set_difference(whole).list.len() == 0)
    rows = (
        named.join(kinds, on=["cell_id", "same_as"], how="inner")
        .join(separate, on=["cell_id", "name"], how="left")
        .filter(
            pl.col("shown").str.contains(pl.col("other").str.to_lowercase(), literal=True),
            pl.col("is_listed").is_null() | is_description(pl.col("other")),
            ~is_relative(pl.col("other")),
            ~is_ambiguous(pl.col("name")),
            ~is_first_name,
            pl.col("name") != pl.col("same_as"),
        )
        .with_columns(mention_count=pl.lit(1, dtype=pl.Int64), evidence=pl.concat_list("cell_id"))
    )
    return identified(rows)


def identified(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with their key, in the shape of `identities` but for `recorded_at`: once for each pair and its evidence."""
    of = rows.select(*OWNER, "name", "same_as", pl.col("evidence").list.join(","))
    names = [name for name in frame_schema("identities").names() if name != "recorded_at"]
    return (
        rows.with_columns(stable_ids("identity", of)).select(names).unique("identity_id").sort("identity_id")
    )
