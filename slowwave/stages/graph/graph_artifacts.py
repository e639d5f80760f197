"""Commits, pull requests, decision records and files that memories name, as rows."""

import polars as pl

from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER, RAW_PROMPT, frame_schema

_ADDRESS = r"\b[a-z][a-z0-9+.-]*://\S+"
_WRITTEN = {
    "commit": r"(?i)\bcommit\s+([0-9a-f]{7,40})\b",
    "pr": r"(?i)\b(?:pr|pull request|merge request)\s*#?(\d+)\b",
    "adr": r"(?i)\badr[ -]?(\d+)\b",
    "file": r"((?:[\w.-]+/)+[\w-][\w.-]*\.[A-Za-z]\w{0,5})\b",
}
"""How plain text names artifacts: a file by its path with a folder and an ending."""


def artifacts_of(cells: pl.DataFrame) -> pl.DataFrame:
    """Rows of `artifacts`, sorted by key: what the extractor named (`kind:reference`), and what raw text shows.

    `cells` has `cell_id`, the owner, `event_time`, `prompt_version`, `content` and `artifacts`.
    """
    named = (
        cells.select("cell_id", *OWNER, "event_time", said="artifacts")
        .explode("said")
        .drop_nulls("said")
        .with_columns(
            artifact_type=pl.col("said").str.extract(r"^(commit|pr|adr|file)[:#]", 1),
            reference=pl.col("said").str.replace(r"^\w+[:#]\s*", "").str.strip_chars(),
        )
        .drop("said")
    )
    raw = cells.filter(pl.col("prompt_version") == RAW_PROMPT)
    shown = [_shown(raw, kind, form) for kind, form in _WRITTEN.items()]
    rows = pl.concat([named, *shown]).filter(
        pl.col("artifact_type").is_not_null() & (pl.col("reference").fill_null("") != "")
    )
    identified = rows.with_columns(
        stable_ids("artifact", rows.select("cell_id", "artifact_type", "reference"))
    )
    return (
        identified.select(frame_schema("artifacts").names())
        .unique("artifact_id", keep="first", maintain_order=True)
        .sort("artifact_id")
    )


def _shown(raw: pl.DataFrame, kind: str, form: str) -> pl.DataFrame:
    """What one form finds in the text of raw memories; an address on the web is no file."""
    found = pl.col("content").str.replace_all(_ADDRESS, " ").str.extract_all(form)
    return (
        raw.select("cell_id", *OWNER, "event_time", found=found)
        .explode("found")
        .drop_nulls("found")
        .with_columns(artifact_type=pl.lit(kind), reference=pl.col("found").str.extract(form, 1))
        .drop("found")
    )
