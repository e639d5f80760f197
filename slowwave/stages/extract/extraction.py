"""From chunks and a model's answers to rows of cells."""

from collections.abc import Mapping

import polars as pl

from slowwave.language.text import hard_values
from slowwave.readers.chunking import SOURCE
from slowwave.schemas.identity import content_hashes, stable_ids
from slowwave.schemas.tables import OWNER, RAW_PROMPT, TIMESTAMP, frame_schema, shaped
from slowwave.stages.origins import least_trusted

_TEXTS = [
    "chunk_id", "cell_type", "content", "subject", "attribute", "value", "topic", "valid_from", "valid_until",
    "relation", "template", "compressed", "index_label",
]  # fmt: skip
ANSWER_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(_TEXTS, pl.String()),
        "salience": pl.Float64(),
        "confidence": pl.Float64(),
        "evidence": pl.List(pl.Int64),
        "known": pl.Int64(),
        **dict.fromkeys(["entities", "artifacts", "steps"], pl.List(pl.String)),
    }
)
"""One row a memory of the extractor's answers, with the chunk it belongs to."""


def in_turns(chunks: pl.DataFrame, *, sessions: int) -> pl.DataFrame:
    """Chunks in the order of the work.

    `sessions` conversations at a time, oldest first, and of these all first chunks, then all second ones: chunks that
    are asked about together are of different conversations, as far as there are several.
    """
    position = ["first_turn_index", "first_char", "chunk_id"]
    began = pl.col("event_time").min().over("session_id")
    return (
        chunks.with_columns(began=began)
        .sort("began", "session_id", *position)
        .with_columns(
            group=pl.col("session_id").rle_id() // sessions, place=pl.int_range(pl.len()).over("session_id")
        )
        .sort("group", "place", "began", "session_id", *position)
        .select(chunks.columns)
    )


def raw_cells(chunks: pl.DataFrame, turns: pl.DataFrame, *, decay_rate: float, now: object) -> pl.DataFrame:
    """Chunks as cells where there is no model: `fact`, salience 0.5, the turns' text as it is.

    `turns` is what `chunk_turns` returned. Rows have the columns of `cells`.
    """
    speaker = pl.coalesce("speaker", "role")
    line = pl.when(pl.col("role") == "document").then("text").otherwise(pl.format("{}: {}", speaker, "text"))
    texts = turns.group_by("chunk_id", maintain_order=True).agg(
        content=line.str.join("\n"), evidence=pl.col("turn_id"), origin=least_trusted(pl.col("origin"))
    )
    rows = chunks.join(texts, on="chunk_id", how="inner", maintain_order="left").with_columns(
        cell_type=pl.lit("fact"),
        salience=pl.lit(0.5),
        confidence=pl.lit(1.0),
        valid_from=pl.col("event_time"),
        prompt_version=pl.lit(RAW_PROMPT),
        model=pl.lit(None, dtype=pl.String),  # the chunk may name one that failed on it
        decay_rate=pl.lit(decay_rate),
        **dict.fromkeys(["entities", "artifacts", "steps"], pl.lit([], dtype=pl.List(pl.String))),
    )
    return _as_cells(rows, now=now)


def extracted_cells(
    answers: pl.DataFrame,
    chunks: pl.DataFrame,
    turns: pl.DataFrame,
    *,
    decay_rates: Mapping[str, float],
    default_decay_rate: float,
    now: object,
) -> pl.DataFrame:
    """Cells from the extractor's answers (`ANSWER_SCHEMA` with `prompt_version` and `model`).

    Evidence numbers become turn ids; a cell happened when its last evidence turn was said and has the least
    trusted origin of its evidence; it holds from the date given, else from when it was said. Returns the columns
    of `cells` plus `relation` and `known`, one row a cell id.
    """
    numbered = answers.with_row_index("position").with_columns(
        pl.when(pl.col(name) != "").then(name).alias(name) for name in _TEXTS
    )
    said = turns.select("chunk_id", "turn_number", "turn_id", "origin", "event_time")
    evidence = (
        numbered.select("position", "chunk_id", turn_number=pl.col("evidence"))
        .explode("turn_number")
        .join(said, on=["chunk_id", "turn_number"], how="inner")
        .group_by("position")
        .agg(
            evidence=pl.col("turn_id").sort(),
            origin=least_trusted(pl.col("origin")),
            event_time=pl.col("event_time").max(),
        )
    )
    source = chunks.select("chunk_id", "session_id", *OWNER, *SOURCE)
    rate = pl.col("cell_type").replace_strict(
        dict(decay_rates), default=default_decay_rate, return_dtype=pl.Float64
    )
    rows = (
        numbered.drop("evidence")
        .join(evidence, on="position", how="inner", maintain_order="left")
        .join(source, on="chunk_id", how="inner", maintain_order="left")
        .with_columns(
            topic_hint=pl.col("topic"),
            valid_from=pl.coalesce(_midnight("valid_from"), "event_time"),
            valid_until=_midnight("valid_until"),
            decay_rate=rate,
        )
    )
    return _as_cells(rows, now=now)


def split_confirmed(
    cells: pl.DataFrame, known: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Cells to store, confirmations of known cells, and pairs that reconciliation has to look at.

    `known` has `chunk_id`, `known` (the number on the page), `target_id`, `content`. A memory that the
    extractor calls confirmed counts as a confirmation only when it carries the known one's numbers, dates and
    negations; else it is stored and reconciliation decides.

    Returns cells as for `cells`; `cell_id` (the known one), `confirmed_by`, `evidence`; and `cell_id`, `target_id`, the
    owner, `relation` of memories that the extractor calls changed or confirmed and that are stored.
    """
    shown = known.select("chunk_id", "known", "target_id", known_content="content")
    paired = cells.join(shown, on=["chunk_id", "known"], how="left", maintain_order="left")
    same = (
        (pl.col("relation") == "confirmed")
        & pl.col("target_id").is_not_null()
        & (hard_values(pl.col("content")) == hard_values(pl.col("known_content")))
    ).fill_null(value=False)
    confirmed = paired.filter(same).select(cell_id="target_id", confirmed_by="chunk_id", evidence="evidence")
    stored = paired.filter(~same)
    is_tied = (pl.col("relation") != "new") & (pl.col("target_id") != pl.col("cell_id"))
    tied = stored.filter(is_tied).select("cell_id", "target_id", *OWNER, "relation")
    return stored.select(frame_schema("cells").names()), confirmed, tied


def _as_cells(rows: pl.DataFrame, *, now: object) -> pl.DataFrame:
    """`new_cells` with their ids: one session says one thing once."""
    hashed = rows.with_columns(content_hashes(rows["content"]))
    identity = hashed.select(*OWNER, "session_id", "content_hash")
    named = hashed.with_columns(stable_ids("cell", identity), recorded_at=pl.lit(now).cast(TIMESTAMP))
    return new_cells(named).unique("cell_id", keep="first", maintain_order=True)


def new_cells(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns of `cells`, with `relation` and `known` where they are given.

    New cells are active and nothing happened to them yet; a column that is not given is null.
    """
    unmarked = dict.fromkeys(["needs_review", "is_judged", "is_summarized", "protected"], pl.lit(value=False))
    answered = [name for name in ("relation", "known") if name in rows.columns]
    schema = frame_schema("cells") | {name: ANSWER_SCHEMA[name] for name in answered}
    return shaped(rows.with_columns(status=pl.lit("active"), **unmarked), schema)


def _midnight(column: str) -> pl.Expr:
    return pl.col(column).str.to_datetime("%Y-%m-%d", time_unit="us", time_zone="UTC", strict=False)
