"""Edits of `MEMORY.md` by hand, taken in as the person's words before the file is written again.

A new line is remembered, confirmed, and stands in core memory at once. The memory of a line that is gone stays in the
store, and out of core memory until a person puts it back or confirms it (`core.struck`). A changed line is both.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, get_args

import polars as pl

from slowwave.errors import InputError, TransientError
from slowwave.home.core_file import HandEdits, core_lines, hand_edits, has_other_users, settle
from slowwave.home.kept_out import digests
from slowwave.home.workspace import Workspace
from slowwave.ingest.statements import Statement, cell_id_of, read_statement, statement_rows
from slowwave.journal.catalogue import CATALOGUE, rows_of
from slowwave.language.wishes import is_standing
from slowwave.schemas.choices import CellType, ExtractedType
from slowwave.schemas.identity import content_hash
from slowwave.schemas.report import several
from slowwave.schemas.tables import OWNER, REMEMBERED
from slowwave.store import col, lit, owned_in, same_owner
from slowwave.trust.origins import is_persons_word

SALIENCE: Final = 0.9
"""Of what a person wrote where every conversation begins."""

REASON: Final = "a person wrote it into MEMORY.md"

_TYPE = re.compile(rf"^\[({'|'.join(get_args(ExtractedType))})\]\s+")
_WHOSE = re.compile(r"\s*\((?:said|confirmed) by (?:you|a person), [^()]*\)$")


@dataclass(frozen=True)
class _Line:
    said: Statement
    cell_type: CellType

    @property
    def digest(self) -> str:
        return content_hash(self.said.content)


def ingest_hand_edits(work: Workspace) -> str:
    """Commits what a person changed in `MEMORY.md` since it was written; returns a note, or "" where nothing was.

    Secrets are redacted. Lines beyond the most that core memory may have are remembered, and do not stay in it.
    """
    home = work.home
    edits = hand_edits(home, work.store)
    if not edits:
        return ""
    cell_ids = _remember(work, edits)
    struck = work.store.by_key("cells", [one for one in edits.struck if one not in cell_ids], ["cell_id"])
    work.commit_plan({"core.struck": struck.sort("cell_id")})
    _promote(work, cell_ids)
    settle(home, work.store, edits)
    with suppress(
        TransientError
    ):  # a text without a vector is found by its words, and gets one with the next run
        work.refresh_vectors()
    return noted(edits)


def noted(edits: HandEdits) -> str:
    """A sentence for the report on edits that are taken in, or will be."""
    changes = f"{several(len(edits.added), 'new line')} and {several(len(edits.struck), 'removed line')}"
    return f"MEMORY.md was edited by hand: {changes} taken in"


# Inside


def _remember(work: Workspace, edits: HandEdits) -> list[str]:
    """The memories of the new lines, in their order: those that say the same already, else new ones."""
    home, now = work.home, work.clock()
    owner = home.owner
    if owner["scope"] == "user-private" and has_other_users(home, work.store):
        owner |= {"scope": "project-shared"}  # the file stands before all of them
    lines = {line.digest: line for text in edits.added if (line := _read(text)) is not None}
    mine = same_owner(pl.DataFrame([owner])) & col("content_hash").isin(list(lines))
    columns = ["cell_id", "content_hash", "origin", "protected", "prompt_version"]
    same = work.store.rows("cells", columns, mine & (col("status") == lit("active")))
    known = dict(same.filter(is_persons_word()).select("content_hash", "cell_id").iter_rows())
    session_id = f"{REMEMBERED}-{now:%Y-%m-%dT%H:%M:%S.%f}"
    new = [line for digest, line in lines.items() if digest not in known]
    rate, default = work.settings.decay.rates, work.settings.decay.default_rate
    parts = [
        statement_rows(
            line.said,
            owner=owner,
            session_id=session_id,
            moment=now + timedelta(microseconds=place),  # in the order of the lines
            cell_type=line.cell_type,
            salience=SALIENCE,
            decay_rate=rate.get(line.cell_type, default),
            origin="user",
        )
        for place, line in enumerate(new)
    ]
    made = {line.digest: cell_id_of(owner, session_id, line.digest) for line in new}
    cell_ids = [known.get(digest) or made[digest] for digest in lines]
    sure = [{"cell_id": cell_id, "confidence": 1.0, "note": REASON} for cell_id in cell_ids]
    plan = {kind: pl.concat([part[kind] for part in parts]) for kind in parts[0]} if parts else {}
    # what a person says again is deleted no more
    again = same_owner(pl.DataFrame([owner])) & col("content_hash").isin(
        [*lines, *digests(work.home.root, lines)]
    )
    back = work.store.rows("tombstones", rows_of("cell.readmitted", []).columns, again).sort("cell_id")
    work.commit_plan({**plan, "cell.readmitted": back, "cell.protected": rows_of("cell.protected", sure)})
    return cell_ids


def _promote(work: Workspace, cell_ids: list[str]) -> None:
    """Lines of core memory of these memories, behind those that stand in it."""
    owner = work.settings.owner
    core = work.store.rows("core", ["cell_id", "line_rank"], owned_in(owner, owner.project_id))
    columns = ["cell_id", *OWNER, "cell_type", "content", "valid_from", "source_id", "protected"]
    wanted = pl.DataFrame({"cell_id": cell_ids}, schema={"cell_id": pl.String}).join(
        core, on="cell_id", how="anti"
    )
    cells = wanted.join(
        work.store.by_key("cells", wanted["cell_id"], columns),
        on="cell_id",
        how="inner",
        maintain_order="left",
    )
    room = max(work.settings.promote.max_lines - core.height, 0)
    last = int(core["line_rank"].max() or 0)  # type: ignore[arg-type]
    lines = core_lines(cells.head(room).with_columns(line_rank=pl.lit(None, dtype=pl.Int64)))
    named = {name: pl.lit(None, dtype=pl.String) for name in ("prompt_version", "model")}
    rows = lines.with_columns(pl.col("line_rank") + last, reason=pl.lit(REASON), **named)
    work.commit_plan({"core.promoted": rows.select(list(CATALOGUE["core.promoted"].payload))})


def _read(text: str) -> _Line | None:
    """The statement of a line, without what Slowwave writes around it; null where it says nothing."""
    found = _TYPE.match(text)
    bare = _WHOSE.sub("", _TYPE.sub("", text))
    try:
        said = read_statement(bare, subject=None, attribute=None, value=None, entities=())
    except InputError:
        return None
    kind: CellType = "preference" if is_standing(said.content) else "fact"
    return _Line(said, found[1] if found else kind)  # type: ignore[arg-type]
