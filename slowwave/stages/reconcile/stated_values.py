"""Stated values: what somebody told Slowwave with its subject, attribute and value retires the values before it.

Who names an attribute names a property that has one value at a time, so no judge is needed. Which value holds, and
whose word may take whose place, says `compared_values`, as it does to every reader.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from slowwave.home.core_memory import outdated_lines, write_core
from slowwave.lifecycle.values import ATTRIBUTE, VALUE_COLUMNS, Pair, compared_values, plain_text
from slowwave.schemas.moments import latest_of
from slowwave.schemas.tables import OWNER, REMEMBERED
from slowwave.stages.asking import author_columns
from slowwave.stages.reconcile.chain_plan import RETIRING, plan_chains
from slowwave.stages.reconcile.pairs import judgement_rows
from slowwave.stages.run import Stage
from slowwave.store import Row, col, lit
from slowwave.store.chains import doubted_and_both_valid, side_by_side
from slowwave.trust.origins import is_told

WHY = "said later of the same property"


def retire_former_values(run: Stage) -> list[str]:
    """Supersede the values that stated ones outdate; return the projects where any was."""
    active = col("status") == lit("active")
    stated = run.store.rows("cells", ["value"], active & (col("prompt_version") == lit(REMEMBERED)))
    if stated.drop_nulls().is_empty():
        return []
    known = run.store.rows("cells", [*OWNER, *VALUE_COLUMNS], active)
    retiring = [
        row
        for claims in known.drop_nulls([*ATTRIBUTE, "value"]).partition_by(OWNER, maintain_order=True)
        for row in _retiring(run, claims.rows(named=True))
    ]
    if not retiring:
        return []
    pairs = pl.DataFrame(retiring, schema=RETIRING, orient="row")
    plan = plan_chains(run, pairs, pairs.clear(), prompt_version=REMEMBERED)
    if pairs["cell_id"].is_in(plan.superseded.implode()).any():
        # by the dates of its chain a value holds later than the one that was stated: a judge's matter
        pairs = pairs.filter(~pl.col("cell_id").is_in(plan.superseded.implode()))
        plan = plan_chains(run, pairs, pairs.clear(), prompt_version=REMEMBERED)
    owners = known.select(*OWNER, target_id="cell_id")
    told = pairs.join(owners, on="target_id", how="inner").with_columns(
        *author_columns(REMEMBERED), effect=pl.lit("superseded"), reason=pl.lit(WHY)
    )
    run.commit({"pair.judged": judgement_rows(told), **plan.events})
    return told["project_id"].unique().sort().to_list()


def retire_at_once(run: Stage) -> None:
    """The same as soon as somebody stated a value, with the lines of core memory that go with it."""
    is_new = (col("is_judged") == lit(value=False)) & (col("status") == lit("active"))
    stated = run.store.rows("cells", ["value"], is_new & (col("prompt_version") == lit(REMEMBERED)))
    if stated.drop_nulls().is_empty():
        return
    projects = retire_former_values(run)
    for project in projects:
        run.commit(outdated_lines(run.store, run.settings.owner, project, now=run.now))
    if projects:
        write_core(run.workspace)


# Inside


def _retiring(run: Stage, claims: list[Row]) -> list[tuple[str, str, str]]:
    """The pairs (`RETIRING`) of one owner's values: a stated one, and one that it outdates."""
    rows = {row["cell_id"]: row for row in claims}
    (contradictions,) = run.store.find([side_by_side(list(rows))])
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
