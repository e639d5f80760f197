"""Conditions on whose rows a question or a night may touch: the one place where scopes are enforced."""

import polars as pl

from slowwave.schemas.tables import OWNER
from slowwave.settings.groups import ScopeSettings
from slowwave.store.conditions import Expr, col, lit


def owned_by(owner: ScopeSettings) -> Expr:
    """Rows that the owner's user may see in the owner's project.

    Private rows are seen by their user within the project, shared ones by everyone in the project, system
    rows by all.
    """
    private = (col("scope") == lit("user-private")) & (col("user_id") == lit(owner.user_id))
    shared = col("scope") == lit("project-shared")
    in_project = col("project_id") == lit(owner.project_id)
    return ((private | shared) & in_project) | (col("scope") == lit("system"))


def same_owner(rows: pl.DataFrame) -> Expr:
    """Rows of exactly the owner of `rows`, which all have one: work on a memory never crosses owners."""
    owner = rows.select(OWNER).row(0, named=True)
    user, project, scope = (col(name) == lit(value) for name, value in owner.items())
    return user & project & scope
