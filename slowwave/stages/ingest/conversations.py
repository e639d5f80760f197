"""Turns of files within their conversations: all of one have one project, so that its memories have, and each a place.

A place is given once, whoever records a turn: a file numbers its messages by itself, and where its conversation was
recorded as it was said, too, other turns may stand in these places already.
"""

import polars as pl

from slowwave.schemas.tables import OWNER
from slowwave.settings.groups import ScopeSettings
from slowwave.settings.projects import project_of
from slowwave.store import Store, col, lit

COLUMNS = ["session_id", "turn_id", "turn_index"]


def with_owner(
    turns: pl.DataFrame, *, owner: ScopeSettings, new: pl.DataFrame, stored: pl.DataFrame
) -> pl.DataFrame:
    """Turns with the columns `OWNER`: the project is the one that their conversation has in the store already.

    Of a conversation that is not stored yet it is that of the first folder that a turn of it was said in. `new` are
    those of the turns that will be stored, `stored` (`session_id`, `turn_index`, `project_id`) what there is of their
    conversations.
    """
    given = turns.with_columns(pl.lit(getattr(owner, name)).alias(name) for name in OWNER)
    if owner.project_from == "setting" or new.is_empty():
        return given
    known = stored.sort("turn_index").unique("session_id", keep="first").select("session_id", "project_id")
    said_in = turns.join(new, on="session_id", how="semi", maintain_order="left").drop_nulls("cwd")
    folders = said_in.unique("session_id", keep="first", maintain_order=True).select("session_id", "cwd")
    folders = folders.join(known, on="session_id", how="anti", maintain_order="left")
    projects = {folder: project_of(owner, folder) for folder in folders["cwd"].unique()}
    found = folders.select(
        "session_id", project_id=pl.col("cwd").replace_strict(projects, return_dtype=pl.String)
    )
    of_session = pl.concat([known, found])
    return given.update(of_session, on="session_id")


def mixed_conversations(
    store: Store, turns: pl.DataFrame, new: pl.DataFrame, known: pl.DataFrame
) -> pl.DataFrame:
    """All stored turns (`COLUMNS`) of those conversations of a file whose places do not all come from it.

    `turns` are those of the file, `new` those to be stored, `known` the stored ones among them, all with `COLUMNS`. Of
    other conversations, however long, no more is read than what stands in new places or behind them.
    """
    first = new.select(pl.col("turn_index").min()).item()
    behind = col("session_id").isin(new["session_id"].unique()) & (col("turn_index") >= lit(first))
    stored = store.rows("turns", COLUMNS, behind)
    moved = known.join(turns, on=COLUMNS, how="anti").join(new, on="session_id", how="semi")
    others = stored.join(new, on=["session_id", "turn_index"], how="semi").join(new, on=COLUMNS, how="anti")
    mixed = pl.concat([moved["session_id"], others["session_id"]]).unique()
    return store.having("turns", "session_id", mixed, COLUMNS)


def placed(turns: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Turns of a file, in its order, with the places that they have in their conversations.

    `stored` is that of `mixed_conversations`. A stored turn keeps its place. From the first new one of a conversation
    on in whose place another turn stands, the new ones come behind all that is stored, in their order.
    """
    if stored.is_empty():
        return turns
    known = stored.select("turn_id", place="turn_index").unique("turn_id")
    taken = stored.select("session_id", "turn_index", is_taken=pl.lit(value=True)).unique()
    last = stored.group_by("session_id").agg(last=pl.col("turn_index").max())
    told = (
        turns.join(known, on="turn_id", how="left", maintain_order="left")
        .join(taken, on=["session_id", "turn_index"], how="left", maintain_order="left")
        .join(last, on="session_id", how="left", maintain_order="left")
    )
    is_new = pl.col("place").is_null()
    is_behind = is_new & (is_new & pl.col("is_taken").fill_null(value=False)).cum_max().over("session_id")
    behind = pl.col("last") + is_behind.cum_sum().over("session_id")
    place = pl.when(is_behind).then(behind).otherwise(pl.coalesce("place", "turn_index"))
    return told.with_columns(turn_index=place.cast(turns.schema["turn_index"])).select(turns.columns)
