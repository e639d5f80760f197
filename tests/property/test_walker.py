"""The walker of chains against a naive walk, over graphs with branches and circles: every walk ends."""

import polars as pl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slowwave.lifecycle.walker import connected, ends, following, walk
from tests.examples import at_most

KEY = st.sampled_from("abcdefghij")
LINKS = st.dictionaries(KEY, KEY, max_size=12)
PAIRS = st.lists(st.tuples(KEY, KEY), max_size=20)


def distances(pairs, starts):
    """How many steps away every id is that links lead to, found by trying each link as often as there are links."""
    away = dict.fromkeys(starts, 0)
    for count in range(len(pairs)):
        for one, other in pairs:
            if away.get(one) == count:
                away.setdefault(other, count + 1)
    return away


@settings(max_examples=at_most(200))
@given(PAIRS, st.sets(KEY, max_size=3), st.none() | st.integers(0, 4))
def test_a_walk_reaches_every_id_once_by_the_shortest_way_and_stops_where_it_may(pairs, starts, most):
    found = walk(starts, lambda ids: [other for one, other in pairs if one in ids], most=most)
    wanted = distances(pairs, starts)
    bound = len(pairs) if most is None else most
    for count, step in enumerate(found, start=1):
        assert step == sorted(key for key, away in wanted.items() if away == count)
    assert sum(map(len, found)) == sum(0 < away <= bound for away in wanted.values())


@settings(max_examples=at_most(200))
@given(LINKS, KEY)
def test_what_follows_is_told_in_order_and_once(next_of, start):
    after = following(next_of, start)
    wanted = [start]
    while wanted[-1] in next_of and next_of[wanted[-1]] not in wanted:
        wanted.append(next_of[wanted[-1]])
    assert [start, *after] == wanted


@settings(max_examples=at_most(200))
@given(LINKS)
@example({"b": "c", "c": "b", "a": "c", "z": "a"})
def test_every_chain_has_one_end_and_a_circle_ends_in_its_smallest_id(next_of):
    wanted = {}
    for start in next_of:
        walked = [start]
        while walked[-1] in next_of and next_of[walked[-1]] not in walked:
            walked.append(next_of[walked[-1]])
        again = next_of.get(walked[-1])
        wanted[start] = walked[-1] if again is None else min(walked[walked.index(again) :])
    assert ends(next_of) == {key: end for key, end in wanted.items() if key != end}


@settings(max_examples=at_most(100))
@given(PAIRS)
def test_a_group_is_all_that_pairs_join_in_whatever_direction(pairs):
    frame = pl.DataFrame(pairs, schema={"cell_id": pl.String, "target_id": pl.String}, orient="row")
    groups = dict(connected(frame).rows())
    assert set(groups) == {key for pair in pairs for key in pair}
    both = [*pairs, *((other, one) for one, other in pairs)]
    for key, group in groups.items():
        assert {other for other, its in groups.items() if its == group} == set(distances(both, [key]))
