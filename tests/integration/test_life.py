"""A memory over months: it fades, comes back, is superseded, and core memory and the night's story tell it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from flows.nightly import nightly
from flows.rebuild import rebuild
from slowwave.home.workspace import open_workspace
from slowwave.memory import Memory
from slowwave.schemas.report import NightReport, StoryPart
from tasks.nightly.report import night_markdown
from tests.integration.test_night_memory import Night
from tests.scripted_model import ScriptedModel, store_of
from tests.servers import OpenAIServer

FIRST = datetime(2026, 6, 6, 3, tzinfo=UTC)
HOLD = "The length of a seat hold is 12 minutes."
PORT = "The port of the staging database is {}."


def sleep(night: Night, days: float) -> NightReport:
    """A night so many days after the first one."""
    with open_workspace(night.home, clock=lambda: FIRST + timedelta(days=days)):
        return night.sleep()


def plain(folder: Path) -> Night:
    """A home without a language model, and a folder in which nothing lies yet."""
    with OpenAIServer() as server:
        night = Night(folder, server, llm={"provider": "none"})
    night.folder.mkdir()
    return night


def part(report: NightReport, name: str) -> StoryPart:
    return next(one for one in report.story if one.name == name)


def core(night: Night) -> list[str]:
    return (Path(night.home) / "MEMORY.md").read_text(encoding="utf-8").splitlines()[2:]


@pytest.mark.year
def test_what_nobody_uses_fades_what_is_cited_stays_and_what_is_said_again_comes_back(tmp_path):
    with OpenAIServer(ScriptedModel()) as server:
        night = Night(tmp_path, server)
        night.say(
            "june",
            ("2026-06-05T09:00:00Z", "Mara", HOLD),
            ("2026-06-05T09:01:00Z", "Mara", PORT.format(5433)),
        )
        first = sleep(night, 0)
        assert part(first, "learned").count == 2
        assert len(core(night)) == 2
        cells = {row["value"]: row["cell_id"] for row in night.cells().iter_rows(named=True)}
        with Memory(night.home) as memory:
            memory.cite([cells["5433"]], now=FIRST + timedelta(days=1))

        later = sleep(night, 100)
        assert dict(night.cells().select("cell_id", "status").rows()) == {
            cells["12 minutes"]: "archived",
            cells["5433"]: "active",
        }
        assert any(HOLD in line for line in part(later, "let_go").lines)
        assert "it faded and was archived" in part(later, "core_lost").lines[0]
        assert [line for line in core(night) if "seat hold" in line] == []
        assert (later.forgetting.archived_count, later.forgetting.revived_count) == (1, 0)
        found = Memory(night.home).archived("how long is a seat hold")
        assert [hit.content for hit in found] == [HOLD]

        night.say("september", ("2026-09-14T09:00:00Z", "Jonas", HOLD))
        night.say("autumn", ("2026-09-14T10:00:00Z", "Jonas", PORT.format("now 6432")))
        before = core(night)
        back = sleep(night, 101)
        assert part(back, "came_back").lines == [f"{HOLD} (said again)"]
        assert back.forgetting.rate == 1.0
        assert "above 1.0%" in night_markdown(back), "a night warns when forgetting was wrong too often"
        assert "6432; until 2026-09-14 it was 5433" in part(back, "changed").lines[0]
        assert part(back, "core_gained").count >= 1
        assert len(before) == 1
        assert "6432" in core(night)[0], "what superseded a line takes its place"
        status = Memory(night.home).status()
        assert (status.forgetting.archived_count, status.forgetting.revived_count) == (1, 1)

        cell_usage = store_of(night.home).rows("cell_usage").sort("cell_id")
        lines = store_of(night.home).rows("core").sort("line_rank")
        rebuild.fn(home=night.home)
        assert store_of(night.home).rows("cell_usage").sort("cell_id").equals(cell_usage)
        assert store_of(night.home).rows("core").sort("line_rank").equals(lines)


@pytest.mark.year
def test_being_asked_for_in_the_archive_brings_a_memory_back(tmp_path):
    night = plain(tmp_path)
    with Memory(night.home) as memory:
        kept = memory.remember(HOLD, now=FIRST).cell_id
        sleep(night, 0)
        gone = sleep(night, 200)
        assert part(gone, "let_go").count == 1
        assert memory.search("seat hold", now=FIRST + timedelta(days=200)).cells == []
        hit = memory.archived("seat hold")[0]
        memory.cite([hit.cell_id], now=FIRST + timedelta(days=200, hours=1))
        assert part(sleep(night, 201), "came_back").count == 1
        assert [
            cell.cell_id for cell in memory.search("seat hold", now=FIRST + timedelta(days=201)).cells
        ] == [kept]
        quiet = sleep(night, 202)
        assert [one.name for one in quiet.story] == []


def test_a_dry_night_tells_no_story_and_writes_nothing(tmp_path):
    night = plain(tmp_path)
    night.say("june", ("2026-06-05T09:00:00Z", "Mara", HOLD))
    report = nightly.fn(home=night.home, sources=[str(night.folder)], dry_run=True)
    assert report.story == []
    assert "nothing was changed" in night_markdown(report)
    assert store_of(night.home).rows("cells").is_empty()


def test_stored_text_in_the_story_is_never_markup(tmp_path):
    night = plain(tmp_path)
    evil = "The *bold* <script>alert(1)</script> [link](http://x) of Mara."
    with Memory(night.home) as memory:
        memory.remember(evil, salience=0.9, now=FIRST)
    told = night_markdown(sleep(night, 1))
    assert "<script>" not in told
    assert "](http" not in told
    assert pl.Series(core(night)).str.contains("bold").any()
