"""Chains as the store has them: who superseded whom, which values stand side by side, and what rests on what left."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Literal

import polars as pl

from slowwave.journal.catalogue import EventRows
from slowwave.lifecycle.order import PAIR, pair_key
from slowwave.lifecycle.succession import Chains
from slowwave.lifecycle.values import ATTRIBUTE, VALUE_COLUMNS, Pair, compared_values, plain_text
from slowwave.lifecycle.walker import ends, walk
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER, RAW_PROMPT, frame_schema
from slowwave.store.conditions import col, lit
from slowwave.store.queries import Row, RowsQuery
from slowwave.store.reading import StoreReader

PERSON = "person"
"""`prompt_version` of a judgement that a person made."""

EXTRACTED = (col("cell_type") != lit(EPISODE)) & (col("prompt_version") != lit(RAW_PROMPT))
"""Memories that a model or a person made: neither raw ones nor episodes."""


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
    repeating: pl.DataFrame,
) -> Chains:
    """Pairs (`cell_id`, `target_id`, and `verdict` of `retiring`) with the chains that their memories belong to.

    What a person decided is no link: dates put the memories of a chain into their order, and cannot undo an edit.
    """
    said = (col("prompt_version") == lit(PERSON)) & (col("effect") == lit("superseded"))
    decided = store.rows("judgements", PAIR, said).select(pair=pair_key(*PAIR))

    def by_person(cells: pl.DataFrame) -> pl.DataFrame:
        pairs = cells.drop_nulls("superseded_by").select("cell_id", pair=pair_key("cell_id", "superseded_by"))
        return pairs.join(decided, on="pair", how="semi")

    def ties(cells: pl.DataFrame) -> pl.DataFrame:
        return cells.join(by_person(cells), on="cell_id", how="anti")

    named = [frame[name] for frame in (retiring, repeating) for name in PAIR]
    members = read_chains(store, pl.concat(named).unique(), ties=ties)
    tied = ties(members.drop_nulls("superseded_by"))
    repeats = tied.filter(pl.col("valid_until").is_null()).select("cell_id", target_id="superseded_by")
    return Chains(
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


STAND = (col("status") == lit("open")) | (col("resolution") == lit("both_valid"))
"""Contradictions of which both sides stand: open ones, and those that a person resolved as both valid."""


def side_by_side(cell_ids: list[str]) -> RowsQuery:
    """The standing contradictions of some memories."""
    touches = col("cell_a").isin(cell_ids) | col("cell_b").isin(cell_ids)
    return RowsQuery("contradictions", ("cell_a", "cell_b", "status"), touches & STAND)


def doubted_and_both_valid(rows: Iterable[Row]) -> tuple[set[str], set[Pair]]:
    """Memories in an open contradiction, and pairs of which both hold, from rows of `side_by_side`."""
    doubted, both_valid = set[str](), set[Pair]()
    for row in rows:
        pair = frozenset((row["cell_a"], row["cell_b"]))
        if row["status"] == "open":
            doubted |= pair
        else:
            both_valid.add(pair)
    return doubted, both_valid


def rivals_of(store: StoreReader, cell: Row) -> list[str]:
    """Ids of the other living values of a memory's property that its value does not outdate by itself."""
    if None in (cell["subject"], cell["attribute"], cell["value"]):
        return []
    owned = [col(name) == lit(cell[name]) for name in OWNER]
    is_other = (col("status") == lit("active")) & (col("cell_id") != lit(cell["cell_id"]))
    living, contradictions = store.find(
        [
            RowsQuery("cells", VALUE_COLUMNS, reduce(and_, [*owned, is_other])),
            side_by_side([cell["cell_id"]]),
        ]
    )
    _, both_valid = doubted_and_both_valid(contradictions)
    return [
        row["cell_id"]
        for row in living
        if None not in (row["subject"], row["attribute"], row["value"])
        and all(plain_text(row[name]) == plain_text(cell[name]) for name in ATTRIBUTE)
        and plain_text(row["value"]) != plain_text(cell["value"])
        and frozenset((row["cell_id"], cell["cell_id"])) not in both_valid
        and row["cell_id"] not in compared_values([cell, row], doubted=()).outdated
    ]


def flags(
    store: StoreReader, leaving: pl.DataFrame, *, gone: Iterable[str], why: str, sessions: Iterable[str] = ()
) -> EventRows:
    """Events that flag topics, elaborating memories and episodes that rest on `leaving` (rows of `cells`).

    The ids in `gone` leave with the same plan and are not flagged. `why` ends the sentence "a memory ...". Episodes
    are those of the sessions of `leaving`, and of further `sessions`.
    """
    topics = leaving.drop_nulls("topic_id").select("topic_id").unique().sort("topic_id")
    elaborating = elaborated_pairs(store, leaving["cell_id"]).select(
        cell_id="target_id", reason=pl.lit(f"says the same as a memory that {why}, with more in it")
    )
    columns = ["cell_id", "cell_type", "status"]
    episodes = (
        store.having("cells", "session_id", {*leaving["session_id"].drop_nulls(), *sessions}, columns)
        .filter((pl.col("cell_type") == EPISODE) & (pl.col("status") == "active"))
        .select("cell_id", reason=pl.lit(f"tells of a session of which a memory {why}"))
    )
    resting = pl.concat([elaborating, episodes]).filter(~pl.col("cell_id").is_in(list(gone)))
    named = store.by_key("cells", resting["cell_id"], ["cell_id", "status"])
    living = named.filter(pl.col("status") != "superseded")
    return {
        "topic.flagged": topics.with_columns(reason=pl.lit(f"a memory of this topic {why}")),
        "cell.flagged": resting.unique("cell_id", keep="first", maintain_order=True)
        .sort("cell_id")
        .join(living, on="cell_id", how="semi", maintain_order="left"),
    }


def elaborated_pairs(store: StoreReader, cell_ids: pl.Series) -> pl.DataFrame:
    """Pairs of `cell_id` (one of these) and `target_id`: one says the same with more in it, each rests on the other."""
    named = [store.having("judgements", name, cell_ids, [*PAIR, "effect"]) for name in PAIR]
    found, turned = (pairs.filter(pl.col("effect") == "elaborated").select(PAIR) for pairs in named)
    both = [found, turned.select(cell_id="target_id", target_id="cell_id")]
    return pl.concat(both).unique(maintain_order=True)
