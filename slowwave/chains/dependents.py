"""Flags for whatever rests on memories that leave, whether a night or a person's edit took them out."""

from collections.abc import Iterable

import polars as pl

from slowwave.chains.stored import PAIR
from slowwave.journal.catalogue import EventRows
from slowwave.schemas.choices import EPISODE
from slowwave.store import Store


def flags(
    store: Store, leaving: pl.DataFrame, *, gone: Iterable[str], why: str, sessions: Iterable[str] = ()
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


def elaborated_pairs(store: Store, cell_ids: pl.Series) -> pl.DataFrame:
    """Pairs of `cell_id` (one of these) and `target_id`: one says the same with more in it, each rests on the other."""
    named = [store.having("judgements", name, cell_ids, [*PAIR, "effect"]) for name in PAIR]
    found, turned = (pairs.filter(pl.col("effect") == "elaborated").select(PAIR) for pairs in named)
    both = [found, turned.select(cell_id="target_id", target_id="cell_id")]
    return pl.concat(both).unique(maintain_order=True)
