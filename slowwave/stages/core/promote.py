"""Promote: which memories may stand in core memory, who chooses among them, and the file that it becomes."""

from typing import cast

import polars as pl

from slowwave.chains.stored import standing_ends
from slowwave.home.core_file import core_lines, write_core_file
from slowwave.home.persons_words import persons_words
from slowwave.llm import Outcome, Request
from slowwave.prompting.files import promote_prompt
from slowwave.prompting.judging_answers import PromoteAnswer
from slowwave.prompting.prompt_inputs import CandidateCell, told_date
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER, TIMESTAMP
from slowwave.stages.asking import ask, author_columns
from slowwave.stages.core.hand_edits import ingest_hand_edits
from slowwave.stages.core.promotion import (
    belongs,
    choose_by_use,
    core_changes,
    is_over,
    line_successors,
    one_a_property,
    promotion_candidates,
    usage_record,
    with_unsettled,
)
from slowwave.stages.run import Stage
from slowwave.store import col, lit, owned_by, owned_in
from slowwave.trust.origins import is_persons_word

RANKED_BY = [
    *("cell_id", "status", "salience", "decay_rate", "protected", "origin", "prompt_version"),
    *("cell_type", "is_wish", "source_id", "property"),
    *("valid_from", "valid_precision", "valid_until", "event_time", "recorded_at"),
]
COUNTS = [
    *("cell_id", "retrieval_count", "citation_count", "ignore_count", "confirmations"),
    *("last_accessed", "retrieved_at", "demoted_at"),
]
TOLD = ["cell_id", *OWNER, "content"]
"""Columns that only the memories in question are read with."""

LEAVING = {
    "archived": "it faded and was archived",
    "superseded": "it no longer holds",
    "active": "it stands in an open contradiction",
    "over": "its time is over",
}
"""Why a line leaves at once, by the status of its memory."""

NO_PERSONS_WORD = "no person said it"
"""Why a line leaves that an older version promoted."""

KEPT_OUT = {
    "system": "no person's word: of Slowwave itself",
    "user": "no person's word: raw talk that no model has read",
    "reported": "no person's word for certain: it may be passed on",
    "agent": "no person's word: said by an assistant",
    "tool": "no person's word: the output of a tool",
    "untrusted": "no person's word: a document, or text that somebody quoted",
}
"""Why a memory is no candidate, by its origin."""


def core_projects(run: Stage) -> list[str]:
    """Projects that have core memory of their own, or could: the home's own first, then those of repositories."""
    owner = run.settings.owner
    if owner.project_from == "setting":
        return [owner.project_id]
    mine = owned_by(owner) & (col("scope") != lit("system"))
    told = pl.concat([run.store.rows(table, ["project_id"], mine) for table in ("cells", "core")])
    others = told.filter(pl.col("project_id") != owner.project_id)["project_id"]
    return [owner.project_id, *others.unique().sort()]


def drop_outdated_lines(run: Stage, project: str) -> None:
    """Takes out at once what no longer holds, is doubted, or is no person's word.

    What superseded a line takes its place, and is held to the same rule as every line.
    """
    core = run.store.rows("core", where=owned_in(run.settings.owner, project))
    lines = core.select(before_id="cell_id", line_rank="line_rank", before_line="line")
    successors = line_successors(core, standing_ends(run.store, core["cell_id"]))
    wanted = pl.concat(
        [
            core.select("cell_id", before_id="cell_id"),
            successors.select(cell_id="successor_id", before_id="cell_id"),
        ]
    ).join(lines, on="before_id", how="inner")
    columns = [*TOLD, "cell_type", "valid_from", "valid_until", "source_id", "protected", "status"]
    cells = run.store.by_key("cells", wanted["cell_id"], columns).with_columns(
        status=pl.when(is_over(run.now)).then(pl.lit("over")).otherwise("status")
    )
    is_doubted = pl.col("cell_id").is_in(_doubted(run).implode())
    standing = _of_persons(run, cells.filter((pl.col("status") == "active") & ~is_doubted))
    gone = core.join(standing, on="cell_id", how="anti")
    if gone.is_empty():
        return
    status = gone.select("cell_id").join(cells, on="cell_id", how="left").with_columns(is_doubted=is_doubted)
    known = pl.col("status").replace_strict(LEAVING, default="it was deleted", return_dtype=pl.String)
    is_no_word = (pl.col("status") == "active") & ~pl.col("is_doubted")
    reason = pl.when(is_no_word).then(pl.lit(NO_PERSONS_WORD)).otherwise(known)
    because = wanted.filter(pl.col("cell_id") != pl.col("before_id")).select(
        "cell_id", *author_columns(), reason=pl.format("takes the place of: {}", "before_line")
    )
    left = status.select("cell_id", reason=reason)
    told = core_lines(standing.join(wanted, on="cell_id", how="inner").sort("line_rank"))
    _commit(run, told, core, left=left, because=because)


def find_core_candidates(run: Stage, project: str) -> pl.DataFrame:
    """Memories that may stand in core memory, with their use: what persons said or confirmed, and nothing else.

    What is kept out is counted by its origin. Of several on one property the one that holds now stands for all. Without
    a model that leaves what a person told Slowwave itself, and decisions, standing wishes and risks that a model read
    on an earlier night. What a model left out stays out on nights without one, until it is used or said again.
    """
    where = (
        (col("status") == lit("active"))
        & (col("cell_type") != lit(EPISODE))
        & owned_in(run.settings.owner, project)
    )
    every = run.store.rows("cells", RANKED_BY, where)
    cells = every.filter(is_persons_word())
    for origin, number in every.filter(~is_persons_word()).group_by("origin").len().sort("origin").rows():
        run.reject(KEPT_OUT[origin], number)
    run.report.rows_in += every.height
    settings = run.settings.promote
    ranked = promotion_candidates(
        one_a_property(cells.filter(~is_over(run.now))),
        run.store.rows("cell_usage", COUNTS),
        run.store.rows("core", where=owned_in(run.settings.owner, project)),
        doubted=_doubted(run),
        limit=settings.candidates if run.workspace.llm is not None else max(cells.height, 1),
        now=run.now,
        decay=run.settings.decay,
    )
    if run.workspace.llm is None:
        run.note(
            "without a language model, core memory takes in what you told Slowwave yourself (`slowwave remember`), and "
            "decisions, standing wishes and risks that a model read before"
        )
        nights = run.store.rows("nights", ["finished_at"], col("has_llm") == lit(value=True))
        was_weighed = pl.col("last_accessed") <= pl.lit(nights["finished_at"].max(), dtype=TIMESTAMP)
        others = ranked.filter(~pl.col("is_core") & belongs() & ~was_weighed.fill_null(value=False))
        used = choose_by_use(others, lines=settings.target_lines, margin=settings.margin)
        ranked = pl.concat([ranked.filter("is_core"), used])
    texts = run.store.by_key("cells", ranked["cell_id"], TOLD)
    told = _of_persons(run, ranked.join(texts, on="cell_id", how="inner", maintain_order="left"))
    run.reject(KEPT_OUT["untrusted"], ranked.height - told.height)
    return told


def choose_lines(run: Stage, candidates: pl.DataFrame, project: str) -> pl.DataFrame | None:
    """The chosen memories, best first; None when all stays as it was: nothing is new, or no answer was usable."""
    settings = run.settings.promote
    most = min(settings.target_lines, settings.max_lines)
    if run.workspace.llm is None:
        chosen = choose_by_use(candidates, lines=most, margin=settings.margin)
        return _with_young_lines(run, chosen, candidates)
    if not _has_news(run, candidates, project):
        return None
    numbered = candidates.with_row_index("number", offset=1).cast({"number": pl.Int64})
    cells = numbered.select(
        *("number", "cell_type", "content", "salience", "confirmations", "is_core", "is_wish"),
        retrievals="retrieval_count",
        citations="citation_count",
        ignores="ignore_count",
        date=told_date(),
    )
    shown = [CandidateCell(**row) for row in cells.iter_rows(named=True)]
    context = {"candidate_numbers": {cell.number for cell in shown}, "max_lines": most}
    outcome = ask(run, [Request(promote_prompt(shown, most), PromoteAnswer, context)], work="promote")[0]
    if outcome.answer is None:
        run.note("core memory keeps its lines: no usable choice this time")
        return None
    order = pl.DataFrame(
        {"number": cast("PromoteAnswer", outcome.answer).chosen}, schema={"number": pl.Int64}
    )
    chosen = order.join(numbered, on="number", how="inner", maintain_order="left").drop("number")
    return _with_young_lines(run, chosen, candidates, outcome)


def _with_young_lines(
    run: Stage, chosen: pl.DataFrame, candidates: pl.DataFrame, outcome: Outcome | None = None
) -> pl.DataFrame:
    """The choice and the young lines, with who chose (`prompt_version`, `model`) in place of those of the memory."""
    settings = run.settings.promote
    author = author_columns(outcome.prompt_version, outcome.model) if outcome else author_columns()
    return with_unsettled(
        chosen.with_columns(author),
        candidates.with_columns(author_columns()),
        now=run.now,
        settled_days=settings.settled_days,
        max_lines=settings.max_lines,
    )


def _has_news(run: Stage, candidates: pl.DataFrame, project: str) -> bool:
    """Return whether a memory was made, said again or cited since the last choice, or one of core memory left."""
    core = run.store.rows("core", ["cell_id", "promoted_at"], owned_in(run.settings.owner, project))
    if core.is_empty():
        return candidates.height > 0
    last = core["promoted_at"].max()
    is_newer = candidates.filter(pl.col("last_accessed") > last).height > 0
    return is_newer or core.join(candidates, on="cell_id", how="anti").height > 0


def commit_choice(run: Stage, chosen: pl.DataFrame, project: str) -> None:
    """Commits what the choice changes in core memory, each line with its reason."""
    core = run.store.rows("core", where=owned_in(run.settings.owner, project))
    left = core.join(chosen, on="cell_id", how="anti").select("cell_id")
    counts = run.store.by_key("cell_usage", left["cell_id"])
    saliences = run.store.by_key("cells", left["cell_id"], ["cell_id", "salience"])
    record = counts.join(saliences, on="cell_id", how="inner").select("cell_id", record=usage_record())
    others = "the model chose others" if run.workspace.llm is not None else "others are worth more"
    reasons = left.join(record, on="cell_id", how="left").select(
        "cell_id", reason=pl.format(f"{others} ({{}})", pl.col("record").fill_null("gone"))
    )
    because = chosen.select("cell_id", "prompt_version", "model", reason=usage_record())
    _commit(run, core_lines(chosen), core, left=reasons, because=because)


def _commit(
    run: Stage, lines: pl.DataFrame, core: pl.DataFrame, *, left: pl.DataFrame, because: pl.DataFrame
) -> None:
    """Commits the difference between the lines wanted and those that stand.

    `left` has `cell_id` and `reason`; `because` has `cell_id`, `reason` and who chose (`prompt_version`, `model`).
    """
    changes = core_changes(lines, core)
    entered = changes.entered.join(because, on="cell_id", how="left", maintain_order="left")
    reworded = changes.reworded.with_columns(reason=pl.lit("reworded"))
    promoted = pl.concat([entered, reworded], how="diagonal")
    run.show(entered.select(pl.format("+ {} ({})", "line", pl.col("reason").fill_null("chosen"))).to_series())
    run.commit(
        {
            "core.promoted": promoted.with_columns(pl.col("reason").fill_null("chosen")),
            "core.moved": changes.moved,
            "core.demoted": changes.left.join(left, on="cell_id", how="left"),
        }
    )


def _of_persons(run: Stage, cells: pl.DataFrame) -> pl.DataFrame:
    """Those of the memories that are a person's word, and that no person took out of core memory."""
    struck = run.store.by_key("cell_usage", cells["cell_id"], ["cell_id", "demoted_at"]).drop_nulls()
    allowed = persons_words(run.store, cells["cell_id"]).join(struck, on="cell_id", how="anti")
    return cells.join(allowed, on="cell_id", how="semi", maintain_order="left")


def _doubted(run: Stage) -> pl.Series:
    """Memories that stand in an open contradiction with a person's word: another's word puts none in doubt."""
    pairs = run.store.rows("contradictions", ["cell_a", "cell_b"], col("status") == lit("open"))
    both = pl.concat([pairs.select(one="cell_a", other="cell_b"), pairs.select(one="cell_b", other="cell_a")])
    others = run.store.by_key("cells", both["other"], ["cell_id", "origin", "protected", "prompt_version"])
    persons = others.filter(is_persons_word())["cell_id"].implode()
    return both.filter(pl.col("other").is_in(persons))["one"].unique()


def write_core(run: Stage) -> bool:
    """Writes `MEMORY.md` anew where it is not what the store holds: lines changed, or a run was cut off before this.

    What a person changed in it comes first. Returns whether it was written.
    """
    if run.report.dry_run:
        return False
    ingest_hand_edits(run)
    return write_core_file(run.workspace.home, run.store)
