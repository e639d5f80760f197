"""The parts of a night beyond its stages: the gate of the model's work, maintenance of the store, and its record."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ulid import ULID

from slowwave.errors import ConfigError, NotFoundError
from slowwave.home.lock import leasing, rewriting
from slowwave.home.paths import Home, open_home
from slowwave.home.workspace import Workspace, open_workspace, wall_clock
from slowwave.journal.catalogue import encode, rows_of
from slowwave.schemas.report import AWAY, SPENT, NightReport, StageReport
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.stages.night.story import tell_story
from slowwave.stages.rebuild.rebuild import rebuild_store
from slowwave.stages.run import PLAIN, Steps
from slowwave.store import col, lit, open_store, remove_damaged, require_whole
from slowwave.store.forgetting import forgetting_of

LLM_STAGES = frozenset({"extract", "cluster", "reconcile", "consolidate", "compress", "link"})
"""Stages that wait when the gate is closed; core memory then only drops lines that no longer hold."""


@dataclass
class Night:
    """A night under way."""

    night_id: str
    workspace: Workspace
    started_at: datetime
    dry_run: bool
    stages: list[StageReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_gated: bool = False
    is_learning: bool = False
    """Whether it only learns from conversations that ended; the night proper comes later."""
    steps: Steps = PLAIN
    last_segment: str = ""
    """The newest segment before the night: the later ones are the night's."""


@contextmanager
def open_night(
    home: Home | str, *, dry_run: bool, is_learning: bool = False, steps: Steps = PLAIN
) -> Iterator[Night]:
    """Hold the lease for the whole night; its stages share one budget.

    Raises:
        BusyError: another night or stage is at work.
        ConfigError: the language model cannot be used as configured.
        DamageError: the store is damaged, and `night.damaged_store` says to stop.
    """
    with ExitStack() as held:
        where = home if isinstance(home, Home) else open_home(home)
        held.enter_context(leasing(where))
        rescued = [] if is_learning else _rescue(where, dry_run=dry_run, steps=steps)
        workspace = held.enter_context(open_workspace(where))
        workspace.require_llm()
        started = workspace.clock()
        workspace.is_introduced = True
        night_id = f"{started:%Y-%m-%d}-{str(ULID.from_datetime(started))[-6:].lower()}"
        yield Night(
            night_id,
            workspace,
            started,
            dry_run,
            is_learning=is_learning,
            notes=[*rescued, *workspace.notes],
            steps=steps,
            last_segment=workspace.last_segment,
        )


def _rescue(where: Home, *, dry_run: bool, steps: Steps) -> list[str]:
    """Looks through the whole store before any work; one that is damaged is made anew if the settings say so."""
    with rewriting(where):
        remove_damaged(
            where.store_root, until=wall_clock() - timedelta(days=where.settings.store.keep_damaged_days)
        )
        try:
            require_whole(where.store_root)
        except ConfigError:  # damaged, or of another version
            if dry_run or where.settings.night.damaged_store == "stop":
                raise
            return rebuild_store(str(where.root), dry_run=False, steps=steps).notes
    return []


def close_gate(night: Night, *, force: bool) -> bool:
    """Return whether the model's work waits tonight: too soon after the last time, or too little that is new."""
    workspace, settings = night.workspace, night.workspace.settings.night
    if workspace.llm is None or force:
        return False
    # nights in which the model never answered do not count
    of_nights = (col("token_count") > lit(0)) & (col("outcome") != lit("learned"))
    nights = workspace.store.rows("nights", ["finished_at"], of_nights)
    last = nights["finished_at"].max()
    is_new = col("status") == lit("active")
    if isinstance(last, datetime):  # what was learned since waits for its summaries, episodes and links
        is_new &= (col("is_judged") == lit(value=False)) | (col("recorded_at") > lit(last))
    is_due = col("unsummarized_count") >= lit(workspace.settings.summaries.min_unsummarized)
    is_raw = (col("status") == lit("extracted")) & (col("prompt_version") == lit(RAW_PROMPT))
    waiting = workspace.store.count("chunks", col("status").isin(["pending", "failed"]) | is_raw)
    waiting += workspace.store.count("cells", is_new)
    waiting += workspace.store.count("topics", is_due & col("merged_into").is_null())
    waiting += workspace.store.count("cells", col("needs_review") == lit(value=True))
    waiting += workspace.store.count("judgements", col("verdict") == lit("unjudged"))
    if isinstance(last, datetime) and night.started_at - last < timedelta(hours=settings.min_hours):
        night.notes.append(
            f"the model's work waits: the last one ended less than {settings.min_hours:g} hours ago; `force` overrides"
        )
    elif waiting < settings.min_cells:
        night.notes.append(
            f"the model's work waits: {waiting} new chunks and memories, {settings.min_cells} make a night; "
            "`force` overrides"
        )
    else:
        return False
    night.is_gated = True
    return True


def learning_budget(home: Home) -> int:
    """Tokens that are left today for learning from conversations that ended.

    Those of a run that goes on are not counted yet: there is one at a time.
    """
    today = wall_clock().replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        store = open_store(home.store_root)
    except NotFoundError:
        return home.settings.night.learn_tokens
    of_today = (col("outcome") == lit("learned")) & (col("started_at") >= lit(today))
    spent = store.rows("nights", ["token_count"], of_today)["token_count"].sum()
    return max(home.settings.night.learn_tokens - int(spent), 0)


def maintain(night: Night) -> None:
    """Compact the store, complete its indices and drop old versions, when the night changed something."""
    if night.dry_run or not any(stage.change_count for stage in night.stages):
        return
    started = time.monotonic()
    before = night.workspace.store.size_bytes()
    tables = night.steps.optimize(night.workspace)
    after = night.workspace.store.size_bytes()
    note = (
        f"{tables.height} tables compacted and indexed: {before / 1e6:.1f} MB before, {after / 1e6:.1f} after"
    )
    rows, seconds = int(tables["rows"].sum()), round(time.monotonic() - started, 3)
    night.stages.append(StageReport(stage="upkeep", rows_in=rows, notes=[note], seconds=seconds))


def _outcome(night: Night) -> str:
    """The end of the night: `gated` if too little was new, `stopped` if the model went away or the budget was spent.

    `learned` if it was none, but what the end of a conversation starts.
    """
    if night.is_gated:
        return "gated"
    if night.is_learning:
        return "learned"
    is_cut_short = any({AWAY, SPENT} & stage.rejected.keys() for stage in night.stages)
    return "stopped" if is_cut_short else "completed"


def record(night: Night, *, seconds: float) -> NightReport:
    """Make the night's report, and journal the night if it changed something or called a model."""
    report = NightReport(
        night_id=night.night_id,
        dry_run=night.dry_run,
        has_llm=night.workspace.llm is not None,
        stages=night.stages,
        notes=night.notes,
        story=tell_story(night.workspace, since=night.last_segment) if not night.dry_run else [],
        forgetting=forgetting_of(
            night.workspace.store,
            now=night.started_at,
            days=night.workspace.settings.forget.recent_days,
        ),
        seconds=round(seconds, 3),
    )
    total = report.ledger.total
    if not night.dry_run and (report.change_count or total.call_count):
        row = {
            "night_id": night.night_id,
            "started_at": night.started_at,
            "finished_at": night.workspace.clock(),
            "outcome": _outcome(night),
            "has_llm": report.has_llm,
            "call_count": total.call_count,
            "token_count": total.input_tokens + total.output_tokens,
            "cost": total.cost,
            "note": "; ".join(night.notes),
        }
        events = encode("night.completed", rows_of("night.completed", [row]))
        night.steps.commit(night.workspace, events, night.workspace.clock())
    return report
