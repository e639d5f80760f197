"""Turns within their conversations: one project and a place for each, and nothing back that a person took out.

Ids are made from what a message is, so whoever records it, hook, server or transcript, records the same turn. Places
order the turns of a conversation, then their times do: two that record at once may give the same one.
"""

from collections.abc import Iterable
from typing import Any

import polars as pl

from slowwave.ingest.redact.marks import LEAST_LITERAL, is_redacted_form
from slowwave.settings.groups import ScopeSettings
from slowwave.settings.projects import project_of

STORED = ["turn_id", "session_id", "turn_index", "content_hash", "project_id"]
"""Columns of stored turns by which new ones find their places."""

Row = dict[str, Any]

TEXTS = ["turn_id", "session_id", "content"]

ERASED = "erased by a person"
"""The reason under which turns are counted that stay out since somebody erased them."""


def settled(turns: pl.DataFrame, stored: Iterable[Row], owner: ScopeSettings) -> pl.DataFrame:
    """Turns, in their order, with the columns `OWNER` and their places in their conversations.

    `stored` has those of the turns that are stored, the newest turn of each of their conversations, and the one before
    the first new turn (`STORED`). A stored turn keeps its place, and a document those of its file; a new turn in whose
    place or behind which another one is stored comes behind all of them, and so do the new ones after it. The project
    is the one that their conversation has in the store, else that of the first folder in which a turn of it was said.
    """
    places, projects, last = dict[str, int](), dict[str, str](), dict[str, int]()
    for row in stored:
        places[row["turn_id"]] = row["turn_index"]
        projects.setdefault(row["session_id"], row["project_id"])
        last[row["session_id"]] = max(last.get(row["session_id"], 0), row["turn_index"])
    if owner.project_from == "setting":
        projects = dict.fromkeys(turns["session_id"], owner.project_id)
    for session_id, cwd in turns.drop_nulls("cwd").select("session_id", "cwd").iter_rows():
        if session_id not in projects:
            projects[session_id] = project_of(owner, cwd)
    given = turns.select("turn_id", "session_id", "role", "turn_index")
    for turn_id, session_id, role, index in given.iter_rows():
        if turn_id in places or role == "document" or index > last.get(session_id, -1):
            places.setdefault(turn_id, index)
        else:
            places[turn_id] = last[session_id] = last[session_id] + 1
    return turns.with_columns(
        turn_index=pl.col("turn_id").replace_strict(places, return_dtype=turns.schema["turn_index"]),
        user_id=pl.lit(owner.user_id),
        project_id=pl.col("session_id").replace_strict(
            projects, default=owner.project_id, return_dtype=pl.String
        ),
        scope=pl.lit(owner.scope),
    )


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
    texts: dict[str, str] = dict(stored.select("turn_id", "content").iter_rows())
    masked = stored.filter(pl.col("content").str.contains("[redacted:", literal=True))
    sections = dict(masked.group_by("session_id").agg("content").iter_rows())

    def stays(turn_id: str, session_id: str, role: str, read: str) -> bool:
        if turn_id in texts:
            return not takes_over(read, texts[turn_id])
        return role == "document" and any(
            one == read or is_redacted_form(one, read, least=LEAST_LITERAL)
            for one in sections.get(session_id, ())
        )

    given = turns.select("turn_id", "session_id", "role", "content")
    return turns.filter([not stays(*row) for row in given.iter_rows()])
