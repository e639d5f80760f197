"""Passages: the raw turns at three scales."""

import polars as pl

from slowwave.schemas.tables import TABLES, frame_schema
from slowwave.store import passages as made
from slowwave.store.passages import NEAR_CHARACTERS, near_places, turn_passages, wide_passages
from tests.rows import row, rows


def session(count: int, name: str = "s", **given: object) -> pl.DataFrame:
    return rows(
        "turns",
        *(
            row(
                "turns",
                f"{name}{i}",
                session_id=name,
                turn_index=i,
                speaker="Ana",
                content=f"word{i}",
                **given,
            )
            for i in range(count)
        ),
    )


def near_passages(turns: pl.DataFrame, *, changed: pl.Series) -> pl.DataFrame:
    return made.near_passages(turns, near_places(turns.with_columns(before=0), changed=changed))


def spans(passages: pl.DataFrame) -> list[list[str]]:
    return sorted(passages["turn_ids"].to_list())


def test_a_turn_is_a_passage_with_its_speaker():
    passages = turn_passages(session(1))
    TABLES["passages"].validate(passages, lazy=True)
    assert passages.select("passage_id", "scale", "content").row(0) == ("s0", "turn", "Ana: word0")
    unnamed = session(1).with_columns(speaker=pl.lit(None, dtype=pl.String))
    assert turn_passages(unnamed)["content"].to_list() == ["word0"]


def test_four_turns_make_a_near_passage_and_every_second_one_begins_one():
    turns = session(7)
    passages = near_passages(turns, changed=turns["turn_id"])
    TABLES["passages"].validate(passages, lazy=True)
    assert spans(passages) == [["s0", "s1", "s2", "s3"], ["s2", "s3", "s4", "s5"], ["s4", "s5", "s6"]]
    assert "Ana: word2\nAna: word3" in passages["content"].sort()[0]


def test_every_turn_stands_in_a_near_passage_and_none_holds_only_what_its_predecessor_holds():
    for count in range(1, 12):
        turns = session(count)
        found = spans(near_passages(turns, changed=turns["turn_id"]))
        assert {turn for span in found for turn in span} == set(turns["turn_id"])
        assert not any(set(small) <= set(large) for small in found for large in found if small != large)


def test_a_session_that_grew_fills_the_same_passages_and_touches_no_earlier_one():
    turns = session(9)
    whole = near_passages(turns, changed=turns["turn_id"])
    before = near_passages(turns.head(6), changed=turns["turn_id"].head(6))
    grown = near_passages(turns, changed=turns["turn_id"].tail(3))
    assert grown.filter(pl.col("turn_ids").list.contains("s0")).is_empty()
    latest = pl.concat([grown, before.join(grown, on="passage_id", how="anti")]).sort("passage_id")
    assert latest.equals(whole)


def test_sessions_and_owners_never_share_a_passage():
    turns = pl.concat([session(3), session(3, "other"), session(3, "mine", user_id="ben")]).with_columns(
        session_id=pl.when(pl.col("turn_id").str.starts_with("mine"))
        .then(pl.lit("s"))
        .otherwise("session_id")
    )
    passages = near_passages(turns, changed=turns["turn_id"])
    assert spans(passages) == [
        ["mine0", "mine1", "mine2"],
        ["other0", "other1", "other2"],
        ["s0", "s1", "s2"],
    ]
    assert passages["passage_id"].is_unique().all()
    assert dict(passages.select(pl.col("turn_ids").list.first(), "user_id").iter_rows())["mine0"] == "ben"


def test_a_long_turn_does_not_drown_its_neighbours():
    turns = session(2).with_columns(
        content=pl.when(pl.col("turn_index") == 0).then(pl.lit("x" * 9_000)).otherwise("content")
    )
    content = near_passages(turns, changed=turns["turn_id"])["content"][0]
    assert content == f"Ana: {'x' * NEAR_CHARACTERS}\nAna: word1"


def test_a_chunk_is_a_passage_of_the_parts_that_it_holds():
    turns = session(2)
    chunk = row("chunks", "k", turn_ids=["s0", "s1"], first_char=2, last_char=4, session_id="s")
    passages = wide_passages(rows("chunks", chunk), turns)
    TABLES["passages"].validate(passages, lazy=True)
    assert passages.select("passage_id", "scale", "content").row(0) == ("k", "wide", "Ana: rd0\nAna: word")
    assert wide_passages(rows("chunks", chunk), turns.clear()).is_empty()


def test_nothing_makes_no_passage():
    none = rows("turns")
    assert turn_passages(none).schema == frame_schema("passages")
    assert near_passages(none, changed=none["turn_id"]).schema == frame_schema("passages")
    assert wide_passages(rows("chunks"), none).schema == frame_schema("passages")
