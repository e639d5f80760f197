"""Pages of memories that may have led to one another, and the edges that an answer may draw."""

from datetime import timedelta

import polars as pl

from tasks.link.causes import CausePages, LinkedCells, causal_edges, choose_cause_pages
from tests.rows import DAY, row, rows

SMALL = 4
"""Memories on a page."""


def cell(
    key: str, *, day: int = 1, kind: str = "code_ref", done: bool = False, **given: object
) -> dict[str, object]:
    """A memory of the conversation and the day of its number."""
    when = DAY + timedelta(days=day)
    plain = {"session_id": f"s{day}", "topic_id": None, "salience": 0.5, "cell_type": kind, "content": key}
    examined = {"examined_at": DAY if done else None}
    return {**row("cells", key, **{**plain, "valid_from": when, "event_time": when, **given}), **examined}


def linked(*cells: dict[str, object]) -> pl.DataFrame:
    examined = [made.pop("examined_at") for made in cells]
    column = pl.Series("examined_at", examined, dtype=pl.Datetime("us", "UTC"))
    return LinkedCells.of(rows("cells", *cells).with_columns(column))


def pages(*cells: dict[str, object], size: int = SMALL) -> list[tuple[list[str], list[str]]]:
    """The memories of each page, and those of them that a cause is looked for."""
    found = choose_cause_pages(linked(*cells), size=size)
    parts = found.partition_by("page", maintain_order=True)
    return [(part["cell_id"].to_list(), part.filter("is_effect")["cell_id"].to_list()) for part in parts]


def test_a_page_is_a_conversation_with_a_new_decision_fact_insight_risk_or_task() -> None:
    kinds = ["code_ref", "decision", "fact", "insight"]
    cells = [cell(f"c{n}", kind=kind) for n, kind in enumerate(kinds)]
    assert pages(*cells) == [(["c0", "c1", "c2", "c3"], ["c1", "c2", "c3"])]
    assert pages(cell("file", day=2), cell("wish", day=2, kind="preference")) == []
    assert pages(cell("alone", kind="decision")) == [], "nothing could have led to it"
    assert pages(cell("old"), cell("seen", kind="task", done=True)) == []


def test_the_room_that_a_conversation_leaves_goes_to_earlier_memories_of_the_topics_of_its_effects() -> None:
    cells = [
        cell("effect", day=9, kind="decision", topic_id="T"),
        cell("near", day=9, topic_id="U"),
        *(cell(f"far{n}", day=n, topic_id="T", salience=n / 10, done=True) for n in (1, 2, 3)),
        cell("other topic", day=3, topic_id="U", salience=1.0, done=True),
        cell("later", day=10, topic_id="T", salience=1.0, done=True),
        cell("theirs", day=3, topic_id="T", user_id="ben", salience=1.0, done=True),
    ]
    assert pages(*cells) == [(["far2", "far3", "effect", "near"], ["effect"])]


def test_what_is_learned_late_is_held_against_the_effects_after_it_and_no_others() -> None:
    cells = [
        cell("before", day=1, kind="risk", topic_id="T", done=True),
        cell("late", day=2, topic_id="T"),
        cell("after", day=3, kind="risk", topic_id="T", done=True),
    ]
    assert pages(*cells) == [(["late", "after"], ["after"])]


def test_a_long_conversation_takes_several_pages_and_the_newest_conversation_comes_first() -> None:
    long = [
        cell(f"a{n}", kind="task", event_time=DAY + timedelta(hours=n), session_id="long") for n in range(6)
    ]
    new = [cell("b0", day=5), cell("b1", day=5, kind="task")]
    assert [shown for shown, _ in pages(*long, *new)] == [
        ["b0", "b1"],
        ["a4", "a5"],
        ["a0", "a1", "a2", "a3"],
    ]
    assert CausePages.of(choose_cause_pages(linked(), size=SMALL)).is_empty()


def test_a_cause_is_of_the_owner_of_its_effect_not_later_and_rests_on_the_turns_of_both() -> None:
    later, aside = DAY + timedelta(days=2), {"origin": "untrusted"}
    cells = rows(
        "cells",
        row("cells", "cause", evidence=["t1"]),
        row("cells", "effect", evidence=["t2"]),
        row("cells", "theirs", user_id="ben"),
        row("cells", "later", valid_from=later),
        row("cells", "pasted", **aside),
        row("cells", "pasted too", **aside),
    )
    by = {"predicate": "led to it", "prompt_version": "infer_cause.v2", "model": "m"}
    pairs = [
        ("cause", "effect"), ("theirs", "effect"), ("later", "effect"), ("pasted", "pasted too"), ("pasted", "effect"),
    ]  # fmt: skip
    named = pl.DataFrame([{"source_id": source, "target_id": target, **by} for source, target in pairs])
    edges = causal_edges(named, cells)
    assert edges.select("source_id", "target_id").rows() == [("cause", "effect"), ("pasted", "effect")]
    assert edges.select("evidence", "confidence", "predicate").row(0) == (["t1", "t2"], 0.7, "led to it")
