"""One run of a stage: its workspace, its report, and its way to commit. It knows nothing of Prefect."""

import logging
from collections.abc import Iterable
from datetime import timedelta

from slowwave.errors import TransientError
from slowwave.home.topic_counts import with_counts
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import EventRows
from slowwave.schemas.report import StageReport

CHANGED = "changed by somebody meanwhile: read anew by the next run"
"""Why a row of a plan was left out."""

KEEP_VERSIONS = timedelta(hours=24)
"""Age of table versions that upkeep removes: a reader holds one for minutes."""


class Stage:
    """One run of a stage. `now` is read once, so that everything of a run has one time."""

    def __init__(self, name: str, workspace: Workspace, *, dry_run: bool) -> None:
        self.workspace = workspace
        self.store = workspace.store
        self.settings = workspace.settings
        self.now = workspace.clock()
        self.report = StageReport(stage=name, dry_run=dry_run)
        self.logger: logging.Logger | logging.LoggerAdapter[logging.Logger] = logging.getLogger("slowwave")

    def introduce(self) -> None:
        """Notes what the workspace has to say, once a workspace."""
        if not self.workspace.is_introduced:
            self.workspace.is_introduced = True
            for text in self.workspace.notes:
                self.note(text)

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
            self.logger.info(text)

    def skip(self, reason: str) -> None:
        """Says that there is nothing to do, and why."""
        self.report.is_skipped = True
        self.note(reason)

    def show(self, lines: Iterable[str | None], *, most: int = 8) -> None:
        """A few examples of what changed."""
        room = max(most - len(self.report.examples), 0)
        self.report.examples += [line[:240] for line in lines if line is not None][:room]

    def commit(self, plan: EventRows) -> None:
        """Commits a plan as one segment; a dry run only counts it."""
        if self.report.dry_run:
            parts = with_counts(self.store, plan)
            self.count(**{kind: rows.height for kind, rows in parts.items()})
        elif any(rows.height for rows in plan.values()):
            self.count(**self.workspace.commit_plan(plan, now=self.now))
            self.reject(CHANGED, self.workspace.changed_meanwhile)

    def refresh_vectors(self) -> None:
        """Embeds what lacks a vector; an embedder that is away leaves it waiting, and that is said."""
        if self.report.dry_run or self.workspace.embedder is None:
            return
        try:
            done = self.workspace.refresh_vectors()
        except TransientError as error:
            self.note(f"vectors wait for the next run: {error}")
            return
        self.reject("text that the embedder refused", done.pop("failed", 0))


def optimize(workspace: Workspace) -> int:
    """Compacts and indexes all tables under the writer lock; returns the number of rows."""
    with workspace.writing():
        return workspace.store.optimize(keep_versions=KEEP_VERSIONS)
