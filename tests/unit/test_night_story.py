"""The sentences of a night's story: what it says of changes and doubts."""

import polars as pl
import pytest

from slowwave.journal.catalogue import CATALOGUE
from slowwave.schemas.report import (
    AWAY,
    UNUSABLE,
    NightReport,
    StageReport,
    StoryPart,
    closings,
    night_headline,
)
from tasks.nightly.story import KINDS, night_story
from tests.rows import row, rows

Said = tuple[str, dict[str, object]]


def story(said: list[Said], *cells: dict[str, object]) -> dict[str, StoryPart]:
    told = {
        kind: pl.DataFrame(
            [payload for name, payload in said if name == kind], schema=CATALOGUE[kind].payload, orient="row"
        )
        for kind in KINDS
    }
    return {part.name: part for part in night_story(told, rows("cells", *cells), open_count=1, core_count=0)}


def cell(key: str, attribute: str, value: str) -> dict[str, object]:
    content = f"The {attribute} of the ferry is {value}."
    return row("cells", key, content=content, subject="ferry", attribute=attribute, value=value)


def change(old: str, new: str) -> Said:
    return "cell.superseded", {"cell_id": old, "superseded_by": new, "verdict": "updates"}


def test_a_change_is_told_by_its_values_only_where_the_value_of_one_property_changed():
    known = [cell("a", "status", "open"), cell("b", "status", "done"), cell("c", "due date", "Monday")]
    (line,) = story([change("a", "b")], *known)["changed"].lines
    assert line == "ferry, status: done; until then it was open"
    (line,) = story([change("c", "b")], *known)["changed"].lines
    assert line == "The status of the ferry is done. Until then: The due date of the ferry is Monday."


def test_known_news_said_again_is_no_change_of_mind():
    again = [cell("a", "status", "open"), cell("d", "status", "Open")]
    assert "changed" not in story([change("d", "a")], *again)


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        (StageReport(stage="ingest"), "A quiet night"),
        (
            StageReport(stage="ingest", counts={"turn.recorded": 15}),
            "Took in 15 messages; no memory changed.",
        ),
        (StageReport(stage="extract", rejected={AWAY: 4}), "did not answer 4 questions"),
        (
            StageReport(stage="extract", rejected={f"{UNUSABLE} (extract_cells.v3)": 2}),
            "gave 2 answers that could not be used",
        ),
    ],
)
def test_a_night_without_a_story_says_what_came_in_and_what_failed(stage: StageReport, line: str):
    report = NightReport(night_id="n", has_llm=True, stages=[stage])
    assert line in " ".join(closings(report))
    assert ("the language model did not answer" in night_headline(report)) == (AWAY in stage.rejected)


def test_a_contradiction_that_ended_in_the_same_night_is_told_of_no_more():
    sides = cell("a", "status", "open"), cell("b", "status", "done")
    opened = "contradiction.opened", {"contradiction_id": "x", "cell_a": "a", "cell_b": "b"}
    closed = "contradiction.closed", {"contradiction_id": "x"}
    assert story([opened], *sides)["doubted"].count == 1
    assert "doubted" not in story([opened, closed], *sides)
