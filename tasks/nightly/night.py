"""The parts of a night beyond its stages: the gate of the model's work, maintenance of the store, and its record."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta

from ulid import ULID

from slowwave.errors import ConfigError
from slowwave.home.lock import leasing, rewriting
from slowwave.home.paths import Home, open_home
from slowwave.home.stage import optimize
from slowwave.home.workspace import Workspace, open_workspace
from slowwave.journal.catalogue import encode, rows_of
from slowwave.schemas.report import AWAY, SPENT, NightReport, StageReport
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.store import col, lit, require_whole
from slowwave.store.forgetting import forgetting_of
from tasks.nightly.story import tell_story
from tasks.rebuild import rebuild_store
from tasks.step import step


class Night:
    """A night under way; the later segments than `last_segment` are its own.

    With `is_learning` it only learns from conversations that ended; the night proper comes later. A plain class and no
    dataclass: Prefect looks into the fields of a dataclass that is handed to a task.
    """

    def __init__(self, workspace: Workspace, *, dry_run: bool, is_learning: bool, notes: list[str]) -> None:
        self.workspace = workspace
        self.started_at = workspace.clock()
        self.night_id = f"{self.started_at:%Y-%m-%d}-{str(ULID.from_datetime(self.started_at))[-6:].lower()}"
        self.dry_run = dry_run
        self.is_learning = is_learning
        self.is_gated = False
        self.last_segment = workspace.last_segment
        self.stages: list[StageReport] = []
        self.notes = notes

    @property
    def outcome(self) -> str:
        """`gated` if too little was new, `stopped` if the model went away or the budget was spent.

        `learned` if it was none, but what the end of a conversation starts.
        """
        if self.is_gated or self.is_learning:
            return "gated" if self.is_gated else "learned"
        is_cut_short = any({AWAY, SPENT} & stage.rejected.keys() for stage in self.stages)
        return "stopped" if is_cut_short else "completed"


@contextmanager
def open_night(home: Home | str, *, dry_run: bool, is_learning: bool = False) -> Iterator[Night]:
    """Hold the lease for the whole night; its stages share one budget.

    Raises:
        BusyError: another night or stage is at work.
        ConfigError: the language model cannot be used as configured.
        DamageError: the store is damaged, and `night.damaged_store` says to stop.
    """
    with ExitStack() as held:
        where = home if isinstance(home, Home) else open_home(home)
        held.enter_context(leasing(where, flow="learn" if is_learning else "nightly"))
        rescued = [] if is_learning else _rescue(where, dry_run=dry_run)
        workspace = held.enter_context(open_workspace(where))
        workspace.require_llm()
        workspace.is_introduced = True
        notes = [*rescued, *workspace.notes]
        yield Night(workspace, dry_run=dry_run, is_learning=is_learning, notes=notes)


def _rescue(home: Home, *, dry_run: bool) -> list[str]:
    """Looks through the whole store before any work; one that is damaged is made anew if the settings say so."""
    with rewriting(home):
        try:
            require_whole(home.store_root)
        except ConfigError:  # damaged, or of another version
            if dry_run or home.settings.night.damaged_store == "stop":
                raise
            return rebuild_store(str(home.root), dry_run=False).notes
    return []


def is_gate_closed(night: Night, *, force: bool) -> bool:
    """Return whether the model's work waits tonight: too soon after the last time, or too little that is new."""
    workspace, settings = night.workspace, night.workspace.settings.night
    if workspace.llm is None or force:
        return False
    # nights in which the model never answered do not count
    of_nights = (col("token_count") > lit(0)) & (col("outcome") != lit("learned"))
    last = workspace.store.rows("nights", ["finished_at"], of_nights)["finished_at"].max()
    last_end = last if isinstance(last, datetime) else None
    waiting = _waiting_count(workspace, last_end)
    if last_end is not None and night.started_at - last_end < timedelta(hours=settings.min_hours):
        why = f"the last one ended less than {settings.min_hours:g} hours ago"
    elif waiting == 0:
        why = "no chunk and no memory is new"
    else:
        return False
    night.notes.append(f"the model's work waits: {why}; `force` overrides")
    night.is_gated = True
    return True


def _waiting_count(workspace: Workspace, last: datetime | None) -> int:
    """Chunks, memories, topics and pairs that wait for the model since a night ended at `last`."""
    is_new = col("status") == lit("active")
    if last is not None:  # what was learned since waits for its summaries, episodes and links
        is_new &= (col("is_judged") == lit(value=False)) | (col("recorded_at") > lit(last))
    is_raw = (col("status") == lit("extracted")) & (col("prompt_version") == lit(RAW_PROMPT))
    is_due = col("unsummarized_count") >= lit(workspace.settings.summaries.min_unsummarized)
    waiting = [
        ("chunks", col("status").isin(["pending", "failed"]) | is_raw),
        ("cells", is_new),
        ("topics", is_due & col("merged_into").is_null()),
        ("cells", col("needs_review") == lit(value=True)),
        ("judgements", col("verdict") == lit("unjudged")),
    ]
    return sum(workspace.store.count(table, where) for table, where in waiting)


@step
def maintain(night: Night) -> None:
    """Compact the store, complete its indices and drop old versions, when the night changed something."""
    if night.dry_run or not any(stage.change_count for stage in night.stages):
        return
    started, store = time.monotonic(), night.workspace.store
    before, rows, after = store.size_bytes(), optimize(night.workspace), store.size_bytes()
    note = f"compacted and indexed: {before / 1e6:.1f} MB before, {after / 1e6:.1f} after"
    seconds = round(time.monotonic() - started, 3)
    night.stages.append(StageReport(stage="upkeep", rows_in=rows, notes=[note], seconds=seconds))


@step
def record(night: Night, *, seconds: float) -> NightReport:
    """Make the night's report, and journal the night if it changed something or called a model."""
    work = night.workspace
    report = NightReport(
        night_id=night.night_id,
        dry_run=night.dry_run,
        has_llm=work.llm is not None,
        stages=night.stages,
        notes=night.notes,
        story=tell_story(work, since=night.last_segment) if not night.dry_run else [],
        forgetting=forgetting_of(work.store, now=night.started_at),
        seconds=round(seconds, 3),
    )
    total = report.ledger.total
    if not night.dry_run and (report.change_count or total.call_count):
        row = {
            "night_id": night.night_id,
            "started_at": night.started_at,
            "finished_at": work.clock(),
            "outcome": night.outcome,
            "has_llm": report.has_llm,
            "call_count": total.call_count,
            "token_count": total.input_tokens + total.output_tokens,
            "cost": total.cost,
            "note": "; ".join(night.notes),
        }
        work.commit(encode("night.completed", rows_of("night.completed", [row])), work.clock())
    return report
