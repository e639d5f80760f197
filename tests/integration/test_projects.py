"""Projects follow repositories: what is said in one stays out of another; what is of the home is known in both."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from flows.promote import promote
from slowwave import Memory
from slowwave.errors import InputError, NotFoundError
from slowwave.home.paths import open_home
from slowwave.interfaces.cli.client import project_id
from slowwave.interfaces.cli.doctor import project_checks
from slowwave.interfaces.cli.program import program
from slowwave.store import open_store
from tests.conftest import ROOT
from tests.scripted_model import write_settings
from tests.unit.test_projects import repository, worktree


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_settings(tmp_path / "home", embedding={"provider": "none"})
    return tmp_path / "home"


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory(home, records_usage=False) as memory:
        yield memory


def chat(path: Path, *said: tuple[str, Path | None], session: str = "s1") -> Path:
    """A conversation, each message with the folder that it was said in."""
    lines = [
        {
            "session_id": session,
            "id": str(number),
            "role": "user",
            "content": text,
            "timestamp": f"2026-06-05T09:12:{number:02}Z",
            **({"cwd": str(folder)} if folder else {}),
        }
        for number, (text, folder) in enumerate(said)
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return path


def said(memory: Memory, question: str, project: str | None) -> list[str]:
    found = memory.search(question, project=project, detail_level="evidence")
    return sorted(turn.content for turn in found.turns)


def test_what_is_said_in_one_repository_is_found_from_within_it_alone(memory: Memory, tmp_path: Path):
    kiln, ferry = repository(tmp_path / "kiln"), repository(tmp_path / "ferry")
    fix = worktree(kiln, tmp_path / "kiln-fix")
    files = [
        chat(tmp_path / "a.jsonl", ("The queue of kiln is Redis.", kiln / "app"), session="a"),
        chat(tmp_path / "b.jsonl", ("The queue of the fix is Redis too.", fix), session="b"),
        chat(tmp_path / "c.jsonl", ("The queue of ferry is Kafka.", ferry), session="c"),
        chat(tmp_path / "d.jsonl", ("A queue should be boring.", None), session="d"),
    ]
    memory.ingest(files)
    own = "A queue should be boring."
    in_kiln = [own, "The queue of kiln is Redis.", "The queue of the fix is Redis too."]
    assert said(memory, "queue", memory.project_of(kiln)) == in_kiln
    assert said(memory, "queue", memory.project_of(fix)) == in_kiln
    assert said(memory, "queue", memory.project_of(ferry)) == [own, "The queue of ferry is Kafka."]
    assert said(memory, "queue", memory.project_of(tmp_path)) == [own]
    for named in ("kiln", "KIL", memory.project_of(kiln), str(kiln), str(kiln / "app")):
        assert said(memory, "queue", named) == in_kiln
        assert memory.topics(project=named).notes == []
    assert project_id(".", str(tmp_path / "home")) == str(ROOT)
    assert len(said(memory, "queue", None)) == len(files)


def test_every_call_that_names_a_project_refuses_one_that_nobody_knows_and_names_the_nearest(
    memory: Memory, home: Path, tmp_path: Path
):
    kiln = memory.project_of(repository(tmp_path / "kiln"))
    turn = [{"session_id": "s", "role": "user", "text": "Hello."}]
    memory.remember("The queue is Redis.", project=kiln)
    calls: list[Callable[[str], object]] = [
        lambda project: memory.search("queue", project=project),
        lambda project: memory.context("queue", project=project),
        lambda project: memory.entity("kiln", project=project),
        lambda project: memory.timeline("kiln", project=project),
        lambda project: memory.cells(project=project),
        lambda project: memory.topics(project=project),
        lambda project: memory.core(project=project),
        lambda project: memory.export(tmp_path / "out", project=project),
        lambda project: memory.remember("Kiln is warm.", project=project),
        lambda project: memory.record(turn, project=project),
    ]
    for call in calls:
        with pytest.raises(NotFoundError, match=f"no project is called 'klin': did you mean {kiln}?"):
            call("klin")
        with pytest.raises(
            NotFoundError, match=f"no project is called '../../etc': there is default, {kiln}"
        ):
            call("../../etc")
        with pytest.raises(InputError, match="lies in no repository"):
            call(str(tmp_path))
    tables = open_store(home / "store")
    assert {*tables.rows("cells")["project_id"], *tables.rows("turns")["project_id"]} == {kiln}


def test_a_project_is_there_once_it_is_begun_on_purpose_or_a_folder_of_it_is_named(
    memory: Memory, home: Path, tmp_path: Path
):
    ferry, wharf = repository(tmp_path / "ferry"), repository(tmp_path / "wharf")
    assert memory.search("queue", project="nosuch").notes == ["No memory yet"]
    memory.remember("The kitchen is blue.", project="House", new_project=True)
    assert "new_project begins a new one" in refusal(lambda: memory.remember("Warm.", project="hut"))
    memory.remember("The house is warm.", project="house")
    for asked in (str(ferry), memory.project_of(wharf)):
        (note,) = memory.search("queue", project=asked).notes[-1:]
        assert re.match(r"nothing is recorded in the project (ferry|wharf)-\w{8} yet: ", note)
    memory.remember("The queue is Kafka.", project=str(ferry))
    with Memory(home, records_usage=False) as other:
        assert {cell.project_id for cell in other.cells(project="hou").entries} == {"House"}
        assert other.cells(project="ferry").notes == []
        assert "no project is called 'wharf'" in refusal(lambda: other.cells(project="wharf"))
        for name in ("../etc", "x" * 201):
            assert "a new project has a name" in refusal(
                lambda name=name: other.remember("Warm.", project=name, new_project=True)
            )
        memory.remember("The roof is green.", project="ferr", new_project=True)
        memory.remember("The roof is blue.", project="FERRY", new_project=True)
        assert other.cells(project="ferr").entries[0].project_id == "ferr"
        assert other.cells(project="FERRY").entries[0].project_id.startswith("ferry-")
        assert refusal(lambda: other.cells(project="f")).startswith("2 projects begin with 'f': ferr, ferry-")
        other.project_of(repository(tmp_path / "new" / "ferry"))  # in which nothing is recorded
        assert other.cells(project="ferry").notes == []
        assert "none is named" in refusal(lambda: other.remember("Warm.", new_project=True))


def test_a_repository_that_moved_is_told_of_and_has_its_memory_again_by_a_setting(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kiln, moved = repository(tmp_path / "kiln"), tmp_path / "new" / "kiln"
    with Memory(home, records_usage=False) as memory:
        memory.ingest([chat(tmp_path / "a.jsonl", ("The queue is Redis.", kiln))])
        old = memory.project_of(kiln)
        moved.parent.mkdir()
        shutil.move(kiln, moved)
        new = memory.project_of(moved)
        assert (
            f"{old} has the same name: was it moved?" in memory.search("queue", project=str(moved)).notes[-1]
        )
    monkeypatch.chdir(moved)
    (check,) = project_checks(open_home(home))
    assert not check.is_well
    assert f"{old} has 1 message. " in check.found
    with (home / "slowwave.toml").open("a") as file:
        file.write(f"\n[owner]\n{re.search(r'moved = {.*}', check.found)[0]}\n")
    with Memory(home, records_usage=False) as memory:
        assert memory.project_of(moved) == old != new
        assert said(memory, "queue", str(moved)) == ["The queue is Redis."]
        assert "same name" not in str(memory.search("queue", project=str(moved)).notes)
    assert project_checks(open_home(home)) == []


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises((InputError, NotFoundError)) as refused:
        call()
    return str(refused.value)


def test_the_shell_says_that_it_looked_through_all_projects_and_how_to_narrow(memory: Memory, home: Path):
    memory.remember("The queue of kiln is Redis.", project="kiln", new_project=True)
    memory.remember("The queue of ferry is Kafka.", project="ferry", new_project=True)
    asked = ["search", "queue", "--home", str(home)]
    told = CliRunner().invoke(program, asked)
    assert ("Redis" in told.stdout, "Kafka" in told.stdout, "--project" in told.stderr) == (True, True, True)
    told = CliRunner().invoke(program, [*asked, "--project", "kiln"])
    assert ("Redis" in told.stdout, "Kafka" in told.stdout, "--project" in told.stderr) == (
        True,
        False,
        False,
    )


def test_a_transcript_whose_repository_moved_doubles_nothing_and_stays_where_it_was(
    memory: Memory, home: Path, tmp_path: Path
):
    kiln = repository(tmp_path / "kiln")
    project = memory.project_of(kiln)
    file = chat(tmp_path / "a.jsonl", ("We take Redis.", kiln), ("And a queue.", kiln))
    memory.ingest([file])
    before = open_store(home / "store").rows("turns").sort("turn_id")
    shutil.move(kiln, tmp_path / "moved")
    chat(file, ("We take Redis.", kiln), ("And a queue.", kiln), ("One more.", tmp_path / "moved"))
    assert memory.ingest([file]).counts["turn.recorded"] == 1
    after = open_store(home / "store").rows("turns")
    assert {*after["project_id"]} == {project}
    assert {*before["turn_id"]} < {*after["turn_id"]}
    chunks = open_store(home / "store").rows("chunks")
    assert {*chunks["project_id"]} == {project}


def test_a_conversation_that_goes_to_another_folder_stays_one(memory: Memory, home: Path, tmp_path: Path):
    kiln, ferry = repository(tmp_path / "kiln"), repository(tmp_path / "ferry")
    memory.ingest([chat(tmp_path / "a.jsonl", ("First here.", kiln), ("Then there.", ferry))])
    memory.record(
        [{"session_id": "s1", "role": "user", "text": "And once more.", "id": "9", "cwd": str(ferry)}]
    )
    memory.ingest([tmp_path / "a.jsonl"])
    rows = open_store(home / "store").rows("turns")
    assert (rows.height, {*rows["project_id"]}) == (3, {memory.project_of(kiln)})


def test_a_dry_run_counts_what_two_files_share_once_as_the_ingest_does(memory: Memory, tmp_path: Path):
    first = chat(tmp_path / "a.jsonl", ("The queue is Redis.", None), ("And boring.", None))
    fork = chat(
        tmp_path / "b.jsonl", ("The queue is Redis.", None), ("And boring.", None), ("Or Kafka.", None)
    )
    dry = memory.ingest([first, fork], dry_run=True)
    assert dry.counts["turn.recorded"] == memory.ingest([first, fork]).counts["turn.recorded"] == 3


def test_a_note_of_claude_code_is_of_the_repository_whose_sessions_stand_beside_it(
    memory: Memory, tmp_path: Path
):
    kiln, ferry = repository(tmp_path / "kiln"), repository(tmp_path / "ferry")
    project = tmp_path / "projects" / re.sub("[^A-Za-z0-9]", "-", str(kiln))
    (project / "memory").mkdir(parents=True)
    note = project / "memory" / "queue.md"
    note.write_text("The queue is Redis.\n")
    (project / "s1.jsonl").write_text(json.dumps({"type": "summary", "cwd": str(kiln)}) + "\n")
    memory.ingest([note])
    assert said(memory, "queue", memory.project_of(kiln)) == ["The queue is Redis."]
    assert said(memory, "queue", memory.project_of(ferry)) == []


def test_what_was_said_in_a_folder_that_is_gone_is_known_everywhere_and_the_report_says_so(
    memory: Memory, tmp_path: Path
):
    ferry, gone = repository(tmp_path / "ferry"), tmp_path / "gone"
    report = memory.ingest([chat(tmp_path / "a.jsonl", ("The queue is Redis.", gone))])
    assert said(memory, "queue", memory.project_of(ferry)) == ["The queue is Redis."]
    assert [note for note in report.notes if str(gone) in note and "known in all" in note]
    there = memory.ingest([chat(tmp_path / "b.jsonl", ("The kiln is hot.", ferry), session="b")])
    assert not [note for note in there.notes if "not there" in note]


def test_a_home_that_keeps_to_its_project_takes_everything_in_as_its_own(tmp_path: Path):
    owner = {"project_id": "mine", "project_from": "setting"}
    write_settings(tmp_path / "home", embedding={"provider": "none"}, owner=owner)
    kiln = repository(tmp_path / "kiln")
    with Memory(tmp_path / "home", records_usage=False) as memory:
        memory.ingest([chat(tmp_path / "a.jsonl", ("We take Redis for the queue.", kiln))])
        assert memory.project_of(kiln) == "mine"
        assert (
            said(memory, "queue", None) == said(memory, "queue", "mine") == ["We take Redis for the queue."]
        )
        assert said(memory, "queue", str(kiln)) == ["We take Redis for the queue."]
        with pytest.raises(InputError, match="keeps to the project 'mine'"):
            said(memory, "queue", "another")
        with pytest.raises(InputError, match="keeps to the project 'mine'"):
            memory.remember("Kiln is warm.", project="another")
        with pytest.raises(InputError, match="keeps to the project 'mine'"):
            memory.record([{"session_id": "s", "role": "user", "text": "Hello."}], project="another")


def test_what_a_person_says_without_a_project_is_known_in_all_and_else_in_its_own(
    memory: Memory, tmp_path: Path
):
    kiln, ferry = (memory.project_of(repository(tmp_path / name)) for name in ("kiln", "ferry"))
    everywhere = memory.remember("I prefer boring queues.").cell_id
    here = memory.remember("The queue of kiln is Redis.", project=kiln, entities=["kiln"]).cell_id

    def found(project: str | None) -> set[str]:
        listed = {cell.cell_id for cell in memory.cells(project=project).entries}
        searched = {cell.cell_id for cell in memory.search("queue", project=project).cells}
        told = {name for line in memory.context("queue", project=project).lines for name in line.cell_ids}
        assert listed == searched == told
        return listed

    assert found(kiln) == found(None) == {everywhere, here}
    assert found(ferry) == {everywhere}
    assert memory.cell(here).project_id == kiln
    better = memory.correct(here, "The queue of kiln is Kafka.")
    assert memory.cell(better.cell_id).project_id == kiln
    assert found(ferry) == {everywhere}


def test_each_project_has_core_memory_of_its_own_beside_the_homes(memory: Memory, home: Path, tmp_path: Path):
    kiln, ferry = (memory.project_of(repository(tmp_path / name)) for name in ("kiln", "ferry"))
    memory.remember("I prefer boring queues.")
    memory.remember("Releases of kiln go out on Tuesdays.", project=kiln)
    promote.fn(home=str(home))
    file = (home / "MEMORY.md").read_text()
    assert "boring" in file
    assert "Tuesdays" not in file
    assert memory.core() == memory.core(project=ferry) == file
    assert memory.core(project=kiln).startswith(file)
    assert f"## Project {kiln}" in memory.core(project=kiln)
    assert "Tuesdays" in memory.core(project=kiln)
    opening = memory.context(opening=True, project=ferry).text
    assert "Tuesdays" not in opening
    assert "Tuesdays" in memory.context(opening=True, project=kiln).text
