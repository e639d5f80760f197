"""Chains of values without the memories that leave them: which memory follows which then, and the timelines of that."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from slowwave.journal.catalogue import CATALOGUE
from slowwave.lifecycle.order import AGE_ORDER, timelines
from slowwave.lifecycle.walker import ends, following
from slowwave.schemas.tables import frame_schema

Row = Mapping[str, Any]

STANDING = ["cell_id", "status", "superseded_by", "superseded_at", "valid_until", *AGE_ORDER[:-1]]
"""The columns of `cells` that give the place of a memory in its chain."""


@dataclass
class Bridges:
    """New places of the memories that lived on in one that leaves, or that it had replaced.

    `superseded` and `merged` are payloads of those kinds without provenance. `stranded` has the ids of memories that
    nothing follows any more, `successors` those of the memories that come after what leaves: their timelines may
    name it.
    """

    superseded: list[dict[str, Any]] = field(default_factory=list)
    merged: list[dict[str, Any]] = field(default_factory=list)
    stranded: list[str] = field(default_factory=list)
    successors: list[str] = field(default_factory=list)


def bridges(cells: pl.DataFrame, gone: Collection[str], verdicts: Mapping[str, str]) -> Bridges:
    """The links that the chains of `cells` (whole chains, `STANDING`) need without the memories in `gone`.

    Of the memories that said the same as one that leaves, the oldest takes its place. `verdicts` has the verdict that
    retired each superseded memory; `updates` where it has none.
    """
    line = _Line({row["cell_id"]: row for row in cells.select(STANDING).iter_rows(named=True)}, gone)
    found = Bridges()
    for cell_id, row in sorted(line.rows.items()):
        by = row["superseded_by"]
        if cell_id in gone or by not in gone or by not in line.rows:
            continue
        root = line.roots[by]
        duplicate = line.duplicates.get(root)
        if says_the_same(row) and cell_id != duplicate:
            lives_on_in = duplicate if root in gone else root
            found.merged.append(
                {"cell_id": cell_id, "superseded_by": lives_on_in, "superseded_at": row["superseded_at"]}
            )
            continue
        # what takes the place of a memory ends when that one ended
        ended = line.rows[root] if cell_id == duplicate else row
        successor = line.follower(root) if cell_id == duplicate else line.after(root)
        if successor in (None, cell_id):  # itself: the chain was a circle
            found.stranded.append(cell_id)
            continue
        found.superseded.append(
            {
                "cell_id": cell_id,
                "superseded_by": successor,
                "superseded_at": ended["superseded_at"],
                "valid_until": ended["valid_until"],
                "verdict": verdicts.get(str(ended["cell_id"]), "updates"),
            }
        )
    found.successors = sorted(
        {successor for cell_id in gone if cell_id in line.rows for successor in line.downstream(cell_id)}
    )
    return found


def says_the_same(row: Row) -> bool:
    """Return whether a superseded memory lives on in another as said twice: its value never ended."""
    return row["superseded_by"] is not None and row["valid_until"] is None


def succeeded_rows(
    cells: pl.DataFrame, successors: Collection[str], verdicts: Mapping[str, str]
) -> pl.DataFrame:
    """Rows of `cell.succeeded` for these memories: the memory that each one replaced, and its timeline.

    `cells` are whole rows of the chains as they stand.
    """
    retired = cells.filter(pl.col("superseded_by").is_not_null() & pl.col("valid_until").is_not_null())
    links = retired.select(
        "cell_id",
        "superseded_by",
        "valid_until",
        verdict=pl.col("cell_id").replace_strict(dict(verdicts), default="updates", return_dtype=pl.String),
    )
    told = timelines(links, cells).unique("cell_id", keep="last", maintain_order=True)
    newest = retired.sort("valid_until", "cell_id").unique("superseded_by", keep="last", maintain_order=True)
    rows = (
        cells.filter(pl.col("cell_id").is_in(sorted(successors)))
        .select("cell_id", "prompt_version", "model")
        .join(newest.select(cell_id="superseded_by", supersedes="cell_id"), on="cell_id", how="left")
        .join(told.select("cell_id", "summary"), on="cell_id", how="left")
    )
    return rows.select(list(CATALOGUE["cell.succeeded"].payload)).sort("cell_id")


def standing_after(cells: pl.DataFrame, found: Bridges, gone: Collection[str]) -> pl.DataFrame:
    """`cells` as they stand when the bridges are built, without those that leave."""
    names = ["superseded_by", "superseded_at", "valid_until"]
    moved = pl.DataFrame(
        [{name: row.get(name) for name in ("cell_id", *names)} for row in (*found.superseded, *found.merged)],
        schema={name: frame_schema("cells")[name] for name in ("cell_id", *names)},
    )
    return cells.filter(~pl.col("cell_id").is_in(sorted(gone))).update(
        moved, on="cell_id", how="left", include_nulls=True
    )


class _Line:
    """Chains of memories by id, of which some (`gone`) leave."""

    def __init__(self, rows: Mapping[str, Row], gone: Collection[str]) -> None:
        by = {name: str(row["superseded_by"]) for name, row in rows.items() if row["superseded_by"] in rows}
        same = {name: up for name, up in by.items() if says_the_same(rows[name])}
        lives_on = ends({name: up for name, up in same.items() if name in gone})
        self.rows, self.gone = rows, gone
        self.roots = {name: lives_on.get(name, name) for name in rows}
        """The memory that each one lives on in, as far as all on the way leave."""
        self.duplicates: dict[str, str] = {}
        """The oldest memory that stays and said the same as one that leaves, by the latter's root."""
        for row in sorted((rows[name] for name in same), key=lambda row: [row[name] for name in AGE_ORDER]):
            if row["cell_id"] not in gone and (root := self.roots[by[row["cell_id"]]]) in gone:
                self.duplicates.setdefault(root, row["cell_id"])
        self.next_root = {name: self.roots[up] for name, up in by.items()}
        left_out = {root: up for root, up in self.next_root.items() if self.stand_in(root) is None}
        self.ends = ends(left_out)
        root_of = {duplicate: root for root, duplicate in self.duplicates.items()}
        later = {name: self.follower(root_of.get(name, name)) for name in rows}
        self.next_of = {name: after for name, after in later.items() if after is not None}

    def stand_in(self, root: str) -> str | None:
        """The memory itself where it stays, else the one that said the same."""
        return root if root not in self.gone else self.duplicates.get(root)

    def follower(self, root: str) -> str | None:
        """The memory that stays and whose value came after the one of `root`."""
        after = self.next_root.get(root)
        return None if after is None else self.stand_in(self.ends.get(after, after))

    def after(self, root: str) -> str | None:
        """The memory that stands where `root` stood, or the next one that stays."""
        return self.stand_in(root) or self.follower(root)

    def downstream(self, cell_id: str) -> set[str]:
        """Every memory that stays and comes after one that leaves."""
        first = self.after(self.roots[cell_id])
        return set() if first is None else {first, *following(self.next_of, first)}
