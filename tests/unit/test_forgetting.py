"""Who fades, who may leave the store, and who stays buried."""

from datetime import timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from slowwave.lifecycle.fading import fading, false_forgetting, to_archive, to_delete_again, to_prune
from slowwave.settings.groups import ForgetSettings
from tests.examples import at_most
from tests.rows import NOW, row, rows

FADED: dict[str, object] = {"confidence": 0.5, "decay_rate": 1.0}
PRUNE = ForgetSettings(prune=True)


def faded(days: float, *, cited: int = 0, forget: ForgetSettings | None = None, **cell: object) -> list[str]:
    cells = rows("cells", row("cells", "c", **{**FADED, **cell}))
    cell_usage = rows(
        "cell_usage", row("cell_usage", "c", last_accessed=NOW - timedelta(days=days), citation_count=cited)
    )
    found = to_archive(cells, cell_usage, now=NOW, forget=forget or ForgetSettings())
    return found["cell_id"].to_list()


def test_confidence_at_the_limit_is_kept_and_below_it_goes():
    assert faded(100, decay_rate=0.0, confidence=0.05) == []
    assert faded(100, decay_rate=0.0, confidence=0.0499) == ["c"]
    assert faded(
        1, decay_rate=0.0, confidence=0.3, forget=ForgetSettings(min_confidence=0.31, unused_days=1)
    ) == ["c"]


def test_the_reason_says_how_much_was_left_and_for_how_long():
    cells = rows("cells", row("cells", "c", confidence=0.04, decay_rate=0.0))
    cell_usage = rows("cell_usage", row("cell_usage", "c", last_accessed=NOW - timedelta(days=91)))
    found = to_archive(cells, cell_usage, now=NOW, forget=ForgetSettings())
    assert found.rows() == [("c", 0.04, "confidence 0.04 after 91 days unused", 1)]


MEMORY = st.tuples(
    st.floats(0.0, 1.0), st.floats(0.0, 0.5), st.integers(0, 200), st.integers(0, 30), st.integers(0, 30)
)


@settings(max_examples=at_most(100))
@given(st.lists(MEMORY, min_size=1, max_size=12))
@example([(0.05, 0.0, 0, 0, 0)])  # at the least confidence from the start, and never below it
def test_what_the_preview_says_is_what_archiving_does(drawn):
    cells = rows(
        "cells",
        *(row("cells", f"c{n}", confidence=one[0], decay_rate=one[1]) for n, one in enumerate(drawn)),
    )
    cell_usage = rows(
        "cell_usage",
        *(
            row(
                "cell_usage",
                f"c{n}",
                last_accessed=NOW - timedelta(days=one[2]),
                retrieved_at=NOW - timedelta(days=one[2] / 2),
                retrieval_count=one[3],
                ignore_count=one[4],
            )
            for n, one in enumerate(drawn)
        ),
    )
    rules = {"forget": ForgetSettings()}
    found = fading(cells, cell_usage, now=NOW, days=3_000, **rules)
    for cell_id, told in found.rows():
        moment = max(told, NOW)
        after, before = moment + timedelta(seconds=2), moment - timedelta(seconds=2)
        assert cell_id in set(to_archive(cells, cell_usage, now=after, **rules)["cell_id"])
        if before > NOW:
            assert cell_id not in set(to_archive(cells, cell_usage, now=before, **rules)["cell_id"])
    late = to_archive(cells, cell_usage, now=NOW + timedelta(days=2_999), **rules)
    assert set(late["cell_id"]) <= set(found["cell_id"])


def test_false_forgetting_is_what_came_back_of_what_was_archived():
    def one(key: str, archived: int | None, revived: int | None, **counts: int) -> dict[str, object]:
        moments = {
            name: None if days is None else NOW - timedelta(days=days)
            for name, days in (("archived_at", archived), ("revived_at", revived))
        }
        return row("cell_usage", key, **moments, **counts)

    cell_usage = rows(
        "cell_usage",
        one("never", None, None),
        one("old", 200, None, archived_count=1),
        one("back", 200, 10, archived_count=1, revived_count=1),
        one("again", 20, 150, archived_count=2, revived_count=1),
    )
    counted = false_forgetting(cell_usage, now=NOW)
    assert (counted.archived_count, counted.revived_count, counted.rate) == (4, 2, 0.5)
    assert (counted.recent_archived_count, counted.recent_revived_count, counted.recent_rate) == (1, 1, 1.0)
    nothing = false_forgetting(cell_usage.clear(), now=NOW)
    assert (nothing.archived_count, nothing.rate, nothing.recent_rate) == (0, None, None)


CELL = st.fixed_dictionaries(
    {
        "confidence": st.sampled_from([0.0, 0.04, 0.5]),
        "decay_rate": st.sampled_from([0.0, 0.1, 1.0]),
        "protected": st.booleans(),
        "status": st.sampled_from(["active", "superseded", "archived"]),
    }
)
USE = st.tuples(st.integers(0, 400), st.integers(0, 1))


@settings(max_examples=at_most(50))
@given(st.lists(st.tuples(CELL, USE), max_size=15))
def test_nothing_protected_cited_or_recently_used_is_ever_archived(drawn):
    cells = rows("cells", *(row("cells", f"c{number}", **cell) for number, (cell, _) in enumerate(drawn)))
    used = [
        row("cell_usage", f"c{number}", citation_count=cited, last_accessed=NOW - timedelta(days=days))
        for number, (_, (days, cited)) in enumerate(drawn)
    ]
    cell_usage = rows("cell_usage", *used)
    gone = set(to_archive(cells, cell_usage, now=NOW, forget=ForgetSettings())["cell_id"])
    for number, (cell, (days, cited)) in enumerate(drawn):
        if cell["protected"] or cell["status"] != "active" or cited or days < 90:
            assert f"c{number}" not in gone
        elif cell["confidence"] == 0.0 or cell["decay_rate"] == 1.0:
            assert f"c{number}" in gone


def test_only_superseded_memories_are_pruned_and_protected_ones_never():
    long_ago = NOW - timedelta(days=400)
    kept = rows(
        "cells",
        row("cells", "a", superseded_at=long_ago),
        row("cells", "b", status="archived", superseded_at=long_ago),
        row("cells", "c", status="superseded", superseded_at=long_ago, protected=True),
        row("cells", "d", status="superseded", superseded_at=None),
    )
    assert to_prune(kept, now=NOW, forget=PRUNE).is_empty()


def test_what_was_deleted_is_deleted_again_by_its_id_or_its_text_of_the_same_owner():
    cells = rows(
        "cells",
        row("cells", "same-id", content_hash="new"),
        row("cells", "same-text", content_hash="h"),
        row("cells", "other-user", content_hash="h", user_id="ben"),
        row("cells", "other-text", content_hash="i"),
    )
    dead = rows(
        "tombstones",
        row("tombstones", "same-id", content_hash="old"),
        row("tombstones", "x", content_hash="h"),
        row("tombstones", "y", content_hash="h"),
    )
    assert to_delete_again(cells, dead)["cell_id"].to_list() == ["same-id", "same-text"]
    assert to_delete_again(cells, dead.clear()).is_empty()
