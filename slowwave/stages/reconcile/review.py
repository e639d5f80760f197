"""Review: memories that rest on a superseded one were marked, and are judged again in the next run."""

from collections.abc import Mapping
from typing import cast

import polars as pl

from slowwave.lifecycle.order import AGE_ORDER
from slowwave.llm import Outcome, Request
from slowwave.prompting.files import review_prompt
from slowwave.prompting.judging_answers import ReviewAnswer
from slowwave.prompting.prompt_inputs import ChangeLine, ReviewedCell, told_date
from slowwave.schemas.choices import EPISODE
from slowwave.stages.asking import ask, author_columns
from slowwave.stages.reconcile.judge import commit_failed, without_waiting
from slowwave.stages.reconcile.judgements import checked, contradictions_to_open, plan_judged
from slowwave.stages.reconcile.pairs import judgement_rows
from slowwave.stages.run import Stage
from slowwave.store import col, lit
from slowwave.store.chains import elaborated_pairs, standing_ends

VERDICTS = {"updates": "updates", "retires": "corrects"}
"""Verdicts of a review as verdicts between the memory that holds now and the one under review."""


def find_flagged_cells(run: Stage) -> pl.DataFrame:
    """Living memories marked for review before this run, most salient first. Episodes are told anew, not judged."""
    wanted = col("needs_review") == lit(value=True)
    cells = run.store.rows("cells", where=wanted & col("status").isin(["active", "archived"]))
    return cells.filter(pl.col("cell_type") != EPISODE).sort(
        "salience", *AGE_ORDER, descending=[True, *[False] * len(AGE_ORDER)]
    )


def leave_flagged(run: Stage, flagged: pl.DataFrame) -> None:
    """Without a model the marks stay, and the report says how many."""
    run.reject("marked for review, waits for a language model", flagged.height)


def review(run: Stage, flagged: pl.DataFrame) -> None:
    """Asks about each marked memory with what changed under it; the mark goes with the answer."""
    due = without_waiting(run, flagged)
    asked = due.head(run.settings.reconcile.review_cells)
    run.reject("marked for review, waits for the next night", due.height - asked.height)
    changes = _changes(run, asked)
    calm = asked.join(changes, on="cell_id", how="anti").select("cell_id", *author_columns())
    why = pl.lit("what it rests on stands, or is no longer there")
    run.commit({"cell.reviewed": calm.with_columns(verdict=pl.lit("keep"), reason=why)})
    pages = asked.join(changes, on="cell_id", how="semi", maintain_order="left")
    lines = {str(part["cell_id"][0]): part for part in changes.partition_by("cell_id", maintain_order=True)}
    dated = pages.with_columns(date=told_date())
    requests = [_request(row, lines[row["cell_id"]]) for row in dated.iter_rows(named=True)]
    outcomes = ask(run, requests, work="review")
    waiting: list[tuple[str, Outcome]] = []
    for cell, outcome in zip(pages["cell_id"], outcomes, strict=False):
        if outcome.answer is None:
            run.reject("marked for review, waits for the next night")
            waiting.append((cell, outcome))
        else:
            _commit_answer(run, cell, lines[cell], outcome)
    commit_failed(run, waiting)


def _changes(run: Stage, flagged: pl.DataFrame) -> pl.DataFrame:
    """Changes under each memory: `cell_id`, `head_id`, `is_correction`, `date`, `before`, `after`, by date."""
    rests_on = elaborated_pairs(run.store, flagged["cell_id"])
    columns = [
        "cell_id",
        "status",
        "superseded_by",
        "valid_from",
        "valid_precision",
        "valid_until",
        "content",
    ]
    before = run.store.by_key("cells", rests_on["target_id"], columns)
    changed = before.filter((pl.col("status") == "superseded") & pl.col("valid_until").is_not_null())
    heads = standing_ends(run.store, changed["cell_id"])
    now = run.store.by_key("cells", heads.values(), columns)
    told = changed.select(
        target_id="cell_id",
        before="content",
        head_id=pl.col("cell_id").replace_strict(heads, default=None, return_dtype=pl.String),
        is_correction=pl.col("valid_until") == pl.col("valid_from"),  # a corrected value never held
    ).join(
        now.select(head_id="cell_id", after="content", date=told_date()),
        on="head_id",
        how="inner",
    )
    return (
        rests_on.join(told, on="target_id", how="inner")
        .filter(pl.col("cell_id") != pl.col("head_id"))
        .sort("cell_id", "date", "target_id")
    )


def _request(cell: Mapping[str, object], changes: pl.DataFrame) -> Request:
    shown = ("cell_type", "subject", "attribute", "value", "date", "content")
    text = {name: str(cell[name] or "") for name in shown}
    lines = [
        ChangeLine(number, row["is_correction"], row["date"], row["before"], row["after"])
        for number, row in enumerate(changes.iter_rows(named=True), start=1)
    ]
    return Request(
        review_prompt(ReviewedCell(**text), lines),
        ReviewAnswer,
        {"change_numbers": {line.number for line in lines}},
    )


def _commit_answer(run: Stage, cell: str, changes: pl.DataFrame, outcome: Outcome) -> None:
    """Commits what one answer changes, behind the same guard as any judgement."""
    answer = cast("ReviewAnswer", outcome.answer)
    head = changes["head_id"][max(answer.change, 1) - 1]
    author = author_columns(outcome.prompt_version, outcome.model)
    said = pl.DataFrame(
        {
            "cell_id": [head],
            "target_id": [cell],
            "verdict": [VERDICTS.get(answer.verdict, "keep")],
            "subject": [answer.subject],
            "attribute": [answer.attribute],
            "reason": [answer.reason],
        }
    ).with_columns(author)
    cells = run.store.by_key("cells", [head, cell])
    judged = checked(run, said, cells)
    plan = plan_judged(run, judged)
    opened, _ = contradictions_to_open(judged, cells, plan)
    rows = pl.DataFrame({"cell_id": [cell], "verdict": [answer.verdict], "reason": [answer.reason]})
    run.commit(
        {
            "pair.judged": judgement_rows(judged.with_columns(reason=pl.coalesce("guard_note", "reason"))),
            **plan.events,
            "contradiction.opened": opened,
            "cell.reviewed": rows.with_columns(author),
        }
    )
