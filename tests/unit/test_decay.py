"""Retention, reinforcement and the folding of usage, against numbers worked out by hand."""

from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.setting_groups import DecaySettings
from slowwave.transforms.decay import days_since, effective_confidence, fold_usage, reinforced, retention
from tests.rows import NOW, row, rows

SETTINGS = DecaySettings()


def confidence(days: float, *, counts: tuple[int, int, int] = (0, 0, 0), **cell: object) -> float:
    """Effective confidence of one cell, `days` after its last access."""
    retrieved, cited, ignored = counts
    vitals = row("vitals", "c", retrieval_count=retrieved, citation_count=cited, ignore_count=ignored,
                 last_accessed=NOW - timedelta(days=days))  # fmt: skip
    both = rows("cells", row("cells", "c", **{"confidence": 0.8, **cell})).join(
        rows("vitals", vitals), on="cell_id"
    )
    return both.select(effective_confidence(now=NOW, settings=SETTINGS)).item()


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
    found = frame.select(retention(pl.col("rate"), pl.col("days"), exponent=0.8)).item()
    assert found == pytest.approx(left, rel=1e-9)


def test_days_are_fractions_and_the_future_is_no_day_away():
    moments = pl.DataFrame({"at": [NOW - timedelta(hours=36), NOW, NOW + timedelta(days=3)]})
    assert moments.select(days_since(pl.col("at"), now=NOW)).to_series().to_list() == [1.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ((0, 0, 0), 0.8),
        ((20, 0, 0), 0.8346573590),  # 0.05 * ln 2
        ((2, 6, 0), 0.8346573590),  # a citation counts for three
        ((21, 0, 2), 0.8346573590),  # an ignored one takes a half away
        ((0, 0, 50), 0.8),  # and never more than there is
        ((10_000, 0, 0), 1.0),  # capped
    ],
)
def test_use_reinforces_confidence(counts: tuple[int, int, int], wanted: float):
    names = ["retrieval_count", "citation_count", "ignore_count"]
    frame = pl.DataFrame([counts], schema=names, orient="row").with_columns(confidence=pl.lit(0.8))
    assert frame.select(reinforced(pl.col("confidence"), settings=SETTINGS)).item() == pytest.approx(
        wanted, rel=1e-9
    )
    assert confidence(0, counts=counts) == pytest.approx(wanted, rel=1e-9)


def test_effective_confidence_is_reinforced_confidence_times_retention():
    assert confidence(32) == pytest.approx(0.8 * 0.2018965180, rel=1e-9)
    assert confidence(32, counts=(20, 0, 0)) == pytest.approx(0.8346573590 * 0.2018965180, rel=1e-9)
    assert confidence(32, decay_rate=0.05) == pytest.approx(0.8 * 0.4493289641, rel=1e-9)


def test_a_protected_memory_never_fades():
    assert confidence(10_000, protected=True, decay_rate=0.9) == pytest.approx(0.8)


# usage


def used(*records: tuple[str, str, int]) -> pl.DataFrame:
    """Cell, type and days after the reference."""
    whole = [row("usage", f"u{number}", cell_id=cell, usage_type=kind, used_at=NOW + timedelta(days=day))
             for number, (cell, kind, day) in enumerate(records)]  # fmt: skip
    return rows("usage", *whole)


def vitals(*keys: str, **given: object) -> pl.DataFrame:
    return rows("vitals", *(row("vitals", key, last_accessed=NOW, **given) for key in keys))


def test_new_usage_adds_to_the_counts_and_only_access_moves_the_clock():
    usage = used(
        ("a", "retrieved", 1),
        ("a", "cited", 3),
        ("a", "ignored", 9),
        ("a", "retrieved", 2),
        ("b", "ignored", 5),
    )
    folded = fold_usage(usage, vitals("a", "b", "c", retrieval_count=10, confirmations=4))
    columns = [
        "cell_id",
        "retrieval_count",
        "citation_count",
        "ignore_count",
        "confirmations",
        "last_accessed",
    ]
    assert folded.select(columns).rows() == [
        ("a", 12, 1, 1, 4, NOW + timedelta(days=3)),
        ("b", 10, 0, 1, 4, NOW),
    ]


def test_usage_of_before_does_not_move_the_clock_back_and_of_a_gone_memory_counts_nowhere():
    folded = fold_usage(used(("a", "cited", -5), ("gone", "cited", 1)), vitals("a"))
    assert folded.select("cell_id", "last_accessed").rows() == [("a", NOW)]
    assert fold_usage(used(), vitals("a")).is_empty()


KINDS = st.sampled_from(["retrieved", "cited", "ignored"])
RECORDS = st.lists(st.tuples(st.sampled_from("abcx"), KINDS, st.integers(-3, 3)), max_size=12)


@settings(max_examples=50)
@given(RECORDS, st.randoms())
def test_from_the_same_vitals_the_same_usage_gives_the_same_whatever_its_order(records, random):
    usage, known = used(*records), vitals("a", "b", "c", retrieval_count=2)
    folded = fold_usage(usage, known)
    shuffled = usage[random.sample(range(usage.height), usage.height)]
    assert fold_usage(shuffled, known.reverse()).equals(folded)
    assert set(folded["cell_id"]) == {cell for cell, *_ in records} - {"x"}
    counts = ["retrieval_count", "citation_count", "ignore_count"]
    before = known.join(folded, on="cell_id", how="semi").select(counts).sum().sum_horizontal().item()
    counted = sum(cell != "x" for cell, *_ in records)
    assert folded.select(counts).sum().sum_horizontal().item() - before == counted
