"""Commits, pull requests, decision records and files that memories name, as rows."""

import polars as pl

from slowwave.language.artifacts import artifact_kind, artifact_reference, artifacts_in
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER, RAW_PROMPT, frame_schema


def artifacts_of(cells: pl.DataFrame) -> pl.DataFrame:
    """Rows of `artifacts`, sorted by key: those that the extractor named (`kind:reference`), and those in raw text.

    `cells` has `cell_id`, the owner, `event_time`, `prompt_version`, `content` and `artifacts`.
    """
    is_raw = pl.col("prompt_version") == RAW_PROMPT
    said = pl.col("artifacts").list.concat(pl.when(is_raw).then(artifacts_in(pl.col("content"))))
    rows = (
        cells.select("cell_id", *OWNER, "event_time", said=pl.coalesce(said, "artifacts"))
        .explode("said")
        .with_columns(
            artifact_type=artifact_kind(pl.col("said")), reference=artifact_reference(pl.col("said"))
        )
        .drop_nulls("reference")
    )
    return (
        rows.with_columns(stable_ids("artifact", rows.select("cell_id", "artifact_type", "reference")))
        .select(frame_schema("artifacts").names())
        .unique("artifact_id", keep="first", maintain_order=True)
        .sort("artifact_id")
    )
