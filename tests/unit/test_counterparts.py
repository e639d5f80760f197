"""Which memories of two derivations say the same, what differs, and how their use is carried."""

from datetime import timedelta

import polars as pl
import pytest

from slowwave.rederive.counterparts import COLUMNS, PAIRS, best_counterparts, counterparts
from slowwave.rederive.diff import COMPARED, differences
from slowwave.rederive.usage import carried_usage
from slowwave.schemas.identity import content_hash
from slowwave.schemas.tables import empty
from tests.rows import DAY, row, rows

NEAR = pl.DataFrame(schema={"cell_id": pl.String, "target_id": pl.String})
LEAST = 0.45


def cell(key: str, content: str, **given: object) -> dict[str, object]:
    return row(
        "cells", key, **{"evidence": [], "content": content, "content_hash": content_hash(content), **given}
    )


OTHERS = [cell(f"x{number}", f"Evan likes the boat number {number} in the yard.") for number in range(12)]


def paired(old: list[dict[str, object]], new: list[dict[str, object]]) -> pl.DataFrame:
    return counterparts(
        rows("cells", *old, *OTHERS).select(COLUMNS),
        rows("cells", *new, *OTHERS).select(COLUMNS),
        NEAR,
        least_score=LEAST,
    ).filter(~pl.col("cell_id").str.starts_with("x"))


def test_the_same_fact_in_other_words_from_the_same_turn_is_a_counterpart_and_another_fact_of_it_is_none():
    old = [cell("a", "Evan likes ginger snaps best.", evidence=["t1"])]
    new = [
        cell("n1", "Ginger snaps are what Evan likes.", evidence=["t1"]),
        cell("n2", "Evan likes his old car.", evidence=["t1"]),
    ]
    assert paired(old, new)["target_id"].to_list() == ["n1"]


def test_the_same_text_is_a_counterpart_whatever_it_rests_on_and_of_another_owner_nothing_is():
    text = "The quay closes at noon."
    assert paired([cell("a", text)], [cell("b", text)]).select("target_id", "score").row(0) == ("b", 1.0)
    assert paired([cell("a", text)], [cell("b", text, user_id="ben")]).is_empty()


@pytest.mark.parametrize(
    ("before", "after", "agrees", "says_all"),
    [
        ("The port of staging is 5433.", "The port of staging is 6432.", False, False),
        ("The port of staging is 5433.", "Since 2026 the port of staging is 5433.", True, True),
        ("Since 2026 the port of staging is 5433.", "The port of staging is 5433.", True, False),
        ("The port of staging is open.", "The port of staging is not open.", False, False),
        (
            "The port of staging is open.",
            "The port of staging is open, and nobody but the operators of the northern yard can reach it from outside.",
            True,
            True,
        ),
    ],
)
def test_two_texts_agree_where_neither_names_another_value(before, after, agrees, says_all):
    found = paired([cell("a", before, evidence=["t1"])], [cell("b", after, evidence=["t1"])])
    assert found.select("agrees", "says_all").row(0) == (agrees, says_all)


def test_another_value_of_the_same_attribute_does_not_agree():
    about = {"subject": "editor", "attribute": "indent", "evidence": ["t1"]}
    old, new = (
        cell("a", "The editor indents by tabs.", value="tabs", **about),
        cell("b", "The editor indents by spaces.", value="spaces", **about),
    )
    assert paired([old], [new])["agrees"].to_list() == [False]


def test_of_several_counterparts_the_surest_is_taken_and_a_memory_is_its_own_first():
    text = "The ferry leaves at nine."
    pairs = paired([cell("a", text)], [cell("a", text), cell("A", text)])
    assert best_counterparts(pairs) == {"a": "a"}


def test_differences_conserve_live_memories_and_tell_what_no_longer_holds():
    old = (
        [cell(key, f"old {key}") for key in "bcd"]
        + [cell("a", "text a")]
        + [cell("s", "text s", status="superseded")]
    )
    new = [
        cell("a", "text a"),
        cell("B", "text B"),
        cell("C", "text C", status="superseded"),
        cell("g", "text g"),
        cell("S", "text S"),
    ]
    pairs = pl.DataFrame(
        [
            ("a", "a", 1.0, True, True),
            ("b", "B", 0.9, True, True),
            ("c", "C", 0.9, True, True),
            ("s", "S", 0.9, True, True),
        ],
        schema=PAIRS,
        orient="row",
    )
    found = differences(rows("cells", *old).select(COMPARED), rows("cells", *new).select(COMPARED), pairs)
    told = {
        one["difference"]: (one["cell_id"], one["new_id"], one["why"])
        for one in found.filter(pl.col("difference") != "gained").iter_rows(named=True)
    }
    assert told == {
        "kept": ("a", "a", ""),
        "reworded": ("b", "B", ""),
        "changed": ("c", "C", "no longer holds in the derivation"),
        "lost": ("d", None, ""),
    }
    gained = found.filter(pl.col("difference") == "gained").select("new_id", "why")
    assert dict(gained.iter_rows()) == {"g": "", "S": "no longer held in the living memory"}


def test_the_use_of_several_memories_adds_up_on_one_counterpart_and_carried_twice_is_carried_once():
    used = {"retrieval_count": 2, "citation_count": 1, "ignore_count": 0, "revived_count": 0}
    old = rows(
        "cell_usage",
        row("cell_usage", "a", **used, confirmations=3, last_accessed=DAY),
        row("cell_usage", "b", **used, confirmations=1, last_accessed=DAY + timedelta(days=2)),
    )
    new = rows("cell_usage", row("cell_usage", "n", last_accessed=DAY + timedelta(days=90), confirmations=1))
    late = rows("usage", row("usage", "u", cell_id="a", usage_type="cited", used_at=DAY + timedelta(days=5)))
    once = carried_usage(late, old, new, {"a": "n", "b": "n", "c": "gone"})
    (found,) = once.to_dicts()
    assert (found["retrieval_count"], found["citation_count"], found["confirmations"]) == (4, 3, 3)
    assert found["last_accessed"] == DAY + timedelta(days=5)
    again = carried_usage(late, old, once.select("cell_id", "confirmations"), {"a": "n", "b": "n"})
    assert again.equals(once)
    assert carried_usage(empty("usage"), old, new, {}).is_empty()
