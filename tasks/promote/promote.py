"""Candidates for core memory, and the choice among them: by the model, or without one by their use."""

import polars as pl

from slowwave.home.core_file import core_lines, hand_edits, write_core_file
from slowwave.home.core_memory import (
    core_events,
    core_projects,
    doubted,
    ingest_hand_edits,
    is_over,
    noted,
    of_persons,
    outdated_lines,
)
from slowwave.journal.plan import Plan
from slowwave.models.answers.judge import PromoteAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import numbers_of, page_rows, told_date
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER, TIMESTAMP
from slowwave.settings.groups import PromoteSettings
from slowwave.store import col, lit, owned_in
from slowwave.trust.origins import is_persons_word
from tasks.ask import Model, author_columns
from tasks.promote.choose import (
    belongs,
    choose_by_use,
    one_a_property,
    promotion_candidates,
    usage_record,
    with_unsettled,
)
from tasks.step import Readable, StageRun, step

RANKED_BY = [
    *("cell_id", "status", "salience", "decay_rate", "protected", "origin", "prompt_version"),
    *("cell_type", "is_wish", "source_id", "property"),
    *("valid_from", "valid_precision", "valid_until", "event_time", "recorded_at"),
]
COUNTS = [
    *("cell_id", "retrieval_count", "citation_count", "ignore_count", "confirmations"),
    *("last_accessed", "retrieved_at", "demoted_at"),
]
SHOWN = ["cell_id", *OWNER, "content"]
"""Columns that only the memories in question are read with."""

NO_MODEL = (
    "without a language model, core memory takes in what you told Slowwave yourself (`slowwave remember`), and "
    "decisions, standing wishes and risks that a model read before"
)

CANDIDATES = 80
"""Memories shown to the model, a third of them newcomers: the lines of core memory and some to replace them."""

STAYING_MARGIN = 0.25
"""Share that a line of core memory counts more than a newcomer: else two of about equal worth take turns."""

SETTLED_DAYS = 7.0
"""Days that a line stays at least while it is current: an agent that read it is still at work."""


@step
def ingest_edits(run: StageRun) -> None:
    """Commits what a person changed in `MEMORY.md` before it is written again; a dry run only says so."""
    if not run.report.dry_run:
        note = ingest_hand_edits(run.workspace)
    else:
        edits = hand_edits(run.workspace.home, run.store)
        note = noted(edits) if edits else ""
    if note:
        run.note(note)


@step
def find_core_projects(reader: Readable) -> list[str]:
    """Projects that have core memory of their own, or could."""
    return core_projects(reader.store, reader.settings.owner)


@step
def plan_outdated_lines(reader: Readable, project: str) -> Plan:
    """The lines that are no longer current, with what takes their place."""
    return Plan(events=outdated_lines(reader.store, reader.settings.owner, project, now=reader.now))


@step
def find_core(reader: Readable, project: str) -> pl.DataFrame:
    """The core memory of a project as rows of `core`."""
    return reader.store.rows("core", where=owned_in(reader.settings.owner, project))


@step
def find_best(reader: Readable, project: str, core: pl.DataFrame, *, has_model: bool) -> pl.DataFrame:
    """Memories of persons with their use: the lines of core memory, and those that are worth most.

    Of several on one property the current one stands for all. Without a model those are the memories that a person
    told Slowwave itself, and decisions, standing wishes and risks that a model read on an earlier night. What a model
    left out stays out on nights without one, until it is used or said again.
    """
    cells = _active(reader, project).filter(is_persons_word() & ~is_over(reader.now))
    ranked = promotion_candidates(
        one_a_property(cells),
        reader.store.rows("cell_usage", COUNTS),
        core,
        doubted=doubted(reader.store),
        limit=CANDIDATES if has_model else max(cells.height, 1),
        now=reader.now,
    )
    if not has_model:
        nights = reader.store.rows("nights", ["finished_at"], col("has_llm") == lit(value=True))
        was_weighed = pl.col("last_accessed") <= pl.lit(nights["finished_at"].max(), dtype=TIMESTAMP)
        others = ranked.filter(~pl.col("is_core") & belongs() & ~was_weighed.fill_null(value=False))
        used = choose_by_use(others, lines=reader.settings.promote.target_lines, margin=STAYING_MARGIN)
        ranked = pl.concat([ranked.filter("is_core"), used])
    return ranked


@step
def find_candidates(reader: Readable, best: pl.DataFrame) -> pl.DataFrame:
    """Those of the best, with their texts, that their person stated in words of their own, or confirmed."""
    texts = reader.store.by_key("cells", best["cell_id"], SHOWN)
    return of_persons(reader.store, best.join(texts, on="cell_id", how="inner", maintain_order="left"))


@step
def ask_choice(model: Model, candidates: pl.DataFrame, settings: PromoteSettings) -> pl.DataFrame | None:
    """The candidates that the model chose, best first, with who chose them; None without a usable answer."""
    most = min(settings.target_lines, settings.max_lines)
    numbered = candidates.with_row_index("number", offset=1).cast({"number": pl.Int64})
    cells = numbered.select(
        *("number", "cell_type", "content", "salience", "confirmations", "is_core", "is_wish"),
        retrievals="retrieval_count",
        citations="citation_count",
        ignores="ignore_count",
        date=told_date(),
    )
    shown = page_rows(cells)
    page = {"candidate_numbers": numbers_of(shown), "max_lines": most}
    request = Request(render("promote_cells", cells=shown, max_lines=most), PromoteAnswer, page)
    answered = model.ask(PromoteAnswer, {"": request}, work="promote").get("")
    if answered is None:
        return None
    order = pl.DataFrame({"number": answered.answer.chosen}, schema={"number": pl.Int64})
    chosen = order.join(numbered, on="number", how="inner", maintain_order="left").drop("number")
    return chosen.with_columns(author_columns(answered.prompt_version, answered.model))


@step
def choose_by_use_alone(candidates: pl.DataFrame, settings: PromoteSettings) -> pl.DataFrame:
    """The choice without a model: what was used, or is salient above average."""
    most = min(settings.target_lines, settings.max_lines)
    chosen = choose_by_use(candidates, lines=most, margin=STAYING_MARGIN)
    return chosen.with_columns(author_columns())


def has_news(core: pl.DataFrame, candidates: pl.DataFrame) -> bool:
    """Return whether a memory was made, said again or cited since the last choice, or one of core memory left."""
    if core.is_empty():
        return candidates.height > 0
    is_newer = candidates.filter(pl.col("last_accessed") > core["promoted_at"].max()).height > 0
    return is_newer or core.join(candidates, on="cell_id", how="anti").height > 0


@step
def plan_core(
    reader: Readable,
    core: pl.DataFrame,
    candidates: pl.DataFrame,
    chosen: pl.DataFrame | None,
    *,
    has_model: bool,
) -> Plan:
    """The lines that enter, move and leave, each with its reason. Without a choice core memory stays as it is."""
    if chosen is None:
        return Plan(notes=["core memory keeps its lines: no usable choice this time"])
    settings = reader.settings.promote
    kept = with_unsettled(
        chosen,
        candidates.with_columns(author_columns()),
        now=reader.now,
        settled_days=SETTLED_DAYS,
        max_lines=settings.max_lines,
    )
    others = "the model chose others" if has_model else "others are worth more"
    because = kept.select("cell_id", "prompt_version", "model", reason=usage_record())
    left = core.join(kept, on="cell_id", how="anti").select("cell_id")
    events = core_events(core_lines(kept), core, left=_why_left(reader, left, others), because=because)
    entered = events["core.promoted"].filter(pl.col("reason") != "reworded")
    return Plan(
        events=events,
        rows_in=candidates.height,
        notes=[] if has_model else [NO_MODEL],
        examples=entered.select(pl.format("+ {} ({})", "line", "reason")).to_series().to_list(),
    )


@step
def write_core_memory(run: StageRun) -> None:
    """Writes `MEMORY.md` anew where it is not what the store holds: lines changed, or a run was cut off before this."""
    if not run.report.dry_run:
        write_core_file(run.workspace.home, run.store)


# Inside


def _active(reader: Readable, project: str) -> pl.DataFrame:
    where = (
        (col("status") == lit("active"))
        & (col("cell_type") != lit(EPISODE))
        & owned_in(reader.settings.owner, project)
    )
    return reader.store.rows("cells", RANKED_BY, where)


def _why_left(reader: Readable, left: pl.DataFrame, others: str) -> pl.DataFrame:
    """`cell_id` and `reason` of the lines that the choice leaves out, with their record of use."""
    counts = reader.store.by_key("cell_usage", left["cell_id"])
    saliences = reader.store.by_key("cells", left["cell_id"], ["cell_id", "salience"])
    record = counts.join(saliences, on="cell_id", how="inner").select("cell_id", record=usage_record())
    return left.join(record, on="cell_id", how="left").select(
        "cell_id", reason=pl.format(f"{others} ({{}})", pl.col("record").fill_null("gone"))
    )
