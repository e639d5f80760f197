"""From chunks and a model's answers to rows of cells."""

from collections.abc import Mapping

import polars as pl

from slowwave.ingest.chunk import SOURCE
from slowwave.journal.new_cells import cells_of
from slowwave.language.artifacts import artifacts_in
from slowwave.language.text import hard_values, numbers
from slowwave.schemas.tables import OWNER, RAW_PROMPT, frame_schema
from slowwave.trust.origins import least_trusted
from slowwave.trust.stated import memory_origins

_TEXTS = [
    "cell_type", "content", "brief", "question", "subject", "attribute", "value", "topic", "valid_from",
    "valid_until", "relation",
]  # fmt: skip
ANSWER_SCHEMA = pl.Schema(
    {
        "page": pl.Int64(),
        **dict.fromkeys(_TEXTS, pl.String()),
        "salience": pl.Float64(),
        "confidence": pl.Float64(),
        "evidence": pl.List(pl.Int64),
        "known": pl.Int64(),
        "stated_by": pl.Int64(),
        "is_wish": pl.Boolean(),
        **dict.fromkeys(["entities", "aliases", "steps"], pl.List(pl.String)),
    }
)
"""One row a memory of the extractor's answers, with the page that it was read from."""

ANSWERED = pl.Schema({name: ANSWER_SCHEMA[name] for name in ("page", "relation", "known", "aliases")})
"""What the extractor says of a memory that is no column of it."""


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
    return cells_of(rows, now=now)


def extracted_cells(
    answers: pl.DataFrame,
    chunks: pl.DataFrame,
    lines: pl.DataFrame,
    pieces: pl.DataFrame,
    *,
    decay_rates: Mapping[str, float],
    default_decay_rate: float,
    now: object,
) -> pl.DataFrame:
    """Cells from the extractor's answers (`ANSWER_SCHEMA` with `prompt_version` and `model`).

    `lines` are those of the pages. Evidence numbers become turn ids, and a memory belongs to the chunk that holds its
    last one; it was told when that was said. Its origin is that of the person who states it, else of the `pieces` of
    the page that its words were taken from (`slowwave/trust/stated.py`). It holds, or happened, from the date given,
    else from when it was said. What only lines that were read before say is no new memory.
    Returns the columns of `cells` plus `page`, `relation`, `known` and `aliases`, one row a cell id.
    """
    numbered = answers.with_row_index("position").with_columns(
        pl.when(pl.col(name) != "").then(name).alias(name) for name in _TEXTS
    )
    evidence = (
        numbered.select("position", "page", turn_number=pl.col("evidence"))
        .explode("turn_number")
        .join(lines, on=["page", "turn_number"], how="inner")
        .sort("position", "turn_number")
        .group_by("position")
        .agg(
            evidence=pl.col("turn_id").unique().sort(),
            origin=least_trusted(pl.col("origin")),
            event_time=pl.col("event_time").max(),
            chunk_id=pl.col("chunk_id").last(),
            is_read=pl.col("is_read").all(),
        )
        .filter(~pl.col("is_read"))
    )
    origins = _origins(numbered.join(evidence, on="position", how="semi"), lines, pieces)
    evidence = evidence.drop("origin").join(origins, on="position", how="inner", maintain_order="left")
    source = chunks.select("chunk_id", "session_id", *OWNER, *SOURCE)
    rate = pl.col("cell_type").replace_strict(
        dict(decay_rates), default=default_decay_rate, return_dtype=pl.Float64
    )
    is_pattern = pl.col("cell_type") == "pattern"
    # a short form with a number of its own would be believed where the memory is not read
    adds = numbers(pl.col("brief")).list.set_difference(numbers(pl.col("content"))).list.len() > 0
    rows = (
        numbered.drop("evidence")
        .join(evidence, on="position", how="inner", maintain_order="left")
        .join(source, on="chunk_id", how="inner", maintain_order="left")
        .with_columns(
            topic_hint=pl.col("topic"),
            valid_precision=_precision("valid_from"),
            valid_from=pl.coalesce(_first_moment("valid_from"), "event_time"),
            valid_until=_last_day("valid_until"),
            decay_rate=rate,
            artifacts=artifacts_in(pl.col("content")),
            template=pl.when(is_pattern).then(pl.col("steps").list.join(" ")),
            steps=pl.when(is_pattern).then(pl.lit([], dtype=pl.List(pl.String))).otherwise("steps"),
            summary=pl.when(~adds).then("brief"),
        )
    )
    return cells_of(rows, now=now, more=ANSWERED)


def _origins(memories: pl.DataFrame, lines: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """The origin of each memory: `position`, `origin`."""
    texts = ["content", "subject", "attribute", "value"]
    parts = [*map(pl.col, texts), pl.col("steps").list.join(" ")]
    told = memories.select(
        *("page", "content", "value", "stated_by", "evidence"),
        key="position",
        text=pl.concat_str(parts, separator="\n", ignore_nulls=True),
    )
    return memory_origins(told, lines, pieces).rename({"key": "position"})


def split_confirmed(
    cells: pl.DataFrame, known: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Cells to store, confirmations of known cells, and pairs that reconciliation has to look at.

    `known` has `page`, `known` (the number on the page), `target_id`, `content`. A memory that the
    extractor calls confirmed counts as a confirmation only when it carries the known one's numbers, dates and
    negations; else it is stored and reconciliation decides.

    Returns cells as for `cells`; `cell_id` (the known one), `confirmed_by`, `evidence`, and `origin` and `session_id`
    of the repetition; and `cell_id`, `target_id`, the owner, `relation` of memories that the extractor calls changed or
    confirmed and that are stored.
    """
    shown = known.select("page", "known", "target_id", known_content="content")
    paired = cells.join(shown, on=["page", "known"], how="left", maintain_order="left")
    same = (
        (pl.col("relation") == "confirmed")
        & pl.col("target_id").is_not_null()
        & (hard_values(pl.col("content")) == hard_values(pl.col("known_content")))
    ).fill_null(value=False)
    # resting on a document, too, a person's statement would pass for a quotation and leave core memory
    evidence = (
        pl.when(pl.col("origin") == "untrusted").then(pl.lit([], pl.List(pl.String))).otherwise("evidence")
    )
    confirmed = paired.filter(same).select(
        "origin", "session_id", cell_id="target_id", confirmed_by="chunk_id", evidence=evidence
    )
    stored = paired.filter(~same)
    is_tied = (pl.col("relation") != "new") & (pl.col("target_id") != pl.col("cell_id"))
    tied = stored.filter(is_tied).select("cell_id", "target_id", *OWNER, "relation")
    return stored.select(frame_schema("cells").names()), confirmed, tied


def _first_moment(column: str) -> pl.Expr:
    """Midnight of the day given, or of the first day of the month or year given; null for no date."""
    whole = pl.col(column) + pl.lit("0000-01-01").str.slice(pl.col(column).str.len_chars())
    return whole.str.to_datetime("%Y-%m-%d", time_unit="us", time_zone="UTC", strict=False)


def _last_day(column: str) -> pl.Expr:
    """Midnight of the day given, or of the last day of the month or year given; null for no date."""
    length = pl.col(column).str.len_chars()
    period = (
        pl.when(length == len("0000")).then(pl.lit("1y")).when(length == len("0000-00")).then(pl.lit("1mo"))
    )
    first = _first_moment(column)
    return pl.coalesce(first.dt.offset_by(period).dt.offset_by("-1d"), first)


def _precision(column: str) -> pl.Expr:
    """`day`, `month` or `year`: how exactly a date is known; null for no date."""
    names = {len("0000-00-00"): "day", len("0000-00"): "month", len("0000"): "year"}
    exact = pl.col(column).str.len_chars().replace_strict(names, default=None, return_dtype=pl.String)
    return pl.when(_first_moment(column).is_not_null()).then(exact)
