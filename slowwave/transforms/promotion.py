"""Core memory: who may stand in it, and how its lines stay where they are."""

import polars as pl

LINE_CHARACTERS = 200

USE_ORDER = ["citation_count", "retrieval_count", "confirmations", "salience", "event_time", "cell_id"]
USE_DESCENDING = [True, True, True, True, True, False]
"""The usage record as an order: most used first, ties by id."""

AVERAGE_SALIENCE = 0.5
"""The salience of a memory that nobody judged."""


def promotion_candidates(
    cells: pl.DataFrame, vitals: pl.DataFrame, core: pl.DataFrame, *, limit: int
) -> pl.DataFrame:
    """Active cells in the order of their usage record: what stands in core memory first, then by use and salience.

    Returns the cells' columns with the vitals' counts, `is_core` and `line_rank` (null for newcomers).
    """
    return (
        cells.filter(pl.col("status") == "active")
        .join(vitals, on="cell_id", how="inner")
        .join(core.select("cell_id", "line_rank"), on="cell_id", how="left")
        .with_columns(is_core=pl.col("line_rank").is_not_null())
        .sort("is_core", *USE_ORDER, descending=[True, *USE_DESCENDING])
        .head(limit)
    )


def choose_by_use(candidates: pl.DataFrame, *, max_lines: int) -> pl.DataFrame:
    """The choice without a model: cells that were cited, retrieved, confirmed, or are salient above average (0.5)."""
    used = pl.col("citation_count") + pl.col("retrieval_count") + pl.col("confirmations") > 0
    ordered = candidates.filter(used | (pl.col("salience") > AVERAGE_SALIENCE)).sort(
        *USE_ORDER, descending=USE_DESCENDING
    )
    return ordered.head(max_lines)


def core_lines(chosen: pl.DataFrame) -> pl.DataFrame:
    """Lines of core memory from the chosen cells (best first, `line_rank` null for newcomers).

    A line that stays keeps its place among those that stay; newcomers follow in the order of the choice.
    Returns the owner, `cell_id`, `line_rank` (1-based), `line`.
    """
    text = pl.coalesce("summary", "content").str.replace_all(r"\s+", " ").str.strip_chars()
    short = (
        pl.when(text.str.len_chars() > LINE_CHARACTERS)
        .then(text.str.slice(0, LINE_CHARACTERS - 1) + "…")
        .otherwise(text)
    )
    subject = (
        pl.when(pl.col("summary").is_not_null() & pl.col("subject").is_not_null())
        .then(pl.format("{} {}: ", "subject", pl.col("attribute").fill_null("")))
        .otherwise(pl.lit(""))
    )
    return (
        chosen.with_row_index("choice")
        .sort(pl.col("line_rank").is_null(), "line_rank", "choice")
        .with_columns(
            line=pl.format(
                "[{}] {}{} ({})", "cell_type", subject, short, pl.col("valid_from").dt.strftime("%Y-%m-%d")
            ),
            line_rank=pl.int_range(1, pl.len() + 1),
        )
        .select("cell_id", "user_id", "project_id", "scope", "line_rank", "line")
    )


def core_changes(lines: pl.DataFrame, core: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lines that are new or changed, and cells that leave; both empty when core memory stays as it is."""
    same = lines.join(
        core.select("cell_id", "line_rank", "line"), on=["cell_id", "line_rank", "line"], how="semi"
    )
    promoted = lines.join(same, on="cell_id", how="anti")
    demoted = core.join(lines, on="cell_id", how="anti").select("cell_id").sort("cell_id")
    return promoted, demoted
