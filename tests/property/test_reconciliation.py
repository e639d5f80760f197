"""What must hold for every set of candidates, pages, values and confirmations."""

from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.lifecycle.order import supersessions
from slowwave.lifecycle.walker import ends
from tasks.reconcile.contradictions import contradiction_rows
from tasks.reconcile.pages import GROUP_CELLS, PAGE_CELLS, disjoint_pages, shown_pairs
from tests.examples import at_most
from tests.rows import row, rows
from tests.unit.test_reconciliation import judged, pairs_of

KEYS = [f"c{number}" for number in range(12)]
KEY = st.sampled_from(KEYS)
START = datetime(2026, 1, 1, tzinfo=UTC)
VERDICT = st.sampled_from(["updates", "corrects"])


@st.composite
def values(draw):
    """Cells with few different dates, so that ties are common, and judged pairs of them."""
    size = draw(st.integers(2, 7))
    days = st.integers(0, 3)
    times = [[START + timedelta(days=draw(days)) for _ in range(3)] for _ in range(size)]
    columns = ("valid_from", "event_time", "recorded_at")
    whole = [
        row("cells", KEYS[number], value=str(number), **dict(zip(columns, three, strict=True)))
        for number, three in enumerate(times)
    ]
    cells = rows("cells", *whole)
    key = st.sampled_from(KEYS[:size])
    pairs = draw(st.lists(st.tuples(key, key, VERDICT), min_size=1, max_size=8))
    return cells, [pair for pair in pairs if pair[0] != pair[1]]


@settings(max_examples=at_most(60))
@given(values(), st.randoms())
def test_the_order_in_which_values_come_in_does_not_matter(drawn, random):
    cells, pairs = drawn
    links = supersessions(pairs_of(*pairs), cells)
    shuffled = cells[random.sample(range(cells.height), cells.height)]
    again = supersessions(pairs_of(*random.sample(pairs, len(pairs))), shuffled)
    assert again.sort("cell_id").equals(links.sort("cell_id"))


@settings(max_examples=at_most(60))
@given(values())
def test_every_group_is_one_chain_without_a_circle_that_ends_in_the_value_that_holds(drawn):
    cells, pairs = drawn
    links = supersessions(pairs_of(*pairs), cells)
    after = dict(links.select("cell_id", "superseded_by").rows())
    assert len(after) == links.height
    assert len(set(after.values())) == len(after), "two memories are never superseded by the same one"
    assert ends(after).keys() == after.keys(), "a circle would keep one of its own"
    for one, other, _ in pairs:
        last = ends(after)
        assert last.get(one, one) == last.get(other, other)


@settings(max_examples=at_most(60))
@given(values())
def test_updates_go_by_date_and_a_correction_stands_after_what_it_corrects(drawn):
    cells, pairs = drawn
    links = supersessions(pairs_of(*pairs), cells)
    after = dict(links.select("cell_id", "superseded_by").rows())
    ages = {
        key: (said, known, key)
        for key, said, known in cells.select("cell_id", "event_time", "recorded_at").rows()
    }
    for one, other, verdict in pairs:
        wrong, right = sorted((one, other), key=ages.__getitem__)
        if verdict == "corrects":
            chain = [wrong]
            while chain[-1] in after:
                chain.append(after[chain[-1]])
            assert right in chain
    if all(verdict == "updates" for *_, verdict in pairs):
        order = cells.sort("valid_from", "event_time", "recorded_at", "cell_id")["cell_id"].to_list()
        assert all(order.index(old) < order.index(new) for old, new in after.items())
        starts = dict(cells.select("cell_id", "valid_from").rows())
        assert all(until == starts[new] for _, new, until, _ in links.rows())


@settings(max_examples=at_most(100))
@given(st.lists(st.tuples(KEY, KEY), max_size=60), st.sets(KEY))
def test_every_round_takes_pairs_out_shows_no_memory_twice_and_keeps_its_bounds(pairs, alone):
    names = ["cell_id", "target_id"]
    drawn = [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]
    queue = pl.DataFrame(drawn, schema=dict.fromkeys(names, pl.String), orient="row")
    while not queue.is_empty():
        pages = disjoint_pages(queue, alone=alone)
        assert pages["cell_id"].is_unique().all()
        assert (pages.group_by("page").len()["len"] <= PAGE_CELLS).all()
        assert (pages.group_by("group").len()["len"] <= GROUP_CELLS).all()
        of_page = pages.filter("is_new").group_by("page").agg("cell_id")["cell_id"]
        assert all(len(new) == 1 for new in of_page if not alone.isdisjoint(new))
        shown = shown_pairs(queue, pages)
        assert shown.height > 0
        queue = queue.join(shown, on=names, how="anti", maintain_order="left")


@settings(max_examples=at_most(60))
@given(st.lists(st.tuples(KEY, KEY), max_size=15), st.randoms())
def test_a_pair_has_at_most_one_contradiction_and_its_older_memory_comes_first(pairs, random):
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    order = random.sample(KEYS, len(KEYS))
    cells = rows(
        "cells",
        *(row("cells", key, valid_from=START + timedelta(days=place)) for place, key in enumerate(order)),
    )
    opened = contradiction_rows(judged(*((one, other, None) for one, other in pairs)), cells)
    assert opened["contradiction_id"].is_unique().all()
    assert {frozenset(pair) for pair in opened.select("cell_a", "cell_b").rows()} == {
        frozenset(pair) for pair in pairs
    }
    assert opened.height == len({frozenset(pair) for pair in pairs})
    assert all(
        order.index(one) < order.index(other) for one, other in opened.select("cell_a", "cell_b").rows()
    )
