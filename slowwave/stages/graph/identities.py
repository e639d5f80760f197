"""One person or thing under several names: what memories and their pages say of that, and what follows for names.

Pure functions. An identity says that whoever is described or called so (`name`) is another one (`same_as`); both are
names as they are compared. What a memory says word for word needs no model.
"""

import polars as pl

from slowwave.language.names import (
    is_ambiguous,
    is_description,
    is_relative,
    is_sole,
    plain_name,
    possessor,
    said_name,
    said_type,
    says_who,
    with_possessor,
)
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER, frame_schema
from slowwave.trust.origins import is_anybodys


def with_whole_descriptions(said: pl.DataFrame) -> pl.DataFrame:
    """Names with "his wife" as "Evan's wife", where the memory names Evan and no other person.

    `said` has `cell_id`, `name`, `entity_type`. The name as it stands in the text is `said_name`.
    """
    is_named = (pl.col("entity_type") == "person") & ~is_description(pl.col("name"))
    people = said.filter(is_named).group_by("cell_id").agg(person=pl.col("name").unique())
    alone = people.filter(pl.col("person").list.len() == 1).explode("person")
    joined = said.join(alone, on="cell_id", how="left", maintain_order="left")
    whole = with_possessor(pl.col("name"), pl.col("person"))
    return joined.with_columns(said_name="name", name=whole).drop("person")


def told_identities(said: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Identities that a memory says itself, as rows of `identities` but for `recorded_at`, sorted by their key.

    `said` has the people that cells name, as `with_whole_descriptions` gives them; `cells` has `cell_id`, `content`.
    """
    people = said.filter(pl.col("entity_type") == "person").join(
        cells.select("cell_id", "content"), on="cell_id"
    )
    described = people.filter(is_sole(pl.col("said_name")))
    named = people.filter(~is_description(pl.col("name"))).select("cell_id", person="name")
    pairs = described.join(named, on="cell_id").filter(
        ~is_relative(pl.col("name")),
        possessor(pl.col("name")) != pl.col("person"),
        says_who(pl.col("content"), pl.col("said_name"), pl.col("person")),
    )
    rows = pairs.with_columns(
        name=plain_name(pl.col("name")),
        same_as=plain_name(pl.col("person")),
        mention_count=pl.lit(1, dtype=pl.Int64),
        evidence=pl.concat_list("cell_id"),
        prompt_version=pl.lit(None, dtype=pl.String),
        model=pl.lit(None, dtype=pl.String),
    )
    return identified(rows)


def page_identities(cells: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """Identities that the extractor read off a page, as rows of `identities` but for `recorded_at`.

    `cells` has `page`, `aliases` (`Name = other name`) and the columns of `cells`; `pieces` are the texts of the pages.
    A name counts where its page has it and the memory does not name it as somebody else; nobody's word gives none.
    Rules join a first name with its full name already, and know when two people share one.
    """
    texts = pieces.group_by("page").agg(shown=pl.col("text").str.to_lowercase().str.join("\n"))
    told = cells.filter(~is_anybodys()).explode("aliases").drop_nulls("aliases")
    parted = told.join(texts, on="page", how="inner").with_columns(
        called=pl.col("aliases").str.extract("^(.+?) = "), other=pl.col("aliases").str.extract(" = (.+)$")
    )
    named = parted.with_columns(name=plain_name(pl.col("other")), same_as=plain_name(pl.col("called")))
    said = cells.select("cell_id", said="entities").explode("said").drop_nulls("said").unique()
    kinds = said.with_columns(same_as=plain_name(said_name(pl.col("said"))), kind=said_type(pl.col("said")))
    words, whole = (pl.col(name).str.split(" ") for name in ("name", "same_as"))
    is_first_name = (pl.col("kind") == "person") & (words.list.set_difference(whole).list.len() == 0)
    rows = (
        named.join(kinds.select("cell_id", "same_as", "kind"), on=["cell_id", "same_as"], how="inner")
        .join(kinds.select("cell_id", name="same_as"), on=["cell_id", "name"], how="anti")
        .filter(
            pl.col("shown").str.contains(pl.col("other").str.to_lowercase(), literal=True),
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
