"""Core memory: who may stand in it and where."""

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.transforms.promotion import choose_by_use, core_changes, core_lines, promotion_candidates
from tests.rows import row, rows


def candidates(*cells: tuple[str, dict[str, object]], core: str = "", limit: int = 100) -> pl.DataFrame:
    counts = ("citation_count", "retrieval_count", "confirmations")
    whole = rows("cells", *(row("cells", key, **{name: value for name, value in given.items() if name not in counts})
                            for key, given in cells))  # fmt: skip
    vitals = rows("vitals", *(row("vitals", key, **{name: value for name, value in given.items() if name in counts})
                              for key, given in cells))  # fmt: skip
    return promotion_candidates(whole, vitals, standing(core), limit=limit)


def standing(keys: str) -> pl.DataFrame:
    return rows(
        "core", *(row("core", key, line_rank=rank, line=key) for rank, key in enumerate(keys.split(), 1))
    )


def ids(frame: pl.DataFrame) -> str:
    return " ".join(frame["cell_id"])


USED: list[tuple[str, dict[str, object]]] = [
    ("salient", {"salience": 0.9}),
    ("dull", {"salience": 0.5}),
    ("retrieved", {"retrieval_count": 9}),
    ("cited", {"citation_count": 1}),
    ("confirmed", {"confirmations": 2}),
    ("archived", {"citation_count": 9, "status": "archived"}),
]


def test_candidates_come_by_citations_then_retrievals_confirmations_and_salience():
    assert ids(candidates(*USED)) == "cited retrieved confirmed salient dull"
    assert ids(candidates(*USED, limit=2)) == "cited retrieved"


def test_what_stands_in_core_memory_is_a_candidate_before_newcomers():
    found = candidates(*USED, core="x dull", limit=2)
    assert found.select("cell_id", "is_core", "line_rank").rows() == [
        ("dull", True, 2),
        ("cited", False, None),
    ]


def test_without_a_model_the_used_and_the_salient_are_chosen():
    assert ids(choose_by_use(candidates(*USED), max_lines=10)) == "cited retrieved confirmed salient"
    assert ids(choose_by_use(candidates(*USED), max_lines=2)) == "cited retrieved"
    assert (
        ids(choose_by_use(candidates(*USED, core="dull"), max_lines=10))
        == "cited retrieved confirmed salient"
    )


def line(**given: object) -> str:
    chosen = candidates(("c", {"valid_from": datetime(2026, 9, 1, tzinfo=UTC), **given}))
    return core_lines(chosen)["line"].item()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"content": "Kiln 2\n runs  hot."}, "[fact] Kiln 2 runs hot. (2026-09-01)"),
        ({"content": "x", "subject": "kiln"}, "[fact] x (2026-09-01)"),
        (
            {"content": "x", "summary": "now 2; previously 1", "subject": "kiln", "attribute": "heat"},
            "[fact] kiln heat: now 2; previously 1 (2026-09-01)",
        ),
        ({"content": "y" * 200}, f"[fact] {'y' * 200} (2026-09-01)"),
        ({"content": "y" * 201}, f"[fact] {'y' * 199}… (2026-09-01)"),
    ],
)
def test_a_line_says_type_text_and_date_on_one_short_line(given: dict[str, object], wanted: str):
    assert line(**given) == wanted


def test_a_line_that_stays_keeps_its_place_and_newcomers_follow_in_the_order_of_the_choice():
    chosen = candidates(*USED, core="dull gone salient")
    lines = core_lines(chosen)
    assert lines.select("line_rank", "cell_id").rows() == [
        (1, "dull"), (2, "salient"), (3, "cited"), (4, "retrieved"), (5, "confirmed"),
    ]  # fmt: skip


def test_only_lines_that_differ_are_written_and_only_those_that_left_are_taken_out():
    lines = core_lines(candidates(*USED, core="salient gone"))
    promoted, demoted = core_changes(lines, standing("salient gone"))
    assert ids(demoted) == "gone"
    assert ids(promoted) == ids(lines), "the text of the first line changed"
    core = rows("core", *(row("core", one["cell_id"], line_rank=one["line_rank"], line=one["line"])
                          for one in lines.iter_rows(named=True)))  # fmt: skip
    assert [frame.height for frame in core_changes(lines, core)] == [0, 0]
    assert core_changes(lines.clear(), core)[1].height == lines.height


KEYS = [f"c{number}" for number in range(8)]


@settings(max_examples=50)
@given(st.permutations(KEYS), st.integers(0, 8), st.permutations(KEYS), st.integers(0, 8))
def test_lines_that_stay_keep_their_order_whatever_is_chosen_beside_them(before, many, choice, chosen):
    core, taken = before[:many], choice[:chosen]
    found = candidates(*((key, {}) for key in KEYS), core=" ".join(core))
    order = pl.DataFrame({"cell_id": taken}, schema={"cell_id": pl.String})
    lines = core_lines(order.join(found, on="cell_id", how="inner", maintain_order="left"))
    assert lines["line_rank"].to_list() == list(range(1, len(taken) + 1))
    stayed = [key for key in core if key in taken]
    assert lines["cell_id"].to_list() == [*stayed, *(key for key in taken if key not in core)]
    promoted, demoted = core_changes(lines, standing(" ".join(core)))
    assert set(demoted["cell_id"]) == set(core) - set(taken)
    assert set(promoted["cell_id"]) <= set(taken)
