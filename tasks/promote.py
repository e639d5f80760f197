"""Work of the promote stage: who may stand in core memory, who chooses, and the file it becomes."""

from typing import cast

import polars as pl

from slowwave.core_file import write_core_file
from slowwave.llm import Request
from slowwave.prompts import promote_prompt
from slowwave.schemas.answers import PromoteAnswer
from slowwave.schemas.prompt_inputs import CandidateCell
from slowwave.schemas.tables import OWN, RAW_PROMPT
from slowwave.store import col, lit
from slowwave.transforms.episodes import EPISODE
from slowwave.transforms.promotion import choose_by_use, core_changes, core_lines, promotion_candidates
from tasks.models import ask
from tasks.stage import Stage

RANKED_BY = ["cell_id", "status", "salience", "event_time"]
COUNTS = ["cell_id", "retrieval_count", "citation_count", "confirmations", "last_accessed"]
TOLD = [*OWN, "cell_type", "subject", "attribute", "content", "summary", "valid_from", "prompt_version"]
"""Columns that only the memories in question are read with."""


def find_candidates(run: Stage) -> pl.DataFrame:
    """Active memories in the order of their usage record; with a model, extracted ones only."""
    where = (col("status") == lit("active")) & (col("cell_type") != lit(EPISODE))
    if run.workspace.llm is not None:
        where = where & (col("prompt_version") != lit(RAW_PROMPT))
    cells = run.store.rows("cells", RANKED_BY, where)
    run.report.rows_in = cells.height
    vitals = run.store.rows("vitals", COUNTS)
    core = run.store.rows("core", ["cell_id", "line_rank"])
    if run.workspace.llm is None:
        ranked = promotion_candidates(cells, vitals, core, limit=max(cells.height, 1))
        ranked = choose_by_use(ranked, max_lines=run.settings.promote.max_lines)
    else:
        ranked = promotion_candidates(cells, vitals, core, limit=max(run.settings.promote.candidates, 1))
    texts = run.store.by_key("cells", ranked["cell_id"], ["cell_id", *TOLD])
    return ranked.join(texts, on="cell_id", how="inner", maintain_order="left")


def choose(run: Stage, candidates: pl.DataFrame) -> pl.DataFrame | None:
    """The chosen memories, best first; None when all stays as it was: nothing is new, or no answer was usable."""
    most = run.settings.promote.max_lines
    if run.workspace.llm is None:
        return choose_by_use(candidates, max_lines=most)
    if not _has_news(run, candidates):
        return None
    shown = [
        CandidateCell(
            number,
            row["cell_type"],
            row["content"],
            row["salience"],
            row["retrieval_count"],
            row["citation_count"],
            row["confirmations"],
            f"{row['valid_from']:%Y-%m-%d}",
            row["is_core"],
        )
        for number, row in enumerate(candidates.iter_rows(named=True), start=1)
    ]
    context = {"candidate_numbers": {cell.number for cell in shown}, "max_lines": most}
    outcome = ask(run, [Request(promote_prompt(shown, most), PromoteAnswer, context)], work="promote")[0]
    if outcome.answer is None:
        run.note("core memory stays as it was: no usable choice this time")
        return None
    order = pl.DataFrame(
        {"number": cast("PromoteAnswer", outcome.answer).chosen}, schema={"number": pl.Int64}
    )
    numbered = candidates.with_row_index("number", offset=1).cast({"number": pl.Int64})
    return (
        order.join(numbered, on="number", how="inner", maintain_order="left")
        .drop("number")
        .with_columns(chosen_by=pl.lit(outcome.prompt_version), chosen_model=pl.lit(outcome.model))
    )


def _has_news(run: Stage, candidates: pl.DataFrame) -> bool:
    """Whether a memory was made, said again or used since the last choice, or one of core memory left."""
    core = run.store.rows("core", ["cell_id", "promoted_at"])
    if core.is_empty():
        return candidates.height > 0
    last = core["promoted_at"].max()
    is_newer = candidates.filter(pl.col("last_accessed") > last).height > 0
    return is_newer or core.join(candidates, on="cell_id", how="anti").height > 0


def rewrite(run: Stage, chosen: pl.DataFrame) -> None:
    """Commits the lines that changed and writes `MEMORY.md` anew."""
    lines = core_lines(chosen)
    promoted, demoted = core_changes(lines, run.store.rows("core"))
    by = chosen.select(
        "cell_id",
        prompt_version=pl.col("chosen_by")
        if "chosen_by" in chosen.columns
        else pl.lit(None, dtype=pl.String),
        model=pl.col("chosen_model") if "chosen_model" in chosen.columns else pl.lit(None, dtype=pl.String),
    )
    run.show(promoted.select("line").to_series())
    run.commit(
        {
            "core.promoted": promoted.join(by, on="cell_id", how="left").with_columns(
                reason=pl.lit("chosen")
            ),
            "core.demoted": demoted.with_columns(reason=pl.lit("not chosen this time")),
        }
    )


def write_file(run: Stage) -> None:
    """Writes `MEMORY.md` anew where it is not what the store holds: lines changed, or a run was cut off before this."""
    if not run.report.dry_run:
        write_core_file(run.workspace.home, run.store)
