"""What every stage has: a workspace, a report, one way to commit, and an artifact at the end.

A flow's function called directly (`flow.fn`) runs the same story without Prefect: tasks are plain calls then
and the report is only returned. That is how interactive commands and benchmarks run a stage.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

import polars as pl
from prefect import Flow, Task, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext
from prefect.runtime import flow_run

from slowwave.errors import TransientError
from slowwave.llm import Outcome
from slowwave.report import headline, night_headline, night_markdown, stage_markdown
from slowwave.schemas.events import encode
from slowwave.schemas.ledger import Ledger, LedgerLine
from slowwave.schemas.report import NightReport, StageReport
from slowwave.topic_counts import counts_after, topic_counts
from slowwave.workspace import Workspace, open_workspace

P = ParamSpec("P")
R = TypeVar("R")

Plan = dict[str, pl.DataFrame]
"""Rows by event kind, in the order in which they are committed."""


def is_under_prefect() -> bool:
    """Whether a flow run is under way, as opposed to a plain call."""
    return FlowRunContext.get() is not None


def call_task(work: "Task[P, R]", *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs a task as a task within a flow run, and as a plain function outside of one."""
    function: Callable[P, R] = work if is_under_prefect() else work.fn
    return function(*args, **kwargs)


def call_flow(story: "Flow[P, R]", *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs a flow as a subflow within a flow run, and as a plain function outside of one."""
    function: Callable[P, R] = story if is_under_prefect() else story.fn
    return function(*args, **kwargs)


class Stage:
    """One run of a stage. `now` is read once, so that everything of a run has one time."""

    def __init__(self, name: str, workspace: Workspace, *, dry_run: bool) -> None:
        self.workspace = workspace
        self.store = workspace.store
        self.settings = workspace.settings
        self.now = workspace.clock()
        self.report = StageReport(stage=name, dry_run=dry_run)

    def count(self, **counts: int) -> None:
        """Adds to what the stage did."""
        for name, number in counts.items():
            if number:
                self.report.counts[name] = self.report.counts.get(name, 0) + number

    def reject(self, reason: str, number: int = 1) -> None:
        """Adds to what was left out."""
        if number:
            self.report.rejected[reason] = self.report.rejected.get(reason, 0) + number

    def note(self, text: str) -> None:
        """A sentence for the report and the log, once."""
        if text not in self.report.notes:
            self.report.notes.append(text)
            run_logger().info(text)

    def skip(self, reason: str) -> None:
        """Says that there is nothing to do, and why."""
        self.report.is_skipped = True
        self.note(reason)

    def show(self, lines: pl.Series, *, most: int = 8) -> None:
        """A few examples of what changed."""
        room = most - len(self.report.examples)
        self.report.examples += [line[:240] for line in lines.drop_nulls().head(max(room, 0))]

    def spend(self, outcome: Outcome) -> None:
        """Adds what one request cost."""
        line = LedgerLine(
            call_count=outcome.call_count,
            cached_count=int(outcome.is_cached),
            input_tokens=outcome.input_tokens,
            output_tokens=outcome.output_tokens,
            cost=outcome.cost,
        )
        self.report.ledger += Ledger.of(line, model=outcome.model, prompt_version=outcome.prompt_version)

    def commit(self, plan: Plan) -> None:
        """Commits a plan as one segment; a dry run only counts it."""
        parts = {kind: rows for kind, rows in plan.items() if rows.height}
        counted = counts_after(self.store, parts)
        parts |= {"topic.counted": counted} if counted.height else {}
        self.count(**{kind: rows.height for kind, rows in parts.items()})
        if parts and not self.report.dry_run:
            events = pl.concat([encode(kind, rows) for kind, rows in parts.items()])
            call_task(commit_segment, self.workspace, events, self.now)

    def topic_counts(self, topic_ids: Collection[str], statuses: Mapping[str, str]) -> pl.DataFrame:
        """Live and unsummarized cells of these topics, where they are not what is stored.

        `statuses` is what the plan at hand makes of cells. Returns `topic_id`, `cell_count`, `unsummarized_count`.
        """
        return topic_counts(self.store, topic_ids, statuses)

    def refresh_vectors(self) -> None:
        """Embeds what lacks a vector; an embedder that is away leaves it waiting, and that is said."""
        if self.report.dry_run or self.workspace.embedder is None:
            return
        try:
            done = call_task(embed_missing, self.workspace)
        except TransientError as error:
            self.note(f"vectors wait for the next run: {error}")
            return
        self.reject("text that the embedder refused", done.pop("failed", 0))


@contextmanager
def stage(name: str, *, home: str, dry_run: bool = False) -> Iterator[Stage]:
    """Opens the workspace for a stage, times it, and leaves its report as an artifact."""
    started = time.monotonic()
    with open_workspace(home) as workspace:
        run = Stage(name, workspace, dry_run=dry_run)
        if not workspace.is_introduced:
            workspace.is_introduced = True
            for text in workspace.notes:
                run.note(text)
        yield run
        run.report.seconds = round(time.monotonic() - started, 3)
        publish(run.report)


@task(name="commit", cache_policy=NO_CACHE, task_run_name="commit-{events.height}-events")
def commit_segment(workspace: Workspace, events: pl.DataFrame, now: datetime) -> int:
    """Writes one journal segment and folds it into the store."""
    return workspace.commit(events, now=now)


@task(name="embed", cache_policy=NO_CACHE, task_run_name="embed-missing")
def embed_missing(workspace: Workspace) -> dict[str, int]:
    """Computes missing vectors in batches."""
    return workspace.refresh_vectors()


def publish(report: StageReport | NightReport) -> None:
    """Leaves a report as a Markdown artifact under a stable key, and its headline in the log."""
    if isinstance(report, NightReport):
        key, line, text = "nightly", night_headline(report), night_markdown(report)
    else:
        key, line, text = report.stage, headline(report), stage_markdown(report)
    run_logger().info(line)
    if is_under_prefect():
        create_markdown_artifact(text, key=f"{key}-report", description=line)


def run_logger() -> "logging.Logger | logging.LoggerAdapter[logging.Logger]":
    """The flow run's logger, or the package's outside of one."""
    return get_run_logger() if is_under_prefect() else logging.getLogger("slowwave")


def run_name() -> str:
    """`<flow>-<date>-<time>`: the name of a run in Prefect's page; a dry run says so."""
    parameters = flow_run.parameters or {}
    return (
        f"{flow_run.flow_name}-{datetime.now(UTC):%Y-%m-%d-%H%M}{'-dry' if parameters.get('dry_run') else ''}"
    )
