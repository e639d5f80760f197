"""Results as text: the view decides colour, width and scores, and a page for an agent has a bound."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from slowwave.ingest.fences import FENCE_CLOSE, FENCE_OPEN
from slowwave.interfaces.rendering.agents import MOST_BYTES, page
from slowwave.interfaces.rendering.answers import blocks_of
from slowwave.interfaces.rendering.blocks import Cursor, Note, Table, line
from slowwave.interfaces.rendering.blocks import Page as PageBlock
from slowwave.interfaces.rendering.text import terminal
from slowwave.interfaces.rendering.view import View, view_of
from slowwave.interfaces.rendering.words import ago
from slowwave.schemas.results import Page, Recorded
from slowwave.schemas.runs import FlowRun
from tests.results import NOW, RESULTS


def test_what_only_programs_ask_for_is_a_page_of_json() -> None:
    view = View(NOW)
    recorded = Recorded(turn_ids=["a"], new_count=1, known_count=0)
    runs = Page[FlowRun](entries=[], total=0, next_cursor="")
    for found in (recorded, runs):
        assert json.loads(terminal(blocks_of(found, view), view)[0]) == found.model_dump(mode="json")


def test_colours_are_written_only_for_who_asks_for_them() -> None:
    blocks = blocks_of(RESULTS["search"], View(NOW))
    assert "\x1b" not in terminal(blocks, View(NOW))[0]
    assert "\x1b[1m" in terminal(blocks, view_of("width=60, color=1", now=NOW))[0]


def test_scores_are_shown_only_for_who_asks_for_them() -> None:
    for header, is_shown in (("", False), ("explain=1", True)):
        view = view_of(header, now=NOW)
        assert ("score 0.5000" in terminal(blocks_of(RESULTS["search"], view), view)[0]) is is_shown


def test_a_line_is_never_wrapped_and_a_page_for_a_prompt_stays_as_it_is() -> None:
    view = View(NOW, width=20)
    text = "<slowwave-memory>\n- a family: \U0001f468\u200d\U0001f469\n</slowwave-memory>"
    shown, notes = terminal([line("x" * 200), PageBlock(text, is_fenced=True), Note("1 of 2")], view)
    assert shown == f"{'x' * 200}\n{text}\n"
    assert notes == ["1 of 2"]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "just now"),
        (3_700, "1 hour ago"),
        (-7_300, "in 2 hours"),
        (86_400 * 3, "3 days ago"),
        (86_400 * 800, "2 years ago"),
    ],
)
def test_a_moment_is_told_in_its_largest_whole_unit(seconds: float, told: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == told


def test_an_unknown_day_is_told_in_words() -> None:
    assert ago(datetime(1970, 1, 1, tzinfo=UTC), NOW) == "day unknown"


@pytest.mark.parametrize("text", ["staging " * 40, "窯の温度 " * 80])
def test_a_page_has_a_bound_in_every_script_and_counts_what_it_leaves_out(text: str) -> None:
    blocks = [line(f"number {number} {text}") for number in range(300)]
    newest, oldest = page(blocks, View(NOW), newest_last=True), page(blocks, View(NOW))
    for shown, what in ((oldest, "more"), (newest, "older ones")):
        assert MOST_BYTES - 3_000 < len(shown.encode()) <= MOST_BYTES
        assert f"({300 - shown.count('number ')} {what} left out: narrow" in shown
    assert "number 299" in newest
    assert "number 1 " in oldest


def test_a_context_that_is_too_long_is_cut_at_a_line_within_its_fence() -> None:
    text = "\n".join([FENCE_OPEN, *["- 窯の温度 is stored here"] * 1_000, FENCE_CLOSE])
    shown = page([PageBlock(text, is_fenced=True)], View(NOW))
    assert len(shown.encode()) <= MOST_BYTES
    *_, said, last = shown.splitlines()
    assert (said, last) == ("(the rest is left out: ask with a smaller budget_tokens)", FENCE_CLOSE)


def test_a_page_of_a_list_that_was_cut_names_no_next_page() -> None:
    whole = [Table(("id",), (("1a2b",),)), Cursor("Next page: cursor c1")]
    assert page(whole, View(NOW)).endswith("Next page: cursor c1")
    cut = [Table(("id",), (("1a2b " * 60,),) * 300), Cursor("Next page: cursor c1")]
    assert "c1" not in page(cut, View(NOW))
