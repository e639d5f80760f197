"""Core memory as frames: lines that leave it, what takes their place, and the events of a change.

Who chooses what enters is the night's business (`tasks/promote`); an edit only takes out what is no longer current.
"""

from collections.abc import Mapping
from datetime import datetime

import polars as pl

from slowwave.home.core_file import core_lines, write_core_file
from slowwave.home.hand_edits import ingest_hand_edits
from slowwave.home.persons_words import persons_words
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import EventRows
from slowwave.schemas.tables import OWNER
from slowwave.settings.groups import ScopeSettings
from slowwave.store import StoreReader, col, lit, owned_by, owned_in
from slowwave.store.chains import standing_ends
from slowwave.trust.origins import is_persons_word

LEAVING = {
    "archived": "it faded and was archived",
    "superseded": "it no longer holds",
    "active": "it stands in an open contradiction",
    "over": "its time is over",
}
"""Why a line leaves at once, by the status of its memory."""

NO_PERSONS_WORD = "no person said it"
"""Why a line leaves that an older version promoted."""


def write_core(work: Workspace) -> bool:
    """Writes `MEMORY.md` where it is not what the store holds. Returns whether it was written.

    What a person changed in it is taken in first.
    """
    ingest_hand_edits(work)
    return write_core_file(work.home, work.store)


def core_projects(store: StoreReader, owner: ScopeSettings) -> list[str]:
    """Projects that have core memory of their own, or could: the home's own first, then those of repositories."""
    if owner.project_from == "setting":
        return [owner.project_id]
    mine = owned_by(owner) & (col("scope") != lit("system"))
    projects = pl.concat([store.rows(table, ["project_id"], mine) for table in ("cells", "core")])
    others = projects.filter(pl.col("project_id") != owner.project_id)["project_id"]
    return [owner.project_id, *others.unique().sort()]


def outdated_lines(store: StoreReader, owner: ScopeSettings, project: str, *, now: datetime) -> EventRows:
    """The events that take out what is no longer current, is in doubt, or is no person's statement.

    What superseded a line takes its place, under the same rule as every line.
    """
    core = store.rows("core", where=owned_in(owner, project))
    successors = line_successors(core, standing_ends(store, core["cell_id"]))
    wanted = _with_successors(core, successors)
    cells = _cells_of(store, wanted["cell_id"], now)
    is_doubted = pl.col("cell_id").is_in(doubted(store).implode())
    standing = of_persons(store, cells.filter((pl.col("status") == "active") & ~is_doubted))
    gone = core.join(standing, on="cell_id", how="anti").select("cell_id")
    if gone.is_empty():
        return {}
    known = pl.col("status").replace_strict(LEAVING, default="it was deleted", return_dtype=pl.String)
    is_no_word = (pl.col("status") == "active") & ~is_doubted
    left = gone.join(cells, on="cell_id", how="left").select(
        "cell_id", reason=pl.when(is_no_word).then(pl.lit(NO_PERSONS_WORD)).otherwise(known)
    )
    because = wanted.filter(pl.col("cell_id") != pl.col("before_id")).select(
        "cell_id",
        *(pl.lit(None, dtype=pl.String).alias(name) for name in ("prompt_version", "model")),
        reason=pl.format("takes the place of: {}", "before_line"),
    )
    lines = core_lines(standing.join(wanted, on="cell_id", how="inner").sort("line_rank"))
    return core_events(lines, core, left=left, because=because)


def core_events(
    lines: pl.DataFrame, core: pl.DataFrame, *, left: pl.DataFrame, because: pl.DataFrame
) -> EventRows:
    """The events that turn `core` into the lines wanted; all empty where it stays as it is.

    `left` has `cell_id` and `reason`; `because` has `cell_id`, `reason` and who chose (`prompt_version`, `model`).
    """
    before = core.select("cell_id", rank_before="line_rank", line_before="line")
    both = lines.join(before, on="cell_id", how="inner", maintain_order="left")
    is_same_text = pl.col("line") == pl.col("line_before")
    has_moved = pl.col("line_rank") != pl.col("rank_before")
    new = lines.join(before, on="cell_id", how="anti").join(
        because, on="cell_id", how="left", maintain_order="left"
    )
    reworded = both.filter(~is_same_text).select(lines.columns).with_columns(reason=pl.lit("reworded"))
    gone = core.join(lines, on="cell_id", how="anti").select("cell_id").sort("cell_id")
    return {
        "core.promoted": pl.concat([new, reworded], how="diagonal").with_columns(
            pl.col("reason").fill_null("chosen")
        ),
        "core.moved": both.filter(is_same_text & has_moved).select("cell_id", "line_rank"),
        "core.demoted": gone.join(left, on="cell_id", how="left"),
    }


def line_successors(core: pl.DataFrame, ends: Mapping[str, str]) -> pl.DataFrame:
    """The memories that take the place of superseded lines: `cell_id` (of the line), `successor_id`.

    `ends` has the memory at the end of each line's chain. One that is in core memory already takes no place, and if
    two lines have the same successor, the first one counts.
    """
    last = pl.col("cell_id").replace_strict(ends, default=None, return_dtype=pl.String)
    return (
        core.sort("line_rank", "cell_id")
        .select("cell_id", successor_id=last)
        .drop_nulls()
        .filter(~pl.col("successor_id").is_in(core["cell_id"].implode()))
        .unique("successor_id", keep="first", maintain_order=True)
    )


def of_persons(store: StoreReader, cells: pl.DataFrame) -> pl.DataFrame:
    """The memories that a person stated or confirmed, and that no person took out of core memory."""
    struck = store.by_key("cell_usage", cells["cell_id"], ["cell_id", "demoted_at"]).drop_nulls()
    allowed = persons_words(store, cells["cell_id"]).join(struck, on="cell_id", how="anti")
    return cells.join(allowed, on="cell_id", how="semi", maintain_order="left")


def doubted(store: StoreReader) -> pl.Series:
    """Memories in an open contradiction with a person's statement: no other statement puts one in doubt."""
    pairs = store.rows("contradictions", ["cell_a", "cell_b"], col("status") == lit("open"))
    both = pl.concat([pairs.select(one="cell_a", other="cell_b"), pairs.select(one="cell_b", other="cell_a")])
    others = store.by_key("cells", both["other"], ["cell_id", "origin", "protected", "prompt_version"])
    persons = others.filter(is_persons_word())["cell_id"].implode()
    return both.filter(pl.col("other").is_in(persons))["one"].unique()


def is_over(now: datetime) -> pl.Expr:
    """Return whether the time for which a row of `cells` is valid has ended."""
    return (pl.col("valid_until") <= pl.lit(now)).fill_null(value=False)


# Inside


def _with_successors(core: pl.DataFrame, successors: pl.DataFrame) -> pl.DataFrame:
    """The cells of the lines and of what replaced them: `cell_id`, `before_id`, `line_rank`, `before_line`."""
    lines = core.select(before_id="cell_id", line_rank="line_rank", before_line="line")
    return pl.concat(
        [
            core.select("cell_id", before_id="cell_id"),
            successors.select(cell_id="successor_id", before_id="cell_id"),
        ]
    ).join(lines, on="before_id", how="inner")


def _cells_of(store: StoreReader, cell_ids: pl.Series, now: datetime) -> pl.DataFrame:
    columns = [
        "cell_id",
        *OWNER,
        "content",
        "cell_type",
        "valid_from",
        "valid_until",
        "source_id",
        "protected",
    ]
    cells = store.by_key("cells", cell_ids, [*columns, "status"])
    return cells.with_columns(status=pl.when(is_over(now)).then(pl.lit("over")).otherwise("status"))
