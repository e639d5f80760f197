"""Steps of a flow: Prefect's tasks within a flow run, plain calls outside of one; and the report as an artifact.

A flow's function called directly (`flow.fn`) does the same without Prefect: its steps are plain calls then and the
report is only returned. That is how interactive commands, benchmarks and tests run a stage.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, wraps
from typing import ParamSpec, TypeVar

import polars as pl
from prefect import Flow, Task, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext
from prefect.runtime import flow_run

from slowwave.errors import TransientError
from slowwave.home.stage import Stage
from slowwave.home.workspace import open_workspace
from slowwave.models.embed.protocol import Embedder
from slowwave.schemas.report import NightReport, StageReport, headline, night_headline
from slowwave.settings.tree import Settings
from slowwave.store import StoreReader
from tasks.ask import Model, ask_batch
from tasks.nightly.report import night_markdown, stage_markdown

P = ParamSpec("P")
R = TypeVar("R")


ask_model = task(name="ask-model", cache_policy=NO_CACHE, task_run_name="ask-{work}-{count}")(ask_batch)


def is_under_prefect() -> bool:
    """Return whether a flow run is under way, as opposed to a plain call."""
    return FlowRunContext.get() is not None


def run_logger() -> "logging.Logger | logging.LoggerAdapter[logging.Logger]":
    """The log of the flow run, or outside of one that of the library."""
    return get_run_logger() if is_under_prefect() else logging.getLogger("slowwave")


def step(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function a step: a task of its own name in the run's page, or a plain call outside of a flow run.

    Not cached by Prefect: paid answers are cached in the home alone, where an erase reaches them. Not retried either:
    what can pass is repeated by the client that asks (`slowwave/models`), and a commit must not be.
    """
    name = function.__name__.replace("_", "-")
    work = task(name=name, task_run_name=name, cache_policy=NO_CACHE)(function)

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return work(*args, **kwargs) if is_under_prefect() else function(*args, **kwargs)

    return run


class Readable:
    """The store, the settings, the time and the embedder of a run, for `find_*` steps. It cannot write.

    A plain class and no dataclass: Prefect looks into the fields of a dataclass that is handed to a task.
    """

    def __init__(
        self, store: StoreReader, settings: Settings, now: datetime, embedder: Embedder | None
    ) -> None:
        self.store = store
        self.settings = settings
        self.now = now
        self.embedder = embedder

    def vectors_of(self, texts: pl.Series) -> pl.Series | None:
        """Vectors of texts, NaN where one has none; None without an embedder, or while it does not answer."""
        try:
            made = self.embedder.embed_documents(texts.to_list()) if self.embedder else None
        except TransientError:  # the vectors of what the stage writes wait too, and its report says so
            return None
        return pl.Series("vector", made.vectors) if made else None


class StageRun(Stage):
    """One run of a stage: `reader` for its `find_*` steps, `model` for its `ask_*` steps (None where there is none)."""

    @cached_property
    def reader(self) -> Readable:
        """The store as `find_*` steps read it."""
        return Readable(self.store, self.settings, self.now, self.workspace.embedder)

    @cached_property
    def model(self) -> Model | None:
        """The language model as `ask_*` steps ask it; None where there is none."""
        llm = self.workspace.llm
        if llm is None:
            return None
        return Model(self, llm, ask=lambda *batch: call(ask_model, *batch))


def call(work: "Task[P, R] | Flow[P, R]", *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs a task or a subflow as such within a flow run, and as a plain function outside of one."""
    function: Callable[P, R] = work if is_under_prefect() else work.fn
    return function(*args, **kwargs)


@contextmanager
def open_stage(name: str, *, home: str, dry_run: bool = False) -> Iterator[StageRun]:
    """Opens the workspace for a stage, times it, and leaves its report as an artifact.

    Raises:
        ConfigError: the language model cannot be used as configured.
    """
    started = time.monotonic()
    with open_workspace(home, flow=name) as workspace:
        workspace.require_llm()
        run = StageRun(name, workspace, dry_run=dry_run)
        run.logger = run_logger()
        run.introduce()
        yield run
        run.report.seconds = round(time.monotonic() - started, 3)
        publish(run.report)


def publish(report: StageReport | NightReport) -> None:
    """Leaves a report as a Markdown artifact under a stable key, and its headline in the log."""
    report = without_texts(report)
    if isinstance(report, NightReport):
        key, line, text = "nightly", night_headline(report), night_markdown(report)
    else:
        key, line, text = report.stage, headline(report), stage_markdown(report)
    run_logger().info(line)
    publish_page(text, key=f"{key}-report", headline=line)


def without_texts(report: StageReport | NightReport) -> StageReport | NightReport:
    """A report in numbers and sentences alone: an erase does not reach Prefect's database."""
    if isinstance(report, StageReport):
        return report.model_copy(update={"examples": []})
    stages = [stage.model_copy(update={"examples": []}) for stage in report.stages]
    story = [part.model_copy(update={"lines": [], "more_count": 0}) for part in report.story]
    return report.model_copy(update={"stages": stages, "story": story})


def publish_page(text: str, *, key: str, headline: str) -> None:
    """Leaves a page of Markdown as an artifact under a stable key; nothing outside of a flow run."""
    if is_under_prefect():
        create_markdown_artifact(text, key=key, description=headline)


def run_name() -> str:
    """`<flow>-<date>-<time>`: the name of a run in Prefect's page; a dry run says so."""
    suffix = "-dry" if (flow_run.parameters or {}).get("dry_run") else ""
    return f"{flow_run.flow_name}-{datetime.now(UTC):%Y-%m-%d-%H%M}{suffix}"
