"""Retention, reinforcement and the folding of usage, against numbers worked out by hand."""

from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.lifecycle.retention import (
    SHOWN_DAYS,
    days_until,
    effective_confidence,
    fold_usage,
    found_again,
    reinforced,
    retention,
    retention_of,
    unused_days,
    unused_days_of,
)
from tests.examples import at_most
from tests.rows import NOW, row, rows


def confidence(days: float, *, counts: tuple[int, int, int] = (0, 0, 0), **cell: object) -> float:
    """Effective confidence of one cell, `days` after its last access."""
    retrieved, cited, ignored = counts
    cell_usage = row("cell_usage", "c", retrieval_count=retrieved, citation_count=cited, ignore_count=ignored,
                 last_accessed=NOW - timedelta(days=days))  # fmt: skip
    both = rows("cells", row("cells", "c", **{"confidence": 0.8, **cell})).join(
        rows("cell_usage", cell_usage), on="cell_id"
    )
    return both.select(effective_confidence(now=NOW)).item()


@pytest.mark.parametrize(
    ("rate", "days", "left"),
    [
        (0.1, 0, 1.0),
        (0.1, 1, 0.9048374180),
        (0.1, 32, 0.2018965180),
        (0.05, 32, 0.4493289641),
        (0.0, 10_000, 1.0),
    ],
)
def test_retention_is_a_stretched_exponential(rate: float, days: float, left: float):
    """32 ** 0.8 is 16: exp(-1.6) and exp(-0.8)."""
    frame = pl.DataFrame({"rate": [rate], "days": [float(days)]})
    found = frame.select(retention(pl.col("rate"), pl.col("days"))).item()
    assert found == pytest.approx(left, rel=1e-9)


@given(st.floats(0.0, 2.0), st.floats(0.0, 5_000.0))
def test_one_memory_keeps_as_much_as_its_row_in_a_table(rate: float, days: float):
    of_rows = pl.select(retention(pl.lit(rate), pl.lit(days))).item()
    assert retention_of(rate, days) == pytest.approx(of_rows, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ((0, 0, 0), 0.8),
        ((20, 0, 0), 0.8346573590),  # 0.05 * ln 2
        ((2, 6, 0), 0.8346573590),  # a citation counts for three
        ((23, 0, 2), 0.8346573590),  # an ignored one takes itself and a half away
        ((40, 0, 40), 0.7653426410),  # what is always ignored loses what use would have given
        ((10_000, 0, 0), 1.0),  # capped
    ],
)
def test_use_reinforces_confidence(counts: tuple[int, int, int], wanted: float):
    names = ["retrieval_count", "citation_count", "ignore_count"]
    frame = pl.DataFrame([counts], schema=names, orient="row").with_columns(confidence=pl.lit(0.8))
    assert frame.select(reinforced(pl.col("confidence"))).item() == pytest.approx(wanted, rel=1e-9)
    assert confidence(0, counts=counts) == pytest.approx(wanted, rel=1e-9)


def test_a_protected_memory_never_fades():
    assert confidence(10_000, protected=True, decay_rate=0.9) == pytest.approx(0.8)


# usage


def used(*records: tuple[str, str, int]) -> pl.DataFrame:
    """Cell, type and days after the reference."""
    whole = [row("usage", f"u{number}", cell_id=cell, usage_type=kind, used_at=NOW + timedelta(days=day))
             for number, (cell, kind, day) in enumerate(records)]  # fmt: skip
    return rows("usage", *whole)


def cell_usage(*keys: str, **given: object) -> pl.DataFrame:
    return rows("cell_usage", *(row("cell_usage", key, last_accessed=NOW, **given) for key in keys))


def test_new_usage_adds_to_the_counts_and_a_citation_alone_moves_the_last_access():
    usage = used(
        ("a", "retrieved", 1),
        ("a", "cited", 3),
        ("a", "ignored", 9),
        ("a", "retrieved", 2),
        ("b", "ignored", 5),
    )
    folded = fold_usage(usage, cell_usage("a", "b", "c", retrieval_count=10, confirmations=4))
    counts = ["cell_id", "retrieval_count", "citation_count", "ignore_count", "confirmations"]
    assert folded.select(counts).rows() == [("a", 12, 1, 1, 4), ("b", 10, 0, 1, 4)]
    assert folded.select("last_accessed", "retrieved_at").rows() == [
        (NOW + timedelta(days=3), NOW + timedelta(days=2)),
        (NOW, None),
    ]


def test_usage_of_before_does_not_move_the_clock_back_and_of_a_gone_memory_counts_nowhere():
    folded = fold_usage(used(("a", "cited", -5), ("gone", "cited", 1)), cell_usage("a"))
    assert folded.select("cell_id", "last_accessed").rows() == [("a", NOW)]
    assert fold_usage(used(), cell_usage("a")).is_empty()


def unused(days: float, *, shown: float | None, counts: tuple[int, int] = (10, 0)) -> float:
    """Days without use of a memory made `days` ago and last shown `shown` days ago."""
    retrieved, ignored = counts
    at = None if shown is None else NOW - timedelta(days=shown)
    made = NOW - timedelta(days=days)
    one = row(
        "cell_usage",
        "c",
        last_accessed=made,
        retrieved_at=at,
        retrieval_count=retrieved,
        ignore_count=ignored,
    )
    days_unused = rows("cell_usage", one).select(unused_days(now=NOW)).item()
    assert unused_days_of(one, now=NOW) == pytest.approx(days_unused), "search and night differ"
    return float(days_unused)


def test_being_shown_prolongs_a_life_as_far_as_it_was_not_ignored_and_not_for_ever():
    assert unused(100, shown=None, counts=(0, 0)) == 100
    assert unused(100, shown=1) == pytest.approx(1)
    assert unused(100, shown=0, counts=(100, 100)) == 100, "shown daily and always ignored"
    assert unused(100, shown=0, counts=(100, 50)) == pytest.approx(50)
    assert unused(100, shown=0, counts=(3, 9)) == 100, "never below what it is without"
    assert unused(400, shown=0) == pytest.approx(400 - SHOWN_DAYS), "only shown, for more than a year"
    assert unused(10, shown=30) == 10, "shown before it was last said"


@given(st.floats(0.001, 0.999), st.floats(0.001, 2.0))
def test_days_until_is_the_inverse_of_retention(share: float, rate: float):
    frame = pl.DataFrame({"share": [share], "rate": [rate]})
    back = frame.with_columns(days=days_until(pl.col("share"), pl.col("rate"))).select(
        retention(pl.col("rate"), pl.col("days"))
    )
    assert back.item() == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize(
    ("share", "rate", "days"), [(1.0, 0.1, 0.0), (3.0, 0.0, 0.0), (0.5, 0.0, float("inf"))]
)
def test_what_does_not_fade_lasts_for_ever_and_what_is_gone_is_gone_now(
    share: float, rate: float, days: float
):
    frame = pl.DataFrame({"share": [share], "rate": [rate]})
    assert frame.select(days_until(pl.col("share"), pl.col("rate"))).item() == days


def test_a_memory_is_found_again_when_cited_or_shown_where_it_was_not_ignored():
    found = rows(
        "usage",
        row("usage", "1", cell_id="cited", usage_type="cited", context="c1"),
        row("usage", "2", cell_id="shown", usage_type="retrieved", context="c1"),
        row("usage", "3", cell_id="plain", usage_type="retrieved", context=None),
        row("usage", "4", cell_id="passed", usage_type="retrieved", context="c1"),
        row("usage", "5", cell_id="passed", usage_type="ignored", context="c1"),
        row("usage", "6", cell_id="ignored", usage_type="ignored", context="c2"),
    )
    assert found_again(found).to_list() == ["cited", "plain", "shown"]


KINDS = st.sampled_from(["retrieved", "cited", "ignored"])
RECORDS = st.lists(st.tuples(st.sampled_from("abcx"), KINDS, st.integers(-3, 3)), max_size=12)


@settings(max_examples=at_most(50))
@given(RECORDS, st.data())
def test_usage_that_comes_in_batches_of_any_order_gives_the_same_cell_usage(records, data):
    usage, known = used(*records), cell_usage("a", "b", "c")
    order = data.draw(st.permutations(range(usage.height)))
    cut = data.draw(st.integers(0, usage.height))
    batches = [usage[list(order[:cut])], usage[list(order[cut:])]]
    folded = known
    for batch in batches:
        new = fold_usage(batch, folded)
        folded = pl.concat([folded.join(new, on="cell_id", how="anti"), new]).sort("cell_id")
    at_once = fold_usage(usage, known)
    assert folded.join(at_once, on="cell_id", how="semi").equals(at_once)
