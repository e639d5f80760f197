"""One run of a stage: its workspace, its report, and its ways to commit, embed and ask.

A stage knows nothing of Prefect. What reaches the outside world (`Steps`) is handed in: Prefect tasks within a flow
run, plain functions otherwise.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import polars as pl

from slowwave.errors import TransientError
from slowwave.home.paths import Home
from slowwave.home.topic_counts import with_counts
from slowwave.home.workspace import Workspace, apply_pending, refresh_vectors
from slowwave.journal.catalogue import EventRows
from slowwave.models.embed.protocol import Embedder
from slowwave.models.gateway import LLM
from slowwave.models.requests import Outcome, Request
from slowwave.progress import progress
from slowwave.schemas.ledger import Ledger, LedgerLine
from slowwave.schemas.report import StageReport
from slowwave.store import Store


def ask_model(llm: LLM, requests: Sequence[Request], work: str, count: int) -> list[Outcome]:
    """Asks a batch of questions; outcomes come in the order of the requests."""
    done = 0

    def told(_: Outcome) -> None:
        nonlocal done
        done += 1
        progress(work, done, count)

    return llm.ask_all(requests, on_done=told)


def fold_journal(home: Home, store: Store) -> list[str]:
    """Folds every segment into an empty store; returns the files that were skipped, with the reason."""
    return [f"{problem.path.name} ({problem.reason})" for problem in apply_pending(home.journal, store)]


def optimize(workspace: Workspace) -> pl.DataFrame:
    """Compacts and indexes all tables under the writer lock; a row a table."""
    settings = workspace.settings.store
    with workspace.writing():
        return workspace.store.optimize(
            vector_index_rows=settings.vector_index_rows,
            keep_versions=timedelta(hours=settings.keep_versions_hours),
        )


def commit_plan(workspace: Workspace, plan: EventRows, now: datetime) -> dict[str, int]:
    """Commits a plan as one segment and folds it into the store; rows by kind."""
    return workspace.commit_plan(plan, now=now)


@dataclass(frozen=True)
class Steps:
    """The steps of a stage that reach the outside world: plain functions, or Prefect tasks of the same names."""

    commit: Callable[[Workspace, pl.DataFrame, datetime], int] = Workspace.commit
    commit_plan: Callable[[Workspace, EventRows, datetime], dict[str, int]] = commit_plan
    embed: Callable[[Workspace], dict[str, int]] = Workspace.refresh_vectors
    ask: Callable[[LLM, Sequence[Request], str, int], list[Outcome]] = ask_model
    optimize: Callable[[Workspace], pl.DataFrame] = optimize
    fold: Callable[[Home, Store], list[str]] = fold_journal
    embed_all: Callable[[Store, Embedder | None], dict[str, int]] = refresh_vectors
    logger: "logging.Logger | logging.LoggerAdapter[logging.Logger]" = field(
        default_factory=lambda: logging.getLogger("slowwave")
    )


PLAIN = Steps()

CHANGED = "changed by somebody meanwhile: read anew by the next run"
"""Why a row of a plan was left out."""


class Stage:
    """One run of a stage. `now` is read once, so that everything of a run has one time."""

    def __init__(self, name: str, workspace: Workspace, *, dry_run: bool, steps: Steps = PLAIN) -> None:
        self.workspace = workspace
        self.steps = steps
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
            self.steps.logger.info(text)

    def skip(self, reason: str) -> None:
        """Says that there is nothing to do, and why."""
        self.report.is_skipped = True
        self.note(reason)

    def show(self, lines: Iterable[str | None], *, most: int = 8) -> None:
        """A few examples of what changed."""
        room = max(most - len(self.report.examples), 0)
        self.report.examples += [line[:240] for line in lines if line is not None][:room]

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

    def commit(self, plan: EventRows) -> None:
        """Commits a plan as one segment; a dry run only counts it."""
        if self.report.dry_run:
            parts = with_counts(self.store, plan)
            self.count(**{kind: rows.height for kind, rows in parts.items()})
        elif any(rows.height for rows in plan.values()):
            self.count(**self.steps.commit_plan(self.workspace, plan, self.now))
            self.reject(CHANGED, self.workspace.changed_meanwhile)

    def refresh_vectors(self) -> None:
        """Embeds what lacks a vector; an embedder that is away leaves it waiting, and that is said."""
        if self.report.dry_run or self.workspace.embedder is None:
            return
        try:
            done = self.steps.embed(self.workspace)
        except TransientError as error:
            self.note(f"vectors wait for the next run: {error}")
            return
        self.reject("text that the embedder refused", done.pop("failed", 0))
