"""Core memory as frames: what a person typed into `MEMORY.md`, lines that leave, and the events of a change.

A new line of the file is remembered, confirmed, and stands in core memory at once. The memory of a line that is gone
stays in the store, and out of core memory until a person puts it back or confirms it (`core.struck`). A changed line is
both. Who chooses what else enters is the night's business (`tasks/promote`); an edit only takes out what is no longer
current.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, get_args

import polars as pl

from slowwave.errors import InputError, TransientError
from slowwave.home.core_file import (
    HandEdits,
    core_lines,
    hand_edits,
    has_other_users,
    persons_words,
    settle,
    write_core_file,
)
from slowwave.home.kept_out import digests
from slowwave.home.workspace import Workspace
from slowwave.ingest.statements import Statement, cell_id_of, read_statement, statement_rows
from slowwave.journal.catalogue import CATALOGUE, EventRows, rows_of
from slowwave.language.wishes import is_standing
from slowwave.schemas.choices import CellType, ExtractedType
from slowwave.schemas.identity import content_hash
from slowwave.schemas.report import several
from slowwave.schemas.tables import OWNER, REMEMBERED, shaped
from slowwave.settings.groups import ScopeSettings
from slowwave.store import StoreReader, col, lit, owned_by, owned_in, same_owner
from slowwave.store.chains import standing_ends
from slowwave.trust.origins import is_persons_word

LEAVING: Final = {
    "archived": "it faded and was archived",
    "superseded": "it no longer holds",
    "doubted": "it stands in an open contradiction",
    "over": "its time is over",
    "active": "no person said it",  # an older version promoted it
}
"""Why a line leaves at once, by the status of its memory."""

LINE_OF: Final = ["cell_id", *OWNER, "content", "cell_type", "valid_from", "source_id", "protected"]
"""Columns of a memory from which its line is made."""

SALIENCE: Final = 0.9
"""Of what a person wrote where every conversation begins."""

REASON: Final = "a person wrote it into MEMORY.md"

_TYPE = re.compile(rf"^\[({'|'.join(get_args(ExtractedType))})\]\s+")
_WHOSE = re.compile(r"\s*\((?:said|confirmed) by (?:you|a person), [^()]*\)$")


def write_core(work: Workspace) -> bool:
    """Writes `MEMORY.md` where it is not what the store holds. Returns whether it was written.

    What a person changed in it is taken in first.
    """
    ingest_hand_edits(work)
    return write_core_file(work.home, work.store)


def ingest_hand_edits(work: Workspace) -> str:
    """Commits what a person changed in `MEMORY.md` since it was written; returns a note, or "" where nothing was.

    Secrets are redacted. Lines beyond the most that core memory may have are remembered, and do not stay in it.
    """
    edits = hand_edits(work.home, work.store)
    if not edits:
        return ""
    cell_ids = _remember(work, edits.added)
    struck = work.store.by_key("cells", [one for one in edits.struck if one not in cell_ids], ["cell_id"])
    work.commit_plan({"core.struck": struck.sort("cell_id")})
    _promote(work, cell_ids)
    settle(work.home, work.store, edits)
    with suppress(TransientError):  # found by its words, a text gets its vector with the next run
        work.refresh_vectors()
    return noted(edits)


def noted(edits: HandEdits) -> str:
    """A sentence for the report on edits that are taken in, or will be."""
    changes = f"{several(len(edits.added), 'new line')} and {several(len(edits.struck), 'removed line')}"
    return f"MEMORY.md was edited by hand: {changes} taken in"


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
    wanted = with_successors(core, standing_ends(store, core["cell_id"]))
    is_doubted = (pl.col("status") == "active") & pl.col("cell_id").is_in(doubted(store).implode())
    cells = store.by_key("cells", wanted["cell_id"], [*LINE_OF, "valid_until", "status"]).with_columns(
        status=pl.when(is_over(now))
        .then(pl.lit("over"))
        .when(is_doubted)
        .then(pl.lit("doubted"))
        .otherwise("status")
    )
    standing = of_persons(store, cells.filter(pl.col("status") == "active"))
    gone = core.join(standing, on="cell_id", how="anti").select("cell_id")
    if gone.is_empty():
        return {}
    why = pl.col("status").replace_strict(LEAVING, default="it was deleted", return_dtype=pl.String)
    left = gone.join(cells, on="cell_id", how="left").select("cell_id", reason=why)
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


def with_successors(core: pl.DataFrame, ends: Mapping[str, str]) -> pl.DataFrame:
    """The memories of the lines, and those at the end of their chains (`ends`), which take their places.

    One that is in core memory already takes no place, and if two lines have the same successor, the first one counts.
    Returns `cell_id`, and of the line `before_id`, `line_rank`, `before_line`.
    """
    lines = core.sort("line_rank", "cell_id").select(
        "cell_id", "line_rank", before_id="cell_id", before_line="line"
    )
    last = pl.col("cell_id").replace_strict(ends, default=None, return_dtype=pl.String)
    successors = lines.with_columns(last).drop_nulls("cell_id").join(core, on="cell_id", how="anti")
    return pl.concat([lines, successors.unique("cell_id", keep="first", maintain_order=True)])


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


def _remember(work: Workspace, added: Iterable[str]) -> list[str]:
    """The memories of new lines, in their order: those that say the same already, else new ones."""
    home, now = work.home, work.clock()
    owner = home.owner
    if owner["scope"] == "user-private" and has_other_users(home, work.store):
        owner |= {"scope": "project-shared"}  # the file stands before all of them
    lines = {content_hash(said.content): (said, kind) for text in added for said, kind in _read(text)}
    mine = same_owner(pl.DataFrame([owner]))
    columns = ["cell_id", "content_hash", "origin", "protected", "prompt_version"]
    same = mine & col("content_hash").isin(list(lines)) & (col("status") == lit("active"))
    known = work.store.rows("cells", columns, same).filter(is_persons_word())
    cell_ids = dict(known.select("content_hash", "cell_id").iter_rows())
    session_id = f"{REMEMBERED}-{now:%Y-%m-%dT%H:%M:%S.%f}"
    new = {digest: line for digest, line in lines.items() if digest not in cell_ids}
    rates, default = work.settings.decay.rates, work.settings.decay.default_rate
    parts = [
        statement_rows(
            said,
            owner=owner,
            session_id=session_id,
            moment=now + timedelta(microseconds=place),  # in the order of the lines
            cell_type=kind,
            salience=SALIENCE,
            decay_rate=rates.get(kind, default),
            origin="user",
        )
        for place, (said, kind) in enumerate(new.values())
    ]
    cell_ids |= {digest: cell_id_of(owner, session_id, digest) for digest in new}
    sure = [{"cell_id": cell_ids[digest], "confidence": 1.0, "note": REASON} for digest in lines]
    plan = {kind: pl.concat([part[kind] for part in parts]) for kind in parts[0]} if parts else {}
    # what a person says again is deleted no more
    again = mine & col("content_hash").isin([*lines, *digests(home.root, lines)])
    back = work.store.rows("tombstones", ["cell_id"], again).sort("cell_id")
    work.commit_plan({**plan, "cell.readmitted": back, "cell.protected": rows_of("cell.protected", sure)})
    return [cell_ids[digest] for digest in lines]


def _promote(work: Workspace, cell_ids: list[str]) -> None:
    """Lines of core memory of these memories, behind those that stand in it."""
    owner = work.settings.owner
    core = work.store.rows("core", ["cell_id", "line_rank"], owned_in(owner, owner.project_id))
    wanted = pl.DataFrame({"cell_id": cell_ids}, schema={"cell_id": pl.String})
    cells = work.store.by_key("cells", cell_ids, LINE_OF).join(core, on="cell_id", how="anti")
    chosen = wanted.join(cells, on="cell_id", how="inner", maintain_order="left")
    room = max(work.settings.promote.max_lines - core.height, 0)
    last = int(core["line_rank"].max() or 0)  # type: ignore[arg-type]
    lines = core_lines(chosen.head(room).with_columns(line_rank=pl.lit(None, dtype=pl.Int64)))
    rows = lines.with_columns(pl.col("line_rank") + last, reason=pl.lit(REASON))
    work.commit_plan({"core.promoted": shaped(rows, CATALOGUE["core.promoted"].payload)})


def _read(text: str) -> list[tuple[Statement, CellType]]:
    """The statement of a line, without what Slowwave writes around it; none where it says nothing."""
    found = _TYPE.match(text)
    bare = _WHOSE.sub("", _TYPE.sub("", text))
    try:
        said = read_statement(bare, subject=None, attribute=None, value=None, entities=())
    except InputError:
        return []
    kind: CellType = "preference" if is_standing(said.content) else "fact"
    return [(said, found[1] if found else kind)]  # type: ignore[list-item]
