"""A derivation beside the living memory: its difference, a person's edits in it, the switch, and its end."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from flows.decay import decay
from flows.nightly import nightly
from flows.rebuild import rebuild
from flows.rederive import rederive
from slowwave import Memory
from slowwave.errors import BusyError, ConfigError, InputError, NotFoundError
from slowwave.home.derivation import beside
from slowwave.home.lock import rewriting
from slowwave.home.paths import open_home
from slowwave.home.workspace import open_workspace
from slowwave.interfaces.cli.program import program
from slowwave.journal.catalogue import rows_of
from slowwave.schemas.derivation import Derivation
from tests.integration.test_locks import another_writer
from tests.scripted_model import ScriptedModel, segments, store_of, tables, write_chat, write_settings
from tests.servers import OpenAIServer

pytestmark = pytest.mark.nights

JUNE = [
    ("2026-06-05T09:00:00Z", "Mara", "The port of the staging database is 5433."),
    ("2026-06-05T09:01:00Z", "Mara", "The length of a seat hold is 12 minutes."),
    ("2026-06-05T09:02:00Z", "Jonas", "Jonas prefers named exports only."),
    ("2026-06-05T09:03:00Z", "Jonas", "The colour of the old ferry is a secret of 7 people."),
    ("2026-06-05T09:04:00Z", "Mara", "The owner of the departures endpoint is team 4."),
    ("2026-06-05T09:05:00Z", "Mara", "The tender comes to the quay before breakfast."),
    ("2026-06-05T09:06:00Z", "Mara", "There are 40 berths along the northern mole."),
    ("2026-06-05T09:07:00Z", "Mara", "Some 90 gulls live under the crane."),
    ("2026-06-05T09:08:00Z", "Jonas", "According to Jonas the weekday of the settlement job is Tuesday."),
]
JULY = [
    ("2026-07-05T09:00:00Z", "Priya", "According to Priya the weekday of the settlement job is Thursday."),
    ("2026-07-05T09:01:00Z", "Mara", "The rate limit of the departures endpoint is 250 requests per minute."),
]
AUGUST = [("2026-08-05T09:00:00Z", "Mara", "The number of harbour pilots is 5.")]
MODELS = ("first", "second")
STATED = "The harbour master is Ines."
REPAINTED = "The crane is painted orange."
GULLS = "Some 90 gulls live under the crane."
LAMP, NO_LAMP = "A red lamp hangs at the quay.", "Nothing hangs above the water there."
CORRECTED = "The port of the staging database is 6432."


class BetterModel(ScriptedModel):
    """Another model: it says things in other words, sees what the first one did not, and misses what that one saw."""

    def extract(self, page: str) -> dict[str, Any]:
        found = super().extract(page)["cells"]
        kept = [cell for cell in found if not any(word in cell["content"] for word in ("berths", "gulls"))]
        for cell in kept:
            if "seat hold" in cell["content"]:
                cell["content"] = "A seat hold has a length of 12 minutes."
            if "team 4" in cell["content"]:  # misread, by a number of the page: one that it lacks is refused
                cell |= {"content": "The owner of the departures endpoint is team 12.", "value": "team 12"}
        if "tender" in page:
            like = dict(kept[0], subject="", attribute="", value="", topic="harbour")
            kept.append(like | {"content": "The tender comes to the quay before breakfast."})
        return {"cells": kept}


def settings_of(folder: Path, url: str, *, model: str = "first", **llm: object) -> str:
    told = {"provider": "openai", "base_url": url, "api_key": "k", "model": model, "transport_retries": 0}
    return write_settings(
        folder,
        llm=told | llm,
        embedding={"provider": "wordllama"},
        summaries={"min_unsummarized": 2},
        edits={"lock_seconds": 0.2},
    )


def cell_that(home: Path | str, words: str) -> dict[str, Any]:
    """The one memory that says this."""
    cells = store_of(home).rows("cells").filter(pl.col("content").str.contains(words, literal=True))
    (found,) = cells.filter(pl.col("cell_type") != "episode").to_dicts()
    return found


def live(home: Path | str) -> set[str]:
    """The texts that hold, episodes left out."""
    cells = store_of(home).rows("cells")
    return {*cells.filter((pl.col("status") == "active") & (pl.col("cell_type") != "episode"))["content"]}


def speak(home: Path) -> None:
    """A person states, corrects, confirms, deletes, settles and cites; an assistant corrects itself, and a person."""
    with Memory(home) as memory:
        memory.remember(STATED, subject="harbour", attribute="master", value="Ines")
        memory.correct(cell_that(home, "5433")["cell_id"], CORRECTED, value="6432", reason="changed")
        memory.confirm(cell_that(home, "seat hold")["cell_id"], note="I counted")
        memory.confirm(cell_that(home, "berths")["cell_id"])
        memory.forget(cell_that(home, "secret")["cell_id"])
        (dispute,) = memory.contradictions()
        memory.resolve(dispute.contradiction_id, "b_wins")
        crane = memory.remember("The crane is painted yellow.", origin="agent").cell_id
        memory.correct(crane, REPAINTED, origin="agent")
        memory.correct(memory.remember(LAMP).cell_id, NO_LAMP, origin="agent")
        memory.cite([cell_that(home, "named exports")["cell_id"]])
    with open_workspace(home) as work:
        work.commit_plan(
            {"core.struck": rows_of("core.struck", [{"cell_id": cell_that(home, "gulls")["cell_id"]}])}
        )


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home after a night with the first model, and a person's edits."""
    folder = tmp_path_factory.mktemp("rederive")
    write_chat(folder / "chats", "june", JUNE)
    write_chat(folder / "chats", "july", JULY)
    with OpenAIServer(ScriptedModel(), models=MODELS) as server:
        home = settings_of(folder / "home", server.url)
        nightly.fn(home=home, sources=[str(folder / "chats")], force=True)
    speak(folder / "home")
    return folder


@pytest.fixture(scope="module")
def derived(lived: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Derivation]:
    """The same home with a derivation by the better model beside it, and what the run said."""
    folder = Path(shutil.copytree(lived, tmp_path_factory.mktemp("derived") / "home")) / "home"
    with OpenAIServer(BetterModel(), models=MODELS) as server:
        found = rederive.fn(home=settings_of(folder, server.url, model="second"))
    return folder, found


@pytest.fixture
def home(derived: tuple[Path, Derivation], tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(derived[0], tmp_path / "home"))


def assert_rebuilds(home: Path) -> None:
    wanted = tables(home)
    rebuild.fn(home=str(home))
    for table, frame in tables(home).items():
        assert_frame_equal(frame, wanted[table])


# the difference


def test_the_difference_names_what_was_gained_lost_changed_reworded_and_kept(derived):
    _, found = derived
    assert found.diff is not None
    by_kind: dict[str, set[tuple[str | None, str | None]]] = {}
    for one in found.diff.memories:
        by_kind.setdefault(one.difference, set()).add((one.before, one.after))
    owner = "The owner of the departures endpoint is team "
    assert by_kind == {
        "gained": {(None, "The tender comes to the quay before breakfast.")},
        "lost": {("Some 90 gulls live under the crane.", None)},
        "changed": {(f"{owner}4.", f"{owner}12.")},
        "reworded": {("The length of a seat hold is 12 minutes.", "A seat hold has a length of 12 minutes.")},
    }
    assert found.diff.counts["kept"] == len(live(derived[0])) - 3
    assert found.is_whole
    text = Path(str(found.file)).read_text(encoding="utf-8")
    assert "gulls" in text
    assert "team 12" in text


def test_every_edit_of_a_person_is_carried_and_told(derived):
    folder, found = derived
    assert found.diff is not None
    told = {(one.edit, one.said): one.how for one in found.diff.edits}
    hold = "The length of a seat hold is 12 minutes."
    assert told["remembered", STATED] == "kept word by word"
    assert told["corrected", CORRECTED].startswith("carried: it is")
    assert "says the same" in told["confirmed", hold]
    assert told["confirmed", "There are 40 berths along the northern mole."].startswith(
        "carried over as it was"
    )
    assert any(edit == "deleted" and "secret" in said for edit, said in told)
    assert told["struck", GULLS].startswith("not carried"), "no memory says it any more, and the list says so"
    thursday = "According to Priya the weekday of the settlement job is Thursday."
    assert told["corrected", thursday].startswith("carried: it is")

    side = beside(open_home(folder)).root
    assert cell_that(side, "seat hold")["protected"]
    assert cell_that(side, "berths")["protected"]
    assert cell_that(side, "5433")["superseded_by"] == cell_that(side, "6432")["cell_id"]
    assert cell_that(side, "Tuesday")["status"] == "superseded"
    assert not [content for content in live(side) if "secret" in content]
    assert cell_that(side, "yellow")["superseded_by"] == cell_that(side, REPAINTED)["cell_id"]
    (open_one,) = store_of(side).rows("contradictions").to_dicts()
    assert open_one["status"] == "open"
    assert {open_one["cell_a"], open_one["cell_b"]} == {
        cell_that(side, LAMP)["cell_id"],
        cell_that(side, NO_LAMP)["cell_id"],
    }


def test_a_derivation_can_be_asked_as_a_home_of_its_own(home):
    with Memory(beside(open_home(home)).root) as memory:
        assert "The tender comes to the quay before breakfast." in [
            hit.content for hit in memory.search("tender at the quay").cells
        ]


# the switch


def test_after_the_switch_the_memory_is_the_derivation_and_rebuilds_to_it(home):
    side = beside(open_home(home)).root
    wanted, before = live(side), segments(home)
    found = rederive.fn(home=str(home), action="switch")
    assert found.is_whole
    assert not side.exists()
    assert live(home) == wanted
    after = segments(home)
    assert before.items() <= after.items(), "nothing that stood in the journal changes"
    assert_rebuilds(home)
    with Memory(home) as memory:
        (port,) = [hit for hit in memory.search("port of the staging database").cells if hit.value == "6432"]
        assert port.content == CORRECTED
        assert [former.value for former in port.history] == ["5433"], (
            "what changed is a former value there, too"
        )
        june = datetime(2026, 6, 20, tzinfo=UTC)
        held = memory.search("rate limit of the departures endpoint", as_of=june).cells
        assert not [hit for hit in held if "250" in hit.content]
        assert [hit for hit in held if "seat hold" in hit.content or "team 12" in hit.content]


def test_the_use_of_a_memory_counts_on_after_a_switch(home):
    with Memory(home) as memory:
        memory.cite([cell_that(home, "team 4")["cell_id"]], "late")
    rederive.fn(home=str(home), action="switch")
    used = store_of(home).rows("usage").filter(pl.col("context").is_null())["used_at"][0]
    for words in ("named exports", "team 12"):
        (counted,) = store_of(home).by_key("cell_usage", [cell_that(home, words)["cell_id"]]).to_dicts()
        assert counted["citation_count"] == 1
        assert counted["last_accessed"] == used or words == "team 12"
    assert store_of(home).rows("usage")["folded_at"].null_count() == 0
    decay.fn(home=str(home))
    (counted,) = store_of(home).by_key("cell_usage", [cell_that(home, "team 12")["cell_id"]]).to_dicts()
    assert counted["citation_count"] == 1, "nothing counts twice"


def test_a_night_after_the_switch_has_little_to_do_and_a_second_derivation_differs_in_nothing(home):
    with OpenAIServer(BetterModel(), models=MODELS) as server:
        folder = settings_of(home, server.url, model="second")
        rederive.fn(home=folder, action="switch")
        before = live(home)
        assert nightly.fn(home=folder, force=True).ledger.total.call_count == 0
        assert live(home) == before
        found = rederive.fn(home=folder)
        assert found.diff is not None
        assert {name: count for name, count in found.diff.counts.items() if count} == {"kept": len(before)}
        rederive.fn(home=folder, action="switch")
        assert live(home) == before
        assert_rebuilds(home)


def test_turns_that_came_in_meanwhile_are_read_by_the_night_after_a_switch(home, tmp_path):
    write_chat(tmp_path / "new", "august", AUGUST)
    with OpenAIServer(BetterModel(), models=MODELS) as server:
        folder = settings_of(home, server.url, model="second")
        nightly.fn(home=folder, sources=[str(tmp_path / "new")], force=True)
        rederive.fn(home=folder, action="switch")
        nightly.fn(home=folder, force=True)
    assert "The number of harbour pilots is 5." in live(home)
    assert_rebuilds(home)


def test_edits_that_came_in_meanwhile_are_taken_in_by_the_next_run_before_a_switch(home):
    with OpenAIServer(BetterModel(), models=MODELS) as server:
        folder = settings_of(home, server.url, model="second")
        with Memory(home) as memory:
            memory.remember("The crane is painted green.")
            memory.forget(cell_that(home, "rate limit")["cell_id"])
        with pytest.raises(InputError, match="run `slowwave run rederive` again"):
            rederive.fn(home=folder, action="switch")
        assert "came in since" in rederive.fn(home=folder, action="show").notes[-1]
        found = rederive.fn(home=folder)
        assert found.is_whole
        rederive.fn(home=folder, action="switch")
    assert {"The crane is painted green.", STATED} <= live(home)
    assert not [content for content in live(home) if "rate limit" in content]
    assert_rebuilds(home)


def test_what_a_switch_replaced_can_still_be_explained(home):
    old = cell_that(home, "The length of a seat hold")["cell_id"]
    rederive.fn(home=str(home), action="switch")
    with Memory(home) as memory:
        found = memory.explain(old)
        assert found.life.state == "replaced by another derivation"
        assert found.content == "The length of a seat hold is 12 minutes."
        assert found.evidence[0].content == found.content
        assert memory.explain(cell_that(home, "seat hold")["cell_id"]).life.state == "active"


# the command and the page


def test_the_command_shows_the_difference_for_a_terminal_and_as_json(home):
    shown = CliRunner().invoke(program, ["run", "rederive", "--action", "show", "--home", str(home)])
    assert shown.exit_code == 0
    assert "- The owner of the departures endpoint is team 4." in shown.stdout
    assert "+ The owner of the departures endpoint is team 12." in shown.stdout
    assert "difference.md" in shown.stdout
    plain = CliRunner().invoke(
        program, ["run", "rederive", "--action", "show", "--json", "--home", str(home)]
    )
    assert json.loads(plain.stdout)["diff"]["counts"]["lost"] == 1
    both = CliRunner().invoke(program, ["run", "decay", "--action", "drop", "--home", str(home)])
    assert both.exit_code != 0
    assert (home / "rederived").exists()
    dry = CliRunner().invoke(
        program, ["run", "rederive", "--action", "switch", "--dry-run", "--home", str(home)]
    )
    assert dry.exit_code == 0
    assert (home / "rederived").exists()


# the end, and what is refused


def test_a_derivation_that_is_dropped_leaves_no_trace(lived, home):
    rederive.fn(home=str(home), action="drop")
    files = {path.relative_to(home) for path in home.rglob("*")}
    known = {path.relative_to(lived / "home") for path in (lived / "home").rglob("*")}
    assert {path for path in files ^ known if path.parts[0] not in ("cache", "store")} == set()
    with pytest.raises(NotFoundError, match="slowwave run rederive"):
        rederive.fn(home=str(home), action="drop")
    with pytest.raises(NotFoundError, match="slowwave run rederive"):
        rederive.fn(home=str(home), action="show")
    with pytest.raises(NotFoundError, match="slowwave run rederive"):
        rederive.fn(home=str(home), action="switch")


def test_a_dry_run_tells_the_cost_and_makes_nothing(lived, tmp_path):
    home = Path(shutil.copytree(lived / "home", tmp_path / "home"))
    found = rederive.fn(home=str(home), dry_run=True)
    assert found.estimate is not None
    assert found.estimate.turns == len(JUNE) + len(JULY)
    assert found.estimate.pages == 2
    assert found.estimate.least_tokens > 0
    assert not (home / "rederived").exists()


def test_a_budget_that_is_spent_leaves_pages_that_the_next_run_reads(lived, tmp_path):
    home = Path(shutil.copytree(lived / "home", tmp_path / "home"))
    model = BetterModel()
    with OpenAIServer(model, models=MODELS) as server:
        found = rederive.fn(
            home=settings_of(home, server.url, model="second", budget_tokens=150, concurrency=1)
        )
        assert not found.is_whole
        with pytest.raises(InputError, match="pages wait"):
            rederive.fn(home=str(home), action="switch")
        found = rederive.fn(home=settings_of(home, server.url, model="second"))
        assert found.is_whole
    assert model.said["ExtractAnswer"] == 2, "no page is asked about twice"


def test_without_a_model_it_refuses(lived, tmp_path):
    home = Path(shutil.copytree(lived / "home", tmp_path / "home"))
    write_settings(home, embedding={"provider": "wordllama"})
    for dry_run in (True, False):
        with pytest.raises(ConfigError, match="llm.provider"):
            rederive.fn(home=str(home), dry_run=dry_run)
    assert not (home / "rederived").exists()


@pytest.mark.processes
def test_two_at_once_end_with_a_clear_line_and_the_living_home_is_free(home):
    with another_writer(beside(open_home(home)).root):
        for action in ("derive", "switch", "drop"):
            with pytest.raises(BusyError, match="another run is writing"):
                rederive.fn(home=str(home), action=action)
        with rewriting(open_home(home)):
            pass


@pytest.mark.processes
def test_erase_changes_nothing_while_a_run_works_on_the_derivation(home):
    before = segments(home)
    with another_writer(beside(open_home(home)).root), Memory(home) as memory, pytest.raises(BusyError):
        memory.erase(cell_that(home, "gulls")["cell_id"])
    assert not open_home(home).erase_path.exists()
    assert segments(home) == before


def test_erase_drops_a_derivation_and_reaches_what_was_derived_before_a_switch(home):
    rederive.fn(home=str(home), action="switch")
    with Memory(home) as memory:
        done = memory.erase(cell_that(home, "seat hold")["cell_id"])
    assert done.is_proven
    assert "seat hold" not in "".join(
        path.read_text(encoding="utf-8") for path in (home / "journal").rglob("*.jsonl")
    )
    assert_rebuilds(home)


def test_erase_drops_a_derivation_that_stands_beside(home):
    with Memory(home) as memory:
        done = memory.erase(cell_that(home, "gulls")["cell_id"])
    assert not (home / "rederived").exists()
    assert any("slowwave run rederive" in note for note in done.notes)
    assert done.is_proven
