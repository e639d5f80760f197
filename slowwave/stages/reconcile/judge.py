"""Pages for the judge, and the answers: which memories are shown together, and what becomes of unusable answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import polars as pl

from slowwave.lifecycle.order import AGE_ORDER, PAIR, held_from
from slowwave.llm import Outcome, Request
from slowwave.prompting.files import reconcile_prompt
from slowwave.prompting.judging_answers import ReconcileAnswer
from slowwave.prompting.prompt_inputs import PageCell, told_date
from slowwave.stages.asking import ask, author_columns
from slowwave.stages.reconcile.candidates import build_pages
from slowwave.stages.retries import failed_rows
from slowwave.stages.run import Stage

JUDGEMENT = [*PAIR, "verdict", "subject", "attribute", "target_value", "new_value", "reason"]
"""Columns of a judgement as it was answered."""


@dataclass(frozen=True)
class Page:
    """One judged page: its cells in the order of their numbers, the pairs shown on it, and the model's outcome.

    Numbers go group by group, oldest first. `pairs` has `cell_id` (a new memory of the page), `target_id` and
    `similarity`.
    """

    cells: pl.DataFrame
    new_ids: list[str]
    pairs: pl.DataFrame
    outcome: Outcome

    @cached_property
    def judgements(self) -> pl.DataFrame:
        """Rows of the answer with cell ids instead of page numbers; memories that are kept have none."""
        ids = dict(enumerate(self.cells["cell_id"], start=1))
        answer = cast("ReconcileAnswer", self.outcome.answer)
        rows = [
            {**item.model_dump(), "cell_id": ids[item.new], "target_id": ids[item.target]}
            for item in answer.judgements
        ]
        return pl.DataFrame(rows, schema=dict.fromkeys(JUDGEMENT, pl.String)).with_columns(
            author_columns(self.outcome.prompt_version, self.outcome.model)
        )


def judge(run: Stage, new: pl.DataFrame, candidates: pl.DataFrame) -> Iterator[Page]:
    """Pages with their judgements. A page whose answer cannot be used waits with a pause and blocks no other.

    A memory whose page failed before is asked about alone, so that one which no answer can judge is found out and
    the others of its page are not kept waiting.
    """
    tries = run.store.by_key("judging", new["cell_id"], ["cell_id", "attempts"])
    alone = tries.filter(pl.col("attempts") > 0)["cell_id"]
    together = new.filter(~pl.col("cell_id").is_in(alone.implode()))["cell_id"]
    groups = [together, *(pl.Series([cell]) for cell in alone)]
    bounds = run.settings.reconcile
    pages = [
        part
        for group in groups
        for part in build_pages(
            candidates, group, max_cells=bounds.component_cells, group_cells=bounds.group_cells
        ).partition_by("page")
    ]
    ids = pl.concat([pl.Series(dtype=pl.String), *(page["cell_id"] for page in pages)])
    cells = _with_speakers(run, run.store.by_key("cells", ids))
    shown = [
        page.join(cells, on="cell_id", how="inner").sort("group", held_from(), *AGE_ORDER) for page in pages
    ]
    shown.sort(key=lambda page: page.filter("is_new")["event_time"].min())  # type: ignore[arg-type,return-value]
    outcomes = ask(run, [_request(page) for page in shown], work="reconcile")
    waiting: list[tuple[str, Outcome]] = []
    for page, outcome in zip(shown, outcomes, strict=True):
        fresh = page.filter("is_new")["cell_id"]
        if outcome.answer is None:
            run.reject("waits for a judgement", len(fresh))
            waiting += [(cell, outcome) for cell in fresh.sort()]
            continue
        on_page = candidates.join(page.filter("is_new"), on="cell_id", how="semi").join(
            page, left_on="target_id", right_on="cell_id", how="semi"
        )
        yield Page(
            page.drop("page", "group", "is_new", "said_by"),
            fresh.to_list(),
            on_page.select("cell_id", "target_id", "similarity"),
            outcome,
        )
    commit_failed(run, waiting)


def commit_failed(run: Stage, waiting: list[tuple[str, Outcome]]) -> None:
    """One try more for memories without a usable answer; an outage or a spent budget is no try."""
    cells, outcomes = [cell for cell, _ in waiting], [outcome for _, outcome in waiting]
    known = run.store.by_key("judging", cells, ["cell_id", "attempts"])
    asked = pl.DataFrame({"cell_id": cells}, schema={"cell_id": pl.String})
    tried = asked.join(known, on="cell_id", how="left", maintain_order="left").with_columns(
        pl.col("attempts").fill_null(0)
    )
    run.commit({"judging.failed": failed_rows(run, "judging.failed", tried, outcomes)})


def without_waiting(run: Stage, cells: pl.DataFrame) -> pl.DataFrame:
    """Cells (`cell_id`) without those whose next try is not due and those in quarantine; both are counted."""
    tried = run.store.by_key("judging", cells["cell_id"], ["cell_id", "status", "retry_at"])
    held = tried.filter(pl.col("status") == "quarantined")
    early = tried.filter((pl.col("status") == "failed") & (pl.col("retry_at") > run.now))
    run.reject("judgement in quarantine", held.height)
    run.reject("waits for its next try", early.height)
    return cells.join(pl.concat([held, early]), on="cell_id", how="anti", maintain_order="left")


def _request(page: pl.DataFrame) -> Request:
    cells = page.with_row_index("number", offset=1).select(
        *("group", "number", "is_new", "cell_type", "said_by", "content"),
        pl.col("subject", "attribute", "value").fill_null(""),
        date=told_date(),
    )
    groups = cells.partition_by("group", include_key=False, maintain_order=True)
    shown = [[PageCell(**row) for row in group.iter_rows(named=True)] for group in groups]
    context = {
        "page_numbers": set(cells["number"]),
        "new_numbers": set(cells.filter("is_new")["number"]),
    }
    return Request(reconcile_prompt(shown), ReconcileAnswer, context)


def _with_speakers(run: Stage, cells: pl.DataFrame) -> pl.DataFrame:
    """Cells with `said_by`: the one person whose words a cell rests on, else its origin."""
    evidence = cells.select("cell_id", turn_id="evidence").explode("turn_id")
    turns = run.store.by_key("turns", evidence["turn_id"].drop_nulls(), ["turn_id", "speaker"])
    speakers = (
        evidence.join(turns, on="turn_id", how="inner")
        .group_by("cell_id")
        .agg(speaker=pl.col("speaker").first(), speaker_count=pl.col("speaker").n_unique())
    )
    is_one = (pl.col("origin") == "user") & (pl.col("speaker_count") == 1)
    said_by = pl.when(is_one).then(pl.coalesce("speaker", "origin")).otherwise("origin")
    joined = cells.join(speakers, on="cell_id", how="left", maintain_order="left")
    return joined.with_columns(said_by=said_by).drop("speaker", "speaker_count")
