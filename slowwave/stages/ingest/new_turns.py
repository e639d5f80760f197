"""The turns and chunks that a reading adds to those that are known."""

import polars as pl

from slowwave.schemas.tables import TIMESTAMP, Dtype
from slowwave.settings.groups import ScopeSettings


def owned(turns: pl.DataFrame, owner: ScopeSettings) -> pl.DataFrame:
    """Turns with the columns that say whose they are."""
    return turns.with_columns(
        user_id=pl.lit(owner.user_id), project_id=pl.lit(owner.project_id), scope=pl.lit(owner.scope)
    )


def changed_turns(turns: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Turns that are not known yet, or whose text grew since. `known` has `turn_id` and `content_hash`."""
    return turns.join(known, on=["turn_id", "content_hash"], how="anti", maintain_order="left")


def pending_chunks(chunks: pl.DataFrame) -> pl.DataFrame:
    """Freshly cut chunks with the columns that say that nothing happened to them yet."""
    nothing: dict[str, Dtype] = {
        **dict.fromkeys(["error", "prompt_version", "model"], pl.String),
        "retry_at": TIMESTAMP,
    }
    return chunks.with_columns(
        status=pl.lit("pending"),
        attempts=pl.lit(0, dtype=pl.Int64),
        **{name: pl.lit(None, dtype=dtype) for name, dtype in nothing.items()},
    )
