"""Contradictions: which are opened, and how they end once a side no longer stands."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from slowwave.lifecycle.pairs import oriented
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER

GONE: Mapping[str, Any] = {"status": "superseded", "superseded_by": None, "valid_until": "gone"}
"""A memory that is not there any more: nothing took its place."""


def contradiction_rows(judged: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Rows of `contradiction.opened` from guarded judgements: the older cell is `cell_a`; each pair once."""
    found = judged.filter(pl.col("effect") == "contradiction").drop(*OWNER, strict=False)
    rows = (
        oriented(found, cells)
        .join(cells.select("cell_id", *OWNER), on="cell_id", maintain_order="left")
        .with_columns(note=pl.coalesce("guard_note", "reason"))
    )
    return opened(rows)


def opened(pairs: pl.DataFrame) -> pl.DataFrame:
    """Rows of `contradiction.opened` for pairs, the later memory first, with what is said of them."""
    sides = {"target_id": "cell_a", "cell_id": "cell_b"}
    rows = pairs.drop(sides.values(), strict=False).rename(sides)
    names = ["cell_a", "cell_b", "subject", "attribute", "note", *OWNER, "prompt_version", "model"]
    named = rows.select(stable_ids("contradiction", rows.select("cell_a", "cell_b")), *names)
    return named.sort("contradiction_id")


def ended(found: pl.DataFrame, cells: pl.DataFrame, ends: dict[str, str]) -> pl.DataFrame:
    """Open contradictions that name a memory which no longer stands, how they end, and between whom they may go on.

    `found` has `contradiction_id`, `cell_a`, `cell_b` and more; `cells` has `cell_id`, `status`, `superseded_by`,
    `valid_until` of the memories named, as far as they are there; `ends` has the end of each chain. A memory that the
    other one superseded lost. One that lives on in a third takes the contradiction with it (`is_merged`); one that a
    third superseded, or that was deleted, leaves nobody to contradict.

    Returns the columns of `found` with `resolution`, `closing` (the reason), `is_merged`, and the ends of both chains
    as `cell_id` and `target_id` (null where there is none).
    """
    facts = {row["cell_id"]: row for row in cells.iter_rows(named=True)}
    rows = [
        {
            **row,
            **_end(row["cell_a"], row["cell_b"], facts),
            "cell_id": ends.get(row["cell_b"]),
            "target_id": ends.get(row["cell_a"]),
        }
        for row in found.sort("contradiction_id").iter_rows(named=True)
        if any(facts.get(row[side], GONE)["status"] == "superseded" for side in ("cell_a", "cell_b"))
    ]
    texts = dict.fromkeys(["resolution", "closing", "cell_id", "target_id"], pl.String)
    return pl.DataFrame(rows, schema={**found.schema, **texts, "is_merged": pl.Boolean})


def _end(one: str, other: str, facts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The end of a contradiction of which one side, or both, no longer stands."""
    a, b = facts.get(one, GONE), facts.get(other, GONE)
    # a value that never ended lives on in another memory
    is_merged = all(side["status"] != "superseded" or side["valid_until"] is None for side in (a, b))
    if other == a["superseded_by"] or one == b["superseded_by"]:
        winner = "b_wins" if other == a["superseded_by"] else "a_wins"
        why = "one of the two memories took the place of the other"
        return {"is_merged": is_merged, "resolution": "merged" if is_merged else winner, "closing": why}
    why = "lives on in another that says the same" if is_merged else "was superseded by a third or is gone"
    return {"is_merged": is_merged, "resolution": None, "closing": f"one of the two memories {why}"}
