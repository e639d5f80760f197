"""Whatever is said, every new word goes to the extractor, and old ones only as overlap."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.ingest.chunk import chunk_turns, cut_chunks, with_overlap
from slowwave.language.text import token_count
from tests.examples import at_most
from tests.rows import row, rows

LENGTHS = st.lists(st.one_of(st.integers(0, 60), st.integers(0, 900)), max_size=20)
WINDOWS = st.tuples(st.integers(50, 120), st.integers(0, 24))


def turns(lengths: list[int], session: str = "s") -> pl.DataFrame:
    """Turns whose every character is one of a kind within its turn's neighbourhood."""
    texts = ["".join(chr(0x4E00 + (index * 37 + number) % 5000) for number in range(length))
             for index, length in enumerate(lengths)]  # fmt: skip
    return rows("turns", *(row("turns", f"{session}{index:02}", session_id=session, turn_index=index, content=text)
                           for index, text in enumerate(texts)))  # fmt: skip


def cut(frame: pl.DataFrame, window: tuple[int, int]) -> pl.DataFrame:
    return cut_chunks(frame, window_tokens=window[0], overlap_tokens=window[1])


@settings(max_examples=at_most(60))
@given(LENGTHS, WINDOWS)
def test_every_character_of_every_turn_is_in_some_chunk_and_in_its_place(lengths, window):
    frame = turns(lengths)
    chunks = cut(frame, window)
    assert chunks["chunk_id"].is_unique().all()
    seen = {turn: [False] * len(text) for turn, text in frame.select("turn_id", "content").rows()}
    texts = dict(frame.select("turn_id", "content").rows())
    ends = {chunk["chunk_id"]: chunk for chunk in chunks.iter_rows(named=True)}
    for line in chunk_turns(chunks, frame).iter_rows(named=True):
        chunk = ends[line["chunk_id"]]
        start = chunk["first_char"] if line["turn_number"] == 1 else 0
        assert texts[line["turn_id"]][start : start + len(line["text"])] == line["text"]
        seen[line["turn_id"]][start : start + len(line["text"])] = [True] * len(line["text"])
    assert all(all(marks) for marks in seen.values())
    assert set(chunks["turn_ids"].explode().drop_nulls()) == set(texts)


@settings(max_examples=at_most(60))
@given(LENGTHS, WINDOWS)
def test_neighbours_share_no_more_than_what_starts_in_the_overlap(lengths, window):
    size, overlap = window
    frame = turns([min(length, 4 * size) for length in lengths])
    chunks = cut(frame, window)
    weight = dict(frame.select("turn_id", token_count(pl.col("content"))).rows())
    for left, right in zip(chunks["turn_ids"].to_list(), chunks["turn_ids"].to_list()[1:], strict=False):
        shared = [turn for turn in left if turn in right]
        assert shared == left[len(left) - len(shared) :] == right[: len(shared)]
        assert sum(weight[turn] for turn in shared[:-1]) < max(overlap, 1)
        assert left != right


@settings(max_examples=at_most(60))
@given(LENGTHS, WINDOWS, st.randoms())
def test_the_order_of_rows_and_the_neighbour_sessions_do_not_matter(lengths, window, random):
    frame = turns(lengths)
    other = turns([5, 700, 3], session="q")
    mixed = pl.concat([frame, other])
    mixed = mixed[random.sample(range(mixed.height), mixed.height)]
    assert cut(mixed, window).filter(pl.col("session_id") == "s").equals(cut(frame, window))


@settings(max_examples=at_most(60))
@given(LENGTHS, st.lists(st.integers(0, 300), min_size=1, max_size=6), WINDOWS)
def test_a_session_that_grew_is_cut_from_its_new_turns_and_old_ones_are_overlap_alone(old, new, window):
    frame = turns([*old, *new])
    fresh = frame["turn_id"][len(old) :]
    context = with_overlap(frame, new_turn_ids=fresh, overlap_tokens=window[1])
    known = context.filter(~pl.col("turn_id").is_in(fresh.implode()))
    assert set(fresh) <= set(context["turn_id"])
    assert known["turn_id"].to_list() == frame["turn_id"][len(old) - known.height : len(old)].to_list()
    assert known.select(token_count(pl.col("content"))).sum().item() <= window[1]
    chunks = cut(context, window)
    assert set(fresh) <= set(chunks["turn_ids"].explode())
    assert all(set(fresh) & set(turn_ids) for turn_ids in chunks["turn_ids"]), "no chunk of old turns alone"
