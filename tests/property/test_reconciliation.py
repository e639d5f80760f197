"""What must hold for every set of candidates, pages, values and confirmations."""

from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.lifecycle.order import supersessions, timelines
from slowwave.lifecycle.walker import ends
from slowwave.stages.reconcile.candidates import build_pages, fuse_candidates
from slowwave.stages.reconcile.contradictions import contradiction_rows
from tests.examples import at_most
from tests.rows import row, rows
from tests.unit.test_reconciliation import candidates, found, judged, pairs_of, queries

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
    assert timelines(again, shuffled).equals(timelines(links, cells))


@settings(max_examples=at_most(60))
@given(values())
def test_every_group_is_one_chain_without_a_circle_that_ends_in_the_value_that_holds(drawn):
    cells, pairs = drawn
    links = supersessions(pairs_of(*pairs), cells)
    after = dict(links.select("cell_id", "superseded_by").rows())
    assert len(after) == links.height
    assert len(set(after.values())) == len(after), "two memories are never superseded by the same one"
    assert ends(after).keys() == after.keys(), "a circle would keep one of its own"
    heads = set(after.values()) - set(after)
    assert set(timelines(links, cells)["cell_id"]) == heads
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
@given(
    st.lists(
        st.tuples(KEY, KEY, st.sampled_from([0.1, 0.2, 0.3])), max_size=30, unique_by=lambda pair: pair[:2]
    ),
    st.integers(2, 9),
    st.integers(2, 9),
    st.sets(KEY),
)
def test_pages_keep_their_bound_and_judge_each_new_memory_once_beside_its_candidates(pairs, bound, few, new):
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    frame = candidates(*sorted(pairs, key=lambda pair: (pair[0], -pair[2], pair[1])))
    bounds = {"max_cells": bound, "group_cells": few}
    pages = build_pages(frame, pl.Series(sorted(new), dtype=pl.String), **bounds)
    assert (pages.group_by("page").len()["len"] <= bound).all()
    assert (pages.group_by("group").len()["len"] <= few).all()
    assert pages.select("group", "cell_id").is_unique().all()
    judged_on = pages.filter("is_new")
    wanted = frame.filter(pl.col("cell_id").is_in(sorted(new)))
    assert sorted(judged_on["cell_id"]) == sorted(set(wanted["cell_id"]))
    page_of = dict(judged_on.select("cell_id", "group").rows())
    members = dict(pages.group_by("group").agg("cell_id").rows())
    for cell, page in page_of.items():
        targets = wanted.filter(pl.col("cell_id") == cell)["target_id"].to_list()[: min(bound, few) - 1]
        assert set(targets) <= set(members[page])
    new_ids = pl.Series(sorted(new, reverse=True), dtype=pl.String)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    ranked = shuffled.sort("cell_id", "score", "target_id", descending=[False, True, False])
    again = build_pages(ranked, new_ids, **bounds)
    assert again.equals(pages)


HIT = st.tuples(st.integers(0, 2), KEY, st.floats(0, 1).map(lambda number: round(number, 1)))


@settings(max_examples=at_most(60))
@given(
    st.lists(HIT, max_size=20, unique_by=lambda hit: hit[:2]),
    st.lists(HIT, max_size=20, unique_by=lambda hit: hit[:2]),
    st.integers(1, 5),
    st.randoms(),
)
def test_fused_candidates_are_the_best_k_whatever_order_the_lists_come_in(near, matching, k, random):
    asked = queries("c0", "c1", "c2")
    fused = fuse_candidates(
        asked, found("similarity", *near), found("match_score", *matching), k=k, rank_constant=60
    )
    names = ["c0", "c1", "c2"]
    scores: dict[tuple[str, str], float] = {}
    for hits in (near, matching):
        for query, name in enumerate(names):
            ranked = sorted(
                (hit for hit in hits if hit[0] == query and hit[1] != name), key=lambda hit: (-hit[2], hit[1])
            )
            for rank, hit in enumerate(ranked, 1):
                scores[name, hit[1]] = scores.get((name, hit[1]), 0) + 1 / (60 + rank)
    for name in names:
        got = fused.filter(pl.col("cell_id") == name)
        best = sorted((score for (cell, _), score in scores.items() if cell == name), reverse=True)[:k]
        assert [round(score, 12) for score in got["score"]] == [round(score, 12) for score in best]
        assert all(
            abs(scores[name, target] - score) < 1e-12
            for target, score in got.select("target_id", "score").rows()
        )
    mixed = [random.sample(hits, len(hits)) for hits in (near, matching)]
    again = fuse_candidates(
        asked, found("similarity", *mixed[0]), found("match_score", *mixed[1]), k=k, rank_constant=60
    )
    assert again.equals(fused)


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
