"""Conditions on whose rows a question or a night may touch: the one place where scopes and projects are enforced."""

from functools import reduce
from operator import and_

import polars as pl

from slowwave.schemas.tables import OWNER
from slowwave.settings.groups import ScopeSettings
from slowwave.store.conditions import Expr, col, lit

SYSTEM = col("scope") == lit("system")
SHARED = col("scope") == lit("project-shared")


class Asker(ScopeSettings):
    """The owner in the settings, asking from within a project."""

    asks_in: str


def asking_in(owner: ScopeSettings, project: str | None) -> ScopeSettings:
    """The owner, asking from within a project; null asks from within none."""
    if project is None:
        return owner
    given = {name: getattr(owner, name) for name in ScopeSettings.model_fields}
    return Asker(**given, asks_in=project)


def owned_by(owner: ScopeSettings) -> Expr:
    """Rows that the owner's user may see. Nobody sees another user's private rows; system rows are seen by all.

    Who asks from within a project sees their own rows of it and of the home's own project, and what is shared in the
    two. Who asks from within none sees their own rows of every project, and what is shared in the home's own one. With
    `project_from` "setting" a home keeps to its own project, and any other is empty.
    """
    asked = owner.asks_in if isinstance(owner, Asker) else None
    home = col("project_id") == lit(owner.project_id)
    if owner.project_from == "setting":
        within = home if asked is None else home & (col("project_id") == lit(asked))
    elif asked is not None:
        within = col("project_id").isin([owner.project_id, asked])
    else:
        mine = (col("user_id") == lit(owner.user_id)) & col("scope").isin(["user-private", "project-shared"])
        return mine | (SHARED & home) | SYSTEM
    return ((_private(owner) | SHARED) & within) | SYSTEM


def owned_in(owner: ScopeSettings, project: str) -> Expr:
    """Rows of exactly one project that the owner's user may see; those of the system belong to the home's own."""
    within = (_private(owner) | SHARED) & (col("project_id") == lit(project))
    return within | SYSTEM if project == owner.project_id else within


def standing_for(owner: ScopeSettings) -> Expr:
    """Rows of core memory that stand before the owner's user: of the home's own project, and of the one asked from.

    What stands everywhere must not bring the matters of one project into another: asked from within none, only the
    home's own count.
    """
    return owned_by(owner if isinstance(owner, Asker) else asking_in(owner, owner.project_id))


def of_other_users(owner: ScopeSettings) -> Expr:
    """Private rows of other users of the same home."""
    return (col("scope") == lit("user-private")) & (col("user_id") != lit(owner.user_id))


def open_to_all(owner: ScopeSettings) -> Expr:
    """Rows of the home's own project that every user of the home may see."""
    return (SHARED & (col("project_id") == lit(owner.project_id))) | SYSTEM


def in_any_project(owner: ScopeSettings) -> Expr:
    """Rows that the owner's user may see when asking from within their project, whichever that is."""
    return _private(owner) | SHARED


def _private(owner: ScopeSettings) -> Expr:
    return (col("scope") == lit("user-private")) & (col("user_id") == lit(owner.user_id))


def same_owner(rows: pl.DataFrame) -> Expr:
    """Rows of exactly the owner of `rows`, which all have one: work on a memory never crosses owners."""
    owner = rows.select(OWNER).row(0, named=True)
    return reduce(and_, [col(name) == lit(value) for name, value in owner.items()])
