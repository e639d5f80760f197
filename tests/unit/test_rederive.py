"""Which memories of two derivations say the same, what differs, and which events of a journal are edits."""

import polars as pl
import pytest

from slowwave.journal.catalogue import SCAN_SCHEMA
from slowwave.schemas.identity import content_hash
from tasks.rederive.difference import COMPARED, differences, matches
from tasks.rederive.replay import edits_of
from tests.rows import NOW, events, row, rows


def cell(key: str, content: str, **given: object) -> dict[str, object]:
    return row(
        "cells",
        key,
        **{"evidence": ["t1"], "content": content, "content_hash": content_hash(content), **given},
    )


def compared(*cells: dict[str, object]) -> pl.DataFrame:
    return rows("cells", *cells).select(COMPARED)


def test_a_memory_is_found_by_its_turns_and_among_several_on_them_by_its_words():
    old = compared(cell("a", "Evan likes ginger snaps best."))
    other = cell("n2", "Evan likes his old car.")
    found = matches(old, compared(cell("n1", "Ginger snaps are what Evan likes."), other))
    assert found["new_id"].to_list() == ["n1"]
    elsewhere = cell("n1", "Ginger snaps are what Evan likes.", evidence=["t9"])
    assert matches(old, compared(elsewhere, other)).is_empty()


def test_the_same_text_is_found_on_any_turn_and_itself_first_and_nothing_of_another_owner():
    text = "The quay closes at noon."
    twice = compared(cell("b", text, evidence=["t9"]), cell("a", text, evidence=["t9"]))
    assert matches(compared(cell("a", text)), twice)["new_id"].to_list() == ["a", "b"]
    assert matches(compared(cell("a", text)), compared(cell("b", text, user_id="ben"))).is_empty()


@pytest.mark.parametrize(
    ("before", "after", "agrees"),
    [
        ("The port of staging is 5433.", "The port of staging is 6432.", False),
        ("The port of staging is 5433.", "Since 2026 the port of staging is 5433.", True),
        ("Since 2026 the port of staging is 5433.", "The port of staging is 5433.", True),
        ("The port of staging is open.", "The port of staging is not open.", False),
    ],
)
def test_two_memories_agree_where_neither_names_another_value(before: str, after: str, agrees: bool):
    assert matches(compared(cell("a", before)), compared(cell("b", after)))["agrees"].to_list() == [agrees]


def test_another_value_of_one_property_does_not_agree():
    about = {"subject": "editor", "attribute": "indent"}
    old = cell("a", "The editor indents by tabs.", value="tabs", **about)
    new = cell("b", "The editor indents by spaces.", value="spaces", **about)
    assert matches(compared(old), compared(new))["agrees"].to_list() == [False]


def test_each_live_memory_of_either_side_is_in_the_difference_once():
    kept, over = cell("a", "The quay closes at noon."), {"status": "superseded"}
    old = compared(
        kept,
        cell("b", "A seat hold lasts 12 minutes."),
        cell("c", "The crane of the mole is yellow."),
        cell("d", "Some gulls live there."),
        cell("s", "The tender comes daily.", **over),
    )
    new = compared(
        kept,
        cell("B", "A seat hold, it lasts 12 minutes."),
        cell("C", "The crane of the mole: yellow.", **over),
        cell("g", "Jonas rows."),
        cell("S", "The tender comes daily, says Mara."),
    )
    found = differences(old, new)
    assert set(found.select("difference", "cell_id", "new_id").iter_rows()) == {
        ("kept", "a", "a"),
        ("reworded", "b", "B"),
        ("lost", "c", None),
        ("lost", "d", None),
        ("gained", None, "g"),
        ("gained", None, "S"),
    }


def scanned(*parts: pl.DataFrame) -> pl.DataFrame:
    whole = {
        "segment_id": pl.lit("s"),
        "event_id": pl.lit("e"),
        "version": pl.lit(1),
        "recorded_at": pl.lit(NOW),
    }
    return pl.concat(parts).with_columns(**whole).select(SCAN_SCHEMA.names()).cast(dict(SCAN_SCHEMA))


def test_edits_are_what_persons_and_assistants_decided_and_no_decision_of_a_night():
    def decided(winner: str, loser: str, author: str) -> list[pl.DataFrame]:
        pair = {"cell_id": winner, "target_id": loser, "prompt_version": author, "effect": "superseded"}
        over = {"cell_id": loser, "superseded_by": winner, "superseded_at": NOW}
        return [events("pair.judged", pair), events("cell.superseded", over)]

    said = scanned(
        *decided("w", "l", "person"),
        *decided("x", "m", "remembered"),
        *decided("y", "n", "reconcile_pairs.v3"),
        events("cell.protected", {"cell_id": "p"}),
        events("cell.assigned", {"cell_id": "p", "topic_id": "t"}),
    )
    found = edits_of(said)
    assert found.select("kind", "cell_id", "target_id").rows() == [
        ("pair.judged", "w", "l"),
        ("cell.superseded", "w", "l"),
        ("pair.judged", "x", "m"),
        ("cell.superseded", "x", "m"),
        ("cell.protected", "p", None),
    ]
