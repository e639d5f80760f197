"""Many segments at once are one after another."""

import polars as pl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slowwave.schemas.tables import TABLES
from tests.examples import at_most
from tests.rows import NOW, OWNER, events, of_row
from tests.unit.test_fold import Tables, laid_over, same, scanned

KEY = st.sampled_from("abc")
WORD = st.one_of(st.none(), st.sampled_from(["x", "y", ""]))
NUMBER = st.integers(0, 3)


def _cell(key: str, text: str | None, number: int) -> pl.DataFrame:
    return of_row("cell.extracted", "cells", key, content=text or "-", value=text, evidence=["t"] * number,
                  entities=[], artifacts=[])  # fmt: skip


def _turn(key: str, text: str | None, number: int) -> pl.DataFrame:
    return of_row("turn.recorded", "turns", key, content=text or "-", turn_index=number, cwd=text)


def _summary(key: str, text: str | None, number: int) -> pl.DataFrame:
    return events("topic.summarized", {"topic_id": key, "summary": text, "cell_ids": list("abc")[:number]})


EVENTS = {
    "turn": _turn,
    "cell": _cell,
    "summary": _summary,
    "topic": lambda key, text, _: events("topic.opened", {"topic_id": key, "name": text or "-", **OWNER}),
    "renamed": lambda key, text, _: events("topic.renamed", {"topic_id": key, "name": text or "-"}),
    "assigned": lambda key, text, _: events("cell.assigned", {"cell_id": key, "topic_id": text}),
    "archived": lambda key, _, __: events(
        "cell.archived", {"cell_id": key, "reason": "r", "archived_count": 1}
    ),
    "revived": lambda key, _, number: events(
        "cell.revived", {"cell_id": key, "revived_count": number, "last_accessed": NOW}
    ),
    "succeeded": lambda key, text, _: events(
        "cell.succeeded", {"cell_id": key, "supersedes": text, "summary": text}
    ),
    "pruned": lambda key, _, __: events("cell.pruned", {"cell_id": key, "reason": "r"}),
    "deleted": lambda key, text, _: events(
        "cell.deleted", {"cell_id": key, "content_hash": text or "-", "evidence": [], **OWNER}
    ),
    "promoted": lambda key, text, number: of_row(
        "core.promoted", "core", key, line_rank=number + 1, line=text or "-"
    ),
    "demoted": lambda key, _, __: events("core.demoted", {"cell_id": key, "reason": "r"}),
    "cell_usage": lambda key, _, number: of_row(
        "cell_usage.folded", "cell_usage", key, retrieval_count=number
    ),
}
EVENT = st.tuples(st.sampled_from(sorted(EVENTS)), KEY, WORD, NUMBER)
STORY = st.lists(EVENT, min_size=1, max_size=12)


def told(story: list[tuple[str, str, str | None, int]]) -> pl.DataFrame:
    return scanned(*(EVENTS[name](key, text, number) for name, key, text, number in story))


def one_by_one(tables: Tables, read: pl.DataFrame) -> Tables:
    for position in range(read.height):
        tables = laid_over(tables, read.slice(position, 1))
    return tables


@settings(max_examples=at_most(25))
@given(STORY, st.integers(0, 12))
@example([("archived", "a", None, 0), ("cell", "a", "x", 1)], 0)
@example(
    [("cell", "a", "x", 1), ("pruned", "a", None, 0), ("archived", "a", None, 0), ("cell", "a", "y", 1)], 1
)
@example([("cell", "a", "x", 1), ("archived", "a", None, 0), ("cell", "a", "y", 1)], 1)
def test_many_events_at_once_are_the_same_events_one_by_one(story, cut):
    read = told(story)
    before = one_by_one({}, read.head(cut))
    assert same(laid_over(before, read.slice(cut)), one_by_one(before, read.slice(cut)))


@settings(max_examples=at_most(25))
@given(STORY)
def test_folding_a_story_twice_is_folding_it_once_and_its_rows_are_valid(story):
    """Rows are born before they are changed, as every stage does it."""
    births = [(kind, key, "born", 1) for kind in ("cell", "topic") for key in "abc"]
    read = told([*births, *story])
    once = laid_over({}, read)
    for table, rows in once.items():
        TABLES[table].validate(rows, lazy=True)
    assert same(laid_over(once, read), once)
