"""The chains that memories already belong to: who superseded whom on earlier nights, and by a person's word."""

import polars as pl

from slowwave.chains.timelines import pair_key
from slowwave.store import Store, col, lit

PERSON = "person"
"""`prompt_version` of a judgement that a person made."""


def with_earlier_links(
    store: Store, retiring: pl.DataFrame, cells: pl.DataFrame, *, has_person: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Pairs (`cell_id`, `target_id`, `verdict`) with the chains that their cells belong to, and all cells of these.

    What a person decided is no link unless `has_person`: dates put the cells of a chain into their order, and
    cannot undo a person's word.
    """
    links, members = retiring, cells
    frontier = pl.concat([retiring["cell_id"], retiring["target_id"]]).unique()
    seen = set(frontier)
    while len(frontier):
        known = store.by_key("cells", frontier)
        before = store.rows("cells", where=col("superseded_by").isin(frontier.to_list()))
        around = pl.concat(
            [known, before, store.by_key("cells", known["superseded_by"].drop_nulls())]
        ).unique("cell_id")
        found = links_of(store, around, has_person=has_person)
        links = pl.concat([links, found]).unique(["cell_id", "target_id"], keep="first", maintain_order=True)
        reached = pl.concat([found["cell_id"], found["target_id"], frontier]).unique()
        around = around.filter(pl.col("cell_id").is_in(reached.implode()))
        members = pl.concat([members, around.select(members.columns)]).unique("cell_id")
        frontier = reached.filter(~reached.is_in(list(seen)))
        seen |= set(frontier)
    return links, members


def links_of(store: Store, around: pl.DataFrame, *, has_person: bool = False) -> pl.DataFrame:
    """Links (`cell_id`, `target_id`, `verdict`) of superseded cells to the values that followed theirs."""
    linked = around.drop_nulls("superseded_by").filter(pl.col("valid_until").is_not_null())
    judged = _retiring_judgements(store, linked["cell_id"])
    pairs = linked.with_columns(pair=pair_key("cell_id", "superseded_by"))
    if not has_person:
        by_person = judged.filter(pl.col("prompt_version") == PERSON)["pair"]
        pairs = pairs.filter(~pl.col("pair").is_in(by_person.implode()))
    corrected = pl.col("pair").is_in(judged.filter(pl.col("verdict") == "corrects")["pair"].implode())
    return pairs.select(
        cell_id="superseded_by",
        target_id="cell_id",
        verdict=pl.when(corrected).then(pl.lit("corrects")).otherwise(pl.lit("updates")),
    )


def _retiring_judgements(store: Store, cell_ids: pl.Series) -> pl.DataFrame:
    """`pair`, `verdict`, `prompt_version` of earlier judgements that retired one of these cells."""
    ids = cell_ids.to_list()
    either = col("target_id").isin(ids) | col("cell_id").isin(ids)
    columns = ["cell_id", "target_id", "verdict", "prompt_version"]
    judged = store.rows("judgements", columns, either & (col("effect") == lit("superseded")))
    return judged.select("verdict", "prompt_version", pair=pair_key("cell_id", "target_id"))
