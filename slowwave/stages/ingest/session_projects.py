"""The project of each conversation that is taken in: all of its turns are of one, so that its memories are, too."""

import polars as pl

from slowwave.schemas.tables import OWNER
from slowwave.settings.groups import ScopeSettings
from slowwave.settings.projects import project_of


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
