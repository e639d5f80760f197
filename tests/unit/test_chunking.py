"""Windows of turns: where they begin and end, and what they hold."""

import polars as pl

from slowwave.ingest.chunk import chunk_turns, cut_chunks, with_overlap
from tests.rows import row, rows


def turns(*contents: str, session: str = "s", first: int = 0) -> pl.DataFrame:
    return rows(
        "turns",
        *(
            row("turns", f"{session}{index}", session_id=session, turn_index=index, content=content)
            for index, content in enumerate(contents, first)
        ),
    )


def tokens(number: int, letter: str = "x") -> str:
    return letter * (4 * number)


def cut(frame: pl.DataFrame, *, window: int = 100, overlap: int = 20) -> pl.DataFrame:
    return cut_chunks(frame, window_tokens=window, overlap_tokens=overlap)


def parts(chunks: pl.DataFrame, frame: pl.DataFrame) -> list[list[str]]:
    """The texts of each chunk, in the order of the chunks."""
    shown = chunk_turns(chunks, frame).group_by("chunk_id", maintain_order=True).agg("text")
    return chunks.join(shown, on="chunk_id", how="left", maintain_order="left")["text"].to_list()


def spans(chunks: pl.DataFrame) -> list[list[str]]:
    return chunks["turn_ids"].to_list()


def test_windows_are_cut_at_turn_borders_and_share_the_turns_that_start_in_the_tail():
    # starts 0 30 60 90 120 150 180 210: strides of 80, the next window's first 20 tokens belong to both
    chunks = cut(turns(*[tokens(30)] * 8))
    assert spans(chunks) == [["s0", "s1", "s2", "s3"], ["s3", "s4", "s5"], ["s6", "s7"]]
    assert chunks["token_count"].to_list() == [120, 90, 60]


def test_a_last_window_that_is_all_overlap_is_left_out():
    assert spans(cut(turns(tokens(80), tokens(10)))) == [["s0", "s1"]]


def test_the_text_of_a_chunk_is_the_part_of_its_first_and_last_turn():
    frame = turns(tokens(150, "a"), tokens(10, "b"), tokens(150, "c"))
    chunks = cut(frame)
    assert [[f"{text[:1]}{len(text) // 4}" for text in texts] for texts in parts(chunks, frame)] == [
        ["a100"],
        ["a50", "b10", "c100"],
        ["c50"],
    ]
    numbers = chunk_turns(chunks, frame).filter(pl.col("chunk_id") == chunks["chunk_id"][1])
    assert numbers.select("turn_number", "turn_id").rows() == [(1, "s0"), (2, "s1"), (3, "s2")]


def test_a_chunk_has_the_owner_and_the_source_of_its_turns_and_their_last_time():
    frame = turns("a", "b")
    chunk = cut(frame).row(0, named=True)
    assert {name: chunk[name] for name in ("user_id", "project_id", "scope", "session_id", "source_id")} == {
        name: frame[name][0] for name in ("user_id", "project_id", "scope", "session_id", "source_id")
    }
    assert chunk["event_time"] == frame["event_time"].max()


def grown(frame: pl.DataFrame, *new: str, overlap: int = 20) -> list[str]:
    ids = pl.Series("turn_id", new, dtype=pl.String)
    return with_overlap(frame, new_turn_ids=ids, overlap_tokens=overlap)["turn_id"].to_list()


def test_new_turns_take_along_as_many_old_ones_as_fit_into_the_overlap():
    frame = turns(tokens(30), tokens(10), tokens(10), "new", "new")
    assert grown(frame, "s3", "s4") == ["s1", "s2", "s3", "s4"]
    assert grown(frame, "s3", "s4", overlap=19) == ["s2", "s3", "s4"]
    assert grown(frame, "s3", "s4", overlap=0) == ["s3", "s4"]


def test_a_turn_that_changed_in_the_middle_is_cut_again_with_all_that_follows():
    assert grown(turns(tokens(30), "changed", "old", "new"), "s1", "s3") == ["s1", "s2", "s3"]
