"""Core memory: who may stand in it and where."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.home.core_file import core_lines
from slowwave.home.core_memory import core_events, with_successors
from slowwave.store.chain_columns import property_key
from tasks.promote.choose import (
    belongs,
    choose_by_use,
    one_a_property,
    promotion_candidates,
    with_unsettled,
)
from tests.examples import at_most
from tests.rows import NOW, row, rows

USAGE = ("citation_count", "retrieval_count", "ignore_count", "confirmations", "last_accessed")
Cells = tuple[tuple[str, dict[str, object]], ...]


def candidates(
    *cells: tuple[str, dict[str, object]], core: str = "", limit: int = 100, doubted: str = ""
) -> pl.DataFrame:
    whole = [row("cells", key, **{name: value for name, value in given.items() if name not in USAGE})
             for key, given in cells]  # fmt: skip
    used = [row("cell_usage", key, **{"last_accessed": NOW, **{name: given[name] for name in USAGE if name in given}})
            for key, given in cells]  # fmt: skip
    return promotion_candidates(
        rows("cells", *whole),
        rows("cell_usage", *used),
        standing(core),
        doubted=pl.Series(doubted.split(), dtype=pl.String),
        limit=limit,
        now=NOW,
    )


def standing(keys: str, *, days: float = 30) -> pl.DataFrame:
    since = NOW - timedelta(days=days)
    return rows(
        "core",
        *(
            row("core", key, line_rank=rank, line=key, promoted_at=since)
            for rank, key in enumerate(keys.split(), 1)
        ),
    )


def by_use(found: pl.DataFrame, lines: int = 10, margin: float = 0.25) -> str:
    return ids(choose_by_use(found, lines=lines, margin=margin))


def ids(frame: pl.DataFrame) -> str:
    return " ".join(frame["cell_id"])


def changed(lines: pl.DataFrame, core: pl.DataFrame) -> list[pl.DataFrame]:
    """The lines that are promoted, moved and demoted."""
    texts = ("cell_id", "reason", "prompt_version", "model")
    because = pl.DataFrame(schema=dict.fromkeys(texts, pl.String))
    return list(core_events(lines, core, left=because.select("cell_id", "reason"), because=because).values())


USED: Cells = (
    ("salient", {"salience": 0.9}),
    ("dull", {"salience": 0.5}),
    ("retrieved", {"retrieval_count": 3}),
    ("cited", {"citation_count": 3}),
    ("confirmed", {"confirmations": 2}),
    ("ignored", {"retrieval_count": 9, "ignore_count": 9}),
    ("archived", {"citation_count": 9, "status": "archived"}),
)


def test_candidates_come_by_what_their_use_is_worth():
    assert ids(candidates(*USED)) == "cited retrieved confirmed salient dull ignored"
    assert ids(candidates(*USED, limit=3)) == "cited retrieved confirmed"
    assert "confirmed" not in ids(candidates(*USED, doubted="confirmed x"))


def test_a_page_holds_the_lines_that_stand_and_some_newcomers():
    found = candidates(*USED, core="dull salient ignored confirmed", limit=6)
    assert found.select("cell_id", "is_core", "line_rank").rows() == [
        ("dull", True, 1), ("salient", True, 2), ("ignored", True, 3), ("confirmed", True, 4),
        ("cited", False, None), ("retrieved", False, None),
    ]  # fmt: skip
    assert ids(candidates(*USED, core="dull salient ignored confirmed", limit=3)) == "salient confirmed cited"


def test_without_a_model_the_used_and_the_salient_are_chosen():
    assert by_use(candidates(*USED)) == "cited retrieved confirmed salient"
    assert by_use(candidates(*USED), lines=2) == "cited retrieved"
    assert by_use(candidates(*USED, core="dull ignored")) == "cited retrieved confirmed salient"
    assert (
        by_use(candidates(("seen", {"retrieval_count": 2}), ("wanted", {"retrieval_count": 3}))) == "wanted"
    )


def test_of_two_of_about_the_same_worth_the_one_that_stands_stays():
    pair: Cells = (("a", {"citation_count": 4}), ("b", {"citation_count": 5}))
    assert by_use(candidates(*pair), lines=1) == "b"
    assert by_use(candidates(*pair, core="a"), lines=1) == "a"
    assert by_use(candidates(*pair, core="a"), lines=1, margin=0.0) == "b"
    assert by_use(candidates(pair[0], ("b", {"citation_count": 50}), core="a"), lines=1) == "b"


@pytest.mark.parametrize(("days", "kept"), [(3, "b a"), (10, "b")])
def test_what_entered_stays_for_some_days(days: float, kept: str):
    found = candidates(("a", {}), ("b", {"citation_count": 9}))
    young = found.with_columns(promoted_at=pl.when(pl.col("cell_id") == "a").then(NOW - timedelta(days=days)))
    chosen = young.filter(pl.col("cell_id") == "b")
    assert ids(with_unsettled(chosen, young, now=NOW, settled_days=7, max_lines=10)) == kept


def test_core_memory_never_has_more_lines_than_it_may():
    found = candidates(*((f"c{n}", {}) for n in range(6))).with_columns(promoted_at=pl.lit(NOW))
    young, chosen = found[:2], found[2:]
    whole = with_unsettled(chosen, pl.concat([young, chosen[:0]]), now=NOW, settled_days=7, max_lines=3)
    assert ids(whole) == f"{chosen['cell_id'][0]} {ids(young)}"


def line(**given: object) -> str:
    chosen = candidates(("c", {"valid_from": datetime(2026, 9, 1, tzinfo=UTC), **given}))
    return core_lines(chosen)["line"].item()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"content": "Kiln 2\n runs  hot."}, "[fact] Kiln 2 runs hot. (said by a person, 2026-09-01)"),
        ({"content": "x", "source_id": "remembered"}, "[fact] x (said by you, 2026-09-01)"),
        ({"content": "x", "protected": True}, "[fact] x (confirmed by you, 2026-09-01)"),
        ({"content": "x", "subject": "kiln"}, "[fact] x (said by a person, 2026-09-01)"),
        (
            {"content": "It is 2.", "summary": "now 2; previously 1", "subject": "kiln", "attribute": "heat"},
            "[fact] It is 2. (said by a person, 2026-09-01)",
        ),
        ({"content": "y" * 200}, f"[fact] {'y' * 200} (said by a person, 2026-09-01)"),
        ({"content": "y" * 201}, f"[fact] {'y' * 201} (said by a person, 2026-09-01)"),
        (
            {"content": f"Kiln 2 runs hot. {'y' * 90}. {'z' * 100}."},
            f"[fact] Kiln 2 runs hot. {'y' * 90}. (said by a person, 2026-09-01)",
        ),
    ],
)
def test_a_line_says_type_whole_sentences_whose_word_and_date(given: dict[str, object], wanted: str):
    assert line(**given) == wanted


PORT = {"subject": "Staging", "attribute": "port"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (({}, {}), "a b"),
        ((PORT, {"subject": "staging ", "attribute": "Port"}), "b"),
        ((PORT, {**PORT, "protected": False, "event_time": NOW - timedelta(days=9)}), "a"),
        (({**PORT, "protected": True}, PORT), "a"),
        ((PORT, {"subject": "staging", "attribute": "host"}), "a b"),
    ],
)
def test_of_several_memories_on_one_property_the_one_that_holds_now_stands_for_all(given, kept):
    days = {"valid_from": NOW, "event_time": NOW}
    cells = rows(
        "cells", *(row("cells", key, **{**days, **one}) for key, one in zip("ab", given, strict=True))
    )
    assert ids(one_a_property(cells.with_columns(property=property_key()))) == kept


@pytest.mark.parametrize(
    ("given", "does"),
    [
        ({"cell_type": "decision"}, True),
        ({"cell_type": "risk"}, True),
        ({"cell_type": "preference", "is_wish": True}, True),
        ({"cell_type": "preference"}, False),
        ({"cell_type": "task"}, False),
        ({"cell_type": "fact", "source_id": "remembered"}, True),
    ],
)
def test_without_a_model_decisions_risks_wishes_and_what_was_remembered_belong(given, does):
    assert rows("cells", row("cells", "c", **given)).filter(belongs()).height == int(does)


def test_what_a_person_confirmed_stays_as_long_as_it_holds():
    found = candidates(("a", {"protected": True}), ("b", {}), ("new", {"protected": True}), core="a b")
    whole = with_unsettled(found[:0], found, now=NOW, settled_days=7, max_lines=10)
    assert ids(whole) == "a"


def test_a_line_that_stays_keeps_its_place_and_a_newcomer_stands_behind_the_line_before_it_in_the_choice():
    order = ["cited", "salient", "retrieved", "dull", "confirmed"]
    found = candidates(*USED, core="dull gone salient")
    chosen = pl.DataFrame({"cell_id": order}).join(found, on="cell_id", how="inner", maintain_order="left")
    assert core_lines(chosen).select("line_rank", "cell_id").rows() == [
        (1, "cited"), (2, "dull"), (3, "confirmed"), (4, "salient"), (5, "retrieved"),
    ]  # fmt: skip


def test_what_is_the_same_is_not_written_and_what_differs_is_told_apart():
    lines = core_lines(candidates(("a", {}), ("b", {}), ("c", {}), core="x a b"))
    known = {one["cell_id"]: one["line"] for one in lines.iter_rows(named=True)}
    core = standing("x a b").with_columns(line=pl.col("cell_id").replace({"b": known["b"]}))
    promoted, moved, demoted = changed(lines, core)
    assert promoted.select("cell_id", "reason").sort("cell_id").rows() == [("a", "reworded"), ("c", "chosen")]
    assert (ids(moved), ids(demoted)) == ("b", "x")
    same = rows("core", *(row("core", one["cell_id"], line_rank=one["line_rank"], line=one["line"])
                          for one in lines.iter_rows(named=True)))  # fmt: skip
    assert [frame.height for frame in changed(lines, same)] == [0, 0, 0]


def test_what_superseded_a_line_takes_its_place():
    ends = {"a": "b2", "c": "x", "e": "b2", "x": "x"}
    wanted = with_successors(standing("a c d e x"), ends)
    assert wanted["before_id"].to_list() == ["a", "c", "d", "e", "x", "a"]
    assert wanted["cell_id"].to_list() == ["a", "c", "d", "e", "x", "b2"]


KEYS = [f"c{number}" for number in range(8)]


@settings(max_examples=at_most(50))
@given(st.permutations(KEYS), st.integers(0, 8), st.permutations(KEYS), st.integers(0, 8))
def test_lines_that_stay_keep_their_order_whatever_is_chosen_beside_them(before, many, choice, chosen):
    core, taken = before[:many], choice[:chosen]
    found = candidates(*((key, {}) for key in KEYS), core=" ".join(core))
    order = pl.DataFrame({"cell_id": taken}, schema={"cell_id": pl.String})
    lines = core_lines(order.join(found, on="cell_id", how="inner", maintain_order="left"))
    assert lines["line_rank"].to_list() == list(range(1, len(taken) + 1))
    assert set(lines["cell_id"]) == set(taken)
    assert [key for key in lines["cell_id"] if key in core] == [key for key in core if key in taken]
    promoted, _, demoted = changed(lines, standing(" ".join(core)))
    assert set(demoted["cell_id"]) == set(core) - set(taken)
    assert set(promoted.filter(pl.col("reason") != "reworded")["cell_id"]) == set(taken) - set(core)
    again = core_lines(
        order.join(found.drop("line_rank"), on="cell_id", how="inner", maintain_order="left").join(
            lines.select("cell_id", "line_rank"), on="cell_id", maintain_order="left"
        )
    )
    assert again.equals(lines), "the same choice again leaves the file as it is"


CELL = st.tuples(st.integers(0, 9), st.integers(0, 9), st.floats(0, 1))


@settings(max_examples=at_most(50))
@given(st.lists(CELL, min_size=2, max_size=12), st.integers(1, 6), st.integers(0, 11), CELL)
def test_the_same_use_gives_the_same_file_and_one_changed_cell_moves_its_line_alone(
    drawn, lines, place, changed
):
    def night(cells: list[tuple[int, int, float]], core: str) -> list[str]:
        given = [
            (f"c{n}", {"citation_count": c, "retrieval_count": r, "salience": s})
            for n, (c, r, s) in enumerate(cells)
        ]
        found = choose_by_use(candidates(*given, core=core), lines=lines, margin=0.25)
        return core_lines(found)["cell_id"].to_list()

    first = night(drawn, "")
    assert night(drawn, " ".join(first)) == first
    place %= len(drawn)
    second = night([*drawn[:place], changed, *drawn[place + 1 :]], " ".join(first))
    stayed = [key for key in first if key in second]
    assert [key for key in second if key in first] == stayed, "no line moves past another"
    came, left = set(second) - set(first), set(first) - set(second)
    assert len(came) <= 1
    assert len(left) <= 1
    assert (came | left) <= {f"c{place}"} or f"c{place}" in came | left | set(stayed)
