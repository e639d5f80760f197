"""Stated values: what somebody told Slowwave with its subject, attribute and value retires the values before it.

Who names an attribute names a property that has one value at a time, so no judge is needed. Which value holds, and
whose word may take whose place, says `compared_values`, as it does to every reader.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars as pl

from slowwave.home.core_memory import outdated_lines, write_core
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import EventRows
from slowwave.lifecycle.pairs import judgement_rows
from slowwave.lifecycle.succession import Succession, succession
from slowwave.lifecycle.values import ATTRIBUTE, VALUE_COLUMNS, Pair, compared_values, plain_text
from slowwave.schemas.moments import latest_of
from slowwave.schemas.tables import OWNER, REMEMBERED
from slowwave.store import Row, StoreReader, col, lit
from slowwave.store.chains import doubted_and_both_valid, flags, side_by_side, with_stored_chains
from slowwave.trust.origins import is_told

WHY = "said later of the same property"
RETIRING = {"cell_id": pl.String, "target_id": pl.String, "verdict": pl.String}
MADE_BY = [pl.lit(REMEMBERED).alias("prompt_version"), pl.lit(None, dtype=pl.String).alias("model")]


def stated_values(store: StoreReader, *, now: datetime) -> EventRows:
    """Events by which the values that stated ones outdate are superseded; nothing where there is none."""
    active = col("status") == lit("active")
    stated = store.rows("cells", ["value"], active & (col("prompt_version") == lit(REMEMBERED)))
    if stated.drop_nulls().is_empty():
        return {}
    known = store.rows("cells", [*OWNER, *VALUE_COLUMNS], active)
    retiring = [
        row
        for claims in known.drop_nulls([*ATTRIBUTE, "value"]).partition_by(OWNER, maintain_order=True)
        for row in _retiring(store, claims.rows(named=True))
    ]
    pairs = pl.DataFrame(retiring, schema=RETIRING, orient="row")
    found = _succession(store, pairs, now=now)
    if pairs["cell_id"].is_in(found.leaving.implode()).any():
        # by the dates of its chain a value holds later than the one that was stated: a judge's matter
        pairs = pairs.filter(~pl.col("cell_id").is_in(found.leaving.implode()))
        found = _succession(store, pairs, now=now)
    pairs = pairs.filter(~pl.col("cell_id").is_in(found.spared.implode()))
    if pairs.is_empty():
        return {}
    leaving = store.by_key("cells", found.leaving)
    told = pairs.join(known.select(*OWNER, target_id="cell_id"), on="target_id").with_columns(
        *MADE_BY, effect=pl.lit("superseded"), reason=pl.lit(WHY)
    )
    gone = pl.concat([found.merged["cell_id"], found.leaving])
    flagged = flags(store, leaving, gone=gone, why="was superseded")
    return {"pair.judged": judgement_rows(told), **found.events, **flagged}


def retire_at_once(work: Workspace) -> None:
    """The same as soon as somebody stated a value, with the lines of core memory that go with it."""
    is_new = (col("is_judged") == lit(value=False)) & (col("status") == lit("active"))
    stated = work.store.rows("cells", ["value"], is_new & (col("prompt_version") == lit(REMEMBERED)))
    if stated.drop_nulls().is_empty():
        return
    now = work.clock()
    events = stated_values(work.store, now=now)
    if not events:
        return
    work.commit_plan(events, now=now)
    for project in events["pair.judged"]["project_id"].unique().sort():
        work.commit_plan(outdated_lines(work.store, work.settings.owner, project, now=now), now=now)
    write_core(work)


# Inside


def _succession(store: StoreReader, pairs: pl.DataFrame, *, now: datetime) -> Succession:
    chains = with_stored_chains(store, pairs, pairs.select("cell_id", "target_id").clear())
    usage = store.by_key("cell_usage", chains.members["cell_id"])
    return succession(chains, usage, now=now, made_by=MADE_BY)


def _retiring(store: StoreReader, claims: list[Row]) -> list[tuple[str, str, str]]:
    """The pairs (`RETIRING`) of one owner's values: a stated one, and one that it outdates."""
    rows = {row["cell_id"]: row for row in claims}
    (contradictions,) = store.find([side_by_side(list(rows))])
    doubted, both_valid = doubted_and_both_valid(contradictions)
    decided = _decided_since(
        rows, [frozenset((row["cell_a"], row["cell_b"])) for row in contradictions if row["status"] == "open"]
    )
    values = compared_values(claims, doubted=doubted - decided, both_valid=both_valid)
    pairs = ((rows[holder], rows[cell_id]) for cell_id, holder in values.outdated.items())
    return [
        (later["cell_id"], former["cell_id"], verdict)
        for later, former in pairs
        if later["prompt_version"] == REMEMBERED and (verdict := _verdict(later, former)) is not None
    ]


def _decided_since(rows: Mapping[str, Row], contradictions: list[Pair]) -> set[str]:
    """Sides of open contradictions, both older than what a person told of their property since: that decides it."""
    told = dict[tuple[str, ...], Row]()
    for row in sorted(filter(is_told, rows.values()), key=lambda row: row["event_time"]):
        told[_property(row)] = row
    found = set[str]()
    for pair in contradictions:
        sides = [rows[side] for side in pair if side in rows]
        latest = [told.get(_property(side)) for side in sides]
        if all(
            last and last["event_time"] > max(latest_of(side["event_time"]) for side in sides)
            for last in latest
        ):
            found |= pair
    return found


def _property(row: Row) -> tuple[str, ...]:
    return tuple(plain_text(row[name]) for name in ATTRIBUTE)


def _verdict(later: Mapping[str, Any], former: Mapping[str, Any]) -> str | None:
    """The verdict on a stated value and another: it followed, or corrects it; None where dates say neither."""
    said = "event_time", "recorded_at", "cell_id"
    one, other = ((row["valid_from"].date(), *(row[name] for name in said)) for row in (later, former))
    if one > other:
        return "updates"
    return "corrects" if one[1:] > other[1:] else None
