"""The chains that memories already belong to: who superseded whom on earlier nights, and by a person's edit."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from slowwave.chains.timelines import pair_key
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import RAW_PROMPT, frame_schema
from slowwave.store import StoreReader, col, lit
from slowwave.walker import ends, walk

PERSON = "person"
"""`prompt_version` of a judgement that a person made."""

PAIR = ["cell_id", "target_id"]

EXTRACTED = (col("cell_type") != lit(EPISODE)) & (col("prompt_version") != lit(RAW_PROMPT))
"""Memories that a model or a person made: neither raw ones nor episodes."""


@dataclass(frozen=True)
class StoredChains:
    """Judged pairs together with the chains that the store has of their memories.

    `links` has `cell_id`, `target_id`, `verdict` (whose value followed whose), `repeats` has `cell_id`, `target_id`
    (said again), `members` the rows of `cells`, `by_person` the ids of those that a person's edit retired.
    """

    links: pl.DataFrame
    repeats: pl.DataFrame
    members: pl.DataFrame
    by_person: pl.Series


def read_chains(
    store: StoreReader,
    cell_ids: Iterable[str],
    columns: Sequence[str] | None = None,
    *,
    way: Literal["before", "after", "both"] = "both",
    ties: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Memories, then those before or after them in their chains: columns of `cells`, nearest first, each row once.

    `ties` keeps those of the superseded memories that it is given over whose link the walk may go.
    """
    names = list(columns or frame_schema("cells").names())
    read = list(dict.fromkeys([*names, "cell_id", "superseded_by", "valid_from"]))
    found = [store.by_key("cells", cell_ids, read)]

    def reach(ids: list[str]) -> pl.Series:
        after = found[0] if len(found) == 1 else store.by_key("cells", ids if way != "before" else [], read)
        before = store.having("cells", "superseded_by", ids if way != "after" else [], read)
        found.extend([after, before.sort("valid_from", "cell_id")])
        around = pl.concat([after, before]).unique("cell_id").drop_nulls("superseded_by")
        tied = around if ties is None else ties(around)
        reached = {"before": tied["cell_id"], "after": tied["superseded_by"]}
        return pl.concat([reached[way]] if way in reached else list(reached.values()))

    walk(cell_ids, reach)
    return pl.concat(found).unique("cell_id", keep="first", maintain_order=True).select(names)


def standing_ends(store: StoreReader, cell_ids: pl.Series) -> dict[str, str]:
    """The memory at the end of each one's chain (itself where nothing came after), where that one stands."""
    cells = read_chains(store, cell_ids, ["cell_id", "status", "superseded_by"], way="after")
    is_gone = pl.col("status") == "superseded"
    replaced = cells.filter(is_gone).drop_nulls("superseded_by")
    last = ends(dict(replaced.select("cell_id", "superseded_by").iter_rows()))
    standing = set(cells.filter(~is_gone)["cell_id"])
    return {cell: end for cell in cell_ids if (end := last.get(cell, cell)) in standing}


def with_stored_chains(
    store: StoreReader,
    retiring: pl.DataFrame,
    repeating: pl.DataFrame | None = None,
    *,
    has_person: bool = False,
) -> StoredChains:
    """Pairs (`cell_id`, `target_id`, and `verdict` of `retiring`) with the chains that their memories belong to.

    What a person decided is no link unless `has_person`: dates put the memories of a chain into their order, and
    cannot undo a person's edit.
    """
    repeating = retiring.select(PAIR).clear() if repeating is None else repeating
    said = (col("prompt_version") == lit(PERSON)) & (col("effect") == lit("superseded"))
    decided = store.rows("judgements", PAIR, said).select(pair=pair_key(*PAIR))

    def by_person(cells: pl.DataFrame) -> pl.DataFrame:
        pairs = cells.drop_nulls("superseded_by").select("cell_id", pair=pair_key("cell_id", "superseded_by"))
        return pairs.join(decided, on="pair", how="semi")

    def ties(cells: pl.DataFrame) -> pl.DataFrame:
        return cells if has_person else cells.join(by_person(cells), on="cell_id", how="anti")

    named = [frame[name] for frame in (retiring, repeating) for name in PAIR]
    members = read_chains(store, pl.concat(named).unique(), ties=ties)
    tied = ties(members.drop_nulls("superseded_by"))
    repeats = tied.filter(pl.col("valid_until").is_null()).select("cell_id", target_id="superseded_by")
    return StoredChains(
        pl.concat([retiring, links_of(store, tied)]).unique(PAIR, keep="first", maintain_order=True),
        pl.concat([repeating, repeats]).unique(PAIR, keep="first", maintain_order=True),
        members,
        by_person(members)["cell_id"],
    )


def links_of(store: StoreReader, cells: pl.DataFrame) -> pl.DataFrame:
    """Links (`cell_id`, `target_id`, `verdict`) of superseded memories to the values that followed theirs."""
    linked = cells.drop_nulls("superseded_by").filter(pl.col("valid_until").is_not_null())
    ids = linked["cell_id"].to_list()
    judged = store.rows(
        "judgements",
        [*PAIR, "verdict"],
        (col("target_id").isin(ids) | col("cell_id").isin(ids))
        & (col("effect") == lit("superseded"))
        & col("verdict").isin(["corrects", "completes"]),
    ).select("verdict", pair=pair_key(*PAIR))
    ends = linked.select(
        cell_id="superseded_by", target_id="cell_id", pair=pair_key("cell_id", "superseded_by")
    )
    known = ends.join(judged.unique("pair"), on="pair", how="left", maintain_order="left")
    return known.select(*PAIR, verdict=pl.col("verdict").fill_null("updates"))
