"""Turns within their conversations: one project and a place for each, and nothing back that a person took out.

Ids are made from what a message is, so whoever records it, hook, server or transcript, records the same turn. Places
order the turns of a conversation, then their times do: two that record at once may give the same one.
"""

import polars as pl

from slowwave.ingest.redact.marks import LEAST_LITERAL, is_redacted_form
from slowwave.schemas.tables import OWNER
from slowwave.settings.groups import ScopeSettings
from slowwave.settings.projects import project_of

STORED = ["turn_id", "session_id", "turn_index", "content_hash", "project_id"]
"""Columns of stored turns by which new ones find their places."""

TEXTS = ["turn_id", "session_id", "content"]

ERASED = "erased by a person"
"""The reason under which turns are counted that stay out since somebody erased them."""


def with_owner(turns: pl.DataFrame, *, owner: ScopeSettings, stored: pl.DataFrame) -> pl.DataFrame:
    """Turns with the columns `OWNER`: the project is the one that their conversation has in the store already.

    A conversation that is not stored yet has that of the first folder in which a turn of it was said. `stored` has a
    turn at least of each conversation that is stored (`STORED`).
    """
    given = turns.with_columns(pl.lit(getattr(owner, name)).alias(name) for name in OWNER)
    if owner.project_from == "setting" or turns.is_empty():
        return given
    known = stored.sort("turn_index").unique("session_id", keep="first").select("session_id", "project_id")
    said_in = turns.drop_nulls("cwd").unique("session_id", keep="first", maintain_order=True)
    folders = said_in.join(known, on="session_id", how="anti", maintain_order="left")
    projects = {folder: project_of(owner, folder) for folder in folders["cwd"].unique()}
    project = pl.col("cwd").replace_strict(projects, return_dtype=pl.String)
    return given.update(pl.concat([known, folders.select("session_id", project_id=project)]), on="session_id")


def placed(turns: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Turns of a file, in its order, with their places in their conversations.

    `stored` has those of the turns that are stored, and all that is stored in their places or behind (`STORED`). A
    stored turn keeps its place. From the first new one of a conversation on in whose place another turn stands, the
    new ones come behind all that is stored, in their order.
    """
    own = stored.select("turn_id", place="turn_index").unique("turn_id")
    taken = stored.select("session_id", "turn_index", is_taken=pl.lit(value=True)).unique()
    last = stored.group_by("session_id").agg(last=pl.col("turn_index").max())
    joined = (
        turns.join(own, on="turn_id", how="left", maintain_order="left")
        .join(taken, on=["session_id", "turn_index"], how="left", maintain_order="left")
        .join(last, on="session_id", how="left", maintain_order="left")
    )
    is_new = pl.col("place").is_null()
    is_behind = is_new & (is_new & pl.col("is_taken").fill_null(value=False)).cum_max().over("session_id")
    behind = pl.col("last") + is_behind.cum_sum().over("session_id")
    place = pl.when(is_behind).then(behind).otherwise(pl.coalesce("place", "turn_index"))
    return joined.with_columns(turn_index=place.cast(turns.schema["turn_index"])).select(turns.columns)


def takes_over(read: str, stored: str) -> bool:
    """Return whether a text takes the place of the stored one of its message.

    It does where it goes on from that one, or has secrets masked that it shows: so a message comes out the same in
    whatever order its versions come.
    """
    return read.startswith(stored) or is_redacted_form(read, stored, least=1)


def taking_over(turns: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Turns without those whose stored text stays; `stored` has the same messages and documents (`TEXTS`).

    A section of a document, whose id is made from its text, is known where a section of the document is the same with
    secrets masked: a sweep draws another id for it, and also masks what only another text shows to be a secret.
    """
    if stored.is_empty():
        return turns
    texts: dict[str, str] = dict(stored.select("turn_id", "content").iter_rows())
    masked: dict[str, list[str]] = {}
    for session_id, text in stored.select("session_id", "content").iter_rows():
        if "[redacted:" in text:
            masked.setdefault(session_id, []).append(text)
    kept = [
        takes_over(read, texts[turn_id])
        if turn_id in texts
        else role != "document"
        or not any(
            one == read or is_redacted_form(one, read, least=LEAST_LITERAL)
            for one in masked.get(session_id, ())
        )
        for turn_id, session_id, role, read in turns.select(
            "turn_id", "session_id", "role", "content"
        ).iter_rows()
    ]
    return turns.filter(pl.Series(kept, dtype=pl.Boolean))
