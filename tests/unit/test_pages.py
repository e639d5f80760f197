"""Pages of the extractor: which chunks go together, in which order, and what of them is new."""

from datetime import timedelta

import polars as pl
import pytest

from tasks.extract.pages import in_pages, page_lines
from tests.rows import DAY, row, rows

TURNS = rows(
    "turns",
    *(
        row(
            "turns", f"t{n}", turn_index=n, content=f"turn {n} says so", event_time=DAY + timedelta(minutes=n)
        )
        for n in range(6)
    ),
    row("turns", "long", turn_index=6, content="abcdefghij", event_time=DAY + timedelta(minutes=6)),
)
LENGTH = len("turn 0 says so")


def chunk(
    key: str, first: int, last: int, *, session: str = "s", day: int = 0, **given: object
) -> dict[str, object]:
    """A chunk of the whole turns from `first` to `last`."""
    whole = {
        "first_turn_index": first,
        "last_turn_index": last,
        "turn_ids": [f"t{n}" for n in range(first, last + 1)],
        "first_char": 0,
        "last_char": LENGTH,
        "token_count": 500,
        "session_id": session,
        "event_time": DAY + timedelta(days=day, minutes=last),
    }
    return row("chunks", key, **{**whole, **given})


def paged(*chunks: dict[str, object], page_tokens: int = 1500) -> list[tuple[int, list[str]]]:
    """Rounds in order, each with the chunks of its pages."""
    pages = in_pages(rows("chunks", *chunks), page_tokens=page_tokens, overlap_tokens=100)
    found = pages.group_by("round", "page", maintain_order=True).agg("chunk_id").sort("round", "page")
    return [(number, names) for number, _, names in found.rows()]


def lines(*page: dict[str, object], read: tuple[dict[str, object], ...] = ()) -> list[tuple[object, ...]]:
    """Lines of one page: number, turn, chunk, whether it was read, text."""
    chunks = rows("chunks", *page).with_columns(page=pl.lit(7, dtype=pl.Int64))
    found = page_lines(chunks, TURNS, rows("chunks", *read))
    assert found["page"].unique().to_list() in ([7], [])
    return found.select("turn_number", "turn_id", "chunk_id", "is_read", "text").rows()


def test_consecutive_chunks_of_a_session_share_a_page_and_a_long_session_is_cut_evenly():
    talk = [chunk(f"k{n}", n, n + 1) for n in range(5)]
    assert paged(*talk[:3]) == [(0, ["k0", "k1", "k2"])]
    assert paged(*talk) == [(0, ["k0", "k1", "k2"]), (1, ["k3", "k4"])]
    assert paged(*talk, page_tokens=50) == [(n, [f"k{n}"]) for n in range(5)]


def test_chunks_that_do_not_follow_each_other_have_pages_of_their_own():
    assert paged(chunk("k0", 0, 1), chunk("k5", 4, 5)) == [(0, ["k0"]), (1, ["k5"])]


def test_a_chunk_that_failed_before_is_asked_about_alone():
    talk = [chunk(f"k{n}", n, n + 1, attempts=int(n == 1)) for n in range(4)]
    assert paged(*talk) == [(0, ["k0"]), (1, ["k1"]), (2, ["k2", "k3"])]


def test_sessions_of_one_owner_follow_each_other_by_their_time_and_owners_stand_side_by_side():
    told = [
        chunk("b", 0, 1, session="a-later", day=3),
        chunk("a", 0, 1, session="z-earlier", day=1),
        chunk("c", 0, 1, session="bens", day=2, user_id="ben"),
    ]
    assert paged(*told) == [(0, ["a"]), (0, ["c"]), (1, ["b"])]
    assert paged(*reversed(told)) == paged(*told)


def test_the_overlap_of_two_chunks_stands_once_on_their_page():
    assert lines(chunk("k0", 0, 1), chunk("k1", 1, 2)) == [
        (1, "t0", "k0", False, "turn 0 says so"),
        (2, "t1", "k0", False, "turn 1 says so"),
        (3, "t2", "k1", False, "turn 2 says so"),
    ]


def test_turns_of_a_chunk_that_was_read_are_shown_as_read():
    assert lines(chunk("k1", 1, 2), read=(chunk("k0", 0, 1),)) == [
        (1, "t1", "k1", True, "turn 1 says so"),
        (2, "t2", "k1", False, "turn 2 says so"),
    ]


def test_a_chunk_of_which_every_word_was_read_has_no_line():
    assert lines(chunk("k1", 1, 2), read=(chunk("k0", 0, 1), chunk("k2", 2, 3))) == []
    both = lines(chunk("k1", 1, 1), chunk("k2", 1, 2), read=(chunk("k0", 0, 1),))
    assert both == [(1, "t1", "k2", True, "turn 1 says so"), (2, "t2", "k2", False, "turn 2 says so")]


def test_a_turn_that_was_recorded_anew_after_it_was_read_is_new():
    later = TURNS.with_columns(recorded_at=pl.col("recorded_at") + timedelta(days=1))
    page = rows("chunks", chunk("k1", 1, 2)).with_columns(page=pl.lit(0, dtype=pl.Int64))
    read = rows("chunks", chunk("k0", 0, 1))
    assert page_lines(page, later, read)["is_read"].to_list() == [False, False]


@pytest.mark.parametrize(
    ("read", "shown"),
    [
        ([], [(False, "abcdefgh")]),
        ([(0, 4)], [(True, "abcd"), (False, "efgh")]),
        ([(4, 10)], [(False, "abcd"), (True, "efgh")]),
        ([(0, 2), (6, 8)], [(True, "ab"), (False, "cdef"), (True, "gh")]),
        ([(0, 5), (3, 10)], []),
    ],
)
def test_of_a_long_turn_the_part_that_was_not_read_is_new(read, shown):
    def part(key: str, first: int, last: int) -> dict[str, object]:
        return chunk(key, 6, 6, turn_ids=["long"], first_char=first, last_char=last)

    known = tuple(part(f"r{first}", first, last) for first, last in read)
    found = lines(part("k", 0, 8), read=known)
    assert [line[3:] for line in found] == shown
    assert [line[0] for line in found] == list(range(1, len(shown) + 1))


def test_two_parts_of_a_long_turn_on_one_page_are_one_line():
    parts = [chunk(f"k{n}", 6, 6, turn_ids=["long"], first_char=5 * n, last_char=5 * n + 5) for n in range(2)]
    assert lines(*parts) == [(1, "long", "k0", False, "abcdefghij")]


def test_a_chunk_without_turns_has_no_line():
    assert lines(chunk("k9", 9, 9)) == []
